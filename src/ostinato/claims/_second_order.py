"""A tanh network with softmax as a function of its parameter vector: curvature and costs."""

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._count import multiplications

INPUTS, UNITS, OUTPUTS, STEPS = 2, 3, 3, 4
READOUT = UNITS * OUTPUTS
SIZE = READOUT + UNITS * (UNITS + INPUTS + 1)


def outputs(theta: Any, xs: Any, units: int = UNITS, readouts: int = OUTPUTS) -> jax.Array:
    """`O = V tanh(W x + R h + b)` for all steps; theta holds V, R, W and b, in this order."""
    inputs = xs.shape[-1]
    cuts = np.cumsum([units * readouts, units * units, units * inputs])
    V, R, W, b = jnp.split(theta, cuts)
    V, R, W = V.reshape(readouts, units), R.reshape(units, units), W.reshape(units, inputs)
    h, found = jnp.zeros(units), []
    for x in xs:
        h = jnp.tanh(W @ x + R @ h + b)
        found.append(V @ h)
    return jnp.stack(found)


def loss_of(found: jax.Array, targets: Any) -> jax.Array:
    """Cross-entropy summed over time."""
    return -jnp.sum(targets * jax.nn.log_softmax(found))


@cache
def matrices(loss: Callable = loss_of, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The Hessian of a random network's loss, and its Gauss-Newton matrix Jᵀ H_L J.

    `loss(outputs, targets)`, both `(steps, outputs)`.
    """
    rng = np.random.default_rng(seed)
    xs, theta = rng.normal(size=(STEPS, INPUTS)), rng.normal(size=SIZE)
    targets = np.eye(OUTPUTS)[rng.integers(0, OUTPUTS, STEPS)]
    with jax.enable_x64(True):  # the cached value must not depend on the first caller
        hessian, gauss_newton = _both(loss, theta, xs, targets)
    return np.asarray(hessian), np.asarray(gauss_newton)


@partial(jax.jit, static_argnums=0)
def _both(loss: Callable, theta: Any, xs: Any, targets: Any) -> tuple[jax.Array, jax.Array]:
    hessian = jax.hessian(lambda theta: loss(outputs(theta, xs), targets))(theta)
    J = jax.jacfwd(outputs)(theta, xs)
    H_L = jax.hessian(lambda found: loss(found, targets))(outputs(theta, xs))
    return hessian, jnp.einsum("sip,sitj,tjq->pq", J, H_L, J)


def costs(functions: Iterable[Callable], units: int, symbols: int) -> list[float]:
    """The multiplications that functions of `(theta, v, xs, targets)` take for one more step.

    Relative to those of the forward pass, and from shapes alone.
    """

    def per_step(function: Callable) -> int:
        return counted(function, 4) - counted(function, 3)

    def counted(function: Callable, steps: int) -> int:
        theta = jax.ShapeDtypeStruct((units * (units + 2 * symbols + 1),), float)
        xs = jax.ShapeDtypeStruct((steps, symbols), float)
        return multiplications(function, theta, theta, xs, xs)

    forward = per_step(lambda theta, v, xs, targets: outputs(theta, xs, units, symbols))
    return [per_step(function) / forward for function in functions]
