"""Every cell and wiring that has a step, through every target, over ten thousand steps."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ostinato
from members import CELLS, WIRINGS
from ostinato.errors import BadInput
from ostinato.export import trace

from .members import TARGETS

STEPS = 10_000
REFUSED = {"additive delay, nonlinear": "lu"}  # with the operation that cannot be exported
EVERY = {name: make for name, make in {**CELLS, **WIRINGS}.items() if name not in REFUSED}


def of_type(network):
    """The network with its noise off, in float32."""
    return eqx.nn.inference_mode(
        jax.tree.map(lambda x: x.astype(jnp.float32) if eqx.is_inexact_array(x) else x, network)
    )


def outputs(network, xs):
    """What the library computes."""
    with jax.enable_x64(False):
        ys, _ = ostinato.unroll(of_type(network), jnp.asarray(xs))
        return np.asarray(ys, np.float64).reshape(len(xs), -1)


@pytest.fixture(scope="module")
def networks():
    made = {name: make() for name, make in EVERY.items()}
    return {name: case for name, case in made.items() if case.cell.can_step}


@pytest.fixture(scope="module")
def programs(networks):
    return {
        name: trace(case.cell, None if case.cell.input_axes == 0 else case.xs.shape[-1])
        for name, case in networks.items()
    }


@pytest.fixture(scope="module")
def inputs(programs):
    rng = np.random.default_rng(0)
    return {
        name: rng.integers(0, program.symbols, STEPS).astype(np.int32)
        if program.symbols is not None
        else rng.normal(size=(STEPS, program.inputs)).astype(np.float32)
        for name, program in programs.items()
    }


@pytest.fixture(scope="module")
def expected(networks, inputs):
    return {name: outputs(case.cell, inputs[name]) for name, case in networks.items()}


@pytest.mark.parametrize("target", TARGETS)
def test_the_same_outputs(target, programs, inputs, expected, networks, tmp_path):
    made = TARGETS[target](programs, inputs, tmp_path)
    for name, ys in made.items():
        size = np.abs(expected[name]).max()
        if np.abs(ys - expected[name]).max() <= 1e-5 * size:
            continue
        # A network that magnifies the last digit of its inputs does so with every rounding error.
        nearly = np.nextafter(inputs[name], np.float32(np.inf))
        moved = outputs(networks[name].cell, nearly)
        magnified = np.abs(moved - expected[name]).max()
        assert np.abs(ys - expected[name]).max() <= 10 * magnified, name


@pytest.mark.parametrize("name", REFUSED)
def test_an_operation_that_cannot_be_exported_is_named(name):
    from ostinato.export import header

    with pytest.raises(BadInput, match=f"the operation {REFUSED[name]}, which cannot be exported"):
        header(trace({**CELLS, **WIRINGS}[name]().cell, 3))


def test_what_reads_both_ways_has_no_step():
    with pytest.raises(BadInput, match="reads the whole sequence"):
        trace(WIRINGS["bidirectional"]().cell)
