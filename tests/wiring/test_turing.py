"""The neural Turing machine against NumPy, at the ends of float32, and over many steps."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

import ostinato
from everyday import some
from ostinato.cells import LSTM, Feedforward
from ostinato.errors import BadInput
from ostinato.wiring import Bidirectional, NeuralTuringMachine
from ostinato.wiring.turing import Focus, address, read, similarity, write

BATCH, HEADS, ROWS, COLUMNS, SHIFT = 3, 2, 7, 4, 2


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def addressed(memory, before, k, beta, g, s, gamma):
    """Equations 5 to 9 of Graves, Wayne and Danihelka (2014) for one head, as they are printed."""
    rows, most = len(memory), len(s) // 2
    cosine = [k @ row / (np.linalg.norm(k) * np.linalg.norm(row)) for row in memory]
    w = g * softmax(beta * np.array(cosine)) + (1 - g) * before
    moved = np.array(
        [sum(w[(i - j) % rows] * s[j + most] for j in range(-most, most + 1)) for i in range(rows)]
    )
    return moved**gamma / np.sum(moved**gamma)


def drawn(seed=0):
    """A memory, weightings, and what the heads are told, for a batch."""
    rng = np.random.default_rng(seed)
    memory = rng.normal(size=(BATCH, ROWS, COLUMNS))
    before = rng.dirichlet(np.ones(ROWS), (BATCH, HEADS))
    focus = Focus(
        rng.normal(size=(BATCH, HEADS, COLUMNS)),
        rng.gamma(2, size=(BATCH, HEADS)),
        rng.random((BATCH, HEADS)),
        rng.dirichlet(np.ones(2 * SHIFT + 1), (BATCH, HEADS)),
        1 + rng.gamma(2, size=(BATCH, HEADS)),
    )
    return memory, before, focus


def test_addressing_is_that_of_numpy():
    memory, before, focus = drawn()
    found = np.asarray(jax.jit(address)(memory, before, focus))
    for b in range(BATCH):
        for h in range(HEADS):
            expected = addressed(memory[b], before[b, h], *(x[b, h] for x in focus))
            np.testing.assert_allclose(found[b, h], expected, rtol=0, atol=1e-10)


def test_reading_and_writing_are_those_of_numpy():
    memory, weights, _ = drawn(1)
    rng = np.random.default_rng(2)
    erased, added = rng.random((2, BATCH, HEADS, COLUMNS))
    reads, after = read(memory, weights), write(memory, weights, erased, added)
    for b in range(BATCH):
        expected = memory[b].copy()
        for h in range(HEADS):
            np.testing.assert_allclose(reads[b, h], weights[b, h] @ memory[b], atol=1e-12)
            expected *= 1 - np.outer(weights[b, h], erased[b, h])
        expected += np.einsum("hn,hm->nm", weights[b], added[b])
        np.testing.assert_allclose(after[b], expected, rtol=0, atol=1e-12)


def test_a_step_is_that_of_numpy():
    """The order of a step: the controller, the heads, reading, and then writing."""
    machine = NeuralTuringMachine.of(Feedforward, 3, 5, rows=6, columns=2, key=key(0))
    rng = np.random.default_rng(3)
    x, start = rng.normal(size=3), machine.initial(())
    start = start._replace(
        memory=rng.normal(size=(6, 2)),
        weightings=rng.dirichlet(np.ones(6), 2),
        reads=rng.normal(size=2),
    )
    state, y = jax.jit(lambda start, x: machine.step(start, machine.inputs(x)))(start, x)
    cell = machine.cell
    h = np.tanh(np.concatenate([x, start.reads]) @ cell.W + cell.b)
    told = h @ machine.P + machine.b
    weights, size = [], 2 + 3 + 3
    for head in range(2):
        k, (beta, g, gamma), s = np.split(told[head * size : (head + 1) * size], [2, 5])
        beta, gamma, g = np.log1p(np.exp(beta)), 1 + np.log1p(np.exp(gamma)), 1 / (1 + np.exp(-g))
        where = start.memory, start.weightings[head]
        weights.append(addressed(*where, np.tanh(k), beta, g, softmax(s), gamma))
    erased, added = np.split(told[2 * size :], 2)
    reads = weights[0] @ start.memory
    kept = start.memory * (1 - np.outer(weights[1], 1 / (1 + np.exp(-erased))))
    np.testing.assert_allclose(y, np.concatenate([h, reads]), atol=1e-10)
    np.testing.assert_allclose(state.reads, reads, atol=1e-10)
    np.testing.assert_allclose(state.weightings, weights, atol=1e-10)
    np.testing.assert_allclose(
        state.memory, kept + np.outer(weights[1], np.tanh(added)), atol=1e-10
    )


def test_finite_differences_of_addressing():
    memory, before, focus = drawn(4)
    given = (jnp.asarray(memory), jnp.asarray(before), Focus(*map(jnp.asarray, focus)))
    along = jax.tree.map(lambda x: np.sin(7.0 * np.arange(x.size)).reshape(x.shape), given)

    def value(step):
        return address(*jax.tree.map(lambda x, d: x + step * d, given, along))

    with_slope = jax.jit(lambda step: jax.jvp(value, (step,), (1.0,)))
    _, slope = with_slope(0.0)
    near = (with_slope(1e-6)[0] - with_slope(-1e-6)[0]) / 2e-6
    np.testing.assert_allclose(slope, near, atol=1e-8)
    weights = np.cos(np.arange(slope.size)).reshape(slope.shape)
    gradient = jax.jit(jax.grad(lambda given: jnp.sum(weights * address(*given))))(given)
    both = zip(jax.tree.leaves(gradient), jax.tree.leaves(along), strict=True)
    total = sum(np.vdot(x, d) for x, d in both)
    np.testing.assert_allclose(total, np.vdot(weights, slope), rtol=1e-10)


def test_forward_and_reverse_mode_agree_through_time():
    """Both by the engine, and both with the derivative along a line."""
    machine = NeuralTuringMachine.of(LSTM, 2, 3, rows=4, columns=2, key=key(0))
    xs = np.random.default_rng(6).normal(size=(6, 2, 2))
    lengths = np.array([6, 4])
    along = jax.tree.map(lambda x: np.sin(5.0 * np.arange(x.size)).reshape(x.shape), machine)

    def value(step):
        moved = jax.tree.map(lambda x, d: x + step * d, machine, along)
        ys, state = ostinato.unroll(moved, xs, lengths=lengths)
        return jnp.sum(jnp.sin(ys)) + jnp.sum(jnp.cos(state.memory))

    reverse = jax.jit(jax.grad(value))(0.0)
    with_slope = jax.jit(lambda step: jax.jvp(value, (step,), (1.0,)))
    _, forward = with_slope(0.0)
    np.testing.assert_allclose(forward, reverse, rtol=1e-10)
    near = (with_slope(1e-6)[0] - with_slope(-1e-6)[0]) / 2e-6
    np.testing.assert_allclose(forward, near, rtol=1e-7)


def test_how_the_heads_start():
    """What the biases say to the heads, whatever the controller says: h is zero."""
    given = {"read_gate": 1.0, "write_gate": -3.0, "strength": 2.0}
    given |= {"read_stay": 0.5, "read_onward": 4.0}
    machine = NeuralTuringMachine.of(
        LSTM, 2, 3, rows=8, columns=2, key=key(0), heads=2, shift=2, **given
    )
    focus, erased, added = machine.commands(jnp.zeros(3))
    sigmoid = 1 / (1 + np.exp(-np.array([1.0, 1.0, -3.0, -3.0])))
    np.testing.assert_allclose(focus.gate, sigmoid, rtol=1e-6)
    np.testing.assert_allclose(focus.strength, np.log1p(np.exp(2.0)), rtol=1e-6)
    np.testing.assert_allclose(focus.sharpness, 1 + np.log(2), rtol=1e-6)
    read, moved = softmax(np.array([0, 0, 0.5, 4, 0])), softmax(np.array([0, 0, 0, 2.0, 0]))
    np.testing.assert_allclose(focus.shift, [read, read, moved, moved], rtol=1e-6)
    np.testing.assert_allclose(erased, 0.5)
    np.testing.assert_allclose(added, 0)


def test_a_read_head_that_looks_and_moves_on_reads_what_came_next():
    """As a machine that starts for the n-grams does: the row after the one that is like the key."""
    start = {"read_gate": 20.0, "strength": 40.0, "read_stay": 0.0, "read_onward": 20.0}
    machine = NeuralTuringMachine.of(LSTM, 2, 3, rows=6, columns=3, key=key(0), **start)
    memory = np.random.default_rng(7).normal(size=(6, 3))
    focus, *_ = machine.commands(jnp.zeros(3))
    look = jax.jit(lambda keys: address(memory, np.full((2, 6), 1 / 6), focus._replace(key=keys)))
    for row in range(6):
        weights = np.asarray(look(np.stack([memory[row], focus.key[1]])))
        assert weights[0].argmax() == (row + 1) % 6 and weights[0].max() > 0.9


@pytest.mark.parametrize("name", ["read_gate", "write_gate", "strength", "read_stay"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), "much", None])
def test_how_heads_cannot_start(name, value):
    with pytest.raises(BadInput, match=f"^{name} must be "):
        NeuralTuringMachine.of(LSTM, 2, 3, rows=4, columns=2, key=key(0), **{name: value})


EXTREMES = {
    "empty memory": {"memory": 0.0},
    "nearly empty memory": {"memory": 1e-30},
    "large memory": {"memory": 1e15},
    "key of zeros": {"key": 0.0},
    "tiny key": {"key": 1e-30},
    "key of 1e30": {"key": 1e30},
    "no strength": {"strength": 0.0},
    "strength of 1e30": {"strength": 1e30},
    "sharpness of 1e4": {"sharpness": 1e4},
    "sharpness of 1e30": {"sharpness": 1e30},
    "all at once": {"memory": 0.0, "key": 1e30, "strength": 1e30, "sharpness": 1e30},
}


@jax.jit
def with_derivatives(given):
    """The weightings, their change if everything grows, and the gradient of their squares."""
    found, push = jax.linearize(lambda given: address(*given), given)
    gradient = jax.grad(lambda given: jnp.sum(address(*given) ** 2))(given)
    return found, push(jax.tree.map(jnp.ones_like, given)), gradient


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("focused", [False, True])
def test_extremes_in_float32(name, focused):
    """Weightings stay weightings, and derivatives finite, also where a weight is exactly zero."""
    memory, before, focus = jax.tree.map(np.float32, drawn(5))
    factors = {part: np.float32(x) for part, x in EXTREMES[name].items()}
    memory = memory * factors.pop("memory", np.float32(1))
    focus = focus._replace(**{part: getattr(focus, part) * x for part, x in factors.items()})
    if focused:  # the head stays where it is, on one row
        before, still = np.zeros_like(before), np.zeros_like(focus.shift)
        before[..., 1] = still[..., SHIFT] = 1
        focus = focus._replace(gate=0 * focus.gate, shift=still)
    found, tangent, gradient = with_derivatives((memory, before, focus))
    assert found.dtype == jnp.float32
    found = np.asarray(found)
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-5)
    assert np.isfinite(found).all() and (found >= 0).all()
    for x in (*jax.tree.leaves(gradient), tangent):
        assert np.isfinite(x).all()


def test_the_cosine_of_nothing_is_zero():
    found = similarity(jnp.zeros((2, 3)), jnp.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]))
    np.testing.assert_array_equal(found, 0)


@pytest.mark.parametrize("scale", some([30.0, 1e4], [1e4]))
def test_ten_thousand_steps_with_extreme_parameters(scale):
    """No NaN in float32, in the outputs, the final state and the gradient."""
    with jax.enable_x64(False):
        machine = NeuralTuringMachine.of(LSTM, 2, 4, rows=5, columns=3, key=key(0))
        machine = eqx.tree_at(lambda m: (m.P, m.b), machine, (scale * machine.P, machine.b + scale))
        xs = scale * jax.random.normal(key(1), (10_000, 1, 2), jnp.float32)

        @jax.jit
        def everything(machine, xs):
            def loss(machine):
                ys, state = ostinato.unroll(machine, xs, memory="sqrt")
                return jnp.mean(ys**2) + jnp.mean(state.memory), (ys, state)

            return jax.grad(loss, has_aux=True)(machine)

        for x in jax.tree.leaves(everything(machine, xs)):
            assert x.dtype == jnp.float32
            assert np.isfinite(x).all()


@pytest.mark.parametrize("steps", [3, 100])
def test_errors_that_grow_with_every_step(steps):
    """Equal rows stay equal, but a difference grows by γ ≈ 9 per step, and so does its error."""

    def gradient(dtype):
        machine = NeuralTuringMachine.of(Feedforward, 2, 3, rows=5, columns=2, key=key(0))
        gamma = jnp.zeros((2, 8)).at[:, 4].set(8)  # of a read and a write head
        bias = machine.b.at[:16].add(gamma.reshape(-1))
        machine = eqx.tree_at(lambda m: (m.P, m.b), machine, (0 * machine.P, bias))
        machine, start = jax.tree.map(lambda x: x.astype(dtype), (machine, machine.initial((1,))))
        start = start._replace(weightings=jnp.full_like(start.weightings, 0.2))

        def loss(given):
            _, state = ostinato.unroll(given[0], jnp.zeros((steps, 1, 2), dtype), given[1])
            return jnp.sum(state.weightings[..., 0])

        return jax.jit(jax.grad(loss))((machine, start))

    found = jax.tree.leaves(gradient(jnp.float32))
    assert all(np.isfinite(x).all() for x in found)
    largest = max(np.abs(x).max() for x in found)
    if steps == 3:
        exact = gradient(jnp.float64)[1].weightings
        assert np.abs(exact).max() > 100
        np.testing.assert_allclose(found[-2], exact, rtol=1e-4, atol=1e-3)
    else:
        assert largest > 1e12


def test_write_heads_move_on_before_anything_is_learned():
    machine = NeuralTuringMachine.of(Feedforward, 2, 3, rows=8, columns=2, heads=2, key=key(0))
    (_, states), _ = ostinato.unroll(machine, np.zeros((5, 1, 2)), watch="states")
    writing = np.asarray(states[-2]).reshape(5, 4, 8)[:, 2:]
    assert (writing.argmax(-1) == np.arange(1, 6)[:, None]).all()


def test_bad_sizes_are_refused():
    make = NeuralTuringMachine.of
    with pytest.raises(ValueError, match="rows must be a whole number of at least 1, got 0"):
        make(LSTM, 2, 4, rows=0, columns=3, key=key(0))
    with pytest.raises(ValueError, match=r"shift must be a whole number from 0 to 2, .* got 3"):
        make(LSTM, 2, 4, rows=5, columns=3, shift=3, key=key(0))
    with pytest.raises(ValueError, match=r"must read the input and 6 numbers .* of size 6"):
        NeuralTuringMachine(LSTM(6, 4, key=key(0)), 5, 3, heads=2, key=key(0))
    both = Bidirectional(LSTM(6, 4, key=key(0)), LSTM(6, 4, key=key(1)))
    with pytest.raises(ValueError, match="a controller needs a step, which Bidirectional has not"):
        NeuralTuringMachine(both, 5, 3, key=key(0))
    with pytest.raises(ValueError, match=r"inputs of shape \(\.\.\., 2\), got \(4, 3\)"):
        make(LSTM, 2, 4, rows=5, columns=3, key=key(0)).inputs(jnp.ones((4, 3)))
