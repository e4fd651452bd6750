"""The configuration refuses what is wrong in one line, and survives JSON."""

import json

import equinox as eqx
import jax
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
        ({"units": False}, "units must be of type int, got False"),
        ({"rate": float("inf")}, "rate must be a finite number, got inf"),
        ({"weight_noise": float("inf")}, "weight_noise must be a finite number, got inf"),
        ({"rate": 10**400}, "rate must be a finite number, got a number of 401 digits"),
        ({"clip": "inf"}, "clip must be a positive number, 'auto' or 'off', got inf"),
        ({"seed": 2**32}, "seed must be at most 4294967295, got 4294967296"),
        ({"seed": 2**63}, "seed must be at most 4294967295, got 9223372036854775808"),
        ({"steps": 2**31}, "steps must be at most 2147483647, got 2147483648"),
        ({"steps": 10**9999}, "steps must be at most 2147483647, got a number of 10000 digits"),
        ({"layers": 10**9}, "layers must be at most 1000, got 1000000000"),
        ({"split": "0/50/50"}, "the first part of split, for training, is 0, got 0/50/50"),
        ({"split": "nan/5/5"}, "the parts of split must be from 0 to 100, got nan/5/5"),
        ({"split": "1e400/0/0"}, "the parts of split must be from 0 to 100, got 1e400/0/0"),
        ({"split": "150/-25/-25"}, "the parts of split must be from 0 to 100, got 150/-25/-25"),
        ({"file": ""}, "file must be the path of a text, got ''"),
        ({"file": "a\0b"}, "file must be the path of a text, got 'a\\x00b'"),
        (
            {"curriculum": 500, "length": 10},
            "curriculum is the length to begin with, so it must be at most the length of 10, "
            "got 500",
        ),
    ],
)
def test_wrong_settings(settings, words):
    with pytest.raises(BadInput) as error:
        Config(**settings)
    assert str(error.value) == words


def test_numbers_are_finite_in_the_precision_of_jax():
    assert Config(rate=1e39).rate == 1e39
    with jax.enable_x64(False), pytest.raises(BadInput, match=r"a finite number, got 1e.39"):
        Config(rate=1e39)


def test_the_file_has_its_whole_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.txt").symlink_to("book.txt")
    assert Config(file="book.txt") == Config(file=str(tmp_path.resolve() / "book.txt"))
    assert Config(file="link.txt").file == Config(file="./book.txt").file
    (tmp_path / "loop").symlink_to("loop")
    assert Config(file="loop").file.endswith("loop")


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
        ({"task": "adding", "curriculum": 500}, "at most the length of 100, got 500"),
        ({"task": "chess"}, "no task 'chess'; there are text, adding"),
        ({"task": "adding", "file": "a.txt"}, "makes its own data; leave out a.txt"),
    ],
)
def test_what_cannot_be_built(settings, words):
    config = Config(**settings)
    with pytest.raises(BadInput, match=words):
        build_network(config, build_task(config))
