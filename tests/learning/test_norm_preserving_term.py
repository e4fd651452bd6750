"""The norm-preserving term against its definition, with every Jacobian written out."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from jax.random import key

from everyday import some
from ostinato import unroll
from ostinato.cells import GRU, LSTM, Simple
from ostinato.errors import BadInput
from ostinato.learning.norm_preserving_term import omega
from ostinato.wiring import Bidirectional, Network, OneHot, Readout, Stack, Zoneout

INPUTS, UNITS, OUTPUTS, STEPS, BATCH = 2, 2, 3, 3, 2
ONE, TWO, THREE = jax.random.split(key(5), 3)


def normal(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape))


def network(cell, encoding=None):
    return Network(cell, Readout(UNITS, OUTPUTS, key=TWO), encoding)


XS = normal(0, STEPS, BATCH, INPUTS)
SYMBOLS = jnp.asarray([[0, 1], [1, 1], [1, 0]])
# The second sequence ends after one step.
WEIGHTS = np.asarray([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
TARGETS = normal(1, STEPS, BATCH, OUTPUTS)

# A network, its inputs, and how its output is read off its state.
CASES = {
    "simple": (network(Simple(INPUTS, UNITS, key=ONE)), XS, lambda net, h: net.readout(h)),
    "lstm on symbols": (
        network(LSTM(INPUTS, UNITS, key=ONE), OneHot(INPUTS)),
        SYMBOLS,
        lambda net, state: net.readout(state[0]),
    ),
    "stack": (
        network(Stack([GRU(INPUTS, 2, key=ONE), Simple(2, UNITS, key=THREE)])),
        XS,
        lambda net, state: net.readout(state[1]),
    ),
}


def loss(ys, targets):
    each = jnp.sum((ys - targets) ** 2 * jnp.cos(ys), axis=-1)
    return jnp.sum(each * WEIGHTS) / np.sum(WEIGHTS)


def one_sequence(net, xs, read, sequence):
    """What the direct form is made of, for one sequence, with flat states and Python's loop."""
    state, restore = ravel_pytree(net.initial(()))

    def step(net, h, t):
        return ravel_pytree(net.step(restore(h), net.inputs(xs[t, sequence]))[0])[0]

    def error_of(net, h, t):
        """The loss of step t alone, as a function of the state after it."""
        y = read(net, restore(h))
        each = jnp.sum((y - TARGETS[t, sequence]) ** 2 * jnp.cos(y))
        return each * WEIGHTS[t, sequence] / np.sum(WEIGHTS)

    return state, step, error_of


def direct(net, xs, read, constants=None):
    """Ω by its definition, and once more with other states and errors in it, held as constants.

    Also returns the states and errors of each sequence.
    """
    own, held, found = 0.0, 0.0, []
    for sequence in range(BATCH):
        h, step, error_of = one_sequence(net, xs, read, sequence)
        jacobian = jax.jacobian(step, argnums=1)
        states = [h]
        for t in range(STEPS):
            states.append(step(net, states[-1], t))
        errors, later = [h] * STEPS, jnp.zeros_like(h)
        for t in reversed(range(STEPS)):
            errors[t] = later + jax.grad(error_of, argnums=1)(net, states[t + 1], t)
            later = errors[t] @ jacobian(net, states[t], t)
        found.append((states, errors))
        for t in range(STEPS):
            if np.any(WEIGHTS[t:, sequence]):
                own += term(errors[t], jacobian(net, states[t], t)) / BATCH
                if constants is not None:
                    old_states, old_errors = constants[sequence]
                    held += term(old_errors[t], jacobian(net, old_states[t], t)) / BATCH
    return (own, held), found


def term(error, jacobian):
    return (jnp.linalg.norm(error @ jacobian) / jnp.linalg.norm(error) - 1) ** 2


def compiled(function, *given):
    return jax.jit(function)(*given)


def ours(net, loss, xs, targets, state=None, **options):
    """Ω and its gradient."""
    parameters, rest = eqx.partition(net, eqx.is_inexact_array)

    def value(parameters, *given):
        return omega(eqx.combine(parameters, rest), loss, *given, **options)

    return compiled(jax.value_and_grad(value), parameters, xs, targets, state)


def relative(one, other):
    return np.linalg.norm(np.subtract(one, other)) / np.linalg.norm(other)


@pytest.mark.parametrize("case", some(CASES, [*CASES][:1]))
def test_against_explicit_jacobians(case):
    """Value, the exact gradient and the immediate one; the gradients by finite differences."""
    net, xs, read = CASES[case]
    parameters, rest = eqx.partition(net, eqx.is_inexact_array)
    flat, restore = ravel_pytree(parameters)
    small = 1e-5

    def at(flat, constants=None):
        return direct(eqx.combine(restore(flat), rest), xs, read, constants)

    def differences(flat):
        """Ω, and its slopes along each parameter: all of it, and with states and errors held."""
        (value, _), constants = at(flat)
        moved = flat + small * jnp.concatenate([jnp.eye(flat.size), -jnp.eye(flat.size)])
        values = jax.lax.map(lambda flat: jnp.stack(at(flat, constants)[0]), moved)
        up, down = jnp.split(values, 2)
        return value, *jnp.unstack((up - down) / (2 * small), axis=1)

    value, exact, immediate = compiled(differences, flat)
    for expected, options in ((exact, {}), (immediate, {"immediate": True})):
        found, gradient = ours(net, loss, xs, TARGETS, **options)
        assert relative(found, value) < 1e-10
        assert relative(ravel_pytree(gradient)[0], expected) < 1e-7
    # The two gradients differ; otherwise this test could not tell them apart.
    assert relative(exact, immediate) > 1e-2


def test_the_errors_are_those_of_the_loss():
    """The direct form's chain of errors, against the loss of states moved by hand."""
    net, xs, read = CASES["lstm on symbols"]
    states, errors = compiled(lambda: direct(net, xs, read)[1][0])
    _, step, error_of = one_sequence(net, xs, read, 0)

    def rest_of(h, t):
        value = error_of(net, h, t)
        for later in range(t + 1, STEPS):
            h = step(net, h, later)
            value += error_of(net, h, later)
        return value

    for t in range(STEPS):
        moved = states[t + 1] + 1e-5 * jnp.concatenate([jnp.eye(4), -jnp.eye(4)])
        up, down = jnp.split(compiled(jax.vmap(lambda h, t=t: rest_of(h, t)), moved), 2)
        assert relative((up - down) / 2e-5, errors[t]) < 1e-8


def linear(scale, dtype=float):
    """`h_t = scale · Q h_{t-1} + W x_t` with an orthogonal Q."""
    cell = Simple(INPUTS, 3, key=ONE, f="identity")
    cell = eqx.tree_at(lambda c: c.R, cell, scale * jnp.linalg.qr(normal(3, 3, 3))[0])
    return jax.tree.map(lambda x: x.astype(dtype), cell)


def last(ys, targets):
    return jnp.sum(ys[-1] * targets)


@pytest.mark.parametrize("scale", [0.5, 1.0, 1.5])
def test_a_scaled_rotation(scale):
    """Every ratio is the scale, whatever the errors."""
    value, _ = ours(linear(scale), last, XS, normal(4, BATCH, 3))
    assert abs(value - STEPS * (scale - 1) ** 2) < 1e-12


def test_errors_too_small_to_be_squared():
    """In float32, errors of 1e-24 have squares of zero."""
    xs, targets = jnp.ones((25, INPUTS), jnp.float32), jnp.ones(3, jnp.float32)
    value, gradient = ours(linear(0.1, jnp.float32), last, xs, targets)
    assert value.dtype == jnp.float32
    assert abs(value - 25 * 0.9**2) < 1e-3
    # ∂Ω/∂ρ = 2 T (ρ - 1) along R itself, which is ρ Q
    along = jnp.sum(gradient.R * linear(0.1).R) / 0.1
    assert abs(along - 2 * 25 * (0.1 - 1)) < 1e-2


def test_errors_that_fade_to_nothing():
    """Terms as far as the errors reach, and then none: no NaN."""
    xs = jnp.ones((60, INPUTS), jnp.float32)
    value, gradient = ours(linear(0.01, jnp.float32), last, xs, jnp.ones(3, jnp.float32))
    terms = value / 0.99**2
    assert abs(terms - 16) < 1  # 1e-32 and no further, in float32
    assert all(np.all(np.isfinite(x)) for x in jax.tree.leaves(gradient))


@pytest.mark.parametrize("immediate", [False, True])
@pytest.mark.parametrize("steps", [0, 3])
def test_without_an_error_there_is_no_term(immediate, steps):
    found = ours(linear(0.5), lambda ys, _: 0 * jnp.sum(ys), XS[:steps], None, immediate=immediate)
    assert not any(np.any(x) for x in jax.tree.leaves(found))  # a NaN is not zero


def test_a_step_that_lets_no_error_through():
    """Its ratio is zero, its term one, and its derivative is a number."""
    value, gradient = ours(linear(0.0), last, XS, normal(4, BATCH, 3))
    assert value == 1  # only the last step is reached
    assert not any(np.any(np.isnan(x)) for x in jax.tree.leaves(gradient))


def test_a_state_with_a_count_of_steps():
    """Zoneout without noise: `h = ρ h + (1 - ρ) R h`, of which only the float is in the norm."""
    cell = Zoneout(linear(1.0), 0.5, key=ONE, inference=True)
    bare = eqx.tree_at(
        lambda c: (c.W, c.R), linear(1.0), (0.5 * linear(1.0).W, 0.5 * (jnp.eye(3) + linear(1.0).R))
    )
    targets = normal(4, BATCH, 3)
    assert abs(ours(cell, last, XS, targets)[0] - ours(bare, last, XS, targets)[0]) < 1e-12


@pytest.mark.slow
def test_a_given_state():
    """Ω is the sum of what two windows have, if the first is given the error at the border."""
    cell, targets = Simple(INPUTS, 3, key=ONE), normal(4, BATCH, 3)
    _, state = unroll(cell, XS[:1])
    border = jax.grad(lambda state: last(unroll(cell, XS[1:], state)[0], targets))(state)
    early, _ = ours(cell, last, XS[:1], border)
    late, _ = ours(cell, last, XS[1:], targets, state)
    whole, _ = ours(cell, last, XS, targets)
    assert abs(early + late - whole) < 1e-12
    assert min(early, late) > 1e-3
    with pytest.raises(ValueError, match="Simple expects a state"):
        omega(cell, last, XS, targets, state[:1])


def test_a_layer_without_a_step():
    layer = Bidirectional(linear(1.0), linear(1.0))
    with pytest.raises(BadInput, match=r"^omega needs a cell with a step, got Bidirectional$"):
        omega(layer, last, XS, TARGETS)
