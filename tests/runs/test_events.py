"""An event has a type: what is sound of a line is kept, and goes to JSON and back."""

import json
import math

import pytest

from ostinato.runs.folder import events
from ostinato.runs.folder.events import (
    FIELDS,
    KINDS,
    Train,
    ending,
    event_of,
    logged_steps,
    of_form,
    opening,
)

TRAIN = {"kind": "train", "step": 3, "loss": 4.2, "norm": 0.1, "rate": 0.01, "clipped": 0.0}
LENS = {
    "kind": "lens",
    "step": 5,
    "lags": [0, 1, 3],
    "gradient": {".cell.R": [1.0, 0.1, None]},
    "memory": {".cell.R": 1},
}
LISTS = {name: [1.0, None] for name in ("loss", "norm", "rate", "clipped", "moved")}
DIVERGED = {"kind": "diverged", "step": 6, "words": "the loss became nan", **LISTS}
START = {"kind": "start", "step": 0, "steps": 10, "parameters": 7, "baselines": {"chance": 4.5}}
WHOLE = [
    START,
    {**START, "kind": "resume", "step": 2, "solved": None, "run": "0123"},
    TRAIN,
    {"kind": "valid", "step": 4, "value": None, "preview": "abc"},
    LENS,
    DIVERGED,
    {"kind": "end", "step": 6, "reason": "done", "seconds": 1.5, "best": None, "spent": {"a": 1}},
]
JUNK = [None, "3", True, math.nan, math.inf, 10**400, -1, [], {}, [1, "2"], {"a": [1]}]


def read(event):
    return event_of(json.dumps(event).encode())


@pytest.mark.parametrize("event", WHOLE, ids=lambda event: event["kind"])
def test_every_kind_goes_to_json_and_back(event):
    assert read(event) == event


def test_every_kind_is_tried():
    assert {event["kind"] for event in WHOLE} == KINDS.keys() == FIELDS.keys()
    assert opening(WHOLE) is START and opening([TRAIN]) == {}
    assert of_form([*WHOLE, {"kind": "mine", "step": 1}], Train) == [TRAIN]


def test_kinds_and_fields_of_somebody_else_are_kept():
    for event in ({"kind": "mine", "step": 3, "loss": "much"}, {**TRAIN, "iterations": "many"}):
        assert read(event) == event


@pytest.mark.parametrize("line", [None, 3, "train", [], {}, {"kind": "train"}, {"step": 3}])
def test_what_is_no_event_is_left_out(line):
    assert read(line) is None


@pytest.mark.parametrize("step", ["3", None, -1, True, 2.5, 2**60, 10**400])
def test_a_step_is_a_count(step):
    assert read({**TRAIN, "step": step}) is None
    assert read({"kind": "mine", "step": step}) is None


def test_a_field_that_is_not_sound_is_left_out():
    found = read({**TRAIN, "norm": "much", "rate": None, "clipped": True})
    assert found == {"kind": "train", "step": 3, "loss": 4.2}
    for wrong in ("4.2", math.nan, 10**400, [4.2]):
        assert read({**TRAIN, "loss": wrong}) is None
    assert read({**TRAIN, "loss": None})["loss"] is None, "one that was not finite is kept"


def test_looks_fit_their_lags():
    profiles = {".cell.R": [1.0, 0.5], ".cell.U": [1.0, 0.5, 0.1]}
    assert read({**LENS, "gradient": profiles})["gradient"] == {".cell.U": [1.0, 0.5, 0.1]}
    for lags in ([3, 1, 0], [], [0, 0, 1], [0, 1.5, 2], None):
        assert read({**LENS, "lags": lags}) is None
    assert read({**LENS, "gradient": {"$x$\n": [1.0, 0.5, 0.1]}}) is None


def test_a_divergence_with_lists_of_unequal_length_has_words_only():
    found = read({**DIVERGED, "norm": [1.0]})
    assert found == {"kind": "diverged", "step": 6, "words": "the loss became nan"}
    assert logged_steps([found]) == []
    assert [entry["step"] for entry in logged_steps(WHOLE)] == [3, 6, 7]


def test_every_field_with_everything():
    """Whatever a field holds, what comes back has only what its type allows."""
    for event in WHOLE:
        for name in event:
            for value in JUNK:
                found = read({**event, name: value})
                if found is not None and found["kind"] in FIELDS:
                    checks = FIELDS[found["kind"]]
                    known = ((x, checks[key]) for key, x in found.items() if key in checks)
                    assert all(events._is_sound(*pair) for pair in known)


def test_a_type_and_its_check_agree():
    """Each declared field but the kind, the step and the name of the run has a check."""
    for kind, form in KINDS.items():
        assert form.__annotations__.keys() - FIELDS[kind].keys() <= {"kind", "step", "run"}
        assert form.__required_keys__ <= FIELDS[kind].keys()
    assert events.OPENING == ("start", "resume")


def test_how_a_run_ended():
    end = WHOLE[-1]
    assert ending([START, TRAIN, end, {"kind": "mine", "step": 6}]) is end
    assert ending([START, TRAIN, DIVERGED]) is DIVERGED
    assert ending([START, end, {**START, "kind": "resume"}, TRAIN]) is ending([]) is None


@pytest.mark.parametrize(
    "name", ["F1, macro-averaged", "bits/character (%)", "Fehler, Ö", "a" * 100]
)
def test_a_metric_has_any_name(name):
    event = {"kind": "valid", "step": 4, "value": 1.0, "metrics": {name: 0.5}}
    assert event_of(json.dumps(event))["metrics"] == {name: 0.5}
    for bad in ("", "<b>", "a\nb", "a" * 101):
        assert "metrics" not in event_of(json.dumps({**event, "metrics": {bad: 0.5}}))
