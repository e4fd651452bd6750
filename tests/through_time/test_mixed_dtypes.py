"""Integers, low precision, complex numbers and weak types in a step, one by one."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from jax.random import key

import ostinato
from compare import same
from ostinato.cells import LSTM, Cell
from ostinato.errors import BadInput
from ostinato.through_time import with_products
from ostinato.wiring import Dropout, LayerNorm

from .random_cells import loop

UNITS, BATCH, STEPS = 3, 2, 4


def normal(seed, *shape, dtype=float):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), dtype)


R, W = normal(0, UNITS, UNITS), normal(1, UNITS, UNITS)
XS = normal(2, STEPS, BATCH, UNITS)
COUNTS = jnp.asarray(np.random.default_rng(3).integers(-3, 4, (STEPS, BATCH, UNITS)))


class Written(Cell):
    """A cell of two matrices, whose step and initial state are functions."""

    R: jax.Array
    W: jax.Array
    start: object = eqx.field(static=True)
    rule: object = eqx.field(static=True)

    def initial(self, batch):
        return self.start(batch)

    def inputs(self, x):
        return x

    def step(self, state, u):
        return self.rule(self, state, u)


def zeros(dtype=float):
    return lambda batch: jnp.zeros((*batch, UNITS), dtype)


def tanh(cell, h, u):
    h = jnp.tanh(h @ cell.R + u @ cell.W)
    return h, h


def counting(cell, state, u):
    """A state of integers that a product reads, next to a float one."""
    h, n = state
    h = jnp.tanh(h @ cell.R + n @ cell.W + u)
    return (h, n + (h > 0)), h


def rounded(cell, h, u):
    """A state in 16 bits, and weights in more."""
    y = jnp.tanh(h @ cell.R + u @ cell.W)
    return y.astype(h.dtype), y


def turning(cell, z, u):
    z = (z @ cell.W + u) * jnp.exp(1j * (u @ cell.R))
    z = z / (1 + jnp.abs(z) ** 2)
    return z, z


def pair(batch):
    return jnp.zeros((*batch, UNITS)), jnp.ones((*batch, UNITS), int)


CELLS = {
    "integer inputs": (Written(R, W, zeros(), tanh), COUNTS),
    "integer state": (Written(R, W, pair, counting), XS),
    "integer weight": (Written(R, jnp.sign(W).astype("int8"), zeros(), tanh), XS),
    "mask": (Written(R, W > 0, zeros(), tanh), XS),
    "float32 inputs": (Written(R, W, zeros(), tanh), XS.astype("float32")),
    "float32 state": (Written(R, W, zeros("float32"), rounded), XS),
    "float32 weight": (Written(R.astype("float32"), W, zeros(), tanh), XS),
    "complex state": (Written(R, W, zeros(complex), turning), XS),
    "complex weight": (Written(R, W + 1j * R, zeros(complex), turning), XS),
}
OPTIONS = {
    "all": {},
    "lengths": {"lengths": [2, 4]},
    "reverse": {"reverse": True, "memory": "sqrt"},
}


def floats(tree):
    return eqx.filter(tree, eqx.is_inexact_array)


def flat(result):
    """All floats of a result as one real vector."""
    found, _ = ravel_pytree(floats(result))
    return jnp.concatenate([found.real, found.imag]) if jnp.iscomplexobj(found) else found


def derivatives(run, cell, xs, options):
    """Value, gradient, a Gauss-Newton product and a product with the Hessian."""
    moving, fixed = eqx.partition((cell, xs), eqx.is_inexact_array)
    along = jax.tree.map(lambda x: jnp.full_like(x, 0.5), moving)

    def outputs(moving):
        return flat(run(*eqx.combine(moving, fixed), **options))

    def loss(moving):
        return jnp.sum(jnp.sin(outputs(moving)))

    _, push = jax.linearize(outputs, moving)
    (product,) = jax.linear_transpose(push, moving)(push(along))
    gradient, curved = jax.jvp(jax.grad(loss), (moving,), (along,))
    return run(cell, xs, **options), gradient, product, curved


def with_options():
    """Each cell with one of the options every day, and with all of them now and then."""
    for i, name in enumerate(CELLS):
        for j, options in enumerate(OPTIONS):
            usual = j == i % len(OPTIONS) and name != "complex weight"
            yield pytest.param(name, options, marks=[] if usual else [pytest.mark.slow])


@pytest.mark.parametrize(("name", "options"), list(with_options()))
def test_values_and_derivatives_are_those_of_the_loop(name, options):
    cell, xs = CELLS[name]
    usual = {k: x for k, x in OPTIONS[options].items() if k != "memory"}
    ours = eqx.filter_jit(derivatives)(ostinato.unroll, cell, xs, OPTIONS[options])
    theirs = eqx.filter_jit(derivatives)(loop, cell, xs, usual)
    same(ours, theirs, 1e-6 if "float32" in name else 1e-10)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_state_in_16_bits_with_weights_in_32(dtype):
    """Interpreted, as a compiler may round less often than it is told to."""
    cell = Written(R.astype("float32"), W.astype("float32"), zeros(dtype), rounded)
    xs = XS.astype("float32")
    with jax.disable_jit():
        ours, theirs = (run(cell, xs) for run in (ostinato.unroll, loop))
        assert ours[0].dtype == jnp.float32
        assert ours[1].dtype == dtype
        same(
            jax.tree.map(lambda x: x.astype(float), ours),
            jax.tree.map(lambda x: x.astype(float), theirs),
            1e-6,
        )
        gradients = [
            jax.grad(lambda cell, run=run: jnp.sum(jnp.sin(run(cell, xs)[0])))(cell)
            for run in (ostinato.unroll, loop)
        ]
    same(*gradients, 5e-3)


def test_float8():
    """Products of 8 bits are left to the step."""
    one = jnp.float8_e4m3fn
    cell = Written(
        R.astype(one), W.astype(one), zeros(one), lambda c, h, u: ((h @ c.R + u), u @ c.W)
    )
    xs = XS.astype(one)
    with jax.disable_jit():
        for ours, theirs in zip(ostinato.unroll(cell, xs), loop(cell, xs), strict=True):
            assert ours.dtype == theirs.dtype == one
            assert ours.tolist() == theirs.tolist()
    assert ostinato.taps(cell, xs) == {}


def test_taps_and_watched_products_are_those_between_floats():
    cell, xs = CELLS["integer state"]
    assert ostinato.taps(cell, xs).keys() == {".R"}
    (_, products), _ = ostinato.unroll(cell, xs, watch="products")
    assert [x.shape for x in products] == [(STEPS, BATCH, UNITS)]
    mixed, xs = CELLS["float32 state"]
    offsets = ostinato.taps(mixed, xs)
    assert {name: x.dtype for name, x in offsets.items()} == {".R": float, ".W": float}
    errors = jax.grad(lambda t: jnp.sum(ostinato.unroll(mixed, xs, taps=t)[0]))(offsets)
    gradient = jax.grad(lambda c: jnp.sum(ostinato.unroll(c, xs)[0]))(mixed)
    same(jnp.einsum("tbi,tbj->ij", xs, errors[".W"]), gradient.W, 1e-6)


def test_products_in_lower_precision_are_those_between_floats():
    """Integers and complex numbers are left as they are, where they were rounded to 16 bits."""
    cell = Written(R, W, zeros(), lambda c, h, u: (h, u))
    large = 1000 * COUNTS + 1
    whole, _ = ostinato.unroll(cell, large, compute="bfloat16")
    assert whole.tolist() == large.tolist()
    turned = XS + 1j * XS[::-1]
    found, _ = ostinato.unroll(cell, turned, compute="float32")
    same(found.imag, turned.imag, 1e-6)
    moved = jax.grad(lambda x: ostinato.unroll(cell, x, compute="float32")[0].imag.sum())(turned)
    same(moved, jax.grad(lambda x: x.imag.sum())(turned))


class Projecting(Written):
    def inputs(self, x):
        return x @ self.W.astype(x.dtype)


def test_inputs_of_integers_in_lower_precision():
    cell = Projecting(R, jnp.round(9 * W), zeros(), lambda c, h, u: (h, u))
    found, _ = ostinato.unroll(cell, 100 * COUNTS + 1, compute="bfloat16")
    assert found.tolist() == cell.inputs(100 * COUNTS + 1).tolist()


def test_slopes_of_complex_states():
    """How far a complex number moves with a pre-activation: both of its parts count."""

    def angled(cell, z, u):
        z = (z + u) * jnp.exp(1j * (u @ cell.R))
        return z, z

    cell = Written(R, W, zeros(complex), angled)
    (ys, (found,)), _ = ostinato.unroll(cell, XS, watch="slopes")
    # The derivative by the angle is i z, and a slope is that of the real part and of the imaginary.
    np.testing.assert_allclose(found, jnp.abs(ys), rtol=1e-12)


# Wrappers that replace products


def test_layer_norm_normalises_products_of_mixed_dtypes():
    """A product with integers is normalised like one with the same numbers as floats."""
    cell = LayerNorm(CELLS["integer inputs"][0])
    same(ostinato.unroll(cell, COUNTS), ostinato.unroll(cell, COUNTS.astype(float)))


def whole(cell, n, u):
    n = jnp.clip(n @ cell.R + u, -3, 3)
    return n, n


def test_no_float_in_place_of_an_integer():
    cell = Written(jnp.sign(R).astype(int), W, lambda batch: jnp.ones((*batch, UNITS), int), whole)
    for wrapped in (LayerNorm(cell), Dropout(cell, recurrent=0.5, key=key(0))):
        with pytest.raises(BadInput, match="int64") as raised:
            ostinato.unroll(wrapped, COUNTS)
        assert "\n" not in str(raised.value)
    state, u = cell.initial((BATCH,)), COUNTS[0]
    found = with_products(
        lambda j, tap, v, weight: 2 * tap.value(v, weight),
        lambda cell, state, u: cell.step(state, u),
        cell,
        state,
        u,
    )
    assert found[0].tolist() == jnp.clip(2 * (state @ cell.R) + u, -3, 3).tolist()


# States that change, and weak types


def refused(cell, xs, error, words, **options):
    with pytest.raises(error) as raised:
        ostinato.unroll(cell, xs, **options)
    assert "\n" not in str(raised.value)
    assert words in str(raised.value)


def test_a_step_that_changes_the_dtype_of_its_state():
    for dtype, words in ((int, "int64 where step"), ("float32", "float32 where step")):
        cell = Written(R, W, zeros(dtype), tanh)
        refused(cell, XS, BadInput, f"Written.initial returns {words} returns float64")


@pytest.mark.parametrize("number", [0, 0.5, True, "text"])
def test_a_state_of_python_numbers(number):
    def start(batch):
        return jnp.zeros((*batch, UNITS)), number

    cell = Written(R, W, start, lambda c, s, u: ((jnp.tanh(s[0] @ c.R + u), s[1]), u))
    refused(cell, XS, BadInput, f"Written.initial must return arrays, got {number!r}")
    other = Written(R, W, lambda b: (jnp.zeros((*b, UNITS)), jnp.zeros(())), cell.rule)
    state = (jnp.zeros((BATCH, UNITS)), number)
    refused(other, XS, BadInput, f"got {number!r} in it", state=state)


def scaled(cell, state, u):
    h, s = state
    return (jnp.tanh(h @ cell.R + u), s), (h * s).astype("float32")


def test_a_weakly_typed_state_whose_dtype_matters():
    """0.3 as such takes on the 16 bits of what it meets; as an array of 64 bits it would not."""

    def start(weak):
        number = jnp.full((), 0.3) if weak else jnp.full((), 0.3, float)
        return lambda batch: (jnp.zeros((*batch, UNITS), "bfloat16"), number)

    xs = XS.astype("bfloat16")
    weak, sound = (Written(R.astype("bfloat16"), W, start(weak), scaled) for weak in (True, False))
    refused(weak, xs, BadInput, "Written has a weakly typed state")
    refused(sound, xs, BadInput, "weakly typed", state=weak.initial((BATCH,)))
    with jax.disable_jit():
        assert ostinato.unroll(sound, xs)[0].tolist() == loop(sound, xs)[0].tolist()


def test_weak_types_that_do_not_matter():
    cell = Written(R, W, lambda batch: jnp.full((*batch, UNITS), 0.5), tanh)
    same(ostinato.unroll(cell, XS), loop(cell, XS))
    same(ostinato.unroll(cell, XS, cell.initial((BATCH,))), loop(cell, XS))


def test_weakly_typed_inputs():
    """They take on the dtype of the state, at all times."""
    cell = Written(R.astype("float32"), W, zeros("float32"), lambda c, h, u: (h, h * u))
    xs = jnp.full((STEPS, BATCH, UNITS), 0.3)
    assert xs.dtype == float
    assert ostinato.unroll(cell, xs)[0].dtype == loop(cell, xs)[0].dtype == jnp.float32


def test_random_keys_in_the_state():
    def noisy(cell, state, u):
        h, k = state
        now, later = jax.random.split(k)
        h = jnp.tanh(h @ cell.R + u + jax.random.normal(now, h.shape))
        return (h, later), h

    cell = Written(R, W, lambda batch: (jnp.zeros((*batch, UNITS)), key(0)), noisy)
    (ys, (h, last)), (expected, (_, theirs)) = ostinato.unroll(cell, XS), loop(cell, XS)
    same((ys, h), (expected, expected[-1]))
    assert jax.random.key_data(last).tolist() == jax.random.key_data(theirs).tolist()


def test_numpy_arrays_of_64_bits_in_a_process_of_32():
    with jax.enable_x64(False):
        cell = LSTM(UNITS, UNITS, key=key(0))
        xs = np.random.default_rng(0).normal(size=(STEPS, BATCH, UNITS))
        (ys, _), (expected, _) = ostinato.unroll(cell, xs), loop(cell, jnp.asarray(xs))
        assert ys.dtype == jnp.float32
        same(ys, expected, 1e-6)


# Arrays without the axes of the batch


def test_lengths_need_the_axes_of_the_batch():
    """Two sequences and two units: a mask over sequences would fit the units."""
    cell = Written(R, W, zeros(), lambda c, h, u: (h, jnp.sum(u[0])))
    refused(
        cell,
        (XS, XS[:, 0, 0]),
        BadInput,
        "inputs must begin with the axes (4, 2)",
        lengths=[2, 4],
    )
    mixing = Written(R, W, zeros(), lambda c, h, u: (h, jnp.sum(u)))
    assert ostinato.unroll(mixing, XS)[0].shape == (STEPS,)
    refused(mixing, XS, BadInput, "must begin with the axes (2,), got ()", lengths=[2, 4])
