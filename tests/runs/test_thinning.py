"""Thinned logs keep every extreme, digests say what the log says, and memory is bounded."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from ostinato.runs.folder.digest import NUMBERS, Digest, pieces
from ostinato.runs.folder.events import Train, Valid, of_form
from ostinato.runs.folder.log import read_events
from ostinato.runs.folder.thinning import Sparse, Thinned, extremes
from ostinato.studio.views import course_of
from studio.pages import START, a_log, train_event, write_run

numbers = some.one_of(some.floats(-5, 5), some.just(float("nan")))


@given(some.lists(some.tuples(numbers, numbers), min_size=1, max_size=200), some.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_every_extreme_of_every_bucket_is_kept(rows, parts):
    values = np.array(rows)
    thinned = Thinned(2, buckets=4)
    for part in np.array_split(np.arange(len(rows)), parts):
        thinned.add(part.astype(float), values[part])
    steps, kept = thinned.rows()
    assert np.all(np.diff(steps) > 0) and steps[-1] == len(rows) - 1
    assert thinned.count == len(rows) and len(steps) <= 8 * 6 + 1
    np.testing.assert_array_equal(kept, values[steps.astype(int)])  # all of them were logged
    for begin in range(0, len(rows), thinned.size):
        own = values[begin : begin + thinned.size]
        there = kept[(steps >= begin) & (steps < begin + thinned.size)]
        for column in range(2):
            if np.isfinite(own[:, column]).any():
                for reduce in (np.nanmin, np.nanmax):
                    assert reduce(own[:, column]) == reduce(there[:, column])
            if np.isnan(own[:, column]).any() and np.isfinite(values[:, column]).any():
                assert np.isnan(there[:, column]).any()  # a gap stays a gap


def test_extremes_of_ties_are_one_row_each():
    chosen = extremes(np.array([0, 0, 0, 1, 1]), np.zeros((5, 1)), np.arange(5))
    assert chosen.tolist() == [True, False, False, True, True]
    lost = extremes(np.array([0, 0, 1, 1]), np.full((4, 1), np.nan), np.arange(4))
    assert lost.tolist() == [True, False, True, True]


def test_a_spike_among_many_events_is_seen_and_zooming_shows_them_all(tmp_path):
    many = 30_000
    events = (train_event(n, 1000.0 if n == 12_345 else 1.0 + n / many) for n in range(1, many + 1))
    run = write_run(tmp_path / "run", [START, *events])
    digest = Digest(run).read()
    assert not digest.whole and len(digest.train.steps) < 8 * 1024
    assert 12_345 in digest.train.steps and digest.train.values[:, 0].max() == 1000.0
    near = digest.zoomed(12_300, 12_400)
    assert near.whole and near.train.steps.tolist() == [*range(12_300, 12_401)]
    assert course_of(near).of_form(Train)[45]["loss"] == 1000.0


def test_a_sample_spans_the_log(tmp_path):
    events = [train_event(n, 1.0) for n in range(1, 20_001)]
    run = write_run(tmp_path / "run", [START, *events])
    sample = Digest.sampled(run)
    assert sample.train.steps[0] == 1 and sample.train.steps[-1] == 20_000
    assert np.diff(sample.train.steps).max() < 200 and sample.start["parameters"] == 1234
    assert sample.offset == (run / "events.jsonl").stat().st_size


def resumed(steps, again):
    """A log that was interrupted after `steps` and resumed at `again` steps."""
    first = [train_event(n, 2.0) for n in range(1, steps + 1)]
    resume = {**START, "kind": "resume", "step": again}
    second = [train_event(n, 1.0) for n in range(again + 1, steps + 11)]
    return [START, *first, {"kind": "valid", "step": steps, "value": 0.5}, resume, *second]


@pytest.mark.parametrize("steps", [40, 5000])
@pytest.mark.parametrize("live", [False, True])
def test_what_a_resume_supersedes_is_gone(tmp_path, steps, live):
    events = resumed(steps, steps // 2)
    run = write_run(tmp_path / "run", [] if live else events)
    digest = Digest(run).read()
    if live:
        with open(run / "events.jsonl", "a") as log:
            for event in events:
                log.write(json.dumps(event) + "\n")
                if event["step"] in (1, steps // 2, steps) or event["kind"] != "train":
                    log.flush()
                    digest = digest.read()
        digest = digest.read()
    kept, losses = digest.train.steps, digest.train.values[:, 0]
    assert set(losses[kept <= steps // 2]) == {2.0} and set(losses[kept > steps // 2]) == {1.0}
    assert digest.best is None and not digest.valid.count == 2
    if digest.whole:
        own = of_form(read_events(run), Train)
        assert [event["step"] for event in own] == kept.tolist()


def test_a_digest_says_the_same_as_the_log(tmp_path):
    run = write_run(tmp_path / "run", a_log(40))
    digest = Digest(run).read()
    course = course_of(digest)
    own = read_events(run)
    for form, key in ((Train, "loss"), (Valid, "value")):
        theirs = [(event["step"], event[key]) for event in of_form(own, form)]
        assert theirs == [(event["step"], event[key]) for event in course.of_form(form)]
    assert digest.best == {"step": 40, "value": 0.125} and digest.whole
    assert [event["preview"] for event in digest.samples.events()][-1] == "text at 40"
    assert course.start["parameters"] == 1234
    assert digest.offset == (run / "events.jsonl").stat().st_size


def test_damaged_lines_and_odd_values_are_skipped():
    good = json.dumps(train_event(3)).encode()
    odd = [b"", b"no json", b"[1]", b'{"kind": 3}', b'{"kind": "train", "step": -1, "loss": 1.0}']
    odd += [b'{"kind": "train", "step": 2}', b'{"kind": "train", "step": 2, "loss": true}']
    odd += [b'{"kind": "train", "step": 2, "loss": "much"}', b"[" * 5000, b"\xff\xfe"]
    for lines in ([*odd, good], [good, *odd]):
        found = list(pieces(b"\n".join(lines) + b"\n"))
        assert [int(step) for piece in found for step in piece.steps] == [3]
    lost = b'{"kind": "train", "step": 4, "loss": null, "norm": 1.0}\n'
    (piece,) = pieces(lost)
    assert piece.steps.tolist() == [4] and np.isnan(piece.values[0, NUMBERS.index("loss")])


def test_sparse_events_include_the_last():
    kept = Sparse(most=8)
    for step in range(100):
        kept.add({"step": step})
    steps = [event["step"] for event in kept.events()]
    assert steps[0] == 0 and steps[-1] == 99 and len(steps) <= 10
    assert len(set(np.diff(steps[:-1]))) == 1
