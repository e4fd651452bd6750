"""Some sequences side by side: what tasks produce and learners consume."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import BadInput


class Batch(NamedTuple):
    """B sequences of up to T steps, time first.

    Every array has the sequences on its second axis, only `lengths` has them on its first. Targets
    and weights usually have one row per step; a task with another number of answers than steps
    (one label per sequence, a transcript) may have another number of rows.

    Attributes:
        inputs: symbols `(T, B)`, vectors `(T, B, inputs)`, or any pytree of such arrays.
        targets: whatever the task's loss compares with the outputs: symbols `(T, B)` or vectors
            `(T, B, outputs)` for a loss per step.
        weights: `(T, B)`, how much each step counts in the loss and in the metrics.
        lengths: `(B,)`, the number of valid steps of each sequence, or `None` if all have T. What
            lies beyond is padding: the network does not read it and it never counts.
        resets: `(T, B)`, true where a new sequence begins, so that the state starts anew: for
            several sequences packed into one row. `None` if there are none.
        first: whether the sequences begin here. If not, they continue where the previous batch
            ended, and the state is carried over.

    Example:
        >>> inputs, targets, weights = np.zeros((5, 2, 3)), np.zeros((5, 2, 1)), np.ones((5, 2))
        >>> batch = Batch(inputs, targets, weights, lengths=np.array([5, 3]))
        >>> batch.steps, batch.sequences
        (5, 2)
        >>> float(batch.counted.sum())
        8.0
    """

    inputs: Any
    targets: Any
    weights: Any
    lengths: Any = None
    resets: Any = None
    first: bool | None = True

    @property
    def steps(self) -> int:
        """The steps of a sequence, with padding: `T`."""
        return _size("inputs", next(iter(jax.tree.leaves(self.inputs)), None), 0)

    @property
    def sequences(self) -> int:
        """How many sequences there are: `B`."""
        return _size("weights", self.weights, 1)

    @property
    def size(self) -> int:
        """The number of steps of all sequences together, without padding."""
        return self.steps * self.sequences if self.lengths is None else int(np.sum(self.lengths))

    @property
    def arrays(self) -> "Batch":
        """The batch without `first`, which compiled functions do not see."""
        return self._replace(first=None)

    @property
    def marks(self) -> dict[str, Any]:
        """Those of `lengths` and `resets` that the batch has, as arguments for `unroll`."""
        marks = {"lengths": self.lengths, "resets": self.resets}
        return {name: value for name, value in marks.items() if value is not None}

    @property
    def valid(self) -> Any:
        """`(T, B)`, true at the steps that are not padding; `None` without lengths."""
        if self.lengths is None:
            return None
        return np.arange(self.steps)[:, None] < self.lengths

    @property
    def counted(self) -> Any:
        """The weights, zero in the padding."""
        if self.lengths is None or np.shape(self.weights)[0] != self.steps:
            return self.weights
        return self.weights * self.valid

    def over_sequences(self, f: Callable[[Any, int], Any]) -> "Batch":
        """`f(array, axis)` for every array, with the axis on which it has the sequences.

        Example:
            >>> batch = Batch(np.zeros((5, 4)), np.zeros((5, 4)), np.ones((5, 4)))
            >>> batch.over_sequences(lambda x, axis: np.take(x, [0, 2], axis)).sequences
            2
        """
        times, lengths = (self.inputs, self.targets, self.weights, self.resets), self.lengths
        inputs, targets, weights, resets = jax.tree.map(lambda x: f(x, 1), times)
        lengths = None if lengths is None else f(lengths, 0)
        return Batch(inputs, targets, weights, lengths, resets, self.first)

    def take(self, which: Any) -> "Batch":
        """Some of the sequences, by a slice or by their numbers."""
        if isinstance(which, slice):
            which = np.arange(self.sequences)[which]
        return self.over_sequences(lambda x, axis: np.take(np.asarray(x), which, axis))

    def on_device(self) -> "Batch":
        """The same with JAX arrays."""
        return self.over_sequences(lambda x, axis: jnp.asarray(x))


def _size(name: str, array: Any, axis: int) -> int:
    """The size of an array along an axis, which it must have."""
    if len(shape := np.shape(array)) <= axis:
        raise BadInput(
            f"the {name} of a batch have time first and sequences second, (T, B, ...); got an "
            f"array of shape {shape}"
        )
    return int(shape[axis])
