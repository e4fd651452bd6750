"""Does a driven network forget its beginning, and how many inputs does it remember?"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Cell
from ..cells.sizes import input_size
from ..errors import BadInput
from ..through_time import sizes, unroll
from .jacobians import check, step_jacobians
from .spectrum import lyapunov_exponent, spectral_radius


class EchoState(NamedTuple):
    """How a network forgets its initial state on given inputs.

    Attributes:
        distance: `(T,)`, the distance after each step of two states that started apart, relative to
            their distance at the start; the root mean square over the sequences.
        exponent: the largest Lyapunov exponent given the inputs; nearby states converge if it is
            negative.
        radius: the mean spectral radius of the step's Jacobian along the way: for a reservoir of
            tanh units that of R, less what saturation takes away.
        forgets: whether the states met: the last distance is below 0.001, or falling at a negative
            exponent.
    """

    distance: np.ndarray
    exponent: float
    radius: float
    forgets: bool


def echo_state(cell: Cell, xs: Any, *, key: jax.Array, scale: float = 1.0) -> EchoState:
    """Measure the echo state property: whether the state is a function of the inputs alone.

    One run starts from the initial state and one from a random state. A spectral
    radius of R below 1 is neither necessary nor sufficient for what happens on given inputs, so
    this measures it.

    Sources: Jaeger (2001); Manjunath and Jaeger (2013) for its dependence on the inputs.

    Args:
        cell: a cell or a network with a step.
        xs: `(T, B, ...)`, inputs as it usually gets them.
        key: random key for the second initial state.
        scale: standard deviation of the numbers of that state.

    Example:
        >>> found = echo_state(cell, jnp.zeros((200, 1, 3)), key=jax.random.key(0))
        >>> found.distance.shape, found.forgets == (found.exponent < 0)
        ((200,), True)
    """
    check(cell, "echo_state")
    steps, batch = sizes(cell, xs)
    start = cell.initial(batch)
    leaves, shape = jax.tree.flatten(start)
    keys = jax.random.split(key, len(leaves) + 1)
    moved = [
        x + scale * jax.random.normal(k, x.shape, x.dtype)
        if jnp.issubdtype(x.dtype, jnp.inexact)
        else x
        for x, k in zip(leaves, keys[1:], strict=True)
    ]
    other = jax.tree.unflatten(shape, moved)
    ((_, one), _), ((_, two), _) = (unroll(cell, xs, s, watch="states") for s in (start, other))
    apart = sum(_squares(a, b) for a, b in zip(_floats(one), _floats(two), strict=True))
    pairs = zip(_floats(start), _floats(other), strict=True)
    begin = sum(float(jnp.sum((a - b) ** 2)) for a, b in pairs)
    distance = np.sqrt(np.asarray(apart) / max(begin, 1e-300))
    exponent = float(np.mean(lyapunov_exponent(cell, xs, key=keys[0])))
    few = jax.tree.map(lambda x: x[:, :1], xs)
    jacobians = np.asarray(step_jacobians(cell, few))
    every = max(1, steps // 10)
    radius = float(np.mean(spectral_radius(jacobians[::every])))
    return EchoState(distance, exponent, radius, bool(distance[-1] < 1e-3 or exponent < 0))


def _floats(tree: Any) -> list[jax.Array]:
    return [x for x in jax.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.inexact)]


def _squares(a: jax.Array, b: jax.Array) -> jax.Array:
    """The squared distance at each step, `(T,)`."""
    return jnp.sum(jnp.abs(a - b) ** 2, axis=tuple(range(1, a.ndim)))


def memory_capacity(
    cell: Cell,
    *,
    key: jax.Array,
    delays: int = 100,
    steps: int = 4000,
    washout: int = 500,
    strength: float = 1e-7,
) -> np.ndarray:
    """How much of each earlier input a linear readout of a cell gives back, `r²` by delay.

    The cell is driven by inputs from U(-1, 1), all its inputs alike. Readouts of the inputs 1 to
    `delays` steps ago are fitted on the first half of the steps after the washout, and correlated
    with them on the second. The sum is the memory capacity, at most the number of units.

    Source: Jaeger (2002), Short term memory in echo state networks.

    Args:
        cell: a cell that reads vectors.
        key: random key for the inputs.
        delays: the longest one.
        steps, washout: steps of the run, and how many of them are not used.
        strength: ridge strength of the fit.

    Returns:
        `(delays,)`, from 0 to 1.

    Example:
        >>> found = memory_capacity(cell, key=jax.random.key(0), delays=10, steps=400, washout=50)
        >>> found.shape, bool(0 < found.sum() < 8)  # it has 8 units
        ((10,), True)
    """
    if not 0 < delays <= washout < steps - 1:
        raise BadInput(
            "delays must be at least 1, the washout at least as long as the delays, and below the "
            f"steps; got {delays}, {washout} and {steps}"
        )
    inputs = input_size(cell)
    u = np.asarray(jax.random.uniform(key, (steps,), minval=-1, maxval=1))
    hs, _ = unroll(eqx.nn.inference_mode(cell), jnp.repeat(jnp.asarray(u)[:, None], inputs, axis=1))
    h = np.concatenate([np.asarray(hs, float), np.ones((steps, 1))], axis=1)[washout:]
    past = np.stack([u[washout - k : steps - k] for k in range(1, delays + 1)], axis=1)
    half = len(h) // 2
    gram = h[:half].T @ h[:half] + strength * np.eye(h.shape[1])
    found = h[half:] @ np.linalg.solve(gram, h[:half].T @ past[:half])
    right = past[half:]
    found, right = found - found.mean(axis=0), right - right.mean(axis=0)
    spread = np.sum(found**2, axis=0) * np.sum(right**2, axis=0)
    return np.sum(found * right, axis=0) ** 2 / np.maximum(spread, 1e-300)
