"""Positions of a text at which a network is in a similar state."""

from typing import Any

import numpy as np

from ..errors import BadInput

APART = 20


def similar_states(
    states: Any, at: int, *, count: int = 5, apart: int = APART
) -> list[tuple[int, float]]:
    """The positions whose states have the largest cosine with the state at a position.

    Args:
        states: `(T, units)`.
        at: the position.
        count: how many to return, at most.
        apart: the least distance between two of them, and between each and `at`.

    Returns:
        Positions and cosines, the most similar first.

    Example:
        >>> angles = np.array([0.0, 1.5, 0.1, 3.0, 0.2, 1.6])
        >>> states = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        >>> [at for at, cosine in similar_states(states, 0, count=2, apart=2)]
        [2, 4]
    """
    states = np.asarray(states)
    if not 0 <= at < len(states):
        raise BadInput(f"the text has the pieces 0 to {len(states) - 1}; there is no {at}")
    if count < 1 or apart < 1:
        raise BadInput(f"count and apart must be at least 1, got {count} and {apart}")
    norms = np.sqrt(np.einsum("tu,tu->t", states, states))
    cosines = states @ states[at] / np.maximum(norms * norms[at], np.finfo(np.float32).tiny)
    cosines = np.clip(cosines.astype(float), -1, 1)
    free = np.ones(len(states), bool)
    free[max(at - apart + 1, 0) : at + apart] = False
    found: list[tuple[int, float]] = []
    while len(found) < count and free.any():
        best = int(np.argmax(np.where(free, cosines, -np.inf)))
        found.append((best, float(cosines[best])))
        free[max(best - apart + 1, 0) : best + apart] = False
    return found
