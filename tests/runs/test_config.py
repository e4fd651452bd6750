"""The configuration refuses what is wrong in one line, and survives JSON."""

import json

import equinox as eqx
import pytest

from ostinato.errors import BadInput
from ostinato.runs import Config
from ostinato.runs.build import build_network, build_task
from ostinato.weights import count_parameters


def test_json_round_trip():
    config = Config(file="a.txt", units=3, rate=0.5, carry=False)
    assert Config.from_json(json.loads(str(config))) == config


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"units": 0}, "units must be at least 1, got 0"),
        ({"units": 2.5}, "units must be of type int, got 2.5"),
        ({"dropout": 1.0}, "dropout must be below 1, got 1.0"),
        ({"level": "words"}, "level must be one of characters, bytes; got words"),
        ({"split": "90/20/5"}, "the parts of split must add up to 100, got 90/20/5"),
        ({"split": "half"}, "split must read like 90/5/5, got half"),
        ({"clip": "-1"}, "clip must be a positive number, 'auto' or 'off', got -1"),
        ({"rate": float("nan")}, "rate must be a finite number, got nan"),
        ({"carry": 1}, "carry must be of type bool, got 1"),
    ],
)
def test_wrong_settings(settings, words):
    with pytest.raises(BadInput) as error:
        Config(**settings)
    assert str(error.value) == words


def test_an_unknown_setting_is_named():
    with pytest.raises(BadInput, match="'unit', which is not a setting"):
        Config.from_json({"unit": 3})


@pytest.mark.parametrize("cell", ["mlstm", "gru", "simple"])
@pytest.mark.parametrize("layers", [1, 2])
def test_the_budget_is_met_as_nearly_as_can_be(cell, layers):
    task = build_task(Config(task="adding"))

    def size(**chosen):
        config = Config(task="adding", cell=cell, layers=layers, **chosen)
        return count_parameters(eqx.filter_eval_shape(lambda: build_network(config, task)))

    budget = 1000
    best = min(abs(size(units=units) - budget) for units in range(1, 40))
    assert abs(size(budget=budget) - budget) == best


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"task": "adding", "budget": 3}, "more than the budget of 3"),
        ({"task": "adding", "budget": 900, "units": 3}, "either units or budget"),
        ({"task": "adding", "cell": "ltsm"}, "no cell 'ltsm'; there are simple, jordan, lstm"),
        ({"task": "adding", "embedding": 3}, "reads vectors"),
        ({"task": "chess"}, "no task 'chess'; there are text, adding"),
        ({"task": "adding", "file": "a.txt"}, "makes its own data; leave out a.txt"),
    ],
)
def test_what_cannot_be_built(settings, words):
    config = Config(**settings)
    with pytest.raises(BadInput, match=words):
        build_network(config, build_task(config))
