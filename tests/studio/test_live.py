"""Runs as they change: lists, events as they come, and the numbers on a page."""

import json
import os
import shutil
import threading
import time

import numpy as np

from ostinato.files import locked
from ostinato.studio.folder import Digests, Folder
from ostinato.studio.views import compare_view, live_numbers, run_view
from studio.pages import START, a_log, messages, served, train_event, write_run


def append(path, *events):
    with open(path / "events.jsonl", "a") as log:
        for event in events:
            log.write(json.dumps(event) + "\n")


def test_a_list_says_what_the_log_says(tmp_path):
    run = write_run(tmp_path / "a" / "one", a_log())
    folder = Folder(tmp_path)
    (row,) = folder.rows()
    assert (row.name, row.state, row.task, row.cell) == ("a/one", "done", "text", "lstm")
    assert (row.step, row.total, row.parameters, row.best) == (20, 100, 1234, 0.25)
    assert row.line == [1.0, 0.5, 0.3333, 0.25] and row.settings["rate"] == 0.002
    append(run, {**START, "kind": "resume", "step": 10}, train_event(11))
    (row,) = folder.rows()
    assert (row.state, row.best, row.step) == ("interrupted", 0.5, 20)
    append(run, {"kind": "diverged", "step": 12, "words": "oh"})
    assert folder.row("a/one").state == "diverged"
    with locked(run):
        assert folder.row("a/one").state == "running"
    shutil.rmtree(run)
    assert folder.rows() == []


def test_a_list_reads_only_what_changed(tmp_path, monkeypatch):
    for number in range(5):
        write_run(tmp_path / str(number), a_log())
    folder = Folder(tmp_path)
    folder.rows()
    read = []
    from ostinato.runs.folder.listing import Summary

    monkeypatch.setattr(Summary, "read", lambda self: read.append(self.log.path))
    folder.rows()
    assert not read
    append(tmp_path / "3", train_event(21))
    folder.rows()
    assert [path.parent.name for path in read] == ["3"]


def test_a_page_of_a_run_has_the_charts_of_a_report(tmp_path):
    look = {"kind": "lens", "step": 20, "lags": [0, 1, 2], "gradient": {".cell.R": [1.0, 0.5, 0.1]}}
    events = a_log()
    run = write_run(
        tmp_path / "run", [*events[:-1], {**look, "memory": {".cell.R": 2}}, events[-1]]
    )
    folder = Folder(tmp_path)
    digest = Digests().of(run)
    view = run_view(folder.row("run"), digest)
    names = [chart["name"] for section in view["sections"] for chart in section["charts"]]
    assert names == ["loss", "gradient-R", "memory", "norm", "clipped", "rate", "speed"]
    assert all(chart["caption"] for section in view["sections"] for chart in section["charts"])
    loss = view["sections"][0]["charts"][0]["figure"]["data"]
    assert [trace["name"] for trace in loss][:2] == ["training", "validation"]
    np.testing.assert_allclose(loss[0]["y"][1], 2.0 * START["loss_factor"])
    assert view["samples"][0]["text"] == "text at 20" and view["used"] == {"batch": 8}
    json.dumps(view, allow_nan=False)


def test_numbers_of_a_run_that_trains(tmp_path):
    run = write_run(tmp_path / "run", [{**START, "epochs": 4.0}, *map(train_event, range(1, 51))])
    found = live_numbers(Digests().of(run))
    assert found["step"] == 50 and found["total"] == 100 and found["epochs"] == 2.0
    np.testing.assert_allclose([found["left"], found["speed"], found["seconds"]], [5, 1000, 5])


def test_runs_that_differ_in_their_seed_are_one_line(tmp_path):
    for seed in (0, 1):
        write_run(tmp_path / f"s{seed}", a_log(), {"seed": seed, "minutes": 1})
    write_run(tmp_path / "other", a_log(), {"seed": 0, "minutes": 2})
    folder, digests = Folder(tmp_path), Digests()
    runs = [(row, digests.of(tmp_path / row.name)) for row in folder.rows()]
    view = compare_view(runs, over_seeds=True)
    assert sorted(map(len, view["lines"].values())) == [1, 2]
    assert view["differing"].keys() == {"seed", "minutes"}
    steps, gradients, seconds = view["charts"]
    assert any(trace.get("fill") == "toself" for trace in steps["figure"]["data"])
    own = next(t for t in gradients["figure"]["data"] if t["name"] == "other")
    assert own["x"] == [40.0, 80.0, 120.0, 160.0]  # 8 sequences per step
    own = next(t for t in seconds["figure"]["data"] if t["name"] == "other")
    np.testing.assert_allclose(own["x"], [0.5, 1.0, 1.5, 2.0])
    assert len(compare_view(runs, over_seeds=False)["lines"]) == 3


def test_new_events_come_within_two_seconds_and_after_a_restart(tmp_path):
    run = write_run(tmp_path / "run", [START, train_event(1)])
    offset = (run / "events.jsonl").stat().st_size
    found, stop = [], threading.Event()
    with served(tmp_path) as studio:
        port = studio.port
        messages(studio, f"/api/events?name=run&after={offset}", found, stop)
        time.sleep(1)
        written = time.monotonic()
        append(run, train_event(2))
        while not any('"step":2' in words for _, words in found):
            assert time.monotonic() - written < 10
            time.sleep(0.02)
        came = next(when for when, words in found if '"step":2' in words)
        assert came - written < 2
        last = next(words for _, words in found if words.startswith("id:")).split()[1]
        assert int(last) == (run / "events.jsonl").stat().st_size
    append(run, train_event(3), train_event(4))
    again, number = [], str(last)
    with served(tmp_path, port=port) as studio:
        messages(studio, "/api/events?name=run&after=0", again, stop, **{"Last-Event-ID": number})
        end = time.monotonic() + 10
        while not any('"step":4' in words for _, words in again):
            assert time.monotonic() < end
            time.sleep(0.02)
        steps = [json.loads(words[5:])["step"] for _, words in again if words.startswith("data:")]
        assert steps == [3, 4]  # neither lost nor twice
        # A place that is not in the file any more, and one that is too far back
        for place in (10**9,):
            odd = []
            messages(studio, f"/api/events?name=run&after={place}", odd, stop)
            while not any("reset" in words for _, words in odd):
                assert time.monotonic() < end + 10
                time.sleep(0.02)
        stop.set()
    assert os.path.exists(run)
