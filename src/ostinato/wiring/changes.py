"""Inputs together with how much each has changed since the step before."""

from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Cell
from ..errors import BadInput


class Changes(Cell):
    """`y_t = [x_t, (x_t - x_{t-1}) / s]`, with a change of zero at the first step.

    The changes of a smooth series are small beside its values, and fixed random weights mix both at
    once. Dividing changes by their usual size s gives them the same weight. Nothing is trained.

    Shapes: x `(..., size)`; y `(..., 2 · size)`; state the input before `(..., size)` and the
    number of steps `(..., 1)`.

    Example:
        >>> ys, _ = ostinato.unroll(Changes([0.5]), jnp.array([3.0, 4.0, 4.0])[:, None, None])
        >>> ys[:, 0].tolist()
        [[3.0, 0.0], [4.0, 2.0], [4.0, 0.0]]
    """

    frozen: ClassVar[tuple[str, ...]] = ("spreads",)

    spreads: jax.Array

    def __init__(self, spreads: Sequence[float], dtype: Any = None):
        """
        Args:
            spreads: s, the usual size of a change of each input, above 0.
            dtype: of the state; by default JAX's for floats.
        """
        if not len(spreads) or not min(spreads) > 0:
            raise BadInput(f"spreads must be numbers above 0, one for each input; got {spreads}")
        self.spreads = jnp.asarray(spreads, jnp.result_type(float) if dtype is None else dtype)

    def vector_size(self) -> int:
        return self.spreads.shape[0]

    def initial(self, batch: tuple[int, ...]) -> tuple[jax.Array, jax.Array]:
        dtype = self.spreads.dtype
        return jnp.zeros((*batch, self.vector_size()), dtype), jnp.zeros((*batch, 1), dtype)

    def inputs(self, x: jax.Array) -> jax.Array:
        return jnp.asarray(x, self.spreads.dtype)

    def step(self, state: Any, u: jax.Array) -> tuple[Any, jax.Array]:
        before, count = state
        change = jnp.where(count > 0, u - before, 0) / self.spreads
        return (u, count + 1), jnp.concatenate([u, change], axis=-1)


def spreads_of(rows: np.ndarray, first: np.ndarray) -> list[float]:
    """The root mean square of the changes of each column, 1 for a column that never changes.

    Args:
        rows: sequences one after the other, `(M, columns)`.
        first: the number of the row with which each sequence begins.
    """
    changes = np.delete(np.diff(np.asarray(rows, float), axis=0), first[1:] - 1, axis=0)
    sizes = np.sqrt(np.mean(changes**2, axis=0)) if len(changes) else np.zeros(rows.shape[1])
    return [float(size) if size > 1e-9 else 1.0 for size in sizes]
