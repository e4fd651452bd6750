"""The error of one step at every state, by how far it has come back."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

from members import CELLS, WIRINGS
from ostinato.cells import GRU, LSTM, Leaky, Simple
from ostinato.lens import gradient_by_lag, jacobian_by_lag, recurrent_matrices
from ostinato.through_time import taps
from ostinato.wiring import Bidirectional, Network, OneHot, Readout, Stack
from sound_cells import LRU, SRU, Counter, MinGRU, NoState

MEMBERS = CELLS | WIRINGS
STEPS = 6
XS = np.random.default_rng(1).standard_normal((STEPS, 2, 3))

# The products of a step that lie on no cycle. With gated feedback all but the first layer's gates
# do, since layers read each other.
NOT_RECURRENT = {
    "expansion, fourier": {".C"},
    "stack": {".layers[1].W"},
    "stack, skip": {".layers[1].W", ".layers[1].Wm"},
    "gated feedback, tanh": {".w[0]"},
    "gated feedback, lstm": {".w[0]"},
    "gated feedback, gru": {".w[0]"},
    "additive delay": {".C"},
    "network, raw": {".readout.V"},
    "network, one-hot": {".readout.V"},
    "network, embedding": {".cell.layers[1].W", ".readout.V"},
}


@pytest.fixture(autouse=True)
def quick_compilation():
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def first(output):
    return output[..., 0]


def loss(output):
    return jnp.sum(jnp.sin(output), axis=-1)


def linear(R):
    cell = Simple(2, len(R), key=key(0), f="identity")
    return jax.tree.unflatten(jax.tree.structure(cell), [cell.W, jnp.asarray(R), cell.b])


def test_a_linear_net():
    """The error at lag k is that of the output times Rᵀ, k times."""
    R = np.random.default_rng(0).standard_normal((3, 3))
    xs = np.random.default_rng(1).standard_normal((STEPS, 4, 2))
    (found,) = gradient_by_lag(linear(R), xs, first).values()
    error, expected = np.eye(3)[0], []
    for _ in range(STEPS):
        expected.append(np.linalg.norm(error))
        error = error @ R.T
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_a_step_in_the_middle():
    R = 0.5 * np.eye(3)
    xs = np.zeros((STEPS, 2, 2))
    (found,) = gradient_by_lag(linear(R), xs, first, at=3).values()
    np.testing.assert_allclose(found, 0.5 ** np.arange(4), rtol=1e-12)
    (same,) = gradient_by_lag(linear(R), xs, first, at=-3).values()
    np.testing.assert_array_equal(found, same)


def test_an_lstm_with_its_gates_pinned_open():
    """With f = 1 and o = 1 a change of c stays, and with R = 0 nothing else comes back."""
    cell = LSTM(2, 3, key=key(0))
    bias = jnp.concatenate([jnp.full(3, x) for x in (0.0, 40.0, 0.0, 40.0)])
    cell = jax.tree.unflatten(jax.tree.structure(cell), [cell.W, 0 * cell.R, bias])
    (found,) = gradient_by_lag(cell, np.zeros((30, 2, 2)), first).values()
    np.testing.assert_allclose(found, 1, rtol=1e-10)  # c starts at 0, where tanh is steepest


def lengths(gradients):
    """The length of what moves each state, `(T, ...)`, the latest first."""
    squares = [np.sum(np.abs(x) ** 2, axis=-1) for x in map(np.asarray, gradients)]
    return np.sqrt(sum(squares))[::-1]


def by_hand(cell, xs, read=None):
    """`‖∂L/∂s_{t-k}‖` of each sequence, by plain steps; lag 0 only with `read`, else NaN."""

    @partial(jax.vmap, in_axes=1, out_axes=1)
    @jax.grad
    def gradient(moves, us):
        def step(state, at):
            u, move = at
            state, y = cell.step(state, u)
            state = moved(state, move)
            return state, y if read is None else read(state, u)

        return loss(jax.lax.scan(step, cell.initial(()), (us, moves))[1][-1])

    start = jax.eval_shape(lambda: [x for x in jax.tree.leaves(cell.initial(())) if is_float(x)])
    moves = [np.zeros((*xs.shape[:2], *x.shape), x.dtype) for x in start]
    found = jax.jit(lambda moves, xs: gradient(moves, cell.inputs(xs)))(moves, xs)
    found = lengths([x.reshape(*x.shape[:2], -1) for x in found])
    return (
        found if read is not None else np.concatenate([np.full_like(found[:1], np.nan), found[1:]])
    )


def is_float(x):
    return jnp.issubdtype(x.dtype, jnp.inexact)


def moved(state, move):
    leaves, tree = jax.tree.flatten(state)
    given = iter(move)
    return jax.tree.unflatten(tree, [x + next(given) if is_float(x) else x for x in leaves])


def is_the_state(h, _):
    return h


@pytest.mark.parametrize(
    "cell, read",
    [
        (SRU(), SRU().read),
        (MinGRU(), is_the_state),
        (LRU(), LRU().read),
        (Leaky(3, 4, key=key(0)), is_the_state),
        (Simple(3, 1, key=key(0)), is_the_state),
        (Counter(), None),
    ],
    ids=["sru", "mingru", "lru", "leaky", "one unit", "with a whole number in its state"],
)
def test_every_kind_of_cell_by_plain_steps(cell, read):
    """A batch of two sequences, in float64."""
    cell = jax.tree.map(lambda x: x.astype(jnp.promote_types(x.dtype, jnp.float64)), cell)
    (found,) = gradient_by_lag(cell, XS, loss).values()
    expected = np.sqrt(np.mean(np.square(by_hand(cell, XS, read)), axis=1))
    known = ~np.isnan(expected)
    np.testing.assert_allclose(found[known], expected[known], rtol=1e-9)
    assert np.all(found > 0)


@pytest.mark.parametrize(
    "name", ["elman", "lstm 1997", "hopfield", "gated feedback, tanh", "neural turing machine"]
)
def test_members_by_plain_steps(name):
    case = MEMBERS[name]()
    xs = np.random.default_rng(2).standard_normal((4, 1, *np.shape(case.xs)[-1:]))
    (found,) = gradient_by_lag(case.cell, xs, loss).values()
    expected = by_hand(case.cell, xs)[1:, 0]
    np.testing.assert_allclose(found[1:], expected, rtol=1e-7, atol=1e-12)


def test_the_jacobian_of_an_elementwise_cell():
    """What the Jacobian of a cell with one unit says, the gradient says too."""
    cell = Simple(3, 1, key=key(0))
    (found,) = gradient_by_lag(cell, XS[:, :1], first).values()
    np.testing.assert_allclose(found, jacobian_by_lag(cell, XS[:, :1])[:-1], rtol=1e-10)


def test_a_stack_layer_by_layer():
    """An error comes to the lower layer by its own later steps and by the layer above."""
    below, above = LSTM(3, 2, key=key(0)), GRU(2, 2, key=key(1))
    found = gradient_by_lag(Stack([below, above]), XS[:, :1], loss)
    assert found.keys() == {".layers[0]", ".layers[1]"}
    us = below.inputs(XS[:, 0])

    @jax.jit
    @jax.grad
    def gradient(moves):
        def step(states, at):
            u, (dh, dc, dg) = at
            (h, c), _ = below.step(states[0], u)
            h, c = h + dh, c + dc
            g, _ = above.step(states[1], above.inputs(h))
            return ((h, c), g + dg), None

        start = below.initial(()), above.initial(())
        return loss(jax.lax.scan(step, start, (us, moves))[0][1])

    of_h, of_c, of_g = gradient([np.zeros((STEPS, 2))] * 3)
    np.testing.assert_allclose(found[".layers[0]"], lengths([of_h, of_c]), rtol=1e-10)
    np.testing.assert_allclose(found[".layers[1]"], lengths([of_g]), rtol=1e-10)


def test_without_a_state_there_is_nothing_to_measure():
    assert gradient_by_lag(NoState(), XS, loss) == {}


def test_a_cell_that_comes_twice():
    cell = Simple(3, 3, key=key(0))
    found = gradient_by_lag(Stack([cell, cell]), XS, loss)
    assert len(found) == 2
    other = Stack([cell, jax.tree.map(lambda x: x + 0, cell)])
    for a, b in zip(found.values(), gradient_by_lag(other, XS, loss).values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("name", NOT_RECURRENT)
def test_no_matrix_of_what_is_not_recurrent(name):
    found = eqx.filter_eval_shape(lambda: recurrent_matrices(MEMBERS[name]().cell))
    assert found and not {path.split("[")[0] for path in found} & NOT_RECURRENT[name]


def test_a_layer_that_has_no_step():
    layer = Bidirectional(LSTM(2, 3, key=key(0)), Simple(2, 4, key=key(1)))
    assert not layer.can_step
    xs = np.random.default_rng(0).standard_normal((STEPS, 4, 2))
    assert {k: v.shape for k, v in taps(layer, xs).items()} == {
        ".forward.R": (STEPS, 4, 12),
        ".backward.R": (STEPS, 4, 4),
    }
    found = gradient_by_lag(layer, xs, lambda o: jnp.sum(o, -1))
    symbols = np.random.default_rng(0).integers(0, 2, (STEPS, 4))
    deep = Stack([LSTM(2, 2, key=key(2)), layer])
    network = Network(deep, Readout(7, 2, key=key(3)), OneHot(2))
    reached = gradient_by_lag(network, symbols, first)
    assert reached.keys() == {
        ".cell.layers[0]",
        ".cell.layers[1].forward",
        ".cell.layers[1].backward",
    }
    assert all(x[0] > 0 for x in reached.values())
    # At the last step the backward half has only just begun: nothing before it matters.
    assert found[".backward"][0] > 0 and not found[".backward"][1:].any()
    assert (found[".forward"] > 0).all()
