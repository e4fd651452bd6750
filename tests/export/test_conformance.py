"""Every cell and wiring that has a step, through every target, over ten thousand steps."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ostinato
from ostinato.errors import BadInput
from ostinato.export import function, header, to_onnx, trace
from ostinato.export.torch import module

from .members import EVERY, JUMPING, MAGNIFY, STEPS, TARGETS, WIRINGS, Subject


def single(network):
    """The network in float32; NumPy needs no program for each shape."""
    return jax.tree.map(
        lambda x: jnp.asarray(np.asarray(x, np.float32)) if eqx.is_inexact_array(x) else x, network
    )


unroll = eqx.filter_jit(ostinato.unroll)  # one program instead of one for each operation


def outputs(network, xs):
    """What the library computes."""
    with jax.enable_x64(False):
        ys, _ = unroll(eqx.nn.inference_mode(network), jnp.asarray(xs))
        return np.asarray(ys, np.float64).reshape(len(xs), -1)


def assert_alike(made, target, subjects, inputs, expected):
    """As near as `within`, unless the network is known to magnify rounding errors, and does.

    One that magnifies the last digit of its inputs does so with every rounding error. With weights
    of 8 bits one whose outputs jump has another output at few steps.
    """
    apart = {}
    for name, ys in made.items():
        wanted, xs = expected[name][: len(ys)], inputs[name]
        far = np.abs(ys - wanted) / np.abs(wanted).max()
        if far.max() > target.within and target.rounded:
            apart[name] = (far > target.within).mean()
        elif far.max() > target.within:
            moved = np.nextafter(xs, np.float32(np.inf)) if xs.dtype.kind == "f" else xs
            by = (
                np.abs(outputs(subjects[name].network, moved) - wanted).max() / np.abs(wanted).max()
            )
            apart[name] = far.max() / by
    assert {*apart} <= (JUMPING if target.rounded else MAGNIFY), apart
    assert all(x <= (0.05 if target.rounded else 10) for x in apart.values()), apart


@pytest.fixture(scope="module")
def subjects():
    found = {}
    for name, make in EVERY.items():
        case = make()
        if case.cell.can_step:
            size = None if case.cell.input_axes == 0 else case.xs.shape[-1]
            network = single(case.cell)
            found[name] = Subject(network, size, trace(network, size))
    return found


@pytest.fixture(scope="module")
def inputs(subjects):
    rng = np.random.default_rng(0)
    return {
        name: rng.integers(0, program.symbols, STEPS).astype(np.int32)
        if program.symbols is not None
        else rng.normal(size=(STEPS, program.inputs)).astype(np.float32)
        for name, (_, _, program) in subjects.items()
    }


@pytest.fixture(scope="module")
def expected(subjects, inputs):
    return {name: outputs(one.network, inputs[name]) for name, one in subjects.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("exported")


def assert_the_same(target, subjects, inputs, expected, folder):
    made = target.run(subjects, inputs, folder)
    assert {*made} == {*subjects}
    assert_alike(made, target, subjects, inputs, expected)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_the_same_outputs(target, subjects, inputs, expected, folder):
    if target.work is not None:
        steps = {n: target.work // len(one.program.equations) for n, one in subjects.items()}
        inputs = {name: xs[: max(steps[name], 100)] for name, xs in inputs.items()}
    assert_the_same(target, subjects, inputs, expected, folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, one in TARGETS.items() if one.work is not None])
def test_the_same_outputs_to_the_end(name, subjects, inputs, expected, folder):
    assert_the_same(TARGETS[name], subjects, inputs, expected, folder)


class Sorted(ostinato.cells.Simple):
    def step(self, state, u):
        h, y = super().step(state, u)
        return h, jnp.sort(y)


@pytest.mark.parametrize(
    "export",
    [
        lambda cell: header(trace(cell)),
        lambda cell: function(trace(cell)),
        lambda cell: module(trace(cell)),
        lambda cell: to_onnx(cell),
        lambda cell: to_onnx(cell, step=True),
    ],
    ids=["c", "javascript", "torch", "onnx", "onnx, a step"],
)
def test_an_operation_that_cannot_be_exported_is_named(export):
    with pytest.raises(BadInput, match="the operation sort, which cannot be exported"):
        export(Sorted(3, 4, key=jax.random.key(0)))


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda y: y.astype(jnp.bfloat16).astype(y.dtype), "numbers in bfloat16"),
        (lambda y: (100 * y).astype(jnp.uint8).astype(y.dtype), "numbers in uint8"),
        (lambda y: jnp.real(y * jnp.exp(1j * y)), "numbers in complex"),
        (jax.lax.round, "round, of halves away from zero"),
        (
            lambda y: jax.scipy.sparse.linalg.cg(lambda x: x * jnp.dot(y, y), y)[0],
            "the operation custom_linear_solve",
        ),
        (lambda y: y + jax.random.normal(jax.random.key(0)), "draws random numbers"),
    ],
)
def test_what_would_come_out_otherwise_is_refused(function, words):
    class Other(ostinato.cells.Simple):
        def step(self, state, u):
            h, y = super().step(state, u)
            return h, function(y)

    for export in (header, module):
        with pytest.raises(BadInput, match=words):
            export(trace(Other(3, 4, key=jax.random.key(0))))


def test_a_linear_system_is_exported_up_to_a_size():
    cell = ostinato.cells.AdditiveDelay(3, 33, key=jax.random.key(0), state_function="tanh")
    with pytest.raises(BadInput, match="a linear system of 33 unknowns; at most 32"):
        trace(cell, 3)


def test_what_reads_both_ways_has_no_step():
    with pytest.raises(BadInput, match="reads the whole sequence"):
        trace(WIRINGS["bidirectional"]().cell)
