"""What goes wrong between real processes: each of them says it in one line, within a minute."""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

import ostinato
from starting import finished, free_port, started

MINUTE = 60
TRAIN = ["-m", "ostinato", "train", "--units", 4, "--run", "run", "--distributed"]
ADDING = [*TRAIN, "--task", "adding", "--length", 6, "--batch", 4]
ENDLESS = [*ADDING, "--steps", 10**7, "--validate-every", 10**7, "--log-every", 10]
OTHER_DATA = """
import sys
from ostinato.errors import BadInput
from ostinato.runs import Config, join_processes, train
from ostinato.runs.loop.processes import leave
from ostinato.tasks import Text
join_processes(sys.argv[1], 2, int(sys.argv[2]))
try:
    train(Config(task="text", units=4), "run", task=Text.of(sys.argv[3] * 99, length=8))
except BadInput as error:
    print(f"ostinato: {error}", file=sys.stderr)
    leave(2)
"""


@pytest.fixture(scope="module")
def importing(tmp_path_factory):
    """The seconds that a process needs before it does anything."""
    begun = time.monotonic()
    words = ["-c", "import ostinato.cli.train"]
    finished(started(words, cwd=tmp_path_factory.mktemp("importing")))
    return time.monotonic() - begun


def process(number, port, count=2, words=ADDING, **more):
    place = ["--coordinator", f"127.0.0.1:{port}", "--processes", count, "--process", number]
    return started([*words, *place], **more)


def said(every, limit, trained=False):
    """The one line of each of some processes, all of which end with code 2 within the limit.

    Only one that has trained has printed anything else, on standard output.
    """
    begun, lines = time.monotonic(), []
    for one in every:
        code, out, err = finished(one)
        assert code == 2, (code, out, err)
        assert (trained or not out) and len(err.splitlines()) == 1, (out, err)
        assert err.startswith("ostinato: ")
        lines.append(err.strip().removeprefix("ostinato: "))
    assert time.monotonic() - begun < limit
    return lines


def check_one_line(every, importing, words):
    """Two processes start, do not begin, and say why; both need time to start and to meet."""
    assert said(every, MINUTE + 4 * importing) == [words] * len(every)


@pytest.mark.slow
def test_other_data(tmp_path, importing):
    """Both were given the same settings, but what they read is not the same."""
    place, quiet = f"127.0.0.1:{free_port()}", {"TF_CPP_MIN_LOG_LEVEL": "4"}
    every = [
        started(["-c", OTHER_DATA, place, n, text], cwd=tmp_path, variables=quiet)
        for n, text in enumerate(["a cat sat. ", "a dog sat. "])
    ]
    check_one_line(every, importing, "process 1 has other data than process 0")


@pytest.mark.slow
def test_other_code(tmp_path, importing):
    shutil.copytree(Path(ostinato.__file__).parent, tmp_path / "changed" / "ostinato")
    with open(tmp_path / "changed" / "ostinato" / "weights.py", "a") as file:
        file.write("CHANGED = True\n")
    port, other = free_port(), {"PYTHONPATH": str(tmp_path / "changed")}
    every = [process(0, port, cwd=tmp_path), process(1, port, cwd=tmp_path, variables=other)]
    check_one_line(every, importing, "process 1 has another code of Ostinato than process 0")


@pytest.mark.slow
def test_another_count(tmp_path, importing):
    port = free_port()
    every = [process(n, port, count, cwd=tmp_path) for n, count in enumerate((2, 3))]
    check_one_line(every, importing, "process 1 has another --processes than process 0")


@pytest.mark.slow
def test_a_process_that_comes_when_the_others_have_given_up(tmp_path, importing):
    """It finds no coordinator, as one does whose coordinator was never there."""
    port = free_port()
    for number in (0, 1):
        (line,) = said([process(number, port, cwd=tmp_path)], MINUTE + 2 * importing)
        assert line.startswith("not all processes came within 50 seconds, or 127.0.0.1:")


@pytest.mark.slow
@pytest.mark.parametrize("frozen", [0, 1])
def test_a_frozen_process_ends_the_other(frozen, tmp_path):
    """A machine that stands still, or is cut off: no connection breaks, nothing is heard."""
    port = free_port()
    every = [process(n, port, words=ENDLESS, cwd=tmp_path) for n in (0, 1)]
    log = tmp_path / "run" / "events.jsonl"
    deadline = time.monotonic() + 10 * MINUTE
    while not (log.exists() and '"train"' in log.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.kill(every[frozen].pid, signal.SIGSTOP)
    try:
        (line,) = said([every[1 - frozen]], MINUTE, trained=True)
    finally:
        every[frozen].kill()
    assert "another process of this run ended or cannot be reached" in line
