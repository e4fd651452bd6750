"""Does a driven network forget its beginning, and how many inputs does it remember?"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Layer
from ..cells.building import input_size
from ..errors import BadInput
from ..through_time import unroll
from ..through_time.check import check_can_step, sizes
from .jacobians import step_jacobians
from .spectrum import lyapunov_exponent, spectral_radius

MET = 1e-3  # of the distance at the start


class EchoState(NamedTuple):
    """How a network forgets its initial state on given inputs.

    Attributes:
        distance: `(T,)`, after each step the largest distance of a run that started elsewhere from
            the one that started at the initial state, relative to their distance at the start; of
            each pair the root mean square over the sequences.
        exponent: the largest Lyapunov exponent given the inputs; nearby states converge if it is
            negative.
        radius: the mean spectral radius of the step's Jacobian along the way: for a reservoir of
            tanh units that of R, less what saturation takes away.
        forgets: whether all runs met: the last distance is below 0.001, or the exponent is negative
            and the distance fell as fast as it says over the last half of the steps, so that they
            are still on their way to each other. Runs that have come to rest apart have not met.
    """

    distance: np.ndarray
    exponent: float
    radius: float
    forgets: bool


def echo_state(
    cell: Layer, xs: Any, *, key: jax.Array, scale: float = 1.0, starts: int = 8
) -> EchoState:
    """Measure the echo state property: whether the state is a function of the inputs alone.

    One run starts from the initial state, and the others from random states and from the opposite
    of each, so that both sides of a network with two resting states are tried. A spectral radius of
    R below 1 is neither necessary nor sufficient for what happens on given inputs, so this measures
    it. It can show that a network does not forget; that it does, it shows for these starts.

    Sources: Jaeger (2001); Manjunath and Jaeger (2013) for its dependence on the inputs.

    Args:
        cell: a cell or a network with a step.
        xs: `(T, B, ...)`, inputs as it usually gets them.
        key: random key for the other initial states.
        scale: standard deviation of the numbers of those states.
        starts: how many of them, at least 2.

    Example:
        >>> one = Simple(1, 1, key=jax.random.key(0))
        >>> both = eqx.tree_at(lambda c: c.R, one, jnp.full((1, 1), 3.0))  # rests at ±0.995
        >>> found = echo_state(both, jnp.zeros((200, 1, 1)), key=jax.random.key(0))
        >>> found.distance.shape, found.forgets
        ((200,), False)
    """
    check_can_step(cell, "echo_state")
    if starts < 2:
        raise BadInput(f"starts must be at least 2, got {starts}")
    steps, batch = sizes(cell, xs)
    start = cell.initial(batch)
    (_, reference), _ = unroll(cell, xs, start, watch="states")
    first, *keys = jax.random.split(key, 1 + -(-starts // 2))
    each = []
    for n in range(starts):
        moves = _moves(start, keys[n // 2], scale if n % 2 == 0 else -scale)
        (_, states), _ = unroll(cell, xs, eqx.apply_updates(start, moves), watch="states")
        apart = sum(_squares(a, b) for a, b in zip(reference, states, strict=True))
        begin = sum(float(jnp.sum(jnp.abs(x) ** 2)) for x in jax.tree.leaves(moves))
        each.append(np.sqrt(np.asarray(apart) / max(begin, 1e-300)))
    distance = np.max(each, axis=0)
    exponent = float(np.mean(lyapunov_exponent(cell, xs, key=first)))
    few = jax.tree.map(lambda x: x[:, :1], xs)
    jacobians = np.asarray(step_jacobians(cell, few))
    every = max(1, steps // 10)
    radius = float(np.mean(spectral_radius(jacobians[::every])))
    return EchoState(distance, exponent, radius, _forget(distance, exponent))


def _forget(distance: np.ndarray, exponent: float) -> bool:
    """Whether runs have met, or approach each other as fast as nearby states do."""
    if not np.all(np.isfinite(distance)):
        return False
    if distance[-1] < MET:
        return True
    half = len(distance) // 2
    fallen = np.log(distance[-1] / distance[-1 - half]) if half else 0.0
    return bool(exponent < 0 and fallen < half * exponent / 2)


def _moves(start: Any, key: jax.Array, scale: float) -> Any:
    """Random numbers of a standard deviation for all floats of a state, `None` for the rest."""
    leaves, structure = jax.tree.flatten(start)
    keys = jax.random.split(key, len(leaves))
    moves = [
        scale * jax.random.normal(k, x.shape, x.dtype) if eqx.is_inexact_array(x) else None
        for x, k in zip(leaves, keys, strict=True)
    ]
    return jax.tree.unflatten(structure, moves)


def _squares(a: jax.Array, b: jax.Array) -> jax.Array:
    """The squared distance at each step, `(T,)`."""
    return jnp.sum(jnp.abs(a - b) ** 2, axis=tuple(range(1, a.ndim)))


def memory_capacity(
    cell: Layer,
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
    outputs = h[half:] @ np.linalg.solve(gram, h[:half].T @ past[:half])
    right = past[half:]
    outputs, right = outputs - outputs.mean(axis=0), right - right.mean(axis=0)
    spread = np.sum(outputs**2, axis=0) * np.sum(right**2, axis=0)
    return np.sum(outputs * right, axis=0) ** 2 / np.maximum(spread, 1e-300)
