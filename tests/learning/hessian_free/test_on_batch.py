"""Curvature products against dense matrices, in float64, for every cell and wiring."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from jax.flatten_util import ravel_pytree
from jax.random import key

from everyday import some
from members import CELLS, WIRINGS
from ostinato import unroll
from ostinato.cells import LSTM, Simple
from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.learning import Objective
from ostinato.learning.hessian_free import OnBatch
from ostinato.learning.hessian_free.on_batch import FORMS
from ostinato.losses import CrossEntropy
from ostinato.testing.case import BATCH, STEPS

UNTRAINED = (
    "reservoir",
    "reservoir, mixed leaks",
    "liquid",
    "expansion, quadratic",
    "expansion, fourier",
)
MEMBERS = {name: make for name, make in (CELLS | WIRINGS).items() if name not in UNTRAINED}
TOLERANCE = 1e-8
WEIGHTS = np.array([0.0, 0.7])


@pytest.fixture(autouse=True)
def quick_compilation():
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def near(ours, theirs, tolerance=TOLERANCE):
    error = np.linalg.norm(np.subtract(ours, theirs))
    assert error <= tolerance * max(1.0, np.linalg.norm(theirs)), f"off by {error:.1e}"


def on_batch(cell, xs, state, **options):
    """A cell whose outputs are taken for the logits of a softmax, on random targets."""
    outputs = jax.eval_shape(lambda: unroll(cell, xs, state)[0])
    random = np.random.default_rng(1)
    targets = random.integers(0, outputs.shape[-1], outputs.shape[:-1])
    weights = random.random(outputs.shape[:-1])
    weights[0] = 0
    return OnBatch(Objective(CrossEntropy()), cell, Batch(xs, targets, weights), state, **options)


def plain_scan(cell, xs, state):
    """Outputs and states by JAX's own scan over the cell's step: nothing of the engine."""

    def body(state, x):
        state, y = cell.step(state, cell.inputs(x))
        return state, (y, ravel_pytree(eqx.filter(state, eqx.is_inexact_array))[0])

    return jax.lax.scan(body, state, xs)[1]


def watched(cell, xs, state):
    """The same from the engine, for layers that have no step."""
    (ys, states), _ = unroll(cell, xs, state, watch="states")
    return ys, jnp.concatenate([x.reshape(-1) for x in states])


USUAL = {"lstm", "network, raw"}


@pytest.mark.parametrize("name", some(MEMBERS, USUAL))
def test_products_are_those_of_dense_matrices(name):
    case = MEMBERS[name]()
    f = on_batch(case.cell, case.xs, case.state)
    run = plain_scan if case.cell.can_step else watched

    @jax.jit
    def matrices(flat):
        every = jnp.eye(flat.size)

        def plain(flat):
            return run(f.at(flat), case.xs, case.state)

        def value(flat):
            return f.objective.loss(plain(flat)[0], f.batch)

        def gradient(flat):
            found = jax.grad(value)(flat)
            return found, found

        def damped(form):
            """The matrices G and G + 0.7 S."""
            product = f.gauss_newton(flat, form)
            found = jax.vmap(product)(jnp.tile(every, (2, 1)), jnp.repeat(WEIGHTS, flat.size))
            return jnp.split(found, 2)

        def products(flat):
            return unroll(f.at(flat), case.xs, case.state, watch="products")[0][1]

        J, Jh = jax.jacfwd(plain)(flat)
        H, slope = jax.jacfwd(gradient, has_aux=True)(flat)
        (_, slopes), _ = unroll(f.at(flat), case.xs, case.state, watch="slopes")
        ours = f.gradient(flat)
        return {
            "J": J,
            "Jh": Jh.reshape(-1, flat.size),
            "Ja": [x.reshape(-1, flat.size) for x in jax.jacfwd(products)(flat)],
            "slopes": slopes,
            "p": jax.nn.softmax(plain(flat)[0]),
            "H": (jax.vmap(f.hessian(flat))(every), H),
            "gradient": (ours[1], slope),
            "value": (ours[0], value(flat)),
            "damped": {form: damped(form) for form in FORMS},
        }

    found = jax.device_get(matrices(f.start))
    total = np.sum(f.batch.weights)
    J, p = found["J"], found["p"]
    loss_hessian = (
        np.einsum("tbi,ij->tbij", p, np.eye(p.shape[-1])) - p[..., None] * p[..., None, :]
    )
    share = f.batch.weights / total
    G = np.einsum("tbin,tbij,tbjm,tb->nm", J, loss_hessian, J, share, optimize=True)
    for name in ("value", "gradient", "H"):
        near(*found[name])
    damping = {
        "activation": found["Jh"].T @ found["Jh"],
        "pre-activation": sum(
            Ja.T @ (s.reshape(-1, 1) * Ja)
            for s, Ja in zip(found["slopes"], found["Ja"], strict=True)
        ),
    }
    for form, matrix in damping.items():
        plain, damped = found["damped"][form]
        near(plain, G)
        near((damped - plain) / WEIGHTS[1], matrix / total)
        for ours in (plain, damped - plain):
            near(ours, ours.T)
            assert np.linalg.eigvalsh((ours + ours.T) / 2).min() > -TOLERANCE, form


def finite_differences(function, at, h=1e-6):
    columns = [(function(at + h * e) - function(at - h * e)) / (2 * h) for e in np.eye(at.size)]
    return np.stack(columns, axis=-1)


def test_eq_3_28_as_printed():
    """For tanh units: R-forward, then BPTT with μ R(h_t) joined to the error at the pre-activation.

    Both written out step by step from Krause (2015), algorithm 4 and (3.25) to (3.30).
    """
    cell = Simple(2, 3, key=key(0))
    random = np.random.default_rng(0)
    xs = random.standard_normal((STEPS, BATCH, 2))
    f = on_batch(cell, xs, np.zeros((BATCH, 3)))
    v, mu = random.standard_normal(f.start.size), 0.3
    dW, dR, db = jax.tree.leaves(eqx.filter(f.at(v), eqx.is_array))
    dW, dR, db, W, R, b = map(np.asarray, (dW, dR, db, cell.W, cell.R, cell.b))
    h, dh, hs, dhs = np.zeros((BATCH, 3)), np.zeros((BATCH, 3)), [np.zeros((BATCH, 3))], []
    for x in xs:
        dh = x @ dW + hs[-1] @ dR + dh @ R + db
        h = np.tanh(x @ W + h @ R + b)
        dh = dh * (1 - h * h)
        hs.append(h)
        dhs.append(dh)
    total = f.batch.weights.sum()
    gW, gR, gb, back = 0 * W, 0 * R, 0 * b, np.zeros((BATCH, 3))
    for t in reversed(range(STEPS)):
        p = scipy.special.softmax(hs[t + 1], axis=-1)
        d = dhs[t]
        at_output = f.batch.weights[t][:, None] / total * (p * d - p * (p * d).sum(1)[:, None])
        at_input = (at_output + back) * (1 - hs[t + 1] ** 2) + mu / total * d
        gW, gR, gb = gW + xs[t].T @ at_input, gR + hs[t].T @ at_input, gb + at_input.sum(0)
        back = at_input @ R.T
    printed = np.concatenate([np.ravel(x) for x in (gW, gR, gb)])
    product = jax.jit(lambda v: f.gauss_newton(f.start, "pre-activation")(v, mu))
    near(product(v), printed, 1e-12)


def test_the_two_forms_differ():
    cell = Simple(2, 3, key=key(0))
    xs = np.random.default_rng(0).standard_normal((STEPS, BATCH, 2))
    f = on_batch(cell, xs, np.zeros((BATCH, 3)))
    v = np.ones(f.start.size)

    @jax.jit
    def products():
        plain = f.gauss_newton(f.start)(v)
        return [f.gauss_newton(f.start, form)(v, 1.0) - plain for form in FORMS]

    one, other = products()
    assert np.linalg.norm(one - other) > 0.05 * np.linalg.norm(other)


def test_slopes_of_an_lstm():
    """By finite differences: how the state of one step moves with each of its pre-activations."""
    cell = LSTM(2, 3, key=key(1))
    random = np.random.default_rng(0)
    xs = random.standard_normal((1, 1, 2))
    state = tuple(random.standard_normal((1, 3)) for _ in range(2))
    (_, (slopes,)), _ = unroll(cell, xs, state, watch="slopes")

    @jax.jit
    def new_state(offset):
        new, _ = cell.step(state, cell.inputs(xs[0]) + offset)
        return jnp.concatenate([x.ravel() for x in new])

    jacobian = finite_differences(new_state, np.zeros(12))
    near(slopes.ravel(), np.sqrt((jacobian.reshape(2, 3, 12).sum(1) ** 2).sum(0)), 1e-8)


@pytest.mark.parametrize("what", ["states", "products"])
def test_what_is_watched_moves_as_it_should(what):
    cell = LSTM(2, 3, key=key(1))
    xs = np.random.default_rng(0).standard_normal((STEPS, BATCH, 2))
    flat, restore = ravel_pytree(cell)

    @jax.jit
    def seen(flat):
        return ravel_pytree(unroll(restore(flat), xs, watch=what)[0][1])[0]

    near(jax.jacfwd(seen)(flat), finite_differences(seen, np.asarray(flat)), 1e-7)


def test_bad_watch():
    cell, xs = Simple(2, 3, key=key(0)), np.zeros((4, 2))
    with pytest.raises(ValueError, match="watch must be 'states', 'products' or 'slopes'"):
        unroll(cell, xs, watch="everything")
    with pytest.raises(ValueError, match="either taps or watch"):
        unroll(cell, xs, watch="states", taps={})


@pytest.fixture(scope="module")
def small():
    cell = LSTM(2, 3, key=key(1))
    xs = np.random.default_rng(0).standard_normal((6, 4, 2))
    return cell, xs, jax.tree.map(lambda x: x + 0.1, cell.initial((4,)))


@pytest.mark.slow
def test_in_pieces_and_with_less_memory(small):
    cell, xs, state = small
    f = on_batch(cell, xs, state)
    v = np.random.default_rng(3).standard_normal(f.start.size)

    def all_of(f):
        @jax.jit
        def found(flat):
            products = [f.gauss_newton(flat, form)(v, 0.3) for form in FORMS]
            return f.value(flat), f.gradient(flat), products, f.hessian(flat)(v)

        return jax.tree.leaves(found(f.start))

    whole = all_of(f)
    objective = Objective(CrossEntropy(), memory="sqrt")
    for other in (
        on_batch(cell, xs, state, pieces=2),
        OnBatch(objective, cell, f.batch, state),
        OnBatch(objective, cell, f.batch, state, pieces=4),
    ):
        for one, same in zip(whole, all_of(other), strict=True):
            near(same, one, 1e-12)


@pytest.mark.slow
def test_squares(small):
    cell, xs, state = small
    f = on_batch(cell, xs, state)
    alone = []
    for b in range(4):
        batch = f.batch.take([b])
        one = OnBatch(f.objective, cell, batch, jax.tree.map(lambda x, b=b: x[b : b + 1], state))
        share = 4 * batch.weights.sum() / f.batch.weights.sum()
        alone.append(share * one.gradient(f.start)[1])
    near(f.squares(f.start), np.mean(np.square(alone), axis=0), 1e-12)
    near(f.squares(f.start, together=2), np.mean(np.square(alone), axis=0), 1e-12)


def test_a_chunk_must_divide_the_batch(small):
    cell, xs, state = small
    f = on_batch(cell, xs, state)
    with pytest.raises(BadInput, match="4 sequences cannot be done 3 at a time"):
        OnBatch.in_chunks(f.objective, cell, f.batch, state, 3)
    assert OnBatch.in_chunks(f.objective, cell, f.batch, state, 2).pieces == 2
    assert OnBatch.in_chunks(f.objective, cell, f.batch, state, 8).pieces == 1
