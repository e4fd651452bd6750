"""Layers trained one after the other, against NumPy and against training a layer by itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.cells import Simple
from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.learning import FirstOrder, LayerWise, Objective
from ostinato.learning.gradients import gradient_named
from ostinato.losses import SquaredError
from ostinato.runs import Config, open_run, train
from ostinato.weights import trained_names
from ostinato.wiring import Network, Readout, Stack

T, B, INPUTS, UNITS, OUTPUTS, ALONE, RATE = 4, 3, 2, (3, 2), 1, 2, 0.3
RNG = np.random.default_rng(1)
XS, YS = RNG.normal(size=(T, B, INPUTS)), RNG.normal(size=(T, B, OUTPUTS))
BATCH = Batch(jnp.asarray(XS), jnp.asarray(YS), jnp.ones((T, B)))
LAYERS = ("W", "R", "b")


def network_of(skip):
    one, two = jax.random.split(jax.random.key(0))
    width = sum(UNITS) if skip else UNITS[-1]
    stack = Stack.of(Simple, INPUTS, UNITS, key=one, skip=skip)
    return Network(stack, Readout(width, OUTPUTS, key=two))


def learner_of(name="sgd", **options):
    options = {"rate": RATE, "clip": "off", "schedule": "constant", **options}
    alone, together = (FirstOrder(name, Objective(SquaredError()), 9, **options) for _ in range(2))
    return LayerWise(alone, together, ALONE)


def arrays_of(network, state):
    """All arrays by name: `layer 0.W`, `readout.V`, `readout 0.V`."""
    found = {
        f"layer {k}.{name}": getattr(layer, name)
        for k, layer in enumerate(network.cell.layers)
        for name in LAYERS
    }
    readouts = {"readout": network.readout, "readout 0": state.readouts[0]}
    for name, readout in readouts.items():
        found |= {f"{name}.V": readout.V, f"{name}.b": readout.b}
    return {name: np.array(x, np.float64) for name, x in found.items()}


def loss(p, skip, layers, readout):
    """Half the squared error of the first layers, read by a readout, in plain NumPy."""
    hs = [np.zeros((B, n)) for n in UNITS]
    total = 0.0
    for x, y in zip(XS, YS, strict=True):
        read = x
        for k in range(layers):
            a = read @ p[f"layer {k}.W"] + hs[k] @ p[f"layer {k}.R"] + p[f"layer {k}.b"]
            hs[k] = np.tanh(a)
            read = np.concatenate([x, hs[k]], axis=1) if skip else hs[k]
        top = np.concatenate(hs[:layers], axis=1) if skip else hs[layers - 1]
        total += 0.5 * np.sum((top @ p[f"{readout}.V"] + p[f"{readout}.b"] - y) ** 2)
    return total / (T * B)


STAGES = [
    (1, "readout 0", ("layer 0", "readout 0")),
    (2, "readout", ("layer 1", "readout")),
    (2, "readout", ("layer 0", "layer 1", "readout")),
]


@pytest.mark.parametrize("skip", [False, True])
def test_every_stage_against_differences_of_the_loss(skip):
    """Two gradient steps per stage: of layer 1, of layer 2 above it, and of both."""
    network, learner = network_of(skip), learner_of()
    learner_state, state = learner.initial(network), learner.start(network, BATCH)
    p = arrays_of(network, learner_state)
    step = jax.jit(learner.step)
    for stage in np.repeat(np.arange(3), ALONE):
        layers, readout, moved = STAGES[stage]
        value, new = loss(p, skip, layers, readout), {k: x.copy() for k, x in p.items()}
        for name in (name for name in p if name.startswith(tuple(f"{x}." for x in moved))):
            for at in np.ndindex(p[name].shape):
                ends = []
                for small in (1e-5, -1e-5):
                    near = {**p, name: p[name].copy()}
                    near[name][at] += small
                    ends.append(loss(near, skip, layers, readout))
                new[name][at] -= RATE * (ends[0] - ends[1]) / 2e-5
        network, learner_state, _, report = step(network, learner_state, state, BATCH)
        ours = arrays_of(network, learner_state)
        for name in p:
            np.testing.assert_allclose(ours[name], new[name], atol=1e-8, err_msg=name)
            if not name.startswith(tuple(f"{x}." for x in moved)):
                assert np.array_equal(ours[name], p[name]), name
        assert float(report["loss"]) == pytest.approx(value)
        norms = dict(zip(trained_names(network), report["norms"].tolist(), strict=True))
        assert (norms["cell.layers[0].R"] > 0) == ("layer 0" in moved)
        assert (norms["cell.layers[1].R"] > 0) == ("layer 1" in moved)
        p = ours


def test_the_first_stage_is_the_training_of_a_single_layer():
    """With Adam, whose state begins anew with the next layer; the others wait untouched."""
    network, learner = network_of(False), learner_of("adam", weight_decay=0.1)
    learner_state, state = learner.initial(network), learner.start(network, BATCH)
    single = Network(Stack(network.cell.layers[:1]), learner_state.readouts[0])
    own = learner.alone.initial(single)
    step, own_step = jax.jit(learner.step), jax.jit(learner.alone.step)
    for _ in range(ALONE):
        network, learner_state, after, _ = step(network, learner_state, state, BATCH)
        single, own, expected, _ = own_step(single, own, state[:1], BATCH)
    np.testing.assert_allclose(network.cell.layers[0].R, single.cell.layers[0].R, rtol=1e-12)
    np.testing.assert_allclose(after[0], expected[0], rtol=1e-12)
    assert np.array_equal(after[1], state[1])
    before = network.cell.layers[0].R
    network, learner_state, _, _ = step(network, learner_state, state, BATCH)
    assert np.array_equal(network.cell.layers[0].R, before)  # no decay, and no moment of Adam
    assert int(learner_state.stages[1].steps) == 1


def test_a_run_goes_on_in_the_middle_of_a_layer(tmp_path):
    settings = {"task": "adding", "length": 4, "cell": "simple", "units": (4, 3), "batch": 4}
    settings |= {"layer_wise": 3, "checkpoint_every": 1, "validate_every": 4, "seed": 1}
    whole = train(Config(**settings, steps=8, schedule="constant"), tmp_path / "whole")
    half = Config(**settings, steps=4, schedule="constant")
    train(half, tmp_path / "half")
    train(half.replace(steps=8), tmp_path / "half", resume=True)
    one, other = (
        jax.tree.leaves(x) for x in (whole.network(), open_run(tmp_path / "half").network())
    )
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_what_cannot_be_trained_by_layers_is_refused():
    with pytest.raises(BadInput, match="steps must be at least 1, got 0"):
        LayerWise(learner_of().alone, learner_of().alone, 0)
    online = FirstOrder("sgd", Objective(SquaredError()), 9, gradient_named("rtrl"))
    with pytest.raises(BadInput, match="needs --gradient full"):
        LayerWise(online, online, 3)
    single = Network(Stack([Simple(2, 3, key=jax.random.key(0))]), None)
    with pytest.raises(BadInput, match="a stack of two layers or more, got one"):
        learner_of().initial(single)
