"""Every wiring against what it is made of: the same result put together by hand, or in NumPy."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato import Network, Readout, unroll
from ostinato.cells import GRU, LSTM, Elman, Leaky, PeepholeLSTM, Simple
from ostinato.errors import BadInput
from ostinato.wiring import (
    Bidirectional,
    Dropout,
    Embedding,
    GatedFeedback,
    LayerNorm,
    OneHot,
    Stack,
    WeightNoise,
    Zoneout,
    reseed,
)

STEPS, BATCH, INPUTS, UNITS = 4, 2, 3, 5
ONE, TWO, THREE = jax.random.split(jax.random.key(13), 3)
TOLERANCE = 1e-12


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def random_like(tree, seed):
    random = np.random.default_rng(seed)

    def draw(x):
        floating = hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.inexact)
        return jnp.asarray(0.7 * random.standard_normal(x.shape)) if floating else x

    return jax.tree.map(draw, tree)


def made(make, *sizes, seed=0, **options):
    """A module of random numbers, none of them zero; only its shapes are asked for."""
    shapes = eqx.filter_eval_shape(lambda key: make(*sizes, key=key, **options), ONE)
    return random_like(shapes, seed)


def cell_of(make, inputs=INPUTS, units=UNITS, **options):
    return made(make, inputs, units, **options)


def inputs_of(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape)


def case(cell, inputs=INPUTS):
    """Inputs and a state to start from."""
    return inputs_of(STEPS, BATCH, inputs), random_like(cell.initial((BATCH,)), 2)


@eqx.filter_jit
def one_step(cell, state, x):
    return cell.step(state, cell.inputs(x))


def distance(one, other):
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return np.max([np.abs(np.asarray(a) - np.asarray(b)).max() for a, b in pairs])


# Gated feedback


def test_gated_feedback_is_its_equation():
    sizes = [4, 2, 3]
    cell = made(GatedFeedback.of, Simple, INPUTS, sizes)
    xs, (states, _) = case(cell)
    ys, (_, final) = unroll(cell, xs, (states, states))
    p, xs, h = jax.tree.map(np.asarray, (cell, xs, list(states)))
    expected = []
    for x in xs:
        before, below = list(h), x
        everything = np.concatenate(before, axis=1)
        for j, layer in enumerate(p.layers):

            def g(i, j=j, below=below, everything=everything):
                return sigmoid(below @ p.w[j][:, i] + everything @ p.u[j][:, i])[:, None]

            others = [g(i) * before[i] for i in range(3) if i != j]
            read = np.concatenate([below, *others], axis=1)
            h[j] = np.tanh(read @ layer.W + g(j) * (before[j] @ layer.R) + layer.b)
            below = h[j]
        expected.append(below)
    assert distance((ys, final), (np.stack(expected), tuple(h))) < TOLERANCE


def _tanh_step(p, h, a, g):
    h = np.tanh(a + g * (h @ p.R))
    return h, h


def _elman_step(p, h, a, g):
    h = np.tanh(a + g * (p.r * h))
    return h, h


def _leaky_step(p, h, a, g):
    h = (1 - p.alpha) * np.tanh(a + g * (h @ p.R)) + p.alpha * h
    return h, h


class LearnedLeak(Simple):
    """One number for all units is a leak, though it is a parameter."""

    alpha: jax.Array

    def __init__(self, inputs, units, *, key):
        super().__init__(inputs, units, key=key)
        self.alpha = jnp.asarray(0.3)

    def step(self, state, u):
        h = (1 - self.alpha) * jnp.tanh(u + state @ self.R) + self.alpha * state
        return h, h


def _lstm_step(p, state, a, g):
    h, c = state
    i, f, block, o = np.split(a + g * (h @ p.R), 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(block)
    h = sigmoid(o) * np.tanh(c)
    return (h, c), h


def _peephole_step(p, state, a, g):
    h, c = state
    i, f, block, o = np.split(a + g * (h @ p.R), 4, axis=1)
    i, f = sigmoid(i + g * (p.p[0] * c)), sigmoid(f + g * (p.p[1] * c))
    c = f * c + i * np.tanh(block)
    h = sigmoid(o + p.p[2] * c) * np.tanh(c)  # which reads the new c
    return (h, c), h


def _gru_step(p, h, a, g):
    n = h.shape[1]
    z, r = np.split(sigmoid(a[:, : 2 * n] + g * (h @ p.R)), 2, axis=1)
    candidate = np.tanh(a[:, 2 * n :] + g * ((r * h) @ p.U))
    h = (1 - z) * h + z * candidate
    return h, h


@pytest.mark.parametrize(
    "kind, step",
    [
        (Simple, _tanh_step),
        (Elman, _elman_step),
        (Leaky, _leaky_step),
        (LearnedLeak, _leaky_step),
        (LSTM, _lstm_step),
        (PeepholeLSTM, _peephole_step),
        (GRU, _gru_step),
    ],
    ids=lambda x: x.__name__,
)
def test_every_connection_from_the_step_before_is_scaled(kind, step):
    """Two layers in NumPy; whatever a weight takes from t-1 is scaled, and nothing else."""
    cell = made(GatedFeedback.of, kind, INPUTS, [4, 2])
    xs, (states, outputs) = case(cell)
    new, y = one_step(cell, (states, outputs), xs[0])
    p, x, states, before = jax.tree.map(np.asarray, (cell, xs[0], states, outputs))
    below, everything, expected = x, np.concatenate(before, axis=1), []
    for j, layer in enumerate(p.layers):
        gates = sigmoid(below @ p.w[j] + everything @ p.u[j])
        read = np.concatenate([below, gates[:, 1 - j, None] * before[1 - j]], axis=1)
        state, below = step(layer, states[j], read @ layer.W + layer.b, gates[:, j, None])
        expected.append((state, below))
    assert distance((new, y), (tuple(zip(*expected, strict=True)), below)) < TOLERANCE


def pinned(cell):
    """LSTM layers [4, 2] whose gates are all shut, by way of a first input that is one.

    The first unit of the first layer is made constant, tanh(1) or nearly, to shut those of the
    second.
    """
    i, f, g, o = 0, 4, 8, 12
    b = cell.layers[0].b.at[np.array([i, g, o])].set(50.0).at[f].set(-50.0)
    w = tuple(w.at[0].set(-1e5) for w in cell.w)
    return eqx.tree_at(lambda c: (c.layers[0].b, c.w), cell, (b, w))


def test_shut_gates_cut_off_the_outputs_of_the_step_before():
    cell = made(GatedFeedback.of, LSTM, INPUTS, [4, 2])
    xs, (states, outputs) = case(cell)
    xs[0, :, 0] = 1.0
    u = cell.inputs(xs[0])

    @eqx.filter_jit
    def after(cell, outputs):
        memories = [c for _, c in states]
        new = tuple(zip(outputs, memories, strict=True))
        return cell.step((new, outputs), u)

    other = random_like(outputs, 3)
    assert distance(after(pinned(cell), outputs), after(pinned(cell), other)) == 0
    assert distance(after(cell, outputs), after(cell, other)) > 0.01


def test_gated_feedback_names_the_size_that_a_layer_must_read():
    layers = [cell_of(Simple, 5, 4), cell_of(Simple, 4, 2)]
    with pytest.raises(ValueError) as caught:
        GatedFeedback(layers, INPUTS, key=TWO)
    assert str(caught.value) == "GatedFeedback's layer 1 must read 8, got 4"


# Stacks and both directions


def test_a_stack_feeds_each_layer_to_the_next():
    one, two = cell_of(LSTM), cell_of(GRU, UNITS, 2)
    stack = Stack([one, two])
    xs, (first, second) = case(stack)
    hs, end = unroll(one, xs, first)
    ys, last = unroll(two, hs, second)
    assert distance(unroll(stack, xs, (first, second)), (ys, (end, last))) < TOLERANCE


def test_a_stack_with_skips_reads_and_gives_everything():
    one, two, three = cell_of(Simple), cell_of(Simple, 3 + UNITS, 2), cell_of(GRU, 3 + 2, 4)
    stack = Stack([one, two, three], skip=True)
    xs, _ = case(one)
    a, end = unroll(one, xs)
    b, middle = unroll(two, np.concatenate([xs, a], axis=-1))
    c, last = unroll(three, np.concatenate([xs, b], axis=-1))
    expected = np.concatenate([a, b, c], axis=-1), (end, middle, last)
    assert distance(unroll(stack, xs), expected) < TOLERANCE


@pytest.mark.parametrize("skip", [False, True])
def test_stack_of_works_the_sizes_out(skip):
    stack = made(Stack.of, Simple, INPUTS, [4, 2, 6], skip=skip)
    read = [3, 3 + 4, 3 + 2] if skip else [3, 4, 2]
    assert [layer.W.shape for layer in stack.layers] == list(zip(read, [4, 2, 6], strict=True))


def test_a_stack_needs_a_layer():
    with pytest.raises(ValueError) as caught:
        Stack([])
    assert str(caught.value) == "Stack needs at least one layer, got none"
    with pytest.raises(BadInput, match=r"^Stack\.of needs the units of at least one layer, got"):
        Stack.of(GRU, INPUTS, [], key=ONE)


@pytest.mark.parametrize("given", [3, None, [], {}], ids=str)
def test_what_is_wrapped_is_a_cell(given):
    wrappers = (
        lambda: Zoneout(given, 0.5, key=ONE),
        lambda: Dropout(given, 0.5, key=ONE),
        lambda: WeightNoise(given, 0.5, key=ONE),
        lambda: LayerNorm(given),
    )
    for wrap in wrappers:
        with pytest.raises(BadInput, match=r"^expected a cell of Ostinato, got") as caught:
            wrap()
        assert "\n" not in str(caught.value)


def test_bidirectional_reads_forwards_and_backwards():
    ahead, behind = cell_of(LSTM), cell_of(Simple, units=2)
    layer = Bidirectional(ahead, behind)
    xs, (first, last) = case(layer)
    ys, end = unroll(ahead, xs, first)
    zs, start = unroll(behind, xs[::-1], last)
    expected = np.concatenate([ys, np.asarray(zs)[::-1]], axis=-1), (end, start)
    assert distance(unroll(layer, xs, (first, last)), expected) < TOLERANCE


# Zoneout

RATE = 0.3


@cache
def kept_by_zoneout():
    """Where a unit keeps its value: 119 steps, 4 sequences, 50 units."""
    cell = Zoneout(cell_of(Simple, units=50), RATE, key=TWO)
    ys = np.asarray(unroll(cell, inputs_of(120, 4, INPUTS))[0])
    return ys[1:] == ys[:-1]


def test_zoneout_keeps_units_at_its_rate():
    kept = kept_by_zoneout()
    # 23,800 draws: one deviation is 0.003.
    assert kept.mean() == pytest.approx(RATE, abs=0.012)
    assert np.abs(kept.mean(axis=0) - RATE).max() < 0.25  # every unit of every sequence
    assert np.abs(kept.mean(axis=(1, 2)) - RATE).max() < 0.15  # every step


def test_zoneout_draws_for_each_step_and_each_sequence():
    kept = kept_by_zoneout()
    share = RATE**2 + (1 - RATE) ** 2  # of equal entries in two independent masks

    def agreement(one, other):
        return np.mean(one == other)

    assert agreement(kept[1:], kept[:-1]) == pytest.approx(share, abs=0.02)
    assert agreement(kept[:, 0], kept[:, 1]) == pytest.approx(share, abs=0.04)
    assert agreement(kept[:, 0, 1:], kept[:, 0, :-1]) == pytest.approx(share, abs=0.04)


def test_zoneout_draws_for_h_and_c_apart():
    cell = Zoneout(cell_of(LSTM, units=200), RATE, key=TWO)
    state = random_like(cell.initial(()), 2)
    ((h, c), _), _ = one_step(cell, state, inputs_of(INPUTS))
    (h_before, c_before), _ = state
    kept = np.equal(h, h_before), np.equal(c, c_before)
    assert [x.mean() for x in kept] == pytest.approx([RATE, RATE], abs=0.1)
    assert np.mean(kept[0] == kept[1]) < 0.75


def test_zoneout_of_rate_0_is_the_cell():
    cell = cell_of(LSTM)
    xs, state = case(cell)
    count = jnp.zeros(BATCH, jnp.int32)
    ys, (final, count) = unroll(Zoneout(cell, 0.0, key=TWO), xs, (state, count))
    assert distance((ys, final), unroll(cell, xs, state)) < TOLERANCE
    assert count.tolist() == [STEPS] * BATCH


def test_zoneout_without_noise_takes_the_mean():
    cell = cell_of(LSTM)
    quiet = eqx.nn.inference_mode(Zoneout(cell, RATE, key=TWO))
    xs, old = case(cell)
    ys, (final, _) = unroll(quiet, xs, (old, jnp.zeros(BATCH, jnp.int32)))
    for x, y in zip(xs, np.asarray(ys), strict=True):
        new, _ = one_step(cell, old, x)
        old = jax.tree.map(lambda a, b: RATE * np.asarray(a) + (1 - RATE) * np.asarray(b), old, new)
        assert distance(y, old[0]) < TOLERANCE
    assert distance(final, old) < TOLERANCE


@pytest.mark.parametrize("wrap", [lambda cell: cell, LayerNorm, lambda cell: Stack([cell])])
def test_the_output_of_a_zoned_out_cell_is_its_state(wrap):
    cell = Zoneout(wrap(cell_of(Simple)), RATE, key=TWO)
    xs, before = case(cell)
    (state, _), y = one_step(cell, before, xs[0])
    _, bare = one_step(cell.cell, before[0], xs[0])
    assert np.array_equal(y, *jax.tree.leaves(state))
    assert distance(y, bare) > 0.01


# Dropout


def test_dropout_drops_a_unit_at_every_step_or_at_none():
    cell = cell_of(Simple, units=40)
    xs, state = case(cell)
    ys, final = unroll(cell, xs, state)
    dropped, same = unroll(Dropout(cell, 0.25, key=TWO), xs, state)
    gone = np.asarray(dropped) == 0
    assert np.array_equal(gone.all(axis=0), gone.any(axis=0))
    gone = gone[0]
    assert gone.mean() == pytest.approx(0.25, abs=0.15)
    assert np.any(gone[0] != gone[1])
    assert distance(dropped, np.where(gone, 0, np.asarray(ys) / 0.75)) < TOLERANCE
    assert distance(same, final) < TOLERANCE  # what the cell remembers is whole


def test_recurrent_dropout_drops_what_the_products_read():
    """`h_t = h_{t-1} I`: a unit that is read grows by 1 / (1 - rate) a step, another is gone."""
    cell = cell_of(Simple, units=40, f="identity")
    weights = np.zeros((INPUTS, 40)), np.eye(40), np.zeros(40)
    cell = eqx.tree_at(lambda c: (c.W, c.R, c.b), cell, [*map(jnp.asarray, weights)])
    xs, state = case(cell)
    ys, _ = unroll(Dropout(cell, recurrent=0.25, key=TWO), xs, state)
    gone = np.asarray(ys)[0] == 0
    assert gone.mean() == pytest.approx(0.25, abs=0.15)
    assert np.any(gone[0] != gone[1])
    growth = 0.75 ** -np.arange(1.0, STEPS + 1)[:, None, None]
    assert distance(ys, np.where(gone, 0, growth * np.asarray(state))) < TOLERANCE


def silenced(cell):
    """The cell without its recurrent products."""
    return eqx.tree_at(lambda c: c.R, cell, jnp.asarray(np.zeros(cell.R.shape)))


def test_recurrent_dropout_leaves_the_memory_alone():
    cell = cell_of(LSTM)
    xs, state = case(cell)
    silent = silenced(cell)
    wrapped = Dropout(silent, recurrent=0.5, key=TWO)
    assert distance(unroll(wrapped, xs, state), unroll(silent, xs, state)) < TOLERANCE
    wrapped = Dropout(cell, recurrent=0.5, key=TWO)
    assert distance(unroll(wrapped, xs, state), unroll(cell, xs, state)) > 0.01


@pytest.mark.parametrize(
    "wrap",
    [
        lambda cell: Stack([cell, silenced(cell_of(LSTM, UNITS, 4))]),
        lambda cell: Network(cell, made(Readout, UNITS, 4)),
    ],
)
def test_recurrent_dropout_leaves_what_is_computed_within_the_step_alone(wrap):
    """No product reads the step before, so there is nothing to drop."""
    cell = wrap(silenced(cell_of(LSTM)))
    xs, state = case(cell)
    dropped = one_step(Dropout(cell, recurrent=0.5, key=TWO), state, xs[0])
    assert distance(dropped, one_step(cell, state, xs[0])) < TOLERANCE


def test_dropout_keeps_the_mean():
    """Of the output; and of a product that reads the state, where nothing else bends it."""
    cell = cell_of(Simple, f="identity")
    xs, state = case(cell)
    expected = np.asarray(unroll(cell, xs[:1], state)[0])
    wrapped = Dropout(cell, 0.5, recurrent=0.5, key=TWO)
    run = jax.vmap(lambda key: unroll(reseed(wrapped, key), xs[:1], state)[0])
    many = np.asarray(run(jax.random.split(THREE, 4000)))
    deviation = many.std(axis=0) / np.sqrt(len(many))
    assert np.all(deviation > 0)
    assert np.all(np.abs(many.mean(axis=0) - expected) < 4 * deviation)


@pytest.mark.parametrize("quiet", ["rate 0", "inference"])
def test_dropout_without_noise_is_the_cell(quiet):
    cell = cell_of(GRU)
    xs, state = case(cell)
    wrapped = Dropout(cell, key=TWO)
    if quiet == "inference":
        wrapped = eqx.nn.inference_mode(Dropout(cell, 0.5, recurrent=0.5, key=TWO))
    assert distance(unroll(wrapped, xs, state), unroll(cell, xs, state)) < TOLERANCE


# Weight noise


def noisy_parameters(cell, units):
    """W, R and b of a linear cell, read off its `inputs` and its `step`."""
    eye, nothing = jnp.eye(units), jnp.zeros((units, units))
    u = cell.inputs(jnp.eye(units + 1, units))  # the last row of the input is zero
    return u[:-1] - u[-1], cell.step(eye, nothing)[0], u[-1]


def test_weight_noise_has_its_deviation_and_lasts_a_sequence():
    units = 40
    cell = cell_of(Simple, units, units, f="identity")
    cell = jax.tree.map(lambda x: jnp.asarray(0.1 * np.asarray(x)), cell)
    xs, state = case(cell, units)

    @eqx.filter_jit
    def run(noisy):
        return noisy_parameters(noisy, units), unroll(noisy, xs, state)

    parameters, found = run(WeightNoise(cell, 0.02, key=TWO))
    own = cell.W, cell.R, cell.b
    noise = [np.subtract(a, b) for a, b in zip(parameters, own, strict=True)]
    together = np.concatenate([x.ravel() for x in noise])
    # 3,240 draws: one deviation of the mean is 0.00035, and of the deviation 0.00025.
    assert together.std() == pytest.approx(0.02, abs=0.001)
    assert together.mean() == pytest.approx(0.0, abs=0.0015)
    assert noise[2].std() == pytest.approx(0.02, abs=0.01)
    assert abs(np.corrcoef(noise[0].ravel(), noise[1].ravel())[0, 1]) < 0.1
    fixed = eqx.tree_at(lambda c: (c.W, c.R, c.b), cell, parameters)
    assert distance(found, unroll(fixed, xs, state)) < TOLERANCE


def test_weight_noise_turned_off_is_the_cell():
    cell = cell_of(Simple)
    xs, state = case(cell)
    quiet = eqx.nn.inference_mode(WeightNoise(cell, 0.5, key=TWO))
    assert distance(unroll(quiet, xs, state), unroll(cell, xs, state)) < TOLERANCE


# All noise


def noisy_stack():
    return Stack(
        [
            Zoneout(cell_of(Simple), RATE, key=TWO),
            Dropout(cell_of(Simple, UNITS, 4), 0.5, key=TWO),
            WeightNoise(cell_of(Simple, 4, 2), 0.5, key=TWO),
        ]
    )


def seeds_of(stack):
    return [tuple(layer.seed.data.tolist()) for layer in stack.layers]


def test_reseed_changes_the_noise_and_nothing_else():
    stack = noisy_stack()
    fresh, again, other = (reseed(stack, key) for key in (ONE, ONE, THREE))
    assert len({*seeds_of(stack), *seeds_of(fresh), *seeds_of(other)}) == 1 + 3 + 3
    assert seeds_of(fresh) == seeds_of(again)
    assert jax.tree.structure(fresh) == jax.tree.structure(stack)
    back = eqx.tree_at(seed_arrays, fresh, seed_arrays(stack))
    assert eqx.tree_equal(back, stack)


def seed_arrays(stack):
    return [layer.seed.data for layer in stack.layers]


def test_noise_follows_the_seed_alone():
    """The seed of each layer, and of no other, changes what comes out."""
    stack, xs = noisy_stack(), inputs_of(STEPS, BATCH, INPUTS)
    ys, _ = unroll(stack, xs)
    fresh = reseed(stack, ONE)
    assert distance(unroll(reseed(stack, ONE), xs), unroll(fresh, xs)) == 0
    for j in range(3):
        mixed = eqx.tree_at(lambda s, j=j: s.layers[j].seed, stack, fresh.layers[j].seed)
        assert distance(unroll(mixed, xs)[0], ys) > 0.01


def test_reseed_leaves_a_quiet_module_as_it_is():
    cell = cell_of(Simple)
    assert eqx.tree_equal(reseed(cell, ONE), cell)


@pytest.mark.parametrize(
    "make, line",
    [
        (lambda cell: Zoneout(cell, 1.0, key=TWO), "Zoneout needs a rate from 0 to below 1, got 1"),
        (lambda cell: Dropout(cell, -1, key=TWO), "Dropout needs a rate from 0 to below 1, got -1"),
        (
            lambda cell: Dropout(cell, recurrent=2, key=TWO),
            "Dropout needs a rate from 0 to below 1, got 2",
        ),
        (
            lambda cell: WeightNoise(cell, -1, key=TWO),
            "WeightNoise needs a standard deviation of at least 0, got -1",
        ),
    ],
)
def test_bad_noise_is_refused(make, line):
    with pytest.raises(ValueError) as caught:
        make(cell_of(Simple))
    assert str(caught.value).removesuffix(".0") == line


# Layer normalisation


def test_layer_norm_is_its_equation():
    """Ba et al. (2016), equation 20: `a = LN(W x) + LN(R h) + b` over all gates together."""
    cell = random_like(LayerNorm(cell_of(LSTM), epsilon=0.1), 4)
    xs, state = case(cell)
    ys, final = unroll(cell, xs, state)
    p, xs, (h, c) = jax.tree.map(np.asarray, (cell, xs, state))

    def normal_form(a, gain, shift):
        mean, variance = a.mean(axis=1, keepdims=True), a.var(axis=1, keepdims=True)
        return gain * (a - mean) / np.sqrt(variance + 0.1) + shift

    expected = []
    for x in xs:
        a = normal_form(x @ p.cell.W, p.input_gains[0], p.input_shifts[0])
        a = a + normal_form(h @ p.cell.R, p.gains[0], p.shifts[0]) + p.cell.b
        i, f, g, o = np.split(a, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        expected.append(h)
    assert distance((ys, final), (np.stack(expected), (h, c))) < TOLERANCE


def test_layer_norm_starts_with_gain_one_and_shift_zero():
    cell = LayerNorm(cell_of(GRU))
    assert [x.shape for x in cell.input_gains] == [(3 * UNITS,)]
    assert [x.shape for x in cell.gains] == [(2 * UNITS,), (UNITS,)]
    assert all(np.all(x == 1) for x in cell.input_gains + cell.gains)
    assert all(np.all(x == 0) for x in cell.input_shifts + cell.shifts)


# Networks

SYMBOLS = 6
TEXT = np.random.default_rng(8).integers(SYMBOLS, size=(STEPS, BATCH))


def network(encoding, size, bias=True):
    readout = made(Readout, UNITS, SYMBOLS, bias=bias)
    return Network(cell_of(LSTM, size), readout, encoding)


def one_hot_network():
    return network(OneHot(SYMBOLS), SYMBOLS)


def embedding_network():
    return network(made(Embedding, SYMBOLS, INPUTS), INPUTS, bias=False)


NETWORKS = {"one-hot": one_hot_network, "embedding": embedding_network}


def test_encodings():
    unit = OneHot(SYMBOLS)(TEXT, jnp.float64)
    assert np.array_equal(unit, np.eye(SYMBOLS)[TEXT]) and unit.dtype == jnp.float64
    learned = made(Embedding, SYMBOLS, INPUTS)
    found = learned(TEXT, jnp.float32)
    assert np.array_equal(found, learned.E.astype(jnp.float32)[TEXT])
    assert found.dtype == jnp.float32


def test_readout():
    h = inputs_of(STEPS, BATCH, UNITS)
    readout = made(Readout, UNITS, 2)
    assert distance(readout(h), np.asarray(h) @ np.asarray(readout.V) + readout.b) < TOLERANCE
    bare = made(Readout, UNITS, 2, bias=False)
    assert bare.b is None
    assert distance(bare(h), np.asarray(h) @ np.asarray(bare.V)) < TOLERANCE
    with pytest.raises(ValueError) as caught:
        readout(h[..., 1:])
    assert str(caught.value) == "Readout expects inputs of shape (..., 5), got (4, 2, 4)"


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_encoding_cell_and_readout(name):
    net = NETWORKS[name]()
    state = random_like(net.initial((BATCH,)), 2)
    table = np.eye(SYMBOLS) if name == "one-hot" else np.asarray(net.encoding.E)
    hs, final = unroll(net.cell, table[TEXT], state)
    expected = np.asarray(hs) @ np.asarray(net.readout.V)
    expected = expected if net.readout.b is None else expected + np.asarray(net.readout.b)
    assert distance(unroll(net, TEXT, state), (expected, final)) < TOLERANCE


def test_a_network_of_vectors_may_hold_a_layer_without_a_step():
    layer = Bidirectional(cell_of(Simple), cell_of(Simple, units=2))
    net = Network(layer, made(Readout, UNITS + 2, 3))
    xs, _ = case(layer)
    hs, final = unroll(layer, xs)
    expected = np.asarray(hs) @ np.asarray(net.readout.V) + np.asarray(net.readout.b)
    assert distance(unroll(net, xs), (expected, final)) < TOLERANCE


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_streams_one_symbol_at_a_time(name):
    """One sequence, without a batch axis."""
    net, text = NETWORKS[name](), TEXT[:, 0]
    state, outputs = net.initial(()), []
    for symbol in text.tolist():
        state, y = one_step(net, state, np.asarray(symbol))
        outputs.append(y)
    assert outputs[0].shape == (SYMBOLS,)
    assert distance(unroll(net, text), (np.stack(outputs), state)) < TOLERANCE


RUNS = {
    "inputs": lambda net, text: net.inputs(text),
    "unroll": unroll,
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name, kind", [("one-hot", "OneHot"), ("embedding", "Embedding")])
def test_symbols_that_are_no_integers_are_refused(name, kind, run):
    with pytest.raises(BadInput) as caught:
        RUNS[run](NETWORKS[name](), TEXT.astype(float))
    assert str(caught.value) == f"{kind} expects integer symbols, got float64(4, 2)"


@pytest.mark.parametrize("name, kind", [("one-hot", "OneHot"), ("embedding", "Embedding")])
def test_a_tuple_of_symbols_is_refused_while_jax_traces(name, kind):
    with pytest.raises(BadInput) as caught:
        unroll(NETWORKS[name](), (jnp.asarray(TEXT), jnp.asarray(TEXT)), memory=2)
    assert str(caught.value) == f"{kind} expects an array of integer symbols, got a tuple"


@pytest.mark.parametrize("wrong", [SYMBOLS, -1])
@pytest.mark.parametrize("run", ["inputs", "unroll"])
@pytest.mark.parametrize("name, kind", [("one-hot", "OneHot"), ("embedding", "Embedding")])
def test_symbols_out_of_range_are_refused(name, kind, run, wrong):
    with pytest.raises(ValueError) as caught:
        RUNS[run](NETWORKS[name](), np.where(TEXT == TEXT[2, 1], wrong, TEXT))
    assert str(caught.value) == f"{kind} expects symbols from 0 to 5, got {wrong}"
