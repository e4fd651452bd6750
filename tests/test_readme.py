"""The README's commands and code run, as after a plain `pip install .`."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PLAIN = ROOT / "tests" / "plain"
COMMANDS = re.findall(r"(?m)^    python3 (scripts/.+)$", README)


def environment(plain):
    """The environment of a process, in which the packages of extras may be out of sight."""
    before = os.environ.get("PYTHONPATH")
    paths = [str(PLAIN)] * plain + [before] * bool(before)
    return {**os.environ, "JAX_ENABLE_X64": "0", "PYTHONPATH": os.pathsep.join(paths)}


def run(command, *more, cwd, plain=True):
    # The tests' own Python lies in a virtual environment, which the scripts then use.
    return subprocess.run(
        [sys.executable, str(ROOT / command[0]), *command[1:], *more],
        cwd=cwd,
        env=environment(plain),
        capture_output=True,
        text=True,
        check=False,
    )


def test_there_are_two_commands():
    assert COMMANDS == ["scripts/demo.py", "scripts/test.py"]


def test_a_command_gets_the_signals_of_its_script():
    """It takes the place of the script's process, so that Ctrl-C and `kill` save a run."""
    shown = "import os; print(os.getpid())"
    code = f"import os, environment; environment.become([{sys.executable!r}, '-c', {shown!r}])"
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT / "scripts", stdout=subprocess.PIPE, text=True
    )
    assert process.communicate()[0] == f"{process.pid}\n"


def test_the_first_command_shows_something(tmp_path):
    """A short run of it; the whole is the next test."""
    few = ("--steps", "8", "--units", "8", "--batch", "4", "--length", "10")
    found = run(shlex.split(COMMANDS[0]), *few, cwd=tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
    for part in ("to beat: chance", "bigram", "order 5", "validation:", "best validation"):
        assert part in found.stdout
    assert (tmp_path / "runs" / "text-mlstm-1" / "config.json").is_file()


@pytest.mark.slow
def test_the_first_command_beats_a_bigram_by_far(tmp_path):
    found = run(shlex.split(COMMANDS[0]), cwd=tmp_path)
    (best, bigram) = re.search(
        r"best validation ([\d.]+) .* bigram ([\d.]+)", found.stdout
    ).groups()
    assert float(best) < float(bigram) - 1


def test_the_example_runs(tmp_path):
    found = run(["examples/own_cell.py"], cwd=tmp_path, plain=False)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "checks passed" in found.stdout and "steps back" in found.stdout
    assert (tmp_path / "gradient_by_lag.png").stat().st_size > 10_000


def test_the_second_command_finds_the_tests(tmp_path):
    """Here it only collects; running them all is what runs this test."""
    found = run(
        shlex.split(COMMANDS[1]),
        "--collect-only",
        "-n",
        "0",
        "tests/test_house.py",
        cwd=tmp_path,
        plain=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert "test_house.py" in found.stdout


LONGER = [
    pytest.param(page, marks=pytest.mark.slow) for page in ("docs/training.md", "docs/sequences.md")
]


@pytest.mark.parametrize("page", ["README.md", *LONGER])
def test_the_code_runs(page, tmp_path):
    for code in re.findall(r"```python\n(.+?)```", (ROOT / page).read_text(), flags=re.DOTALL):
        if code.startswith("# mine.py"):  # a file, for a command of the page
            (tmp_path / "mine.py").write_text(code)
            small = ["--task", "xor", "--steps", "1", "--batch", "2", "--json"]
            command = ["-m", "ostinato", "train", "--cell", "mine.py:Slow", "--keep", "0.5", *small]
        else:
            command = ["-c", code]
        found = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env=environment(plain=True),
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 0, found.stderr
