"""The engine against a plain `jax.lax.scan`: second derivatives, products, memory, precision."""

import re
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from jax.random import key

import ostinato
from compare import same
from ostinato.cells import GRU, LSTM, MLSTM, Cell, PeepholeLSTM, Simple
from ostinato.through_time import step as _step
from ostinato.through_time import tap as tap_file
from ostinato.wiring import Bidirectional, Zoneout

INPUTS, UNITS, STEPS, BATCH = 2, 3, 5, 2
OPTIONS = {
    "all": {},
    "lengths": {"lengths": np.array([2, 5])},
    "reverse": {"reverse": True},
    "sqrt": {"memory": "sqrt"},
}


def normal(seed, *shape):
    return jnp.asarray(0.7 * np.random.default_rng(seed).normal(size=shape))


def like(seed, tree, scale=0.7):
    """Normal numbers in place of the arrays of a tree, or of their shapes."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda x: jnp.asarray(scale * rng.normal(size=x.shape), x.dtype), tree)


def made(cell, inputs=INPUTS, units=UNITS, scale=0.7):
    """A cell with weights of that size, faster than by its own initialisers."""
    shapes = eqx.filter_eval_shape(lambda key: cell(inputs, units, key=key), key(0))
    return like(0, shapes, scale)


CELLS = {
    "simple": made(Simple),
    "lstm": made(LSTM),
    "mlstm": made(MLSTM),
    "gru": made(GRU),
    "peephole lstm": made(PeepholeLSTM),
    "zoneout": Zoneout(made(GRU), 0.3, key=key(1)),
}


def floats(tree):
    return eqx.filter(tree, eqx.is_inexact_array)


def plain(cell, xs, state=None, lengths=None):
    """What `unroll` must give: a scan of the cell's step, which JAX differentiates itself."""
    steps, batch = xs.shape[0], xs.shape[1 : xs.ndim - cell.input_axes]

    def body(state, x):
        t, x = x
        new, y = cell.step(state, cell.inputs(x))
        if lengths is None:
            return new, y

        def within(a, b):
            return jnp.where((t < lengths).reshape(lengths.shape + (1,) * (a.ndim - 1)), a, b)

        return jax.tree.map(within, new, state), jax.tree.map(lambda y: within(y, 0 * y), y)

    state = cell.initial(batch) if state is None else state
    state, ys = jax.lax.scan(body, state, (jnp.arange(steps), xs))
    return ys, state


def loss_of(result):
    """A number with curvature of its own, from the float outputs and the final state."""
    flat, _ = ravel_pytree(floats(result))
    return jnp.sum(jnp.sin(2 * flat + jnp.arange(flat.size)))


def setting(cell, batch=(BATCH,), steps=STEPS):
    """A cell's parameters, inputs and initial state, and the rest of it."""
    state = cell.initial(batch)
    state = eqx.combine(like(11, floats(state)), state)
    given = (cell, normal(12, steps, *batch, INPUTS), state)
    return eqx.partition(given, eqx.is_inexact_array)


def losses(cell, batch=(BATCH,), steps=STEPS, **options):
    """Both losses, by `unroll` and by the plain scan, as functions of all floats; and these."""
    moving, fixed = setting(cell, batch, steps)

    def ours(moving):
        return loss_of(ostinato.unroll(*eqx.combine(moving, fixed), **options))

    def theirs(moving):
        return loss_of(plain(*eqx.combine(moving, fixed), lengths=options.get("lengths")))

    return ours, theirs, moving


def dot(a, b):
    return jnp.vdot(ravel_pytree(a)[0], ravel_pytree(b)[0])


def same_gradient(ours, theirs, at):
    """Value and gradient agree; both are compiled at once, which is faster."""
    pair = jax.jit(lambda at: [jax.value_and_grad(loss)(at) for loss in (ours, theirs)])
    same(*pair(at))


# Second derivatives


def by_jvp_of_grad(loss, at, v):
    return jax.jvp(jax.grad(loss), (at,), (v,))[1]


def by_grad_of_grad(loss, at, v):
    return jax.grad(lambda at: dot(jax.grad(loss)(at), v))(at)


def by_grad_of_jvp(loss, at, v):
    return jax.grad(lambda at: jax.jvp(loss, (at,), (v,))[1])(at)


def by_jvp_of_linearised(loss, at, v):
    """The gradient along all axes, by a function that linearises, and its change along v."""
    flat, restore = ravel_pytree(at)

    def slopes(flat):
        _, push = jax.linearize(lambda flat: loss(restore(flat)), flat)
        return jax.vmap(push)(jnp.eye(flat.size))

    return restore(jax.jvp(slopes, (flat,), (ravel_pytree(v)[0],))[1])


WAYS = (by_jvp_of_grad, by_grad_of_grad, by_grad_of_jvp)


@pytest.mark.parametrize(
    ("cell", "options", "ways"),
    [
        ("lstm", "all", [by_grad_of_jvp]),
        ("mlstm", "all", [by_jvp_of_grad, by_grad_of_grad]),
        pytest.param("peephole lstm", "all", [by_grad_of_grad], marks=pytest.mark.slow),
        pytest.param("zoneout", "lengths", WAYS, marks=pytest.mark.slow),
        pytest.param("gru", "all", [by_grad_of_grad], marks=pytest.mark.slow),
        ("simple", "sqrt", WAYS),
    ],
)
def test_second_derivatives_are_exact(cell, options, ways):
    ours, theirs, at = losses(CELLS[cell], **OPTIONS[options])
    v = like(20, at)
    expected, *products = jax.jit(
        lambda at, v: [by_jvp_of_grad(theirs, at, v), *(way(ours, at, v) for way in ways)]
    )(at, v)
    for product in products:
        same(product, expected)


@pytest.mark.parametrize("options", ["lengths", "sqrt"])
def test_a_linearised_function_can_be_differentiated(options):
    ours, theirs, at = losses(CELLS["simple"], **OPTIONS[options])
    v = like(20, at)
    product = jax.jit(lambda at, v: by_jvp_of_linearised(ours, at, v))(at, v)
    same(product, jax.jit(lambda at, v: by_jvp_of_grad(theirs, at, v))(at, v))


def test_hessian():
    ours, theirs, at = losses(CELLS["simple"])
    flat, restore = ravel_pytree(at)
    hessian = jax.jit(jax.hessian(lambda flat: ours(restore(flat))))(flat)
    same(hessian, jax.jit(jax.hessian(lambda flat: theirs(restore(flat))))(flat))
    same(hessian, hessian.T)


def gauss_newton(function, at):
    """`v -> J^T J v`, of which J is made once and its transpose is derived from it."""
    _, push = jax.linearize(function, at)
    pull = jax.linear_transpose(push, at)
    return lambda v: pull(push(v))[0]


@pytest.mark.parametrize("cell", ["gru", "mlstm"])
def test_gauss_newton_product(cell):
    moving, fixed = setting(CELLS[cell])

    def ours(moving):
        return floats(ostinato.unroll(*eqx.combine(moving, fixed)))

    def theirs(moving):
        return floats(plain(*eqx.combine(moving, fixed)))

    @jax.jit
    def products(at, u, v):
        product = gauss_newton(ours, at)
        return product(u), product(v)

    @jax.jit
    def expected(at, v):
        return jax.vjp(theirs, at)[1](jax.jvp(theirs, (at,), (v,))[1])[0]

    u, v = like(20, moving), like(21, moving)
    of_u, of_v = products(moving, u, v)
    same(of_v, expected(moving, v))
    same(dot(u, of_v), dot(v, of_u))


# Products


class User(Cell):
    """`h_t = tanh(rule(cell, h_{t-1}, u_t))`, with weights of all kinds for the rule to use."""

    W: jax.Array
    R: jax.Array
    Q: jax.Array
    H: jax.Array
    p: jax.Array
    rule: Callable = eqx.field(static=True)

    def __init__(self, rule):
        self.W, self.R, self.Q = normal(0, INPUTS, 4), normal(1, 4, 4), normal(2, 4, 4)
        self.H, self.p = normal(3, 2, 2, 2), normal(4, 4)
        self.rule = rule

    def initial(self, batch):
        return jnp.zeros((*batch, 4), self.R.dtype)

    def inputs(self, x):
        return x @ self.W

    def step(self, state, u):
        h = jnp.tanh(self.rule(self, state, u))
        return h, h


MASK = np.tril(np.ones((4, 4)))


def vector_by_vector(cell, h, u):
    product = lambda h: cell.R @ h  # noqa: E731
    for _ in range(h.ndim - 1):
        product = jax.vmap(product)
    return u + product(h)


def heads(cell, h, u):
    split = h.reshape(*h.shape[:-1], 2, 2)
    return u + jnp.einsum("...hi,hij->...hj", split, cell.H).reshape(h.shape)


def concatenated(cell, h, u):
    both = h @ jnp.concatenate([cell.R, cell.Q], axis=1)
    return u * both[..., :4] + jnp.sin(both[..., 4:])


def within_jit(cell, h, u):
    inner = jax.jit(lambda R, h: jnp.sin(h @ R))
    return u + jax.jit(lambda R, h: h + inner(R, h))(cell.R, h)


def within_scan(cell, h, u):
    return u + jax.lax.scan(lambda a, _: (jnp.sin(a @ cell.R), None), h, length=2)[0]


def of_two_that_change(cell, h, u):
    return u + jnp.einsum("...i,...i->...", h, u)[..., None] * cell.p


@jax.custom_vjp
def halved(x):
    return x / 2


halved.defvjp(lambda x: (halved(x), None), lambda _, error: (error / 2,))


RULES = {
    "weight first, vmapped": (vector_by_vector, [".R"]),
    "einsum, weight first": (lambda c, h, u: u + jnp.einsum("ij,...i->...j", c.R, h), [".R"]),
    "heads": (heads, [".H"]),
    "masked": (lambda c, h, u: u + h @ (c.R * MASK), [".R"]),
    "transposed": (lambda c, h, u: u + h @ c.R.T, [".R"]),
    "concatenated": (concatenated, [".R"]),
    "same weight twice": (lambda c, h, u: u + jnp.sin(h @ c.R) @ c.R, [".R", ".R#2"]),
    "two products added": (lambda c, h, u: h @ c.R + (u * h) @ c.Q, [".R", ".Q"]),
    "added to itself": (lambda c, h, u: (a := h @ c.R) + a + u, [".R"]),
    "used twice": (lambda c, h, u: (a := u + h @ c.R) * jnp.sin(a), [".R"]),
    "used by a sum and beside": (lambda c, h, u: (u + (a := h @ c.R)) * jnp.sin(a), [".R"]),
    "of the input": (lambda c, h, u: jnp.sin(u @ c.Q) * (1 + h @ c.R), [".Q", ".R"]),
    "constant weight": (lambda c, h, u: u + h @ jnp.asarray(MASK) + h @ c.R, ["", ".R"]),
    "within jit": (within_jit, [".R"]),
    "within scan": (within_scan, []),
    "of two that change": (of_two_that_change, []),
    "beside a custom derivative": (lambda c, h, u: u + halved(h) @ c.R, [".R"]),
    "none": (lambda c, h, u: u + c.p * h, []),
}


@pytest.mark.parametrize("rule", RULES)
def test_products_in_any_form(rule):
    rule, names = RULES[rule]
    ours, theirs, at = losses(User(rule))
    assert list(ostinato.taps(User(rule), at[1])) == names
    same_gradient(ours, theirs, at)


@pytest.mark.parametrize("rule", ["of the input", "two products added"])
def test_mixed_second_derivatives(rule):
    """First along the one parameter, then along another, which the first pass held fixed."""
    moving, fixed = setting(User(RULES[rule][0]))

    def changes(run):
        def along(name, then):
            def slope(cell):
                def loss(weight):
                    moved = eqx.tree_at(lambda cell: getattr(cell, name), cell, weight)
                    return loss_of(run(*eqx.combine((moved, *moving[1:]), fixed)))

                weight = getattr(cell, name)
                return jax.jvp(loss, (weight,), (like(20, weight),))[1]

            return getattr(jax.grad(slope)(moving[0]), then)

        return [along("R", "Q"), along("Q", "R")]

    same(*jax.jit(lambda: [changes(ostinato.unroll), changes(plain)])())


# Parts that stand still


@pytest.mark.parametrize("part", ["xs", "state", "R", "p"])
def test_gradient_of_one_part(part):
    """Everything else is a constant."""
    cell, xs, state = eqx.combine(*setting(CELLS["peephole lstm"]))

    def loss(run, value):
        if part in ("xs", "state"):
            return loss_of(run(cell, **{"xs": xs, "state": state, part: value}))
        return loss_of(run(eqx.tree_at(lambda cell: getattr(cell, part), cell, value), xs, state))

    at = {"xs": xs, "state": state}.get(part, getattr(cell, part, None))
    same_gradient(lambda at: loss(ostinato.unroll, at), lambda at: loss(plain, at), at)


class Counting(Simple):
    """The state has integers, which the step reads and changes; the output has some too."""

    def initial(self, batch):
        return super().initial(batch), jnp.zeros(batch, jnp.int32)

    def step(self, state, u):
        h, count = state
        h, _ = super().step(h, u * jnp.cos(count)[..., None])
        return (h, count + 2), (h, count)


def test_integers_in_the_state():
    ours, theirs, at = losses(made(Counting))
    same_gradient(ours, theirs, at)
    cell, xs, state = eqx.combine(*setting(made(Counting)))
    (_, counts), (_, last) = ostinato.unroll(cell, xs, state)
    np.testing.assert_array_equal(counts, np.repeat(2 * np.arange(STEPS)[:, None], BATCH, axis=1))
    np.testing.assert_array_equal(last, [2 * STEPS] * BATCH)


# Taps


def test_the_gradient_of_taps_is_the_error():
    """By differences: what an offset at one step, one sequence and one unit does to the loss."""
    cell, xs, state = eqx.combine(*setting(CELLS["simple"]))
    offsets = ostinato.taps(cell, xs)
    assert {name: tap.shape for name, tap in offsets.items()} == {".R": (STEPS, BATCH, UNITS)}

    @jax.jit
    def by_offset(place, size):
        """The loss of a loop of steps, written without the engine."""
        h, ys = state, []
        for t in range(STEPS):
            offset = jnp.zeros((STEPS, BATCH, UNITS)).at[place].set(size)[t]
            h = jnp.tanh(cell.inputs(xs[t]) + h @ cell.R + offset)
            ys.append(h)
        return loss_of((jnp.stack(ys), h))

    def loss(taps):
        return loss_of(ostinato.unroll(cell, xs, state, taps=taps))

    errors = jax.jit(jax.grad(loss))(offsets)[".R"]
    for place in [(0, 0, 0), (1, 1, 2), (STEPS - 1, 0, 1)]:
        slope = (by_offset(place, 1e-5) - by_offset(place, -1e-5)) / 2e-5
        np.testing.assert_allclose(errors[place], slope, rtol=1e-7)
        moved = {".R": offsets[".R"].at[place].set(0.3)}
        np.testing.assert_allclose(loss(moved), by_offset(place, 0.3), rtol=1e-12)


@pytest.mark.parametrize("options", ["all", "lengths", "reverse"])
def test_a_weight_gradient_is_made_of_errors(options):
    """`dR = sum_t h_{t-1}^T e_t`, and `db = sum_t e_t`."""
    cell, xs, state = eqx.combine(*setting(CELLS["simple"]))

    def loss(cell, taps):
        return loss_of(ostinato.unroll(cell, xs, state, taps=taps, **OPTIONS[options]))

    grad = jax.jit(jax.grad(loss, argnums=(0, 1)))
    gradient, errors = grad(cell, ostinato.taps(cell, xs))
    hs, _ = ostinato.unroll(cell, xs, state, **OPTIONS[options])
    before = [*hs[1:], state] if options == "reverse" else [state, *hs[:-1]]
    same(gradient.R, jnp.einsum("tbi,tbj->ij", jnp.stack(before), errors[".R"]))
    same(gradient.b, jnp.sum(errors[".R"], axis=(0, 1)))


@pytest.mark.parametrize("name", [".R", ".U"])
def test_the_gradient_of_one_tap(name):
    """The others are constants."""
    cell, xs, state = eqx.combine(*setting(CELLS["gru"]))
    offsets = ostinato.taps(cell, xs)

    def loss(taps):
        return loss_of(ostinato.unroll(cell, xs, state, taps=offsets | taps))

    grad = jax.jit(jax.grad(loss))
    same(grad({name: offsets[name]}), {name: grad(offsets)[name]})


# Lower precision


def to_float32(tree):
    return jax.tree.map(lambda x: x.astype(jnp.float32) if eqx.is_inexact_array(x) else x, tree)


def sized(cell):
    """A float32 cell of 32 units, with inputs."""
    return to_float32(made(cell, 8, 32, scale=0.2)), to_float32(normal(1, 20, 4, 8))


def test_bfloat16_products():
    cell, xs = sized(MLSTM)

    def result(cell, xs, compute):
        ys, state = ostinato.unroll(cell, xs, compute=compute)
        return jnp.mean(ys**2), (ys, state)

    grad = jax.value_and_grad(result, argnums=(0, 1), has_aux=True)
    grad = jax.jit(grad, static_argnums=2)
    ours, theirs = grad(cell, xs, "bfloat16"), grad(cell, xs, None)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert one.dtype == other.dtype == jnp.float32
        error = np.linalg.norm(np.subtract(one, other)) / np.linalg.norm(other)
        assert 0 < error < 2e-2


def test_bias_gradients_in_bfloat16_are_summed_in_full():
    """One sum over all steps and sequences, which in bfloat16 would stop growing at 256."""
    cell = to_float32(made(Simple, units=4, scale=0.2))
    xs = np.zeros((100, 30, 2), np.float32)

    def loss(cell, compute):
        return jnp.sum(ostinato.unroll(cell, xs, compute=compute)[0])

    @jax.jit
    def slopes(cell):
        return [jax.grad(loss)(cell, compute).b for compute in ("bfloat16", None)]

    low, full = slopes(cell)
    assert np.min(np.abs(full)) > 2 * 256
    np.testing.assert_allclose(low, full, rtol=1e-2)


def products_in(function, *arguments):
    """The dtypes of the operands of every product in a compiled function's text."""
    text = jax.jit(function).lower(*arguments).as_text()
    found = re.findall(r"dot_general .*: \(tensor<([^>]*)>, tensor<([^>]*)>\)", text)
    assert len(found) == text.count("dot_general ")
    return [tuple(operand.split("x")[-1] for operand in operands) for operands in found]


@pytest.mark.parametrize(("cell", "memory"), [(GRU, "all"), (MLSTM, "all"), (LSTM, "sqrt")])
def test_every_product_is_in_bfloat16(cell, memory):
    cell, xs = sized(cell)

    def loss(cell, xs, compute):
        ys, _ = ostinato.unroll(cell, xs, compute=compute, memory=memory)
        return jnp.sum(ys**2)

    low, full = (lambda *given, c=c: loss(*given, c) for c in ("bfloat16", None))
    for transform in (lambda f: f, jax.grad, lambda f: lambda c, x: jax.jvp(f, (c, x), (c, x))):
        assert set(products_in(transform(full), cell, xs)) == {("f32", "f32")}
        assert set(products_in(transform(low), cell, xs)) == {("bf16", "bf16")}


@pytest.mark.parametrize("cell", [LSTM, GRU, PeepholeLSTM])
def test_products_in_their_own_precision_change_nothing(cell):
    """The way of the lower precisions, without the rounding: second derivatives and all."""
    cell, xs = made(cell), normal(1, STEPS, BATCH, INPUTS)
    direction = like(2, cell)

    def derivatives(compute):
        def loss(cell, xs):
            ys, state = ostinato.unroll(cell, xs, compute=compute)
            return jnp.sum(ys**3) + sum(jnp.sum(x**2) for x in jax.tree.leaves(state))

        gradient = jax.grad(loss)
        first = jax.jvp(lambda c, x: loss(c, x), (cell, xs), (direction, xs))
        return first, jax.jvp(lambda c: gradient(c, xs), (cell,), (direction,))

    ours, theirs = (jax.jit(lambda c=c: derivatives(c))() for c in ("float64", None))
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


# Tracing, memory and time


CALLS = []


class Traced(Simple):
    """Notes every call of its step."""

    def step(self, state, u):
        CALLS.append(None)
        return super().step(state, u)


def calls(function, *arguments):
    CALLS.clear()
    function(*arguments)
    return len(CALLS)


@pytest.mark.parametrize("memory", ["all", "sqrt"])
def test_a_step_is_traced_a_bounded_number_of_times(memory):
    """Once for the shapes and once for each length of a stretch, whatever the number of steps."""

    def run(cell, xs):
        return ostinato.unroll(cell, xs, memory=memory)

    def loss(cell, xs):
        return loss_of(run(cell, xs))

    cell = made(Traced)
    for steps in (50, 100):
        assert 1 <= calls(jax.make_jaxpr(run), cell, normal(0, steps, INPUTS)) <= 3
        assert calls(jax.make_jaxpr(jax.grad(loss)), cell, normal(1, steps, INPUTS)) <= 3


def test_the_same_shapes_are_not_traced_again():
    cell, xs = made(Traced), normal(0, 7, BATCH, INPUTS)
    assert calls(ostinato.unroll, cell, xs) > 0
    assert calls(ostinato.unroll, like(1, cell), xs + 1) == 0


def test_the_gradient_of_the_same_shapes_is_not_traced_again():
    cell, xs = made(Traced), normal(0, 8, BATCH, INPUTS)
    grad = jax.grad(lambda cell, xs: loss_of(ostinato.unroll(cell, xs)))
    assert calls(grad, cell, xs) > 0
    assert calls(grad, like(1, cell), xs + 1) == 0


def test_a_hundred_thousand_steps():
    cell = made(Simple, 1, 2)
    xs = normal(1, 100_000, 1)

    def loss(cell, memory):
        ys, h = ostinato.unroll(cell, xs, memory=memory)
        return jnp.mean(ys**2) + jnp.sum(h)

    grad = jax.jit(jax.value_and_grad(loss), static_argnums=1)
    ours = grad(cell, "sqrt")
    assert all(bool(jnp.all(jnp.isfinite(x))) for x in jax.tree.leaves(ours))
    same(ours, grad(cell, "all"))


def growth(memory):
    """The exponent p in `memory of a gradient ~ T**p`, from T = 256 to T = 4096."""
    cell = made(Simple, units=32)

    def loss(cell, xs):
        _, h = ostinato.unroll(cell, xs, memory=memory)
        return jnp.sum(h**2)

    def temporary(steps):
        xs = jax.ShapeDtypeStruct((steps, 4, INPUTS), cell.W.dtype)
        compiled = jax.jit(jax.grad(loss)).lower(cell, xs).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    return np.log(temporary(4096) / temporary(256)) / np.log(4096 / 256)


def test_memory_grows_with_the_root_of_the_steps():
    assert growth("sqrt") < 0.6
    assert growth("all") > 0.9


# Sizes


@pytest.mark.parametrize(
    ("cell", "steps", "batch"),
    [
        ("lstm", 0, ()),
        ("zoneout", 0, (2,)),
        ("lstm", 1, (1, 2, 2)),
        ("gru", STEPS, ()),
        ("zoneout", STEPS, (2, 1, 3)),
    ],
)
def test_any_number_of_steps_and_batch_axes(cell, steps, batch):
    ours, theirs, at = losses(CELLS[cell], batch, steps)
    same_gradient(ours, theirs, at)
    ys, state = eqx.filter_eval_shape(ostinato.unroll, CELLS[cell], at[1])
    assert ys.shape == (steps, *batch, UNITS)
    assert jax.tree.leaves(state)[0].shape == (*batch, UNITS)


# Padding


class Shares(Cell):
    """Reads each input as shares of its sum, which no vector of zeros has."""

    R: jax.Array

    def initial(self, batch):
        return jnp.zeros((*batch, self.R.shape[0]))

    def inputs(self, x):
        return x

    def step(self, state, u):
        state = jnp.tanh(u / jnp.sum(u, axis=-1, keepdims=True) + state @ self.R)
        return state, state


@pytest.mark.parametrize("filler", [0.0, np.nan])
@pytest.mark.parametrize("reverse", [False, True])
def test_nothing_comes_back_from_padding(filler, reverse):
    cell, lengths = Shares(normal(0, UNITS, UNITS)), np.array([3, 5])
    xs = np.abs(np.array(normal(1, STEPS, 2, UNITS))) + 1
    xs[3:, 0] = filler

    def loss(cell, xs, lengths=None):
        ys, state = ostinato.unroll(cell, xs, lengths=lengths, reverse=reverse)
        return jnp.sum(ys**2) + jnp.sum(state)

    @jax.jit
    def padded_and_alone(cell):
        alone = jax.grad(lambda c: loss(c, xs[:3, :1]) + loss(c, xs[:, 1:]))(cell)
        return jax.grad(lambda c: loss(c, xs, lengths))(cell), alone

    same(*padded_and_alone(cell))


def test_the_cotangent_of_a_weight_in_parts_of_time(monkeypatch):
    """As a GPU makes it; of how many parts it is made goes by its size."""
    cell = made(MLSTM)
    state, u = cell.initial((BATCH,)), cell.inputs(jnp.ones((BATCH, INPUTS)))
    step = _step.take_apart(lambda cell, state, u: cell.step(state, u), cell, state, u)
    assert len(step.taps) == 2
    given = [
        (tap, normal(1, 6, *tap.changing.aval.shape), normal(2, 6, *tap.shape.shape))
        for tap in step.taps
    ]
    whole = [tap.gather(*operands) for tap, *operands in given]
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert [tap_file._parts(200, 1000, n**2) for n in (100, 500, 2000)] == [200, 8, 1]
    assert tap_file._parts(200, 10, 100**2) == 5
    assert tap_file._parts(0, 10, 100**2) == 1
    monkeypatch.setattr(tap_file, "_parts", lambda *_: 3)
    for expected, (tap, *operands) in zip(whole, given, strict=True):
        np.testing.assert_allclose(tap.gather(*operands), expected, rtol=1e-12)


def test_taps_of_a_cell_that_reads_both_ways_are_those_of_two_cells():
    """The same object twice in a layer has offsets for each place."""
    one, xs = Simple(3, 4, key=key(0)), jax.random.normal(key(1), (5, 2, 3))
    copy = jax.tree.map(lambda x: x, one)

    def errors(layer):
        def loss(taps):
            return jnp.sum(ostinato.unroll(layer, xs, taps=taps)[0] ** 2)

        return jax.grad(loss)(ostinato.taps(layer, xs))

    same(errors(Bidirectional(one, one)), errors(Bidirectional(one, copy)))
