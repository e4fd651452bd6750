"""The error of one step, by how far it has come back."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

from everyday import some
from members import CELLS, WIRINGS
from ostinato import unroll
from ostinato.cells import LSTM, Simple
from ostinato.lens import gradient_by_lag
from ostinato.lens.recurrent_matrices import recurrent_products
from ostinato.through_time import can_step, taps
from ostinato.wiring import Bidirectional, Network, OneHot, Readout, Stack

MEMBERS = CELLS | WIRINGS
STEPS = 6

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


def test_identity_recurrence_keeps_the_error():
    xs = np.zeros((50, 2, 2))
    (found,) = gradient_by_lag(linear(np.eye(3)), xs, first).values()
    np.testing.assert_allclose(found, 1.0, rtol=1e-12)


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
    xs = np.zeros((30, 2, 2))
    (found,) = gradient_by_lag(cell, xs, first).values()
    assert found[1] > 0.01
    np.testing.assert_allclose(found[1:], found[1], rtol=1e-10)


@pytest.mark.parametrize("name", MEMBERS)
def test_recurrent_products_of_every_member(name):
    case = MEMBERS[name]()
    found = recurrent_products(case.cell, case.xs)
    assert found == taps(case.cell, case.xs).keys() - NOT_RECURRENT.get(name, set())
    # The units of an Elman cell hear themselves without a product.
    assert found or name in ("elman", "feedforward")


@pytest.mark.parametrize("name", [*NOT_RECURRENT, "jordan", "bidirectional"])
def test_only_what_is_recurrent(name):
    case = MEMBERS[name]()
    state = case.state
    found = jax.eval_shape(lambda xs: gradient_by_lag(case.cell, xs, first, state), case.xs)
    assert found.keys() == recurrent_products(case.cell, case.xs)
    assert all(profile.shape == (len(case.xs),) for profile in found.values())


def test_nothing_recurrent():
    """The state is a sum of what has been read, and no product has part in it."""

    class Sum(Simple):
        def step(self, h, u):
            h = h + u
            return h, h @ self.R

    assert gradient_by_lag(Sum(2, 3, key=key(0)), np.ones((STEPS, 4, 2)), first) == {}


@pytest.mark.parametrize(
    "name",
    some(["lstm", "gated feedback, gru", "stack of bidirectional", "network, one-hot"], ["lstm"]),
)
def test_finite_differences(name):
    """One offset at a time, of the latest step and of the first."""
    case = MEMBERS[name]()
    offsets = taps(case.cell, case.xs)

    @jax.jit
    def values(offsets):
        ys, _ = unroll(case.cell, case.xs, case.state, taps=offsets)
        return jnp.sum(jnp.sin(ys[-1]))

    found = gradient_by_lag(case.cell, case.xs, lambda o: jnp.sum(jnp.sin(o), -1), case.state)
    h = 1e-6
    for name, profile in found.items():
        shape = offsets[name].shape
        for lag in (0, len(profile) - 1):
            at = shape[0] - 1 - lag
            slopes = []
            for place in np.ndindex(shape[1:]):
                up, down = (
                    offsets | {name: offsets[name].at[(at, *place)].add(d)} for d in (h, -h)
                )
                slopes.append((values(up) - values(down)) / (2 * h))
            batch = int(np.prod(shape[1:-1]))
            expected = np.sqrt(np.sum(np.square(slopes)) / batch)
            np.testing.assert_allclose(profile[lag], expected, rtol=1e-5, atol=1e-7)


def test_taps_of_a_layer_that_has_no_step():
    layer = Bidirectional(LSTM(2, 3, key=key(0)), Simple(2, 4, key=key(1)))
    assert not can_step(layer)
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
    names = recurrent_products(network, symbols)
    assert len(names) == 3 and names == taps(network, symbols).keys() == reached.keys()
    assert all((x[0] > 0).all() for x in reached.values())
    # At the last step the backward half has only just begun: nothing before it matters.
    assert found[".backward.R"][0] > 0 and not found[".backward.R"][1:].any()
    assert (found[".forward.R"] > 0).all()
