"""A log that is damaged is read as far as it goes."""

import math

import pytest

from ostinato.runs.events import FIELDS, readable
from ostinato.runs.trouble import logged_steps

TRAIN = {"kind": "train", "step": 3, "loss": 4.2, "norm": 0.1, "rate": 0.01, "clipped": 0.0}
LENS = {
    "kind": "lens",
    "step": 5,
    "lags": [0, 1, 3],
    "gradient": {".cell.R": [1.0, 0.1, None]},
    "memory": {".cell.R": 1},
}
LISTS = {name: [1.0, None] for name in ("loss", "norm", "rate", "clipped", "moved")}
TROUBLE = {"kind": "trouble", "step": 6, "words": "the loss became nan", **LISTS}
WHOLE = [
    {
        "kind": "start",
        "step": 0,
        "steps": 10,
        "parameters": 7,
        "baselines": {"chance": 4.5, "order 5": 2.0},
    },
    TRAIN,
    {"kind": "valid", "step": 4, "value": None, "preview": "abc"},
    LENS,
    TROUBLE,
    {"kind": "end", "step": 6, "reason": "done", "seconds": 1.5},
]
JUNK = [None, "3", True, math.nan, math.inf, 10**400, -1, [], {}, [1, "2"], {"a": [1]}]


def test_a_whole_log_is_kept_as_it_is():
    assert readable(WHOLE) == WHOLE


def test_an_older_log_is_read_by_the_names_of_today():
    """Baselines were fields of their own, a preview was a sample, and the scale went by name."""
    numbers = {"chance": 4.5, "bigram": 3.0, "order 5": 2.0}
    start = {"kind": "start", "step": 0, "metric": "mean squared error"}
    sample = {"kind": "valid", "step": 4, "value": 2.0}
    found = readable([{**start, **numbers}, {**sample, "sample": "abc"}])
    assert found == [
        {**start, "baselines": numbers, "loss_factor": 2.0}, {**sample, "preview": "abc"}
    ]  # fmt: skip


@pytest.mark.parametrize("line", [None, 3, "train", [], {}, {"kind": "train"}, {"step": 3}])
def test_what_is_no_event_is_left_out(line):
    assert readable([line, TRAIN]) == [TRAIN]


@pytest.mark.parametrize("step", ["3", None, -1, True, 2.5, 2**60, 10**400])
def test_a_step_is_a_count(step):
    assert readable([{**TRAIN, "step": step}]) == []


def test_a_field_that_is_not_sound_is_left_out():
    (found,) = readable([{**TRAIN, "norm": "much", "rate": None, "clipped": True, "new": 1}])
    assert found == {"kind": "train", "step": 3, "loss": 4.2}
    for wrong in ("4.2", math.nan, 10**400, [4.2]):
        assert readable([{**TRAIN, "loss": wrong}]) == []
    (found,) = readable([{**TRAIN, "loss": None}])
    assert found["loss"] is None, "a loss that was not finite is None, and is kept"


def test_looks_fit_their_lags():
    profiles = {".cell.R": [1.0, 0.5], ".cell.U": [1.0, 0.5, 0.1]}
    (found,) = readable([{**LENS, "gradient": profiles}])
    assert found["gradient"] == {".cell.U": [1.0, 0.5, 0.1]}
    for lags in ([3, 1, 0], [], [0, 0, 1], [0, 1.5, 2], None):
        assert readable([{**LENS, "lags": lags}]) == []
    assert readable([{**LENS, "gradient": {"$x$\n": [1.0, 0.5, 0.1]}}]) == []


def test_trouble_with_lists_of_unequal_length_has_words_only():
    (found,) = readable([{**TROUBLE, "norm": [1.0]}])
    assert found == {"kind": "trouble", "step": 6, "words": "the loss became nan"}
    assert logged_steps([found]) == []
    assert [entry["step"] for entry in logged_steps(readable(WHOLE))] == [3, 6, 7]


def test_every_field_with_everything():
    """Whatever a field holds, what comes back has only what its check allows."""
    for event in WHOLE:
        for name in event:
            for value in JUNK:
                for found in readable([{**event, name: value}]):
                    checks = FIELDS[found["kind"]]
                    fields = found.keys() - {"kind", "step"}
                    assert all(checks[field](found[field]) for field in fields)
