"""Validations without a number: NaN and infinity are never the best, and never end a run early."""

import json
import math

import numpy as np
import pytest

from ostinato.cli.failures import explained
from ostinato.runs import Config, open_run, train
from ostinato.runs.folder.events import Valid, ending, of_form
from ostinato.runs.loop.divergence import Diverged
from ostinato.tasks import Adding

CONFIG = Config(
    task="adding", length=5, units=3, batch=4, steps=4, validate_every=1, learner="sgd", rate=0.01
)


class Scripted(Adding):
    """The adding problem whose targets are off by this much in each validation."""

    def __init__(self, *offsets):
        super().__init__(length=5)
        self.offsets = iter(offsets)

    def baselines(self):
        return {}

    def held_out(self, part, size=32):
        offset = next(self.offsets, 0)
        for batch in super().held_out(part, size):
            yield batch._replace(targets=batch.targets + np.float32(offset))


def values(run):
    return [event["value"] for event in of_form(run.events(), Valid)]


@pytest.mark.parametrize("missing", [math.nan, math.inf])
def test_a_validation_without_a_number_is_never_the_best(tmp_path, missing):
    run = train(CONFIG, tmp_path / "run", task=Scripted(missing, 9, 0, missing))
    end, (none, high, low, last) = ending(run.events()), values(run)
    assert none is last is None and low < high
    assert (end["best"], end["best_step"], end["reason"]) == (low, 3, "done")
    assert run.saved("best", like=run.network("last")).step == 3


def test_patience_waits_for_a_number(tmp_path):
    config = CONFIG.replace(patience=1)
    run = train(config, tmp_path / "run", task=Scripted(math.nan, math.nan, 9, 0))
    assert ending(run.events())["reason"] == "done" and values(run)[:2] == [None, None]
    run = train(config, tmp_path / "other", task=Scripted(0, math.nan, 9, 0))
    assert ending(run.events())["step"] == 3 and ending(run.events())["reason"] == "no gain"


def test_a_plateau_is_none_where_there_is_no_number(tmp_path):
    config = CONFIG.replace(schedule="plateau", steps=8)
    rates = {}
    for name, offsets in {"numbers": [0], "none": [0, *[math.nan] * 7]}.items():
        run = train(config, tmp_path / name, task=Scripted(*offsets))
        rates[name] = [e["rate"] for e in run.events() if e["kind"] == "train"]
    assert min(rates["none"]) == rates["none"][0]


def test_a_run_without_any_number_says_so_and_keeps_its_last_checkpoint(tmp_path):
    task = Scripted(*[math.nan] * 4)
    with pytest.raises(Diverged) as error:
        train(CONFIG, tmp_path / "run", task=task)
    words, code = explained(error.value)
    for part in ("none of the 4 validations", "mean squared error", "Last good checkpoint: step 4"):
        assert part in words
    assert code == 3 and "\n" not in words
    event = json.loads((tmp_path / "run" / "events.jsonl").read_text().splitlines()[-1])
    assert event["kind"] == "diverged" and event["step"] == 4 and event["words"] == words
    with pytest.raises(Diverged, match="none of the 4 validations"):  # nothing is left to do
        train(CONFIG, tmp_path / "run", task=task, resume=True)
    run = train(CONFIG.replace(steps=5), tmp_path / "run", task=task, resume=True)
    assert ending(run.events())["best_step"] == 5 and open_run(run.path).steps()[-1] == 5
