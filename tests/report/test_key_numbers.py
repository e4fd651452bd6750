"""The numbers at the top of a page, and the samples: their units, and what they are made of."""

import numpy as np
import pytest

from ostinato.learning.schedules import epochs
from ostinato.report.run_page import in_words, key_numbers, samples_of, speed, total_seconds
from ostinato.report.subject import RunCourse
from ostinato.runs import Config, Run
from ostinato.runs.build import build_task
from ostinato.runs.folder.events import Goal


def course(*events, **settings) -> RunCourse:
    config = Config(units=4, **settings)
    task = build_task(config)
    run = Run(None, config, None, None, "")  # type: ignore[arg-type]
    return RunCourse(list(events), Goal.of(task), None, run, task)


@pytest.mark.parametrize("settings", [{}, {"carry": False}, {"curriculum": 5}, {"batch": 7}])
def test_epochs_are_what_was_read_of_the_text(settings, tmp_path):
    (tmp_path / "text").write_text("the cat sat on the mat. " * 100)
    found = course(file=str(tmp_path / "text"), length=20, steps=60, **settings)
    batch, read = settings.get("batch", 32), 0
    counts = []
    for step in range(60):
        length = None
        if "curriculum" in settings:
            from ostinato.learning.schedules import length_at

            length = length_at(step, 60, 5, 20)
        one = found.task.batch(step, batch, length)
        read += one.inputs.size
        counts.append(one.first)
    symbols = len(found.task.parts["train"]) - 1
    # What is left over at the end of a pass is not read: less than a window of each stream.
    task, first = found.task, settings.get("curriculum")
    assert epochs(task, batch, 60, 60, first) == pytest.approx(read / symbols, rel=0.35)
    if not settings:
        passes = np.flatnonzero(counts)
        assert epochs(task, batch, int(passes[1]), 60) == pytest.approx(1.0)
        assert epochs(task, batch, int(passes[3]), 60) == pytest.approx(3.0)


def test_time_goes_on_after_a_break():
    events = [
        {"kind": "start", "step": 0},
        {"kind": "train", "step": 5, "loss": 1.0, "seconds": 10.0},
        {"kind": "end", "step": 6, "reason": "interrupted", "seconds": 12.0},
        {"kind": "resume", "step": 6},
        {"kind": "train", "step": 10, "loss": 1.0, "seconds": 3.0},
    ]
    assert total_seconds(course(*events, task="adding")) == 15.0


def test_speed_is_the_median_so_compiling_does_not_count():
    entries = [
        {"kind": "train", "step": k, "loss": 1.0, "took": took, "symbols": 100}
        for k, took in enumerate((50.0, 0.1, 0.2, 0.1, 0.1))
    ]
    assert speed(course(*entries, task="adding")) == pytest.approx(1000)
    assert speed(course({"kind": "train", "step": 1, "loss": 1.0}, task="adding")) is None
    found = key_numbers(course(*entries, task="adding"))
    assert found["speed"] == "1,000 symbols per second" and "epochs" not in found


@pytest.mark.parametrize(
    "seconds, words",
    [
        (7.25, "7.2 s"),
        (59.97, "1 min 0 s"),
        (190, "3 min 10 s"),
        (7400, "2 h 3 min"),
        (360000, "100 h 0 min"),
    ],
)
def test_times_in_words(seconds, words):
    assert in_words(seconds) == words


def test_trouble_counts_the_steps_in_which_it_came():
    lists = {name: [1.0, None, None] for name in ("loss", "norm", "rate", "clipped", "moved")}
    diverged = {"kind": "diverged", "step": 5, "words": "the loss became nan", **lists}
    assert key_numbers(course(diverged, task="adding", steps=9))["steps"] == "7 of 9, diverged"


def test_samples_with_their_steps():
    def valid(step):
        return {"kind": "valid", "step": step, "value": 2.5, "preview": f"text {step}"}

    found = samples_of(course(valid(10), {**valid(20), "value": None}))
    assert found == [("Step 10: 2.5 bits per character", "text 10"), ("Step 20", "text 20")]
    many = samples_of(course(*map(valid, range(100))))
    assert len(many) <= 8 and many[-1].text == "text 99"
    assert samples_of(course({"kind": "valid", "step": 1, "value": 2.0})) == []
