"""The configuration refuses what is wrong in one line, and survives JSON."""

import json

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato import unroll
from ostinato.errors import BadInput
from ostinato.runs import Config
from ostinato.runs.build import build_learner, build_network, build_task
from ostinato.tasks import TASKS
from ostinato.weights import count_parameters


def test_json_round_trip():
    config = Config(file="a.txt", units=3, rate=0.5, carry=False)
    assert Config.from_json(json.loads(str(config))) == config


UNITS = "units must be a whole number, or one per layer like [150, 130]; got"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"units": 0}, "units must be at least 1, got 0"),
        ({"units": 2.5}, f"{UNITS} 2.5"),
        ({"dropout": 1.0}, "dropout must be below 1, got 1.0"),
        ({"level": "words"}, "level must be one of characters, bytes; got words"),
        ({"split": "90/20/5"}, "the parts of split must add up to 100, got 90/20/5"),
        ({"split": "half"}, "split must read like 90/5/5, got half"),
        *(
            (
                {"clip": x},
                f"clip must be a positive number, 'auto', '0.5x' to '10x' or 'off', got {x}",
            )
            for x in ("-1", "0.4x", "11x", "x", "wide")
        ),
        ({"rate": float("nan")}, "rate must be a number that float32 holds, got nan"),
        ({"carry": 1}, "carry must be of type bool, got 1"),
        ({"units": False}, f"{UNITS} False"),
        ({"rate": float("inf")}, "rate must be a number that float32 holds, got inf"),
        (
            {"weight_noise": float("inf")},
            "weight_noise must be a number that float32 holds, got inf",
        ),
        ({"rate": 1e39}, "rate must be a number that float32 holds, got 1e+39"),
        ({"rate": 10**400}, "rate must be a number that float32 holds, got a number of 401 digits"),
        (
            {"clip": "inf"},
            "clip must be a positive number, 'auto', '0.5x' to '10x' or 'off', got inf",
        ),
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
            {"units": "4,x"},
            f"{UNITS} '4,x'",
        ),
        ({"units": ()}, f"{UNITS} ()"),
        ({"units": (4, 0)}, "units must be at least 1, got 0"),
        ({"units": (4, 2.5)}, f"{UNITS} (4, 2.5)"),
        ({"cell": 3}, "cell must be of type str, got 3"),
        (
            {"task": "adding", "file": "a.txt"},
            "file is a setting of the tasks text, series, arrays, audio, translate, dialogue, tag, "
            "classify, caption, video, video-caption, recall; the task is adding",
        ),
        (
            {"cell": "lstm", "reset": "after"},
            "reset is a setting of the cell gru; the cell is lstm",
        ),
        (
            {"cell": "gru", "forget": 2.0},
            "forget is a setting of the cells lstm, peephole, krause, mlstm; the cell is gru",
        ),
        (
            {"learner": "hf", "rate": 0.1},
            "rate is a setting of the learners sgd, heavy-ball, nesterov, adagrad, adadelta, "
            "rmsprop, adam, adamw, es, perceptron; the learner is hf",
        ),
        ({"unit": 3}, "the configuration has 'unit', which is not a setting (did you mean units?)"),
        (
            {"cell": "lstm", "recurrent": "sparce"},
            "recurrent: there is no initialiser 'sparce'; there are normal, uniform, glorot, "
            "fan-in, orthogonal, sparse, incoming, spectral-radius",
        ),
        (
            {"cell": "lstm", "input": "normal:-1"},
            "input: the deviation of an initialiser is a number from 0 on, got normal:-1",
        ),
        (
            {"cell": "simple", "f": "sin"},
            "f must be one of tanh, sigmoid, relu, identity, step; got sin",
        ),
    ],
)
def test_wrong_settings(settings, words):
    with pytest.raises(BadInput) as error:
        Config(**settings)
    assert str(error.value) == words


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"cell": "ltsm"}, "there is no cell 'ltsm'; did you mean lstm?"),
        ({"task": "chess"}, "there is no task 'chess'; there are text, xor"),
        ({"learner": "adm"}, "there is no learner 'adm'; did you mean adam?"),
    ],
)
def test_a_name_that_nothing_has(settings, words):
    with pytest.raises(BadInput) as error:
        Config(**settings)
    assert str(error.value).startswith(words)


def test_the_file_has_its_whole_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.txt").symlink_to("book.txt")
    assert Config(file="book.txt") == Config(file=str(tmp_path.resolve() / "book.txt"))
    assert Config(file="link.txt").file == Config(file="./book.txt").file
    (tmp_path / "loop").symlink_to("loop")
    assert Config(file="loop").file.endswith("loop")


def test_an_unknown_setting_is_named():
    with pytest.raises(BadInput, match="'unit', which is not a setting"):
        Config.from_json({"network": {"unit": 3}})


@pytest.mark.parametrize(("cell", "layers"), [("mlstm", 1), ("gru", 2), ("simple", 1)])
def test_the_budget_is_met_as_nearly_as_can_be(cell, layers):
    task = build_task(Config(task="adding"))

    def size(**chosen):
        config = Config(task="adding", cell=cell, layers=layers, **chosen)
        return count_parameters(eqx.filter_eval_shape(lambda: build_network(config, task)))

    budget = 300
    best = min(abs(size(units=units) - budget) for units in range(1, 20))
    assert abs(size(budget=budget) - budget) == best


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"task": "adding", "budget": 3}, "more than the budget of 3"),
        (
            {"task": "adding", "cell": "simple", "units": 4, "recurrent": "incoming:200"},
            "cell simple cannot be built: .* at least 200 rows",
        ),
    ],
)
def test_what_cannot_be_built(settings, words):
    config = Config(**settings)
    with pytest.raises(BadInput, match=words):
        build_network(config, build_task(config))


def test_the_recipe_of_a_task_is_used_where_no_cell_is_named():
    recipe = TASKS["ntm-ngrams"].recipe
    config = Config(task="ntm-ngrams")
    assert {name: config.flat()[name] for name in recipe} == recipe
    assert Config(**config.flat()) == Config.from_json(config.as_json()) == config
    assert Config(**config.non_default()) == config
    assert Config(task="ntm-ngrams", steps=7, turing="8x4").flat() == {
        **config.flat(),
        "steps": 7,
        "turing": "8x4",
    }
    assert Config(task="ntm-ngrams", cell="lstm").non_default() == {
        "task": "ntm-ngrams",
        "cell": "lstm",
    }


def test_what_a_recipe_says_to_others_is_left_out():
    other = Config(task="ntm-copy", learner="sgd")
    assert (other.turing, other.steps, other.rate) == ("128x20", 30_000, None)
    assert (exact := Config(task="ntm-copy", learner="hf")).turing == "128x20"
    assert exact.batch_size == 1000
    assert Config(task="ntm-sort").curriculum == 10
    assert Config(task="ntm-sort", max_items=3, kept=2).curriculum is None
    assert (small := Config(task="ntm-copy", budget=5000)).units is None and small.rate == 2e-3
    assert Config(task="adding").flat() == Config(task="adding", cell="mlstm").flat()


def test_every_recipe_of_a_task_is_a_configuration():
    """With the task's own settings changed too, and from a file."""
    having = [name for name, kind in TASKS.items() if kind.recipe]
    assert having == ["audio", *(name for name in TASKS if name.startswith("ntm-"))]
    for name in having:
        config = Config(task=name)
        assert config.cell.name == "lstm" and config.learner.name == "adam"
        assert config.curriculum is None or config.curriculum <= build_task(config).length


def test_a_configuration_has_sections():
    for flat, words in (
        ({"task": "adding", "units": 3}, "task must be a section with settings, got 'adding'"),
        ({"units": 3}, "'units' is not a section; there are task, cell, network"),
    ):
        with pytest.raises(BadInput, match=words):
            Config.from_json(flat)


@pytest.mark.parametrize(
    ("settings", "deviations"),
    [
        ({}, [1.0]),
        ({"layers": 2}, [1.0, 100**-0.5]),  # the upper one reads 100 units
        ({"layers": 2, "skip": True}, [1.0, None]),
        ({"layers": 2, "feedback": True}, [None, 200**-0.5]),
        ({"embedding": 25}, [0.2]),
        ({"input": "normal:0.3", "layers": 2}, [0.3, 0.3]),
        ({"input_scale": 0.3}, [0.3]),
        ({"bidirectional": True, "task": "temporal-order", "units": 100}, [1.0]),
    ],
)
def test_input_weights_start_by_what_a_layer_reads(settings, deviations):
    config = Config(**{"task": "text", "cell": "lstm", "units": 100, **settings})
    network = build_network(config, build_task(config))
    cells = getattr(network.cell, "layers", [network.cell])
    for cell, deviation in zip(cells, deviations, strict=True):
        W = np.asarray(getattr(cell, "forward", cell).W)
        if deviation is None:  # symbols and units side by side
            symbols = build_task(config).inputs
            assert W[:symbols].std() == pytest.approx(1.0, rel=0.03)
            assert W[symbols:].std() == pytest.approx(0.1, rel=0.03)
        else:
            assert W.std() == pytest.approx(deviation, rel=0.05)


def test_the_rate_of_a_run_goes_by_its_widest_layer():
    config = Config(task="adding", units=(8, 1024), cell="gru")
    learner = build_learner(config, build_task(config))
    assert learner.chosen_values()["rate"] == pytest.approx(0.002)
    assert (
        build_learner(config.replace(rate=0.01), build_task(config)).chosen_values()["rate"] == 0.01
    )


@pytest.mark.parametrize("layers", [1, 2])
def test_a_jordan_network_feeds_its_output_back(layers):
    """`s_t = α s_{t-1} + y_{t-1}`, `h_t = tanh(W x_t + R s_t + b)`, `y_t = V h_t` in each layer."""
    config = Config(task="adding", cell="jordan", units=4, layers=layers)
    task = build_task(config)
    network = build_network(config, task)
    assert network.readout is None and network.outputs == task.outputs == 1
    xs = np.random.default_rng(0).normal(size=(6, 2))
    found, _ = unroll(network, jnp.asarray(xs))
    seen = xs
    for cell in network.cell.layers if layers > 1 else [network.cell]:
        s = y = np.zeros(len(cell.R))
        ys = []
        for x in seen:
            s = 0.5 * s + y
            y = np.tanh(x @ cell.W + s @ cell.R + cell.b) @ cell.V
            ys.append(y)
        seen = np.stack(ys)
    assert len(network.cell.layers[-1].R if layers > 1 else network.cell.R) == 1
    np.testing.assert_allclose(found, seen, rtol=1e-10)
