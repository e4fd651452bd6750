"""`ostinato runs`: run folders as a table."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ostinato.files import locked
from ostinato.runs import Config
from ostinato.runs.folder.labels import Labels
from ostinato.runs.folder.listing import listed, run_folders


def write_run(folder, *events, **settings):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(str(Config(**settings)))
    (folder / "model.json").write_text("{}")
    (folder / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
    return folder


def start(**more):
    return {"kind": "start", "step": 0, "parameters": 89, "metric": "bits", **more}


def train(step):
    return {"kind": "train", "step": step, "seconds": step / 2, "loss": 1.0}


def valid(step, value):
    return {"kind": "valid", "step": step, "value": value}


def end(step, reason="done"):
    return {"kind": "end", "step": step, "reason": reason, "seconds": step / 2}


@pytest.fixture
def folder(tmp_path):
    runs = tmp_path / "runs"
    write_run(
        runs / "a", start(), train(4), valid(4, 2.5), valid(8, 3.0), end(8), cell="lstm", rate=0.001
    )
    write_run(runs / "b", start(), train(4), valid(4, 1.5), cell="gru")
    diverged = {"kind": "diverged", "step": 5, "words": "oh"}
    write_run(runs / "deep" / "c", start(), train(4), diverged, task="adding", cell="lstm")
    high = start(higher_is_better=True)
    write_run(
        runs / "d", high, valid(2, 0.5), valid(4, 0.25), train(4), end(4, "interrupted"), cell="gru"
    )
    write_run(runs / "e")
    (runs / "f").mkdir()
    (runs / "f" / "config.json").write_text("{not json")
    (runs / "g").mkdir()
    (runs / "g" / "model.json").write_text("{}")
    (runs / "not-a-run").mkdir()
    return runs


def test_every_folder_is_a_row(ostinato, folder):
    code, out, err = ostinato("runs", folder, "--json")
    assert code == 0 and not err
    found = {Path(row["run"]).name: row for row in json.loads(out)}
    assert [*found] == ["a", "b", "d", "c", "e", "f", "g"]
    states = {name: row["state"] for name, row in found.items()}
    assert states == {
        "a": "done",
        "b": "interrupted",  # it was killed
        "c": "diverged",
        "d": "interrupted",
        "e": "not started",
        "f": "broken: its config.json is not what a run writes",
        "g": "broken: it has no config.json",
    }
    assert found["a"]["best"] == 2.5 and found["d"]["best"] == 0.5
    assert (found["a"]["steps"], found["a"]["seconds"], found["a"]["parameters"]) == (8, 4.0, 89)
    assert (found["c"]["task"], found["c"]["cell"], found["c"]["learner"]) == (
        "adding",
        "lstm",
        "adam",
    )


def names(ostinato, folder, *options):
    code, out, err = ostinato("runs", folder, "--json", *options)
    assert code == 0, err
    return [Path(row["run"]).name for row in json.loads(out)]


def test_filters_and_order(ostinato, folder):
    assert names(ostinato, folder, "--filter", "cell=lstm") == ["a", "c"]
    assert names(ostinato, folder, "--filter", "cell=lstm", "--filter", "state=done") == ["a"]
    assert names(ostinato, folder, "--filter", "rate=1e-3") == ["a"]
    assert names(ostinato, folder, "--filter", "state=broken") == ["f", "g"]
    assert names(ostinato, folder, "--sort", "best")[:3] == ["d", "b", "a"]
    code, out, _ = ostinato("runs", folder, "--filter", "units=7")
    assert code == 0 and out == "none of 7 runs matches\n"


def test_the_table_is_for_people(ostinato, folder):
    code, out, _ = ostinato("runs", folder, "--filter", "cell=lstm")
    assert code == 0 and "diverged" in out and "2.5" in out and "lstm" in out


def test_names_tags_and_the_archive(ostinato, folder):
    Labels.change(folder / "a", {"title": "Our best", "tags": ["paper", "v2"]})
    Labels.change(folder / "b", {"archived": True})
    assert names(ostinato, folder, "--filter", "tag=paper") == ["a"]
    assert "b" not in names(ostinato, folder) and "b" in names(ostinato, folder, "--archived")
    code, out, _ = ostinato("runs", folder, "--filter", "tag=v2")
    assert code == 0 and "Our best #paper" in out and "1 archived, listed with --archived" in out
    code, out, _ = ostinato("runs", folder, "--json", "--filter", "tag=v2")
    assert json.loads(out)[0]["title"] == "Our best" and json.loads(out)[0]["tags"] == [
        "paper",
        "v2",
    ]


def test_a_run_that_is_trained_now(folder):
    with locked(folder / "b"):
        assert listed(folder / "b").state == "running"
    assert listed(folder / "b").state == "interrupted"


def test_a_log_with_damaged_lines(folder):
    log = folder / "a" / "events.jsonl"
    log.write_bytes(b"\xff\xfe\n" + log.read_bytes() + b'{"kind": "valid", "st')
    assert listed(folder / "a").state == "done" and listed(folder / "a").best == 2.5
    log.write_bytes(b"\x00\x01\x02\n")
    assert listed(folder / "a").state == "broken: its events.jsonl cannot be read"


WRONG = [
    (["nowhere"], "there is no folder nowhere"),
    ([".", "--sort", "size"], "--sort must be one of run, task"),
    ([".", "--filter", "lstm"], "--filter is name=value, such as cell=lstm; got lstm"),
    ([".", "--filter", "cel=lstm"], "--filter cel: no run has a setting or column of that name"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=lambda x: " ".join(x)[:20])
def test_mistakes_are_one_line(ostinato, folder, arguments, words):
    code, out, err = ostinato("runs", *arguments)
    assert code == 2 and not out and words in err and err.count("\n") == 1


def test_five_hundred_runs_take_no_time_and_no_jax(tmp_path):
    log = [start(), *(train(n) for n in range(100)), valid(99, 2.0), end(100)]
    first = write_run(tmp_path / "0", *log)
    files = {path.name: path.read_bytes() for path in first.iterdir()}
    for number in range(1, 500):
        (tmp_path / f"{number}").mkdir()
        for name, data in files.items():
            (tmp_path / f"{number}" / name).write_bytes(data)
    begin = time.process_time()
    found = [listed(run) for run in run_folders(tmp_path)]
    assert time.process_time() - begin < 1.5
    assert len(found) == 500 and {one.best for one in found} == {2.0}
    code = (
        "import sys; from ostinato import cli; sys.argv[1:] = ['runs', '.', '--json']\n"
        "try: cli.main()\nexcept SystemExit: pass\nassert 'jax' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=first, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
