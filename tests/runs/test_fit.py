"""Estimates from shapes: exact where they can be, and never above what is really there."""

import equinox as eqx
import jax
import numpy as np
import pytest

from everyday import some
from ostinato import memory
from ostinato.cells import CELLS
from ostinato.errors import BadInput
from ostinato.learning.hessian_free.curvature_batch import curvature_size
from ostinato.runs import Config, fit
from ostinato.runs.build import build_learner, build_network, build_task
from ostinato.runs.network.budget import network_shapes, parameter_count, units_for, units_of
from ostinato.runs.network.parts import Sizes
from ostinato.tasks import Text
from ostinato.weights import count_parameters

SIZES = Sizes("text", 7, 5, True)
WIDE = [name for name in CELLS if name != "hopfield"]  # whose units are its inputs


@pytest.mark.parametrize("cell", some(WIDE, ["lstm", "gru", "jordan", "mlstm"]))
def test_the_number_of_parameters_is_quadratic_in_the_units(cell):
    skipping = {"layers": 2, "skip": True, "layer_norm": True, "readout": "bias"}
    wirings = [{}, {"layers": 3}, skipping]
    if cell != "jordan":  # whose output is the network's
        wirings += [{"layers": 3, "bidirectional": True}, {"layers": 6, "feedback": True}]
    for settings in wirings:
        config = Config(cell=cell, embedding=3, units=11, **settings)
        assert parameter_count(config, SIZES, 11) == count_parameters(network_shapes(config, SIZES))


def test_shapes_are_those_of_the_network():
    config = Config(cell="lstm", units=5, layers=2, zoneout=0.1, incoming=2)
    made, shapes = build_network(config, SIZES), network_shapes(config, SIZES)
    assert jax.tree.structure(made) == jax.tree.structure(shapes)
    for one, other in zip(jax.tree.leaves(made), jax.tree.leaves(shapes), strict=True):
        if eqx.is_array(one):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)


def test_a_budget_of_any_size_is_met_at_once():
    for cell, budget in (("gru", 10**9), ("gru", 10**15), ("mlstm", 10**18), ("jordan", 10**9)):
        config = Config(cell=cell, budget=budget)
        units = units_for(config, SIZES)
        nearest = min(
            range(units - 2, units + 3),
            key=lambda n: abs(parameter_count(config, SIZES, n) - budget),
        )
        assert units == nearest


@pytest.mark.parametrize("batch", [1, 3, 7, 32, 36, 1000, 1009, 2**31 - 1])
def test_the_curvature_batch_is_the_largest_divisor_within_a_fourth(batch):
    found = curvature_size(None, batch)
    assert batch % found == 0 and found <= max(batch // 4, 1)
    if batch < 10_000:
        assert not any(batch % n == 0 for n in range(found + 1, max(batch // 4, 1) + 1))


def needed(**settings):
    config = Config(task="adding", length=10, units=6, batch=8, **settings)
    task = build_task(config)
    return (
        config,
        task,
        fit.needed(config, task, build_learner(config, task), units_of(config, task)),
    )


@pytest.mark.parametrize("learner, copies", [("sgd", 2), ("heavy-ball", 3), ("adam", 4)])
def test_weights_are_counted_with_gradient_and_memory(learner, copies):
    config, task, found = needed(learner=learner)
    network = build_network(config, task)
    assert found["weights"] == 4 * copies * count_parameters(network)


def test_states_outputs_and_sequences_are_those_of_a_batch():
    config, task, found = needed(cell="lstm", layers=2)
    state = build_network(config, task).initial((8,))
    assert found["states"] == 4 * 10 * count_parameters(state)
    assert found["outputs"] == 4 * 10 * 8 * task.outputs
    batch = next(iter(task.held_out("valid", 1000)))
    assert found["sequences"] == 4 * sum(np.size(x) for x in batch[:3])


def test_the_memory_of_a_turing_machine_does_not_grow_with_its_units():
    config, task, found = needed(cell="lstm", turing="8x3", heads=2)
    assert found["states"] == 4 * 10 * count_parameters(build_network(config, task).initial((8,)))


def test_a_text_is_no_longer_than_it_is():
    task = Text.of("some text " * 20, length=10**9)
    assert task.batch_shape(10**9) == (179, 1)
    assert [len(x.inputs) for x in task.held_out("valid", 32)] == [9]


def test_refuses_with_what_is_needed_and_what_is_there(monkeypatch):
    monkeypatch.setattr(memory, "memory_here", lambda: 3 * 2**30)
    memory.check_memory({"weights": 3 * 2**30}, {"weights": "fewer"})
    with pytest.raises(BadInput) as error:
        memory.check_memory({"weights": 3 * 2**30, "states": 2**40}, {"states": "less"})
    assert str(error.value) == (
        "this needs at least 1.0 TiB of memory (weights 3.0 GiB, states 1.0 TiB), and there are "
        "3.0 GiB here; try less"
    )
    monkeypatch.setattr(memory, "memory_here", lambda: None)
    memory.check_memory({"weights": 2**60}, {"weights": "fewer"})


def test_devices_share_the_weights_of_a_vocabulary():
    """Of weights, gradient and two moments each has an eighth of the readout and the table."""
    config = Config(task="text", cell="lstm", units=8, embedding=6, batch=8)
    task = build_task(config)
    learner = build_learner(config, task)
    whole = fit.per_device(config, task, learner, 8, 8)
    shared = fit.per_device(config.replace(shard_vocabulary=True), task, learner, 8, 8)
    symbols = task.outputs * (8 + 1 + 6)  # a readout with a bias, and a table
    assert whole["weights"] == 4 * 4 * (symbols + (6 + 8 + 1) * 4 * 8)
    assert shared.pop("symbols") == 4 * 4 * symbols // 8
    assert shared == whole | {"weights": whole["weights"] - 4 * 4 * symbols}
