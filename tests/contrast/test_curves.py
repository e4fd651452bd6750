"""Charts of several runs: what they average, and what a run had spent."""

import json

from ostinato.contrast import comparison
from ostinato.contrast.comparison import names_of, settings_table
from ostinato.contrast.curves import (
    Course,
    Profile,
    course_of,
    gradient_profiles,
    learning_curves,
    profile,
)
from ostinato.report.figures import figure
from ostinato.runs import Config, Run
from ostinato.runs.folder.digest import Digest

read_of = Digest.read


def run_with(folder, events, **settings):
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
    return Run(folder, Config(**settings), None, {}, {"used": {"batch": 10}})


EVENTS = [
    {"kind": "start", "step": 0},
    {"kind": "train", "step": 2, "loss": 1.0, "took": 3.0},
    {"kind": "valid", "step": 2, "value": 5.0},
    {"kind": "train", "step": 3, "loss": 1.0, "took": 0.5, "gradients": 7.5},
    {"kind": "train", "step": 4, "loss": 1.0, "took": 0.25, "gradients": 2.5},
    {"kind": "valid", "step": 4, "value": None},
]


def test_what_a_run_had_spent(tmp_path):
    found = course_of(run_with(tmp_path / "run", EVENTS))
    assert found == Course([2, 4], [5.0, None], [20.0, 120.0], [3.0, 3.75])


def test_lines_are_means_as_far_as_all_seeds_trained():
    one = Course([1, 2, 3], [4.0, 2.0, 1.0], [10, 20, 30], [1.0, 2.0, 3.0])
    two = Course([1, 2], [6.0, 4.0], [10, 20], [2.0, 4.0])
    by_step, _, by_time = learning_curves({"lstm": [one, two], "gru": [one]}, "bits")
    mean, alone = by_step.series
    assert (mean.x, mean.y, mean.low, mean.high) == ([1, 2], [5, 3], [4, 2], [6, 4])
    assert (alone.x, alone.y, alone.low) == ([1, 2, 3], [4, 2, 1], None)
    assert by_time.series[0].x == [1.5, 3.0]
    band, line, *_ = figure(by_step)["data"]
    assert band["y"] == [6, 4, 2, 4] and band["fill"] == "toself" and line["y"] == [5, 3]


def test_profiles_are_relative_to_their_peak_and_as_long_as_the_shortest():
    (chart,) = gradient_profiles(
        {"lstm": [Profile([0, 1, 2], [4.0, 2.0, 1.0]), Profile([0, 1], [1.0, 1.0])], "dead": []}
    )
    (line,) = chart.series
    assert (list(line.x), line.y, line.high) == ([0, 1], [1.0, 0.75], [1.0, 1.0])
    assert gradient_profiles({"none": []}) == []


def test_the_last_look_through_the_lens(tmp_path):
    look = {"kind": "lens", "step": 4, "lags": [0, 1], "memory": {}}
    look["gradient"] = {".cell.R[0]": [3.0, 0.0], ".cell.R[1]": [4.0, 2.0]}
    run = run_with(tmp_path / "run", [*EVENTS, look])
    assert profile(Digest(run.path).read()) == Profile([0, 1], [5.0, 2.0])
    assert profile(Digest(run_with(tmp_path / "other", EVENTS).path).read()) is None


def test_what_a_resume_takes_back_is_not_counted(tmp_path):
    """The run was killed at step 7, and went on at step 6, after its last validation at 4."""

    def trained(step, took):
        return {"kind": "train", "step": step, "loss": 1.0, "took": took}

    events = [*EVENTS, trained(6, 1.0), trained(7, 9.0), {"kind": "resume", "step": 6}]
    events += [trained(8, 2.0), {"kind": "valid", "step": 8, "value": 1.0}]
    found = course_of(run_with(tmp_path / "run", events))
    assert found == Course([2, 4, 8], [5.0, None, 1.0], [20.0, 120.0, 160.0], [3.0, 3.75, 6.75])


def test_a_comparison_reads_each_log_once(tmp_path, monkeypatch):
    runs = [run_with(tmp_path / name, EVENTS) for name in "ab"]
    read = []
    monkeypatch.setattr(
        comparison.Digest, "read", lambda self: read.append(self.path) or read_of(self)
    )
    logs = comparison.read_logs(runs)
    comparison.results_table(runs, logs)
    comparison.sections_of(runs, logs)
    assert read == [run.path for run in runs]


def test_settings_that_differ(tmp_path):
    one = run_with(tmp_path / "a" / "1", [], cell="lstm", units=4)
    two = run_with(tmp_path / "b" / "1", [], cell="lstm", units=5, rate=0.5)
    table = settings_table([one, two])
    assert table.columns == ["setting", "a/1", "b/1"]
    assert sorted(table.rows) == [["rate", "–", "0.5"], ["units", "4", "5"]]
    assert names_of([one, one, two])[:2] == ["a/1 (1)", "a/1 (2)"]
    assert settings_table([one, one]).rows == []
