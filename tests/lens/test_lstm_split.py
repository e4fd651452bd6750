"""The split of an LSTM's error against automatic differentiation, and nets where it is known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

from ostinato import unroll
from ostinato.cells import GRU, LSTM, PeepholeLSTM
from ostinato.cells.initialisers import glorot
from ostinato.errors import BadInput
from ostinato.lens.lstm_split import forget_share, memory_conditions, memory_split

INPUTS, UNITS, STEPS, BATCH = 3, 4, 7, 2
XS = jnp.asarray(np.random.default_rng(1).normal(size=(STEPS, BATCH, INPUTS)))
STATE = tuple(jnp.asarray(np.random.default_rng(2).normal(size=(2, BATCH, UNITS))))
KINDS = {"lstm": LSTM, "peephole": PeepholeLSTM}


def made(kind, scale=1.5):
    """Weights, biases and peepholes that all count."""
    cell = KINDS[kind](INPUTS, UNITS, key=key(0))
    cell = eqx.tree_at(lambda c: c.b, cell, jax.random.normal(key(1), cell.b.shape))
    return jax.tree.map(lambda x: scale * x, cell)


def peepholes(cell):
    return getattr(cell, "p", jnp.zeros((3, UNITS)))


def columns(block):
    return slice(block * UNITS, (block + 1) * UNITS)


def set_block(cell, block, W=None, R=None, b=None):
    """The cell with other weights for one of i, f, g, o."""
    for name, value in (("W", W), ("R", R), ("b", b)):
        if value is not None:
            get = lambda c, name=name: getattr(c, name)  # noqa: E731
            cell = eqx.tree_at(get, cell, get(cell).at[..., columns(block)].set(value))
    return cell


@eqx.filter_jit
def all_states(cell):
    (_, after), _ = unroll(cell, XS, STATE, watch="states")
    return after


def states(cell, row):
    """The states of one sequence, from the one before the first step."""
    after = all_states(cell)
    return tuple(
        np.concatenate([first[None], x])[:, row] for first, x in zip(STATE, after, strict=True)
    )


@eqx.filter_jit
def jacobian(cell, c, o_rest, us, first, last):
    """One program for all steps: those that are not between the two change nothing."""

    def later(c):
        h = jax.nn.sigmoid(o_rest + peepholes(cell)[2] * c) * jnp.tanh(c)

        def step(state, at):
            u, t = at
            new, _ = cell.step(state, u)
            between = (first < t) & (t <= last)
            return jax.tree.map(lambda a, b: jnp.where(between, a, b), new, state), None

        return jax.lax.scan(step, (h, c), (us, jnp.arange(STEPS)))[0][1]

    return jax.jacobian(later)(c)


def derivative(cell, row, first, last):
    """`∂c_last/∂c_first` after steps `first` and `last`, from the unit of a row to a column's.

    What reaches the output gate of step `first` from earlier is held, so that h follows c.
    """
    hs, cs = states(cell, row)
    us = cell.inputs(XS[:, row])
    o_rest = (us[first] + hs[first] @ cell.R)[columns(3)]
    return np.asarray(
        jacobian(cell, cs[first + 1], o_rest, us, jnp.array(first), jnp.array(last))
    ).T


@pytest.mark.parametrize("kind", KINDS)
def test_one_step_against_automatic_differentiation(kind):
    cell = made(kind)
    Q, f = memory_split(cell, XS, STATE)
    assert Q.shape == (STEPS - 1, BATCH, UNITS, UNITS)
    assert f.shape == (STEPS - 1, BATCH, UNITS)
    for t in (1, 2, STEPS - 1):
        for row in range(BATCH):
            exact = derivative(cell, row, t - 1, t)
            np.testing.assert_allclose(Q[t - 1, row] + np.diag(f[t - 1, row]), exact, atol=1e-12)
    # The forget gate: what is left of the derivative when nothing else reads h and c.
    alone = set_block(set_block(cell, 0, W=0, R=0, b=-30.0), 1, R=0)
    if kind == "peephole":
        alone = eqx.tree_at(lambda c: c.p, alone, jnp.zeros_like(alone.p))
    f = memory_split(alone, XS, STATE).f
    np.testing.assert_allclose(np.diag(f[2, 0]), derivative(alone, 0, 2, 3), atol=1e-12)


def test_the_equation_as_it_is_printed():
    """Delgado del Cerro (2021) (4.16), with its R for column vectors: it is the transpose."""
    cell = made("peephole")
    Q, f = memory_split(cell, XS, STATE)
    hs, cs = (x[1:] for x in states(cell, 0))
    t = 3
    diag = np.diag
    R = {name: np.asarray(cell.R[:, columns(n)]).T for n, name in enumerate("ifzo")}
    p_i, p_f, p_o = np.asarray(cell.p)
    a = np.asarray(cell.inputs(XS[:, 0]))
    i_bar, f_bar, z_bar, _ = np.split(a[t] + hs[t - 1] @ cell.R, 4)
    o_bar = np.split(a[t - 1] + hs[t - 2] @ cell.R, 4)[3] + p_o * cs[t - 1]

    def sigma(x):
        return 1 / (1 + np.exp(-x))

    def slope(x):
        return sigma(x) * (1 - sigma(x))

    i_bar, f_bar = i_bar + p_i * cs[t - 1], f_bar + p_f * cs[t - 1]
    y = diag(sigma(o_bar) * (1 - np.tanh(cs[t - 1]) ** 2))
    y += diag(p_o * slope(o_bar) * np.tanh(cs[t - 1]))
    D = diag(slope(i_bar) * np.tanh(z_bar)) @ (R["i"] @ y + diag(p_i))
    D += diag(slope(f_bar) * cs[t - 1]) @ (R["f"] @ y + diag(p_f))
    D += diag((1 - np.tanh(z_bar) ** 2) * sigma(i_bar)) @ (R["z"] @ y)
    D += diag(sigma(f_bar))
    ours = Q[t - 1, 0] + diag(f[t - 1, 0])
    np.testing.assert_allclose(D.T, ours, atol=1e-12)
    assert not np.allclose(D, ours, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_long_products(kind):
    """By lag: the product of (4.18) from its factors; ∂c_t/∂c_τ by automatic differentiation."""
    cell = made(kind)
    Q, f = memory_split(cell, XS, STATE)
    found = forget_share(cell, XS, STATE)
    assert found.lags.tolist() == [*range(1, STEPS)]
    for row in range(BATCH):
        product, gates = np.eye(UNITS), np.ones(UNITS)
        for k, lag in enumerate(found.lags):
            t = STEPS - 1 - k
            product = (Q[t - 1, row] + np.diag(f[t - 1, row])) @ product
            gates = f[t - 1, row] * gates
            exact = derivative(cell, row, STEPS - 1 - lag, STEPS - 1)
            norms = [np.linalg.norm(x, 2) for x in (np.diag(gates), product, exact)]
            ours = [x[k, row] for x in (found.forget, found.product, found.exact)]
            np.testing.assert_allclose(ours, norms, rtol=1e-10)
            rest = np.linalg.norm(product - np.diag(gates), 2) / norms[1]
            np.testing.assert_allclose(found.unexplained[k, row], rest, rtol=1e-10)
            missing = np.linalg.norm(exact - product, 2) / norms[2]
            np.testing.assert_allclose(found.left_out[k, row], missing, atol=1e-10)
    # One step is exact. Over several, (4.18) leaves out a way through the output gate.
    assert np.all(found.left_out[0] < 1e-12)
    assert np.all(found.left_out[1:] > 1e-3)


def test_without_recurrent_weights_at_the_output_gate_nothing_is_left_out():
    found = forget_share(set_block(made("peephole"), 3, R=0), XS, STATE)
    assert np.all(found.left_out < 1e-10)
    assert np.all(found.unexplained > 1e-3)


def test_a_net_that_only_remembers():
    """Without recurrent weights and peepholes the forget gates are all; open, they keep it all."""
    cell = made("lstm")
    cell = eqx.tree_at(lambda c: c.R, cell, jnp.zeros_like(cell.R))
    found = forget_share(cell, XS, STATE)
    np.testing.assert_allclose(found.forget, found.product, rtol=1e-12)
    np.testing.assert_allclose(found.forget, found.exact, rtol=1e-12)
    assert np.all(found.unexplained < 1e-12)
    assert np.all(np.diff(found.forget, axis=0) < 0)
    found = forget_share(set_block(cell, 1, W=0, b=20.0), XS, STATE)
    np.testing.assert_allclose(found.exact, 1, atol=1e-6)
    found = forget_share(set_block(cell, 1, W=0, b=-20.0), XS, STATE)
    np.testing.assert_allclose(found.exact[0], 1 / (1 + np.exp(20)), rtol=1e-9)


def test_a_small_rest_is_not_nothing():
    """‖Q‖ < 1/2 at every step, and yet the forget gates do not govern what lasts."""
    cell = LSTM(3, 32, key=key(0), input=glorot())
    xs = jax.random.normal(key(0), (51, 1, 3))
    assert memory_conditions(cell, xs)["small Q"].numbers["‖Q‖"] < 0.5
    found = forget_share(cell, xs, lags=[1, 50])
    assert found.unexplained[0, 0] < 0.5
    assert found.unexplained[1, 0] > 0.999
    assert found.forget[1, 0] < 1e-4 * found.exact[1, 0]


def test_chosen_lags():
    cell = made("lstm")
    few, all_of_them = forget_share(cell, XS, lags=[5, 2]), forget_share(cell, XS)
    for name in ("forget", "product", "exact", "unexplained", "left_out"):
        np.testing.assert_array_equal(getattr(few, name), getattr(all_of_them, name)[[4, 1]])
    with pytest.raises(BadInput, match=r"^lags must be from 1 to T - 1 = 6, got \[7\]$"):
        forget_share(cell, XS, lags=[7])


def small(scale=0.1):
    return jax.tree.map(lambda x: scale * x, made("peephole"))


def test_conditions_on_weights():
    """Small weights satisfy theirs; and any one of the five that is large breaks it."""
    name = "small weights"
    found = memory_conditions(small(), XS)
    assert found[name].holds
    assert found["small Q"].holds
    assert found["small Q"].numbers["‖Q‖"] < 0.2
    for block, key_ in enumerate(("‖R_i‖", "‖R_f‖", "‖R_g‖")):
        large = memory_conditions(set_block(small(), block, R=jnp.eye(UNITS)), XS)[name]
        assert not large.holds
        assert large.numbers[key_] == pytest.approx(1)
    for gate, key_ in enumerate(("‖p_i‖", "‖p_f‖")):
        cell = eqx.tree_at(lambda c: c.p, small(), small().p.at[gate, 1].set(-0.7))
        large = memory_conditions(cell, XS)[name]
        assert not large.holds
        assert large.numbers[key_] == pytest.approx(0.7)
    cell = eqx.tree_at(lambda c: c.p, small(), small().p.at[2, 1].set(9.0))
    assert memory_conditions(cell, XS)[name].holds  # nothing is said of the output gate's


# A net for each of the other conditions: what is done to the blocks i, f, g, o of small weights.
PINNED = {
    "memory saturated, small peepholes": {0: 20.0, 1: 20.0, 2: 20.0},
    "memory and output gate saturated, small peepholes": {0: 20.0, 1: 20.0, 2: 20.0, 3: 20.0},
    "output gate off, small peepholes": {3: -20.0},
    "input gate, forget gate and block input saturated": {0: -20.0, 1: 20.0, 2: -20.0},
    "input gate and forget gate off": {0: -20.0, 1: -20.0},
}


@pytest.mark.parametrize("name", PINNED)
def test_conditions_on_signals(name):
    """Each holds in a net that is pinned to it, and not in one that is not."""
    cell = small()
    assert not memory_conditions(cell, XS)[name].holds
    for block, bias in PINNED[name].items():
        cell = set_block(cell, block, b=bias)
    full = tuple(jnp.full((BATCH, UNITS), 3.0) for _ in range(2))
    state = full if name.startswith("memory") else None
    found = memory_conditions(cell, XS, state)
    assert found[name].holds
    assert found["small Q"].holds
    if "small peepholes" in name:
        big = eqx.tree_at(lambda c: c.p, cell, cell.p.at[1].set(0.6))
        assert not memory_conditions(big, XS, state)[name].holds


END_I, END_F, END_O = (f"min({n}, 1 - {n})" for n in "ifo")
END_C, END_G, P = "1 - |tanh c|", "1 - |g|", ["‖p_i‖", "‖p_f‖"]
NUMBERS = {
    "memory saturated, small peepholes": [END_C, *P, "‖p_o‖"],
    "memory and output gate saturated, small peepholes": [END_C, END_O, *P],
    "output gate off, small peepholes": ["o", *P],
    "input gate, forget gate and block input saturated": [END_I, END_F, END_G],
    "input gate and forget gate off": ["i", "f"],
}


def test_the_numbers_of_the_conditions():
    """Each once more from the states; it holds where all are below a half or near an end."""
    cell = made("peephole")
    (_, (hs, cs)), _ = unroll(cell, XS, STATE, watch="states")
    h, c = (np.concatenate([x[None], y[:-1]]) for x, y in zip(STATE, (hs, cs), strict=True))
    a = np.split(np.asarray(cell.inputs(XS) + h @ cell.R), 4, axis=-1)
    p = np.asarray(cell.p)
    # The gates of a step, with the memory and the output gate of the step before.
    i, f = (np.asarray(jax.nn.sigmoid(a[n] + p[n] * c))[1:] for n in (0, 1))
    o, g = np.asarray(jax.nn.sigmoid(a[3] + p[2] * cs))[:-1], np.tanh(a[2])[1:]
    expected = {
        **{n: x.max() for n, x in zip("ifo", (i, f, o), strict=True)},
        **{n: np.minimum(x, 1 - x).max() for n, x in ((END_I, i), (END_F, f), (END_O, o))},
        **{f"‖p_{n}‖": np.abs(x).max() for n, x in zip("ifo", p, strict=True)},
        END_C: np.max(1 - np.abs(np.tanh(cs[:-1]))),
        END_G: np.max(1 - np.abs(g)),
    }
    found = memory_conditions(cell, XS, STATE)
    for name, keys in NUMBERS.items():
        assert found[name].numbers.keys() == set(keys)
        for key_, value in found[name].numbers.items():
            np.testing.assert_allclose(value, expected[key_], rtol=1e-10)
        below = [v < (0.5 if "p_" in k else 0.05) for k, v in found[name].numbers.items()]
        assert found[name].holds == all(below)


def test_saturated_is_not_enough():
    """The memory saturated and small peepholes, and yet ‖Q‖ > 1: c has no bound."""
    cell = eqx.tree_at(lambda c: c.p, small(), jnp.zeros_like(small().p).at[1].set(0.49))
    full = jnp.zeros((BATCH, UNITS)), jnp.full((BATCH, UNITS), 40.0)
    cell = set_block(cell, 1, b=-17.0)  # so that f is about 0.8 at the second step
    found = memory_conditions(cell, XS[:2], full)
    assert found["memory saturated, small peepholes"].holds
    assert not found["small Q"].holds
    assert found["small Q"].numbers["‖Q‖"] > 1


def test_conditions_for_vanishing():
    rest = set_block(set_block(small(), 0, b=-20.0), 1, b=-20.0)
    found = memory_conditions(rest, XS)
    assert found["at rest: Q and f zero"].holds
    assert found["spectral radius of Q + diag(f) below 1"].holds
    assert found["‖Q + diag(f)‖ below 1"].holds
    cancelled = "cancelled at some step: f near 1, Q near -diag(f)"
    assert not found[cancelled].holds
    # R_g and the rest chosen so that one step has Q = -1: s i g' R_g = -1 for a single unit.
    one = LSTM(1, 1, key=key(0))
    one = jax.tree.map(jnp.zeros_like, one)
    one = eqx.tree_at(lambda c: c.b, one, jnp.asarray([20.0, 20.0, 0.0, 20.0]))
    one = eqx.tree_at(lambda c: c.R, one, jnp.asarray([[0.0, 0.0, -1.0, 0.0]]))
    found = memory_conditions(one, jnp.zeros((2, 1)))
    assert found[cancelled].holds
    shut = eqx.tree_at(lambda c: c.b, one, one.b.at[1].set(-20.0).at[0].set(-20.0))
    assert not memory_conditions(shut, jnp.zeros((2, 1)))[cancelled].holds
    assert not found["at rest: Q and f zero"].holds
    # And with large weights nothing vanishes.
    found = memory_conditions(made("peephole", 4.0), XS)
    assert not any(found[name].holds for name in [*found][:5])
    radius = found["spectral radius of Q + diag(f) below 1"].numbers["radius"]
    Q, f = memory_split(made("peephole", 4.0), XS)
    whole = Q + f[..., None] * np.eye(UNITS)
    assert radius == pytest.approx(np.abs(np.linalg.eigvals(whole)).max())
    assert radius <= found["‖Q + diag(f)‖ below 1"].numbers["‖Q + diag(f)‖"] + 1e-12


def test_what_it_refuses():
    with pytest.raises(BadInput, match=r"^expected an LSTM or a PeepholeLSTM, got GRU$"):
        memory_split(GRU(INPUTS, UNITS, key=key(0)), XS)
    with pytest.raises(BadInput, match=r"^xs must have at least two steps, got 1$"):
        forget_share(made("lstm"), XS[:1])


def test_in_single_precision():
    """Long products are made in float64: they do not end where float32 does."""
    cell = jax.tree.map(lambda x: x.astype(jnp.float32), set_block(made("lstm"), 1, W=0, b=-3.0))
    xs = jnp.zeros((60, INPUTS), jnp.float32)
    found = forget_share(cell, xs, lags=[59])
    assert 0 < found.forget[0] < 1e-60
    assert np.isfinite(found.unexplained[0])
