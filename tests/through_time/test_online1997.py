"""The first LSTM's online algorithm: the truncated gradient, found forwards."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

from compare import same
from ostinato.cells import GRU, LSTM, LSTM1997, KrauseLSTM, PeepholeLSTM
from ostinato.through_time import bptt, online1997, online1997_start
from ostinato.wiring import Bidirectional, Dropout, Embedding, Network, OneHot, Readout

INPUTS, UNITS, OUTPUTS, STEPS, BATCH = 3, 4, 2, 6, 2
ONE, TWO = jax.random.split(key(3))


def normal(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape))


def lstm(truncated=True, variant="original"):
    cell = LSTM1997(INPUTS, UNITS, key=ONE, truncated=truncated, variant=variant)
    return cell if cell.b is None else eqx.tree_at(lambda c: c.b, cell, normal(0, 3 * UNITS))


def network(encoding, **options):
    readout = Readout(UNITS, OUTPUTS, key=TWO, bias=encoding is None)
    return Network(lstm(**options), readout, encoding)


def cut(make, readout=False):
    """An LSTM with forget gates, and the same with errors cut where its gates read h."""

    class Cut(make):
        def step(self, state, u):
            h, c = state
            return super().step((jax.lax.stop_gradient(h), c), u)

    def build(make):
        shapes = eqx.filter_eval_shape(make, INPUTS, UNITS, key=ONE)
        filled = [normal(7 + k, *x.shape) for k, x in enumerate(jax.tree.leaves(shapes))]
        cell = jax.tree.unflatten(jax.tree.structure(shapes), filled)
        return Network(cell, Readout(UNITS, OUTPUTS, key=TWO), None) if readout else cell

    return build(make), build(Cut)


VECTORS, SYMBOLS = (
    normal(1, STEPS, BATCH, INPUTS),
    jnp.arange(STEPS * BATCH).reshape(-1, 2) % INPUTS,
)
CASES = {
    "cell": (lstm(), VECTORS, normal(2, STEPS, BATCH, UNITS)),
    "lipton": (lstm(variant="lipton"), VECTORS, normal(2, STEPS, BATCH, UNITS)),
    "krause": (lstm(variant="krause"), VECTORS, normal(2, STEPS, BATCH, UNITS)),
    "vectors": (network(None), VECTORS, normal(3, STEPS, BATCH, OUTPUTS)),
    "symbols": (network(OneHot(INPUTS)), SYMBOLS, normal(3, STEPS, BATCH, OUTPUTS)),
}
STATE = (normal(4, BATCH, UNITS), normal(5, BATCH, UNITS))


def loss(y, target):
    return jnp.sum((y - target) ** 2 * jnp.cos(y))


def run(method, cell, xs, targets, state=None):
    """`method(cell, loss, xs, targets, state)`, compiled."""
    parameters, static = eqx.partition(cell, eqx.is_array)
    return compiled(method, parameters, static, xs, targets, state)


@functools.partial(jax.jit, static_argnums=(0, 2))
def compiled(method, parameters, static, xs, targets, state):
    return method(eqx.combine(parameters, static), loss, xs, targets, state)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("state", [None, STATE], ids=["its own state", "a given state"])
def test_over_one_window_it_is_the_truncated_gradient(case, state):
    cell, xs, targets = CASES[case]
    same(run(online1997, cell, xs, targets, state), run(bptt, cell, xs, targets, state))


def test_it_truncates_a_cell_that_does_not():
    cell, xs, targets = lstm(truncated=False), *CASES["cell"][1:]
    ours, exact = run(online1997, cell, xs, targets), run(bptt, cell, xs, targets)
    same(ours[1].R, run(online1997, *CASES["cell"])[1].R)
    same((ours[0], ours[2]), (exact[0], exact[2]))
    assert jnp.linalg.norm(ours[1].R - exact[1].R) > 1e-3 * jnp.linalg.norm(exact[1].R)


@pytest.mark.parametrize("make", [LSTM, KrauseLSTM])
@pytest.mark.parametrize("readout", [False, True], ids=["cell", "network"])
def test_with_forget_gates(make, readout):
    """Over one window, and by windows of two steps, it is the gradient with the errors cut."""
    (cell, truncated), xs = cut(make, readout), VECTORS
    targets = normal(3, STEPS, BATCH, OUTPUTS if readout else UNITS)
    expected = run(bptt, truncated, xs, targets, STATE)
    same_parts(run(online1997, cell, xs, targets, STATE), expected)
    exact = run(bptt, cell, xs, targets, STATE)
    first, other = (jax.tree.leaves(x[1])[1] for x in (exact, expected))
    assert jnp.linalg.norm(first - other) > 1e-3 * jnp.linalg.norm(first)

    online = online1997_start(cell, xs, STATE)
    value, gradient = 0.0, jax.tree.map(jnp.zeros_like, eqx.filter(cell, eqx.is_inexact_array))
    for begin in range(0, STEPS, 2):
        now = slice(begin, begin + 2)
        more, change, online = run(online1997, cell, xs[now], targets[now], online)
        value, gradient = value + more, jax.tree.map(jnp.add, gradient, change)
    same_parts((value, gradient, online.state), expected)


def same_parts(found, expected):
    """Equal arrays, whatever the classes of the modules that hold them."""
    same(jax.tree.leaves(found), jax.tree.leaves(expected))


def test_krauses_online_lstm_step_by_step():
    """His recursion in NumPy, `D ← f ⊙ D + ∂⁺c/∂w`, weight by weight, with windows of one step."""
    (cell, _), xs = cut(KrauseLSTM), VECTORS[:, 0]
    targets = normal(6, STEPS, UNITS)
    online = online1997_start(cell, xs)
    W, R = np.array(cell.W), np.array(cell.R)
    h, c, D = np.zeros(UNITS), np.zeros(UNITS), np.zeros((INPUTS + UNITS, 3, UNITS))
    for t in range(STEPS):
        now = slice(t, t + 1)
        _, gradient, online = run(online1997, cell, xs[now], targets[now], online)
        read = np.concatenate([xs[t], h])
        a = (xs[t] @ W + h @ R).reshape(4, UNITS)
        i, f, _, o = 1 / (1 + np.exp(-a))
        local = np.stack([a[2] * i * (1 - i), c * f * (1 - f), i])
        D = f * D + read[:, None, None] * local
        c = f * c + i * a[2]
        h = np.tanh(c * o)
        e = np.asarray(jax.grad(loss)(jnp.asarray(h), targets[t])) * (1 - h**2)
        rows = np.concatenate(
            [(e * o * D).reshape(len(read), -1), np.outer(read, e * c * o * (1 - o))], 1
        )
        same(jnp.concatenate([gradient.W, gradient.R]), jnp.asarray(rows))
        same(online.influence, jnp.asarray(D.reshape(len(read), -1)))


@pytest.mark.parametrize("window", [1, 4])
def test_windows_lose_nothing(window):
    """The carried derivative gives the whole gradient, whatever the windows."""
    cell, xs, targets = CASES["symbols"]
    online = online1997_start(cell, xs, STATE)
    value, gradient = 0.0, jax.tree.map(jnp.zeros_like, eqx.filter(cell, eqx.is_inexact_array))
    for begin in range(0, STEPS, window):
        now = slice(begin, begin + window)
        more, change, online = run(online1997, cell, xs[now], targets[now], online)
        value, gradient = value + more, jax.tree.map(jnp.add, gradient, change)
    same((value, gradient, online.state), run(bptt, cell, xs, targets, STATE))


def test_the_algorithm_as_published():
    """One sequence in NumPy, unit by unit and weight by weight, with new weights at each step."""
    cell, xs = lstm(), VECTORS[:, 0]
    targets = normal(6, STEPS, UNITS)
    online = online1997_start(cell, xs)
    W, R, b = (np.array(p) for p in (cell.W, cell.R, cell.b))
    h, c, running = np.zeros(UNITS), np.zeros(UNITS), np.zeros((INPUTS + UNITS + 1, 2 * UNITS))
    for t in range(STEPS):
        cell = eqx.tree_at(lambda c: (c.W, c.R, c.b), cell, tuple(map(jnp.asarray, (W, R, b))))
        now = slice(t, t + 1)
        _, gradient, online = run(online1997, cell, xs[now], targets[now], online)

        read = np.concatenate([xs[t], h, [1.0]])
        i, g, o = np.split(1 / (1 + np.exp(-(xs[t] @ W + h @ R + b))), 3)
        c = c + i * g
        h = o * np.tanh(c)
        e = np.asarray(jax.grad(loss)(jnp.asarray(h), targets[t]))
        expected = np.zeros((INPUTS + UNITS + 1, 3 * UNITS))
        for j in range(UNITS):
            at_c = e[j] * o[j] * (1 - np.tanh(c[j]) ** 2)
            for k, source in enumerate(read):
                running[k, j] += source * g[j] * i[j] * (1 - i[j])
                running[k, UNITS + j] += source * i[j] * g[j] * (1 - g[j])
                expected[k, j] = at_c * running[k, j]
                expected[k, UNITS + j] = at_c * running[k, UNITS + j]
                expected[k, 2 * UNITS + j] = source * e[j] * np.tanh(c[j]) * o[j] * (1 - o[j])
        same(jnp.concatenate([gradient.W, gradient.R, gradient.b[None]]), jnp.asarray(expected))
        same((online.state, online.influence), ((jnp.asarray(h), jnp.asarray(c)), running))
        W, R = W - 0.2 * expected[:INPUTS], R - 0.2 * expected[INPUTS:-1]
        b = b - 0.2 * expected[-1]


def test_no_steps():
    cell, xs, targets = CASES["vectors"]
    value, gradient, state = run(online1997, cell, xs[:0], targets[:0], STATE)
    assert value == 0
    same(gradient, jax.tree.map(jnp.zeros_like, eqx.filter(cell, eqx.is_inexact_array)))
    same(state, STATE)


def test_everything_stays_in_the_cells_precision():
    given = (*CASES["vectors"], STATE)
    lower = jax.tree.map(lambda x: x.astype(jnp.float32), given)
    found = run(online1997, *lower)
    assert {x.dtype for x in jax.tree.leaves(found)} == {jnp.dtype(jnp.float32)}
    same(jax.tree.map(lambda x: x.astype(jnp.float64), found), run(online1997, *given), 1e-5)


def make_gru():
    return GRU(INPUTS, UNITS, key=ONE)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            make_gru,
            "online1997 needs one of LSTM1997, LSTM, KrauseLSTM, or a network of one, got GRU",
        ),
        (lambda: PeepholeLSTM(INPUTS, UNITS, key=ONE), "or a network of one, got PeepholeLSTM"),
        (lambda: Dropout(lstm(), 0.5, key=ONE), "or a network of one, got Dropout"),
        (lambda: Bidirectional(lstm(), lstm()), "or a network of one, got Bidirectional"),
        (
            lambda: Network(make_gru(), Readout(UNITS, OUTPUTS, key=TWO)),
            "online1997 needs one of LSTM1997, LSTM, KrauseLSTM, or a network of one, got GRU",
        ),
    ],
)
def test_other_cells(make, message):
    for call in (
        lambda: online1997(make(), loss, VECTORS, VECTORS),
        lambda: online1997_start(make(), VECTORS),
    ):
        with pytest.raises(ValueError, match=f"{message}$"):
            call()


def test_an_encoding_that_learns():
    cell = network(Embedding(INPUTS, INPUTS, key=ONE))
    message = "^online1997 learns no encoding: use inputs .* one-hot symbols, got Embedding$"
    with pytest.raises(ValueError, match=message):
        online1997(cell, loss, SYMBOLS, SYMBOLS)


def test_targets_of_another_length():
    cell, xs, targets = CASES["cell"]
    with pytest.raises(ValueError, match=r"as many steps as the inputs, 6, got .* \(5, 2, 4\)$"):
        online1997(cell, loss, xs, targets[1:])


def test_the_influence_of_another_batch():
    cell, xs, targets = CASES["cell"]
    online = online1997_start(cell, xs[:, :1])._replace(state=STATE)
    message = r"must be float64\(2, 8, 8\), got float64\(1, 8, 8\)$"
    with pytest.raises(ValueError, match=message):
        online1997(cell, loss, xs, targets, online)
