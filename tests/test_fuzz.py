"""A sample of `scripts/fuzz.py`, and that it notices what it is there to notice."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"
sys.path.insert(0, str(SCRIPTS))

from fuzzing.areas import AREAS  # noqa: E402
from fuzzing.everyday import READERS, read_one  # noqa: E402
from fuzzing.outcomes import Failed, Refused, attempt, shape  # noqa: E402
from fuzzing.ready import changed, content  # noqa: E402
from fuzzing.watch import watched  # noqa: E402
from fuzzing.worker import one  # noqa: E402


@pytest.mark.slow
def test_a_sample_of_all_areas_passes():
    command = [sys.executable, SCRIPTS / "fuzz.py", "--cases", "60", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| **all** | " in done.stdout
    assert "FAILED" not in done.stdout


@pytest.mark.parametrize("kind", READERS)
def test_a_hundred_harmed_ones_for_each_reader(kind, tmp_path, monkeypatch):
    """Each is read or is refused in one line."""
    monkeypatch.setitem(AREAS, "reader", (lambda case: read_one(case, kind), 100))
    assert first_failure("reader", 100, tmp_path, monkeypatch) is None


def first_failure(area, count, scratch, monkeypatch):
    """The first case of an area that fails, of so many."""
    monkeypatch.chdir(scratch)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(scratch / "home"))
    monkeypatch.setattr("fuzzing.visitors.PATIENCE", 2.0)
    for limit in ("HEADERS_WITHIN", "PATIENCE"):  # which the area makes short
        monkeypatch.setattr(f"ostinato.web.{limit}", 10.0)
    (scratch / "ready").mkdir(exist_ok=True)
    found = (one(area, number, 1, scratch, 60.0) for number in range(count))
    return next((end for end in found if end[0] not in ("accepted", "refused")), None)


@pytest.mark.parametrize(
    "area, count",
    [
        *(("tables", 100), ("everyday", 30), ("visitors", 25), ("labels", 150)),
        *(("connections", 6), ("verbs", 25), ("series_elsewhere", 40)),
    ],
)
def test_a_sample_passes(area, count, tmp_path, monkeypatch):
    assert first_failure(area, count, tmp_path, monkeypatch) is None


# A check that is missing, and the area whose cases must notice.
PLANTED = {
    "forms of numbers": ("tables", "ostinato.data.csv_file.conflicts", lambda columns: ()),
    "ids": ("tables", "ostinato.tasks.series.from_files._check_ids", lambda *_: None),
    "times": ("tables", "ostinato.tasks.series.from_files.check_order", lambda *_: None),
    "short series": (
        "tables",
        "ostinato.tasks.series.series_table._without_short",
        lambda data, table, min: data,
    ),
    "labels": ("tables", "ostinato.data.table.written_twice", lambda cells: None),
    "header lines": ("tables", "ostinato.tasks.text.labelled.check_columns", lambda *_: None),
    "the token": ("visitors", "ostinato.studio.guard.Guard._has_cookie", lambda *_: True),
    "the deadline": ("visitors", "ostinato.web.impatient", lambda: "h11"),
    "damaged labels": ("labels", "ostinato.runs.folder.labels._kept", lambda path: {}),
    "health checks": ("connections", "ostinato.serving.gate.ALWAYS", ()),
    "times of programs": (
        "series_elsewhere",
        "ostinato.export.programs.ordered",
        lambda about: ([], True),
    ),
    "inherited claims": ("subclasses", "ostinato.cells.cell.drop_claims", lambda *_: None),
    "the folder": ("visitors", "ostinato.studio.folder.inside", lambda folder, name: folder / name),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_check_that_is_missing_is_noticed(planted, tmp_path, monkeypatch):
    area, where, instead = PLANTED[planted]
    monkeypatch.setattr(where, instead)
    assert first_failure(area, 400, tmp_path, monkeypatch) is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    "area, where, instead",
    [
        (
            "strangers",
            "ostinato.runs.config.members._check_allowed",
            lambda path, source=None: source,
        ),
        ("links", "ostinato.runs.folder.run.check_appendable", lambda path: None),
        (
            "artefacts",
            "ostinato.tasks.text.tagging.Tagging.check_artefacts",
            lambda found: (None, None),
        ),
    ],
)
def test_a_folder_that_gets_through_is_noticed(area, where, instead, tmp_path, monkeypatch):
    monkeypatch.setattr(where, instead)
    assert first_failure(area, 100, tmp_path, monkeypatch) is not None


def _raise(error):
    raise error


@pytest.mark.parametrize(
    "error", [ValueError("one line"), TypeError("one line"), FileNotFoundError(2, "none", "a.txt")]
)
def test_one_line_is_a_refusal(error):
    with pytest.raises(Refused):
        attempt(lambda: _raise(error))


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"),
        AssertionError(),
        OverflowError("large"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no start byte"),
        ValueError("two\nlines"),
        ValueError("long " * 100),
        ValueError(""),
        OSError("no file"),
    ],
)
def test_anything_else_is_a_failure(error):
    with pytest.raises(Failed):
        attempt(lambda: _raise(error))


def test_alike_failures_have_one_shape():
    one = shape("KeyError (runs/divergence.py:63 in logged): 'norm' of /tmp/a/b at step 12")
    assert one == shape("KeyError (runs/divergence.py:63 in logged): 'loss' of /tmp/c at step -7")
    assert one != shape("KeyError (runs/divergence.py:64 in logged): 'norm' of /tmp/a/b at step 12")


def test_a_change_of_a_folder_is_seen(tmp_path):
    (tmp_path / "a").write_text("a")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("a")
    before = content(tmp_path)
    assert changed(before, content(tmp_path)) == []
    (tmp_path / "a").write_text("b")
    (tmp_path / "link").unlink()
    assert sorted(changed(before, content(tmp_path))) == ["a", "link"]


DEATHS = {
    "abort": "os.abort()",
    "exit": "os._exit(3)",
    "hang": "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]); time.sleep(60)",
    "memory": "x = bytearray(400 << 20); time.sleep(60)",
}


@pytest.mark.parametrize("death", DEATHS)
def test_the_death_of_a_process_is_one_failure(death, tmp_path, monkeypatch):
    """The parent goes on with the next case in a new process."""
    package = tmp_path / "fuzzing"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "worker.py").write_text(
        "import json, os, signal, sys, time\n"
        f"open({str(tmp_path / 'worker.log')!r}, 'w').write('last words')\n"
        "for case in json.load(sys.stdin):\n"
        "    print(json.dumps({'begins': case}), flush=True)\n"
        "    if case[1] == 1:\n"
        f"        {DEATHS[death]}\n"
        "    end = {'ends': case, 'outcome': 'accepted', 'words': '', 'what': '', 'seconds': 0}\n"
        "    print(json.dumps(end), flush=True)\n"
    )
    (tmp_path / "what").write_text("a case")
    monkeypatch.setattr("fuzzing.watch.SCRIPTS", tmp_path)
    monkeypatch.setattr("fuzzing.watch.MEMORY", 300 << 20)
    monkeypatch.setattr("fuzzing.watch.GRACE", 2.0)
    found = list(watched([("area", number) for number in range(3)], 0, tmp_path, 0.5))
    outcomes = [end["outcome"] for end in found]
    assert outcomes == ["accepted", "abort" if death == "exit" else death, "accepted"]
    assert found[1]["ends"] == ["area", 1]
    if death == "abort":
        assert signal.SIGABRT.name in found[1]["words"]
