"""Hopfield networks: storage in closed form, recall, energy, capacity."""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Hopfield
from ..errors import BadInput
from ..settings import shown
from ..tasks.synthetic.recall import checked_patterns
from ..through_time import unroll

SWEEPS = 200
RECALLED = 0.95  # overlap from which a pattern counts as recalled: at most 2.5 % of its bits wrong


def store(patterns: np.ndarray, rule: str = "hebb") -> Hopfield:
    """A Hopfield network in which patterns are stored.

    `"hebb"` is `R = (1/N) Σ_μ ξ_μ ξ_μᵀ`, and `"pseudo-inverse"` is `R = Ξ Ξ⁺`, the orthogonal
    projection on the patterns. The cell leaves out the diagonal of R. Learners of the same names
    store patterns step by step (`ostinato.learning.Hebb`).

    Source: Hopfield (1982); Personnaz, Guyon and Dreyfus (1985).

    Args:
        patterns: `(patterns, N)`, of -1 and 1.
        rule: `"hebb"` or `"pseudo-inverse"`.

    Example:
        >>> patterns = np.sign(np.random.default_rng(0).normal(size=(3, 50)))
        >>> recalled = recall(store(patterns), np.concatenate([-patterns[:1, :5],
        ...                                                       patterns[:1, 5:]], axis=1))
        >>> bool((recalled == patterns[:1]).all())
        True
    """
    known = checked_patterns(patterns).astype(float)
    bits = known.shape[1]
    if rule == "hebb":
        R = known.T @ known / bits
    elif rule == "pseudo-inverse":
        R = known.T @ np.linalg.pinv(known.T)
    else:
        raise BadInput(f"the rule is hebb or pseudo-inverse, got {shown(rule)}")
    cell = Hopfield(bits, bits, key=jax.random.key(0))
    return eqx.tree_at(lambda cell: cell.R, cell, jnp.asarray(R, cell.R.dtype))


def energy(cell: Hopfield, states: jax.Array) -> jax.Array:
    """`E = -½ sᵀ R₀ s`, where R₀ is R without its diagonal: `(..., N)` to `(...)`.

    With symmetric R no update of a single unit raises it.

    Example:
        >>> float(energy(store(np.ones((1, 10))), jnp.ones(10)))
        -4.5
    """
    R = cell.R - jnp.diag(jnp.diag(cell.R))
    return -jnp.einsum("...i,ij,...j->...", states, R, states) / 2


def recall(
    cell: Hopfield,
    cues: np.ndarray,
    *,
    synchronous: bool = False,
    sweeps: int = SWEEPS,
    key: jax.Array | None = None,
) -> jax.Array:
    """What a Hopfield network makes of corrupted patterns `(B, N)`.

    Asynchronously, one unit at a time is updated, all units once per sweep in a random order, until
    a sweep changes nothing; with symmetric R the energy falls until then. Synchronously, all units
    are updated at once, `sweeps` times, through `unroll`; that can end in a cycle of two states.

    Args:
        cell: the network.
        cues: states to start from, of -1 and 1.
        synchronous: whether all units are updated at once.
        sweeps: the most sweeps, or the number of synchronous steps.
        key: of the order of the units; by default always the same.
    """
    states = jnp.asarray(checked_patterns(cues), cell.R.dtype)
    if synchronous:
        return unroll(cell, jnp.zeros((sweeps, *states.shape), states.dtype), states)[1]
    return _one_by_one(cell, states, sweeps, jax.random.key(0) if key is None else key)


@eqx.filter_jit
def _one_by_one(cell: Hopfield, states: jax.Array, sweeps: int, key: jax.Array) -> jax.Array:
    into = (cell.R - jnp.diag(jnp.diag(cell.R))).T  # what leads to a unit is a row, for speed

    def update(states: jax.Array, unit: jax.Array) -> tuple[jax.Array, None]:
        a = into[unit] @ states
        return states.at[unit].set(jnp.where(a == 0, states[unit], jnp.sign(a))), None

    def sweep(now: tuple) -> tuple:
        count, states, _ = now
        order = jax.random.permutation(jax.random.fold_in(key, count), len(into))
        after = jax.lax.scan(update, states, order)[0]
        return count + 1, after, jnp.any(after != states)

    def goes_on(now: tuple) -> jax.Array:
        return now[2] & (now[0] < sweeps)

    return jax.lax.while_loop(goes_on, sweep, (0, states.T, jnp.asarray(True)))[1].T


class Capacity(NamedTuple):
    """How well networks of N units recall, by load.

    Attributes:
        loads: patterns per unit.
        recalled: `(loads, networks)`, the fraction of patterns whose overlap `ξ · s / N` with what
            is recalled is at least 0.95.
        overlap: `(loads, networks)`, the mean overlap.
    """

    loads: np.ndarray
    recalled: np.ndarray
    overlap: np.ndarray


def capacity(
    units: int,
    loads: Sequence[float],
    *,
    rule: str = "hebb",
    networks: int = 10,
    noise: float = 0.0,
    probed: int = 40,
    seed: int = 0,
) -> Capacity:
    """Store random patterns and recall them one unit at a time, at several loads.

    Args:
        units: N.
        loads: patterns per unit, each rounded to a whole number of patterns.
        rule: how they are stored.
        networks: how many networks per load, each with its own patterns.
        noise: fraction of the bits of a cue that are flipped; 0 starts from the pattern itself.
        probed: how many patterns of a network are recalled; all of them, again, if it has fewer.
        seed: of the patterns.

    Example:
        >>> loads = capacity(200, [0.05, 0.3], networks=2)
        >>> loads.recalled.min(axis=1)[0], loads.recalled.max(axis=1)[1] < 0.1
        (np.float64(1.0), np.True_)
    """
    recalled, overlap = np.zeros((2, len(loads), networks))
    for i, load in enumerate(loads):
        for j in range(networks):
            rng = np.random.default_rng([seed, i, j])
            patterns = rng.choice([-1.0, 1.0], (max(1, round(load * units)), units))
            some = patterns[np.arange(probed) % len(patterns)]  # always as many, to compile once
            flips = rng.random(some.shape).argsort(axis=1) < round(noise * units)
            cues = np.where(flips, -some, some)
            ends = recall(store(patterns, rule), cues, key=jax.random.key(j))
            overlaps = np.mean(np.asarray(ends) * some, axis=1)
            recalled[i, j], overlap[i, j] = np.mean(overlaps >= RECALLED), np.mean(overlaps)
    return Capacity(np.asarray(loads, float), recalled, overlap)
