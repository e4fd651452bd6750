"""Tuning, with runs that only pretend to train: what is asked, what is kept, what is chosen."""

import json
import math
import sys

import numpy as np
import pytest

from everyday import some
from ostinato.contrast import Spec
from ostinato.contrast.entries import entries_of
from ostinato.contrast.training import is_over, train_here
from ostinato.contrast.tuning import rounds_of, trial_folder, tune
from ostinato.errors import BadInput
from ostinato.progress import silent
from ostinato.runs.loop.signals import Interrupted

GIVEN = {"cells": ["lstm", "gru"], "tasks": ["adding"], "settings": {"length": 10}, "budget": 900}


@pytest.fixture(scope="module")
def entries():
    return entries_of(Spec.from_dict(GIVEN))


class Pretending:
    """Writes the files of a run whose validation depends on the rate, best at 0.01.

    `most` runs are trained before a signal stops it.
    """

    def __init__(self, most=None, higher=False, diverges=lambda rate: False):
        self.trained, self.most = [], most
        self.higher, self.diverges = higher, diverges

    def __call__(self, jobs):
        for job in jobs:
            for config, folder in zip(job.configs, job.folders, strict=True):
                if is_over(folder):
                    continue
                if self.most is not None and len(self.trained) >= self.most:
                    raise Interrupted(2)
                folder.mkdir(parents=True)
                (folder / "config.json").write_text(str(config))
                value = (-1 if self.higher else 1) * (1 + abs(math.log10(config.rate / 0.01)))
                end = {"kind": "end", "reason": "done"}
                if self.diverges(config.rate):
                    end = {"kind": "diverged", "words": "oh"}
                events = [
                    {"kind": "start", "step": 0, "higher_is_better": self.higher},
                    {"kind": "valid", "step": 1, "value": value},
                    {"step": 2, **end},
                ]
                lines = "\n".join(map(json.dumps, events))
                (folder / "events.jsonl").write_text(lines + "\n")
                self.trained.append(folder)


def tuned(entries, folder, train, trials=4):
    folder.mkdir(exist_ok=True)
    return tune(entries, trials, folder, train)


def test_the_best_trial_is_chosen_and_the_first_is_the_usual_one(entries, tmp_path):
    train = Pretending()
    found = tuned(entries, tmp_path, train)
    assert len(train.trained) == len(set(train.trained)) == 8
    for entry in entries:
        settings, value, trials = found[entry.name]
        assert len(trials) == 4 and trials[0][0] == entry.usual == {"rate": 0.004}
        assert (settings, value) == min(trials, key=lambda pair: pair[1])
        rates = [one["rate"] for one, _ in trials]
        assert len(set(rates)) == 4 and all(0.0004 <= rate <= 0.04 for rate in rates)
    assert found["lstm"].trials[1:] != found["gru"].trials[1:]


def test_tuning_does_not_see_the_test_part(tmp_path):
    """Other rows there change no bit of what is tried, of its validation or of what is chosen."""
    rows = np.random.default_rng(0).normal(size=(200, 1)).cumsum(axis=0)
    np.save(tmp_path / "x.npy", rows)
    settings = {"file": str(tmp_path / "x.npy"), "horizon": 2, "length": 10, "split": "60/20/20"}
    settings |= {"batch": 2, "validate_every": 2, "steps": 4}
    given = {"cells": ["simple"], "tasks": ["series"], "budget": 50, "settings": settings}
    entries = entries_of(Spec.from_dict(given))

    def train(jobs):
        train_here(jobs, lambda folder, event: None, silent)

    one = tuned(entries, tmp_path / "one", train, trials=2)
    rows[160:] = 50 - 3 * rows[160:]
    np.save(tmp_path / "x.npy", rows)
    two = tuned(entries, tmp_path / "two", train, trials=2)
    assert one == two and len({value for _, value in one["simple"].trials}) == 2


@pytest.mark.parametrize("most", some([1, 6], [6]))
def test_interrupted_anywhere_it_resumes_to_the_same(entries, tmp_path, most):
    whole = tuned(entries, tmp_path / "whole", Pretending())
    first, second = Pretending(most), Pretending()
    with pytest.raises(Interrupted):
        tuned(entries, tmp_path / "broken", first)
    assert tuned(entries, tmp_path / "broken", second) == whole
    assert not set(first.trained) & set(second.trained)
    assert len(first.trained) == most and len(second.trained) == 8 - most


def test_a_round_divides_a_narrower_range_around_the_best(tmp_path, monkeypatch):
    """Three rounds of 5, of which the first has the usual value: 4, 5 and 5 equal parts."""
    monkeypatch.setitem(sys.modules, "optuna", None)  # a plain installation has no sampler
    given = {**GIVEN, "cells": ["lstm"], "tune": {"rate": [1e-4, 1.0]}}
    (found,) = tuned(entries_of(Spec.from_dict(given)), tmp_path, Pretending(), 15).values()
    rates = np.log10([settings["rate"] for settings, _ in found.trials])
    values = [value for _, value in found.trials]
    for number, width in enumerate((4, 2, 1)):
        here = rates[5 * number : 5 * number + 5][number == 0 :]
        if number:
            best = rates[np.argmin(values[: 5 * number])]
            start = np.clip(best - width / 2, -4, -width)
        else:
            start = -4
        parts = np.floor((here - start) / width * len(here))
        assert sorted(parts) == [*range(len(here))], (number, here)
    assert abs(np.log10(found.settings["rate"] / 0.01)) < 0.2


def test_a_search_of_an_earlier_version_is_not_continued(entries, tmp_path):
    (tmp_path / "tuning.db").write_bytes(b"")
    with pytest.raises(BadInput, match="was tuned in another way, by an earlier version"):
        tuned(entries, tmp_path, Pretending())


def test_larger_values_can_be_better(entries, tmp_path):
    for settings, value, trials in tuned(entries, tmp_path, Pretending(higher=True)).values():
        assert value == max(value for _, value in trials) and (settings, value) in trials


def test_a_trial_that_diverged_is_not_chosen(entries, tmp_path):
    found = tuned(entries, tmp_path, Pretending(diverges=lambda rate: rate > 0.003))
    for settings, _, trials in found.values():
        assert trials[0][1] is None
        assert settings["rate"] <= 0.003 or all(value is None for _, value in trials)


def test_without_anything_to_tune_there_is_one_trial(tmp_path):
    given = {**GIVEN, "settings": {"length": 10, "rate": 0.1}}
    entries = entries_of(Spec.from_dict(given))
    train = Pretending()
    found = tuned(entries, tmp_path, train)
    assert train.trained == [trial_folder(tmp_path, entry, 0) for entry in entries]
    assert found["lstm"].settings == {} and found["lstm"].value == pytest.approx(2)


def test_without_trials_the_settings_are_the_usual_ones(entries, tmp_path):
    train = Pretending()
    found = tuned(entries, tmp_path, train, trials=0)
    assert found["gru"] == ({"rate": 0.004}, None, []) and train.trained == []


def test_rounds():
    for trials in range(1, 30):
        assert sum(rounds_of(trials)) == trials and len(rounds_of(trials)) <= 3
