"""Labelled sequences of different lengths, one after the other, and batches of some of them."""

import dataclasses
from functools import cached_property
from typing import Any

import numpy as np

from .batch import Batch


@dataclasses.dataclass(frozen=True)
class Examples:
    """N sequences of M steps in all.

    Attributes:
        inputs: of all steps, symbols `(M,)` or vectors `(M, inputs)`.
        lengths: `(N,)`, the number of steps of each sequence.
        targets: `(M, ...)`, one per step, or `(N, ...)`, one per sequence.
        there: `(M,)` or `(N,)`, false where the target is missing.
        per_step: whether there is a target per step.

    Example:
        >>> from ostinato.data.examples import Examples
        >>> lengths = np.array([1, 3])
        >>> examples = Examples(np.arange(4), lengths, np.array([7, 8]), np.ones(2, bool), False)
        >>> batch = examples.batch(np.array([1, 0]), steps=3)
        >>> batch.inputs.tolist(), batch.targets.tolist(), batch.lengths.tolist()
        ([[1, 0], [2, 0], [3, 0]], [[0, 7], [0, 0], [8, 0]], [3, 1])
    """

    inputs: np.ndarray
    lengths: np.ndarray
    targets: np.ndarray
    there: np.ndarray
    per_step: bool = True

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def begins(self) -> np.ndarray:
        """`(N,)`, the first step of each sequence."""
        return np.cumsum(self.lengths) - self.lengths

    def steps_of(self, which: np.ndarray) -> np.ndarray:
        """The steps of some sequences, by their numbers among all M."""
        parts = [
            np.arange(b, b + n)
            for b, n in zip(self.begins[which], self.lengths[which], strict=True)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, int)

    def place(self, step: int) -> str:
        """The sequence of a step and its number there, for messages."""
        which = int(np.searchsorted(self.begins, step, side="right")) - 1
        return f"sequence {which}, step {step - int(self.begins[which])}"

    def side_by_side(
        self, which: np.ndarray, steps: int, offsets: Any = 0, sizes: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The steps of some sequences, `(steps, B)`, and which of them are not padding.

        In the padding, a sequence repeats its last step.

        Args:
            which: `(B,)`, the numbers of the sequences.
            steps: rows, at least as many as the longest of them has steps.
            offsets, sizes: `(B,)`, where each begins and how many steps it has; all of it by
                default.
        """
        sizes = self.lengths[which] if sizes is None else sizes
        time = np.arange(steps)[:, None]
        return self.begins[which] + offsets + np.minimum(time, sizes - 1), time < sizes

    def batch(
        self, which: np.ndarray, steps: int, offsets: Any = 0, sizes: np.ndarray | None = None
    ) -> Batch:
        """Some sequences side by side, zero after their ends; see `side_by_side`.

        A target per sequence is asked for at its last step.
        """
        sizes = self.lengths[which] if sizes is None else sizes
        places, valid = self.side_by_side(which, steps, offsets, sizes)
        if self.per_step:
            asked, at = valid & self.there[places], places
        else:
            asked = (np.arange(steps)[:, None] == sizes - 1) & self.there[which]
            at = np.broadcast_to(which, places.shape)
        inputs, targets = _where(valid, self.inputs[places]), _where(asked, self.targets[at])
        return Batch(inputs, targets, asked.astype(np.float32), sizes.astype(np.int32))


def _where(valid: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The values, zero where they are not valid."""
    mask = valid.reshape(*valid.shape, *[1] * (values.ndim - valid.ndim))
    return np.where(mask, values, values.dtype.type(0))
