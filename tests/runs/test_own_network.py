"""A run whose network was given to `train`: its folder is enough, if the classes are ours."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.cells import GRU, LSTM, Leaky, PeepholeLSTM, Simple
from ostinato.errors import BadInput
from ostinato.export.run_export import export_run
from ostinato.reservoir import Expansion, Reservoir
from ostinato.runs import Config, evaluate, open_run, train
from ostinato.runs.network.blueprint import blueprint, from_blueprint
from ostinato.weights import shapes_only
from ostinato.wiring import (
    Bidirectional,
    Dropout,
    Embedding,
    GatedFeedback,
    LayerNorm,
    Network,
    OneHot,
    Pool,
    Readout,
    Stack,
    WeightNoise,
    Zoneout,
    from_torch,
)

KEY = jax.random.key(0)
TEXT = "the quick brown fox jumps over the lazy dog. " * 20
SYMBOLS = 28
SMALL = {"length": 8, "batch": 2, "steps": 2, "validate_every": 2}


def imported() -> Network:
    """What `from_torch` makes of arrays by torch's names, between an encoding and a readout."""
    rng = np.random.default_rng(0)
    shapes = {
        "weight_ih_l0": (12, SYMBOLS), "weight_hh_l0": (12, 4), "bias_ih_l0": (12,),
        "bias_hh_l0": (12,), "weight_ih_l1": (12, 4), "weight_hh_l1": (12, 4),
        "bias_ih_l1": (12,), "bias_hh_l1": (12,),
    }  # fmt: skip
    weights = {name: rng.normal(size=x) for name, x in shapes.items()}
    return Network(from_torch(weights, "gru"), Readout(4, SYMBOLS, key=KEY), OneHot(SYMBOLS))


class Own(LSTM):
    """A cell of a user's own."""


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "fox.txt"
    path.write_text(TEXT)
    return Config(file=str(path), cell="lstm", units=3, **SMALL)


@pytest.fixture(scope="module")
def run(config, tmp_path_factory):
    return train(config, tmp_path_factory.mktemp("runs") / "fox", network=imported())


@pytest.mark.parametrize(
    ("to", "files"),
    [
        ("c", ["own.h", "own.c"]),
        ("html", ["own.html"]),
        ("torch", ["own.py", "own.safetensors"]),
        ("folder", ["own"]),
    ],
)
def test_it_is_exported_without_the_network(run, to, files, tmp_path):
    written = export_run(open_run(run.path), to, tmp_path / "own")
    assert [path.name for path in written][: len(files)] == files or (tmp_path / "own").is_dir()


def test_everything_else_works_without_the_network(run, tmp_path):
    again = open_run(run.path)
    assert eqx.tree_equal(again.network(), run.network(like=imported()))
    assert again.evaluate("test") == evaluate(run, "test", network=run.network(like=imported()))
    assert len(again.sample("the ", 5)) == 5
    export_run(again, "folder", tmp_path / "given")
    assert eqx.tree_equal(open_run(tmp_path / "given").network(), again.network())


def test_a_network_of_other_classes_is_given_when_the_run_is_opened(config, tmp_path):
    cell, readout = Own(SYMBOLS, 3, key=KEY), Readout(3, SYMBOLS, key=KEY)
    net = Network(cell, readout, OneHot(SYMBOLS))
    run = train(config, tmp_path / "run", network=net)
    with pytest.raises(BadInput, match=r"its own network: pass it again: open_run\(path, network="):
        export_run(open_run(run.path), "c", tmp_path / "own")
    opened = open_run(run.path, network=net)
    assert len(export_run(opened, "c", tmp_path / "own")) == 2
    assert not eqx.tree_equal(opened.network(), net)  # its weights are those of the checkpoint
    other = Network(GRU(SYMBOLS, 3, key=KEY), readout, OneHot(SYMBOLS))
    with pytest.raises(BadInput, match=r"was .*Own, and is now GRU"):
        open_run(run.path, network=other).network()
    with pytest.raises(BadInput, match="network must be a Model"):
        open_run(run.path, network=3)


def cells():
    both = Bidirectional(Simple(3, 4, key=KEY), Leaky(3, 4, key=KEY))
    feedback = GatedFeedback([GRU(7, 4, key=KEY), GRU(8, 4, key=KEY)], 3, key=KEY)
    noisy = Zoneout(WeightNoise(LSTM(3, 4, key=KEY), 0.1, key=KEY), 0.1, key=KEY)
    return {
        "noise": Dropout(noisy, 0.2, key=KEY),
        "layer norm": LayerNorm(PeepholeLSTM(3, 4, key=KEY)),
        "both ways": Stack([both, Pool(8)]),
        "reset after": Stack([GRU(3, 4, key=KEY, reset="after"), GRU(4, 4, key=KEY)], skip=True),
        "gated feedback": feedback,
        "reservoir": Expansion(Reservoir(3, 8, key=KEY), "quadratic", key=KEY),
    }


@pytest.mark.parametrize("name", cells())
def test_a_blueprint_makes_the_same_structure(name):
    net = Network(cells()[name], Readout(4, 2, key=KEY), Embedding(5, 3, key=KEY))
    net = eqx.tree_at(lambda n: n.readout.b, net, net.readout.b.astype(jnp.bfloat16))
    drawn = json.loads(json.dumps(blueprint(net)))
    made = from_blueprint(drawn)
    assert jax.tree.structure(made) == jax.tree.structure(net)
    assert eqx.tree_equal(made, shapes_only(net))


@pytest.mark.parametrize("part", [Own(3, 4, key=KEY), jax.nn.relu, {1: 2}])
def test_what_has_no_blueprint(part):
    assert blueprint(Network(part, None)) is None


SIMPLE = blueprint(Simple(3, 4, key=KEY))


@pytest.mark.parametrize(
    ("drawn", "words"),
    [
        (3, "not of a network"),
        ({"module": "os:system", "fields": {}}, "'os:system' is not a class"),
        ({"module": "ostinato.cli.main:app", "fields": {}}, "is not a class"),
        ({"module": "ostinato.cells.gone:Gone", "fields": {}}, "this version has no"),
        ({"module": "ostinato.cells.simple:jax", "fields": {}}, "this version has no"),
        ({**SIMPLE, "fields": {"W": None}}, "Simple needs the field 'R'"),
        ({**SIMPLE, "fields": {**SIMPLE["fields"], "Q": 1}}, "has no field 'Q'"),
        ({**SIMPLE, "fields": {**SIMPLE["fields"], "W": {"array": ["object", 1]}}}, "an array of"),
        ({**SIMPLE, "fields": {**SIMPLE["fields"], "W": {"array": ["int8", -1]}}}, "an array of"),
        ({"tuple": 5}, "it has {'tuple': 5}"),
    ],
)
def test_a_damaged_blueprint_is_refused(drawn, words):
    with pytest.raises(BadInput, match=words) as error:
        from_blueprint(drawn)
    assert "\n" not in str(error.value) and "open_run(path, network=...)" in str(error.value)
