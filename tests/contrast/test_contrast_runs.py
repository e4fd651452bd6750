"""Whole contrasts with real runs: their result, interruptions, divergence, and the page."""

import json
import re
import shutil
import signal
import time

import pytest

from everyday import some
from ostinato.contrast import Spec, contrast
from ostinato.contrast.run import spec_of
from ostinato.contrast.training import finish, is_over
from ostinato.errors import BadInput
from ostinato.runs import Config, open_run
from ostinato.runs.loop.signals import Interrupted

GIVEN = {
    "cells": ["simple", "elman"],
    "tasks": ["adding"],
    "trials": 1,
    "seeds": 2,
    "budget": 60,
    "settings": {"length": 5, "batch": 4, "steps": 5},
}


class Hearing:
    """Keeps the folders of runs that start; Ctrl-C is pressed at a step once run `stop` has."""

    def __init__(self, stop=None):
        self.started, self.stop = [], stop

    def __call__(self, run, event):
        if event["kind"] in ("start", "resume"):
            self.started.append(run)
        reached = self.stop is not None and len(self.started) > self.stop
        if reached and event["kind"] == "train" and event["step"] == 2:
            self.stop = None
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.5)  # the main thread handles it, while this one may be that of a run


def without_time(result):
    found = result.as_json()
    for group in found["groups"]:
        for row in group["rows"]:
            del row["seconds"]
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder, hear = tmp_path_factory.mktemp("contrast") / "whole", Hearing()
    result = contrast(Spec.from_dict(GIVEN), folder, listener=hear)
    assert len(hear.started) == len(set(hear.started)) == 6
    return folder, result


def test_every_entry_has_its_seeds_and_the_same_data(whole):
    folder, result = whole
    (group,) = result.groups
    assert {row.entry for row in group.rows} == {"simple", "elman"}
    assert group.metric == "mean squared error" and group.part == "test"
    for row in group.rows:
        assert len(row.values) == len(row.memory) == 2 and row.values == row.test
        assert abs(row.parameters - 60) <= 12 and row.diverged == 0
        assert row.steps == 5 and row.gradients == 20 and row.trials == 1
        assert all(0 <= lag <= 4 for lag in row.memory)
        runs = [open_run(folder / "seeds" / row.entry / f"{seed}") for seed in (1, 2)]
        assert [run.config.seed for run in runs] == [1, 2]
        assert [min(e["value"] for e in run.events() if e["kind"] == "valid") for run in runs] == (
            row.valid
        )
    means = [row.summary.mean for row in group.rows]
    assert means == sorted(means)
    (pair,) = group.comparisons
    assert pair.difference == pytest.approx(means[0] - means[1])
    assert json.loads((folder / "result.json").read_text()) == result.as_json()


def test_a_finished_contrast_only_reads(whole):
    folder, result = whole
    hear = Hearing()
    assert contrast(spec_of(folder), folder, resume=True, listener=hear) == result
    assert hear.started == []


@pytest.mark.parametrize("stop", some([1, 4], []))
def test_interrupted_it_resumes_to_the_same_table(whole, tmp_path, stop):
    spec, first, second = Spec.from_dict(GIVEN), Hearing(stop), Hearing()
    with pytest.raises(Interrupted, match="SIGINT"):
        contrast(spec, tmp_path / "broken", listener=first)
    assert not (tmp_path / "broken" / "result.json").exists()
    result = contrast(spec, tmp_path / "broken", resume=True, listener=second)
    assert without_time(result) == without_time(whole[1])
    assert set(first.started[:stop]).isdisjoint(second.started)


def test_the_page_has_both_tables_and_all_charts(whole):
    page = (whole[0] / "result.html").read_text()
    for words in ("Results", "Comparisons", "simple", "elman", "paired t-test", "Gradient by lag"):
        assert words in page
    charts = json.loads(page.partition('id="charts">')[2].partition("</script>")[0])
    assert set(charts) == {
        "adding-steps",
        "adding-gradients",
        "adding-seconds",
        "adding-gradient-by-lag",
        "adding-seeds",
    }
    points = charts["adding-seeds"]["data"]
    assert [trace["x"] for trace in points] == [[0, 0], [1, 1]]
    assert [trace["y"] for trace in points] == [row.values for row in whole[1].groups[0].rows]
    assert "at least 6 seeds; with 2 there is never a verdict" in page
    lines = [trace for trace in charts["adding-steps"]["data"] if trace.get("fill") is None]
    bands = [trace for trace in charts["adding-steps"]["data"] if trace.get("fill")]
    assert [trace["x"] for trace in lines[:2]] == [[1, 2, 3, 4, 5]] * 2 and len(bands) == 2


def test_a_run_that_diverges_stops_no_other_and_is_not_trained_again(tmp_path):
    given = {"task": "adding", "cell": "simple", "length": 5, "batch": 4, "units": 3, "steps": 5}
    configs = [
        Config(**given, learner="sgd", clip="off", rate=1e30),
        Config(**given, learner="sgd", rate=0.01),
    ]
    folders, hear = [tmp_path / "wild", tmp_path / "tame"], Hearing()
    finish(configs, folders, hear)
    assert all(map(is_over, folders)) and hear.started == folders
    assert [event["kind"] for event in open_run(folders[0]).events()][-1] == "diverged"
    assert open_run(folders[1]).events()[-1]["reason"] == "done"
    finish(configs, folders, hear)
    assert hear.started == folders


def test_folders_that_are_something_else_are_refused(whole, tmp_path):
    folder, _ = whole
    spec = Spec.from_dict(GIVEN)
    other = Spec.from_dict({**GIVEN, "seeds": 3})
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "book.txt").touch()
    for words, call in {
        "is already a contrast; continue with --resume": lambda: contrast(spec, folder),
        "was started with seeds": lambda: contrast(other, folder, resume=True),
        "is not an empty folder": lambda: contrast(spec, tmp_path / "full"),
        "is not a contrast: it has no contrast.json": lambda: spec_of(tmp_path),
        "there is no folder": lambda: spec_of(tmp_path / "nowhere"),
    }.items():
        with pytest.raises(BadInput, match=words):
            call()


OWN = """
from ostinato.cells import Simple

class Mine(Simple):
    def step(self, state, u):
        h, y = super().step(state, u)
        return {} * h, y
"""


@pytest.fixture
def own(tmp_path):
    """A finished contrast of an own cell."""
    cell = tmp_path / "mine.py"
    cell.write_text(OWN.format(1))
    given = {**GIVEN, "cells": [f"{cell}:Mine"], "trials": 2}
    contrast(Spec.from_dict(given), tmp_path / "own")
    return given, cell, tmp_path / "own"


def test_runs_of_two_versions_of_a_cell_are_never_in_one_table(own):
    given, cell, folder = own
    shutil.rmtree(folder / "seeds" / "Mine" / "2")
    shutil.rmtree(folder / "trials")  # so that the first run to train is a trial
    cell.write_text(OWN.format(2))
    hear = Hearing()
    with pytest.raises(BadInput, match=r"seeds/Mine/1 was made .* code of cell has changed"):
        contrast(Spec.from_dict(given), folder, resume=True, listener=hear)
    assert not hear.started
    cell.write_text(OWN.format(1))
    contrast(Spec.from_dict(given), folder, resume=True, listener=hear)
    assert len(hear.started) == 3


def logs_of_trials(folder):
    """The log of the better of two trials, its rate, and that of the other one."""
    (row,) = json.loads((folder / "result.json").read_text())["groups"][0]["rows"]
    best = row["tuned"]["rate"]
    rates = {
        log: json.loads((log.parent / "config.json").read_text())["learner"]["rate"]
        for log in (folder / "trials").rglob("events.jsonl")
    }
    (one,) = [log for log, rate in rates.items() if rate == best]
    (other,) = rates.keys() - {one}
    return one, best, rates[other]


def test_a_trial_whose_log_lost_lines_keeps_its_best_validation(own):
    given, _, folder = own
    before, (log, *_) = (folder / "result.json").read_text(), logs_of_trials(folder)
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(line for line in lines if '"kind": "valid"' not in line))
    contrast(Spec.from_dict(given), folder, resume=True)
    assert (folder / "result.json").read_text() == before


def test_seeds_that_were_trained_with_other_tuned_settings_are_refused(own):
    given, _, folder = own
    log, best, other = logs_of_trials(folder)
    text = re.sub(r'"best": [^,]+', '"best": 1000.0', log.read_text())
    log.write_text(text.replace('"kind": "valid"', '"kind": "lost"'))
    words = f"was trained with rate = {best}, and would now be trained with {other}"
    with pytest.raises(BadInput, match=words):
        contrast(Spec.from_dict(given), folder, resume=True)
