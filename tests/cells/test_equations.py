"""Every cell against its equation, written once more in NumPy.

A reference is one step for row vectors, `x @ W`, as the cell's docstring has it: it takes the
cell's arrays and options `p`, the input and the state, and returns the new state and the output.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import ostinato
from ostinato import unroll
from ostinato.cells import (
    GRU,
    LSTM,
    LSTM1997,
    MLSTM,
    MRNN,
    AdditiveDelay,
    Delay,
    Elman,
    Feedforward,
    Hopfield,
    Jordan,
    KrauseLSTM,
    Leaky,
    PeepholeLSTM,
    Simple,
)

STEPS, BATCH, INPUTS, UNITS = 4, 2, 3, 5
KEY = jax.random.key(3)
TOLERANCE = 1e-12


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


F = {
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "relu": lambda a: np.maximum(a, 0),
    "identity": lambda a: a,
    "step": lambda a: np.where(a > 0, 1.0, 0.0),
}


def block(matrix, number):
    """Columns (or entries) of one gate among those that stand side by side."""
    return matrix[..., number * UNITS : (number + 1) * UNITS]


def gate(p, number, x, h):
    """`W x + R h + b` of one gate, without the bias where the cell has none."""
    a = x @ block(p.W, number) + h @ block(p.R, number)
    return a + block(p.b, number) if hasattr(p, "b") else a


def simple(p, x, h):
    h = F[p.f](x @ p.W + h @ p.R + p.b)
    return h, h


def elman(p, x, h):
    context = h  # along edges of weight 1
    h = F[p.f](x @ p.W + p.r * context + p.b)
    return h, h


def full_elman(p, x, h):
    context = h
    h = F[p.f](x @ p.W + context @ p.r + p.b)
    return h, h


def feedforward(p, x, s):
    return s, F[p.f](x @ p.W + p.b)


def hopfield(p, x, s):
    a = x + s @ (p.R - np.diag(np.diag(p.R)))
    s = np.where(a == 0, s, np.sign(a))
    return s, s


def leaky(p, x, h):
    h = (1 - p.alpha) * F[p.f](x @ p.W + h @ p.R + p.b) + p.alpha * h
    return h, h


def jordan(p, x, state):
    s, y = state
    s = p.alpha * s + y
    y = F[p.g](F[p.f](x @ p.W + s @ p.R + p.b) @ p.V)
    return (s, y), y


def lstm(p, x, state):
    h, c = state
    i, f, o = (sigmoid(gate(p, number, x, h)) for number in (0, 1, 3))
    c = f * c + i * np.tanh(gate(p, 2, x, h))
    h = o * np.tanh(c)
    return (h, c), h


def peephole_lstm(p, x, state):
    h, c = state
    i = sigmoid(gate(p, 0, x, h) + p.p[0] * c)
    f = sigmoid(gate(p, 1, x, h) + p.p[1] * c)
    c = f * c + i * np.tanh(gate(p, 2, x, h))
    o = sigmoid(gate(p, 3, x, h) + p.p[2] * c)
    h = o * np.tanh(c)
    return (h, c), h


def lstm_1997(p, x, state):
    h, c = state
    i, g, o = (sigmoid(gate(p, number, x, h)) for number in range(3))
    c = c + i * g
    h = o * np.tanh(c)
    return (h, c), h


def without_forget_gate(p, x, state):
    """Lipton et al. (2015), section 4.1, with f = 1."""
    h, c = state
    i, o = (sigmoid(gate(p, number, x, h)) for number in (0, 2))
    c = np.tanh(gate(p, 1, x, h)) * i + c
    h = np.tanh(c) * o
    return (h, c), h


def krause_without_forget_gate(p, x, state):
    """Krause (2015), (2.11-2.15)."""
    h, c = state
    assert p.b is None
    i, g, o = (x @ block(p.W, number) + h @ block(p.R, number) for number in range(3))
    c = c + sigmoid(i) * g
    h = np.tanh(c * sigmoid(o))
    return (h, c), h


def krause_lstm(p, x, state, read=None):
    h, c = state
    read = h if read is None else read
    i, f, o = (sigmoid(gate(p, number, x, read)) for number in (0, 1, 3))
    c = f * c + i * gate(p, 2, x, read)
    h = np.tanh(c * o)
    return (h, c), h


def factor(p, x, h):
    """`(W_m x) ⊙ (R_m h)`, where W_m reads the first of the inputs."""
    return (x[:, : len(p.Wm)] @ p.Wm) * (h @ p.Rm)


def mlstm(p, x, state):
    return krause_lstm(p, x, state, read=factor(p, x, state[0]))


def mrnn(p, x, h):
    h = np.tanh(p.b + x @ p.W + factor(p, x, h) @ p.R)
    return h, h


def gru(p, x, h):
    z, r = (sigmoid(gate(p, number, x, h)) for number in range(2))
    candidate = x @ block(p.W, 2) + block(p.b, 2)
    candidate = candidate + ((r * h) @ p.U if p.reset == "before" else r * (h @ p.U + p.d))
    h = (1 - z) * h + z * np.tanh(candidate)
    return h, h


def delay(p, x, state):
    """The backward Euler system `(c' - c) / ΔT = c' A + y(t - τ) B + x C`, solved for c'."""
    c, past = state
    right = c + p.dt * (past[:, 0] @ p.B + x @ p.C)
    c = np.linalg.solve((np.eye(UNITS) - p.dt * p.A).T, right.T).T
    y = F[p.f](c)
    return (c, np.concatenate([past[:, 1:], y[:, None]], axis=1)), y


def additive_delay(p, x, state):
    """The backward Euler system with all terms on one side, solved for c'."""
    (cs, ys, xs), (tau_c, tau_y, tau_x) = state, p.delays
    alpha, beta, gamma = (F[name] for name in p.functions)
    right, now = cs[:, -1], np.zeros((UNITS, UNITS))
    for A, delay in zip(p.A, tau_c, strict=True):
        if delay == 0:
            now = A
        else:
            right = right + p.dt * alpha(cs[:, -delay] @ A)
    for B, delay in zip(p.B, tau_y, strict=True):
        right = right + p.dt * beta(ys[:, -delay] @ B)
    for C, delay in zip(p.C, tau_x, strict=True):
        right = right + p.dt * gamma((x if delay == 0 else xs[:, -delay]) @ C)
    if p.functions[0] == "identity":
        c = np.linalg.solve((np.eye(UNITS) - p.dt * now).T, right.T).T
    else:
        used = alpha if 0 in tau_c else F["identity"]
        rows = zip(cs[:, -1], right, strict=True)
        solved = [root(lambda c, r=r: c - p.dt * used(c @ now) - r, start) for start, r in rows]
        c = np.stack(solved)
    y = F[p.f](c)
    new = (c, y, x)
    return tuple(
        np.concatenate([a[:, 1:], b[:, None]], 1) for a, b in zip(state, new, strict=True)
    ), y


def root(residual, start):
    """MINPACK's hybrid method, which takes its derivatives from differences."""
    return scipy.optimize.root(residual, start, tol=1e-14).x


CASES = {
    "simple tanh": (simple, Simple, {}),
    "simple sigmoid": (simple, Simple, {"f": "sigmoid"}),
    "simple relu": (simple, Simple, {"f": "relu"}),
    "simple identity": (simple, Simple, {"f": "identity"}),
    "simple step": (simple, Simple, {"f": "step"}),
    "elman": (elman, Elman, {}),
    "elman sigmoid": (elman, Elman, {"f": "sigmoid"}),
    "elman, full context": (full_elman, Elman, {"context": "full"}),
    "leaky": (leaky, Leaky, {"alpha": 0.3}),
    "leaky relu": (leaky, Leaky, {"alpha": 0.9, "f": "relu"}),
    "jordan": (jordan, Jordan, {"outputs": 2, "alpha": 0.7}),
    "jordan sigmoid tanh": (jordan, Jordan, {"f": "sigmoid", "g": "tanh"}),
    "lstm": (lstm, LSTM, {}),
    "peephole lstm": (peephole_lstm, PeepholeLSTM, {}),
    "lstm 1997": (lstm_1997, LSTM1997, {}),
    "lstm 1997 truncated": (lstm_1997, LSTM1997, {"truncated": True}),
    "lstm 1997, lipton": (without_forget_gate, LSTM1997, {"variant": "lipton"}),
    "lstm 1997, krause": (krause_without_forget_gate, LSTM1997, {"variant": "krause"}),
    "krause lstm": (krause_lstm, KrauseLSTM, {}),
    "mlstm": (mlstm, MLSTM, {}),
    "mlstm, factor of 2": (mlstm, MLSTM, {"factor_inputs": 2}),
    "mrnn": (mrnn, MRNN, {}),
    "mrnn, factor of 2": (mrnn, MRNN, {"factor_inputs": 2}),
    "gru, reset before": (gru, GRU, {"reset": "before"}),
    "gru, reset after": (gru, GRU, {"reset": "after"}),
    "hopfield": (hopfield, Hopfield, {}),
    "feedforward": (feedforward, Feedforward, {}),
    "delay": (delay, Delay, {}),
    "additive delay": (additive_delay, AdditiveDelay, {}),
    "additive delay, many": (
        additive_delay,
        AdditiveDelay,
        {
            "state_delays": (0, 2),
            "output_delays": (1, 3),
            "input_delays": (0, 2, 1),
            "dt": 0.3,
        },
    ),
    "additive delay, nonlinear": (
        additive_delay,
        AdditiveDelay,
        {
            "state_delays": (0, 2),
            "output_delays": (1, 3),
            "input_delays": (0, 1),
            "state_function": "tanh",
            "output_function": "sigmoid",
            "input_function": "relu",
            "dt": 0.3,
        },
    ),
    "additive delay, nonlinear and delayed": (
        additive_delay,
        AdditiveDelay,
        {"state_delays": (1,), "input_delays": (2,), "state_function": "tanh"}
        | {"input_function": "sigmoid", "dt": 0.5},
    ),
    "delay of 3": (delay, Delay, {"delay": 3, "dt": 0.2}),
}


def random_like(tree, seed):
    """Normal numbers in place of all arrays, so that no bias is zero and no block orthogonal."""
    random = np.random.default_rng(seed)
    return jax.tree.map(lambda x: jnp.asarray(0.7 * random.standard_normal(x.shape)), tree)


def shapes(make, **options):
    """A cell with shapes in place of its arrays: nothing has to be drawn."""
    return eqx.filter_eval_shape(lambda key: make(INPUTS, UNITS, key=key, **options), KEY)


def with_arrays(make, like, names, **options):
    """A cell with the arrays of another."""
    where = arrays_of(*names)
    return eqx.tree_at(where, shapes(make, **options), where(like))


def arrays_of(*names):
    return lambda cell: tuple(getattr(cell, name) for name in names)


def case(make, seed=0, **options):
    """A cell with random parameters, inputs, and a random state to start from."""
    cell = random_like(shapes(make, **options), seed)
    xs = np.random.default_rng(seed + 1).standard_normal((STEPS, BATCH, INPUTS))
    return cell, jnp.asarray(xs), random_like(cell.initial((BATCH,)), seed + 2)


def plain(tree):
    return jax.tree.map(np.asarray, tree)


def by_hand(step, cell, xs, state):
    cell, xs, state = plain((cell, xs, state))
    ys = []
    for x in xs:
        state, y = step(cell, x, state)
        ys.append(y)
    return np.stack(ys), state


def distance(one, other):
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return np.max([np.abs(np.asarray(a) - np.asarray(b)).max() for a, b in pairs])


@pytest.mark.parametrize("name", CASES)
def test_a_cell_computes_its_equation(name):
    reference, make, options = CASES[name]
    cell, xs, state = case(make, **options)
    assert distance(unroll(cell, xs, state), by_hand(reference, cell, xs, state)) < TOLERANCE


def test_every_cell_has_a_reference():
    public = [x for x in vars(ostinato.cells).values() if isinstance(x, type)]
    cells = {x for x in public if issubclass(x, ostinato.Cell)} - {ostinato.Cell}
    assert cells == {make for _, make, _ in CASES.values()}


def test_leaky_without_leak_is_simple():
    cell, xs, state = case(Leaky, alpha=0.0, f="sigmoid")
    same = with_arrays(Simple, cell, "WRb", f="sigmoid")
    assert distance(unroll(cell, xs, state), unroll(same, xs, state)) < TOLERANCE


def test_peephole_lstm_without_peepholes_is_lstm():
    cell, xs, state = case(PeepholeLSTM)
    cell = eqx.tree_at(lambda c: c.p, cell, jnp.zeros((3, UNITS)))
    same = with_arrays(LSTM, cell, "WRb")
    assert distance(unroll(cell, xs, state), unroll(same, xs, state)) < TOLERANCE


def test_the_place_of_the_reset_matters():
    after, xs, state = case(GRU, reset="after")
    after = eqx.tree_at(lambda c: c.d, after, jnp.zeros(UNITS))
    before = with_arrays(GRU, after, "WRUb", reset="before")
    assert distance(unroll(after, xs, state), unroll(before, xs, state)) > 0.01


# The delay equation


def test_a_fast_delay_equation_is_the_simple_cell():
    """With `R = ΔT M B` and `W = ΔT M C` given, the rest vanishes like 1/|A|."""
    simple, xs, h = case(Simple)
    simple = eqx.tree_at(lambda c: c.b, simple, jnp.zeros(UNITS))
    expected, _ = unroll(simple, xs, h)
    c = random_like(h, 9)
    rates = np.linspace(1.0, 2.0, UNITS)  # the units need not be equally fast

    def error(size):
        A, scale = -size * np.diag(rates), 1 + size * rates  # M = (I - A)⁻¹ = diag(1 / scale)
        new = jnp.asarray(A), simple.R * scale, simple.W * scale
        cell = eqx.tree_at(arrays_of(*"ABC"), shapes(Delay, delay=1, dt=1.0), new)
        return distance(unroll(cell, xs, (c, h[:, None]))[0], expected)

    slow, fast = error(1e4), error(1e8)
    assert 1e-6 < slow < 1e-3
    assert slow / fast == pytest.approx(1e4, rel=0.01)


def test_a_delay_of_several_steps_reads_the_output_of_so_many_steps_before():
    """Nothing of the first output is felt until `delay` steps later, in a cell without decay."""
    cell, xs, _ = case(Delay, delay=3)
    cell = eqx.tree_at(lambda c: c.A, cell, -1e12 * jnp.eye(UNITS))
    cell = eqx.tree_at(arrays_of(*"BC"), cell, (1e12 * cell.B, 1e12 * cell.C))
    moved = xs.at[0].add(1.0)
    change = np.abs(unroll(cell, xs)[0] - unroll(cell, moved)[0]).max(axis=(1, 2))
    assert change[0] > 0.01 and change[3] > 0.01
    assert change[1] < 1e-9 and change[2] < 1e-9


# The truncated gradient


def loss_of(xs, state, weights):
    return lambda cell: jnp.sum(weights * unroll(cell, xs, state)[0])


def online(cell, xs, state, weights):
    """The truncated gradient of `Σ_t ⟨w_t, h_t⟩` by Krause (2015) (2.17), without going back.

    For every weight that leads to i or g of a unit there is one running derivative of that unit's
    c. What the weight does through `h_{t-1}` is left out, so that it moves no other unit.
    """
    p, xs, (h, c), weights = plain((cell, xs, state, weights))
    running = np.zeros((BATCH, 1 + INPUTS + UNITS, 2, UNITS))
    total = np.zeros((1 + INPUTS + UNITS, 3, UNITS))
    for x, w in zip(xs, weights, strict=True):
        i, g, o = (sigmoid(gate(p, number, x, h)) for number in range(3))
        read = np.concatenate([np.ones((BATCH, 1)), x, h], axis=1)[:, :, None]
        direct = np.stack([i * (1 - i) * g, i * g * (1 - g)], axis=1)[:, None]
        running = running + read[..., None] * direct
        c = c + i * g
        of_c = w * o * (1 - np.tanh(c) ** 2)
        total[:, :2] += np.sum(of_c[:, None, None] * running, axis=0)
        total[:, 2] += np.sum(read * (w * np.tanh(c) * o * (1 - o))[:, None], axis=0)
        h = o * np.tanh(c)
    total = total.reshape(len(total), 3 * UNITS)
    return {"b": total[0], "W": total[1 : 1 + INPUTS], "R": total[1 + INPUTS :]}


def test_the_truncated_gradient_is_the_online_recursion_and_not_the_gradient():
    cell, xs, state = case(LSTM1997, truncated=True)
    whole = with_arrays(LSTM1997, cell, "WRb", truncated=False)
    assert distance(unroll(cell, xs, state), unroll(whole, xs, state)) < TOLERANCE
    weights = np.random.default_rng(5).standard_normal((STEPS, BATCH, UNITS))
    gradient, exact = (jax.grad(loss_of(xs, state, weights))(x) for x in (cell, whole))
    expected = online(cell, xs, state, weights)
    for name in ("W", "R", "b"):
        assert distance(getattr(gradient, name), expected[name]) < 1e-10
        assert distance(getattr(gradient, name), getattr(exact, name)) > 1e-3


# The options


@pytest.mark.parametrize("make", [MRNN, MLSTM])
def test_only_the_first_inputs_are_factors(make):
    cell, xs, state = case(make, factor_inputs=2)
    cell = eqx.tree_at(lambda c: c.W, cell, jnp.zeros_like(cell.W))
    ys, _ = unroll(cell, xs, state)
    assert distance(unroll(cell, xs.at[..., 2].add(1.0), state)[0], ys) == 0
    assert distance(unroll(cell, xs.at[..., 1].add(1.0), state)[0], ys) > 0.01


ACTIVATIONS = "must be one of tanh, sigmoid, relu, identity, step; got cube"
BAD = {
    "simple": (Simple, {"f": "cube"}, f"f {ACTIVATIONS}"),
    "leaky": (Leaky, {"f": "cube"}, f"f {ACTIVATIONS}"),
    "jordan, f": (Jordan, {"f": "cube"}, f"f {ACTIVATIONS}"),
    "jordan, g": (Jordan, {"g": "cube"}, f"g {ACTIVATIONS}"),
    "delay, f": (Delay, {"f": "cube"}, f"f {ACTIVATIONS}"),
    "state function": (AdditiveDelay, {"state_function": "cube"}, f"state_function {ACTIVATIONS}"),
    "alpha above": (Leaky, {"alpha": 1.5}, "alpha must be at most 1, got 1.5"),
    "alpha below": (Leaky, {"alpha": -0.5}, "alpha must be at least 0, got -0.5"),
    "reset": (GRU, {"reset": "never"}, "reset must be one of before, after; got never"),
    "variant": (
        LSTM1997,
        {"variant": "gru"},
        "variant must be one of original, lipton, krause; got gru",
    ),
    "mrnn, none": (MRNN, {"factor_inputs": 0}, "factor_inputs must be from 1 to 3, got 0"),
    "mlstm, many": (MLSTM, {"factor_inputs": 4}, "factor_inputs must be from 1 to 3, got 4"),
    "delay": (Delay, {"delay": 0}, "delay must be at least 1, got 0"),
    "context": (Elman, {"context": "x"}, "context must be one of one-to-one, full; got x"),
    "delays of y": (
        AdditiveDelay,
        {"output_delays": (0,)},
        "output_delays must be whole numbers from 1, one at least, got (0,)",
    ),
    "delays of x": (
        AdditiveDelay,
        {"input_delays": (0, 3, 0)},
        "input_delays has the same delay twice, got (0, 3, 0)",
    ),
    "dt": (Delay, {"dt": 0.0}, "dt must be at least 1e-12, got 0.0"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_option_is_refused_in_one_line(name):
    make, options, line = BAD[name]
    with pytest.raises(ValueError) as caught:
        make(INPUTS, UNITS, key=KEY, **options)
    assert str(caught.value) == line
