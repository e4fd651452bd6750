"""Unit activations while a network reads a text, and which unit to show first."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Layer
from ..data import Batch
from ..decoding.text import as_text
from ..through_time import unroll
from .subject import Subject

CHARACTERS = 1500
UNITS = 256


@dataclasses.dataclass(frozen=True)
class Reading:
    """A text, and the activation of every unit after each of its symbols.

    Attributes:
        pieces: the text, one piece per symbol; a multi-byte character belongs to its last byte.
        values: `(symbols, units)`.
        first: the unit to show first.
        caption: what the figure shows.
    """

    pieces: list[str]
    values: np.ndarray
    first: int
    caption: str


def reading(subject: Subject) -> Reading | None:
    """The beginning of the subject's text with its activations; `None` if the task is not text."""
    vocabulary = subject.run.vocabulary
    if subject.symbols is None or vocabulary is None:
        return None
    symbols = np.asarray(subject.symbols[:CHARACTERS], np.int32)
    every = activity(subject.network, symbols)
    values = every[:, :UNITS]
    pieces = list(as_text(symbols[:, None], vocabulary))[: len(symbols)]
    shown = "" if every.shape[1] == values.shape[1] else f", the first {UNITS} of {every.shape[1]}"
    caption = (
        f"The first {len(symbols):,} symbols of {subject.measured}. The colour is the activation h "
        f"of one unit after it has read the symbol{shown}: red is positive, blue is negative, "
        "scaled to this unit's largest value. The first unit shown is the slowest of the more "
        "variable half."
    )
    return Reading(pieces, values, slowest(values), caption)


def activity(network: Layer, xs: Any, state: Any = None) -> np.ndarray:
    """The activation h of every unit that the readout reads: `(T, *batch, units)`.

    Example:
        >>> activity(network, xs).shape
        (10, 4, 8)
    """
    return np.asarray(unroll(network.parts().cell, *inputs_of_cell(network, xs, state))[0], float)


def inputs_of_cell(network: Layer, xs: Any, state: Any = None) -> tuple[jax.Array, Any]:
    """What the cell of a network reads, `(T, *batch, inputs)`, and its initial state."""
    inputs = jnp.asarray(xs)
    batch, state = network.to_cell(Batch(inputs, None, jnp.ones(inputs.shape[:2])), state)
    return batch.inputs, state


def slowest(values: np.ndarray) -> int:
    """The unit that changes most slowly for its variance, among the more variable half.

    Args:
        values: `(T, units)`.
    """
    deviation = values.std(axis=0)
    steps = np.sqrt(np.mean(np.diff(values, axis=0) ** 2, axis=0))
    slow = np.where(steps > 0, deviation / np.where(steps > 0, steps, 1), 0)
    return int(np.argmax(np.where(deviation >= np.median(deviation), slow, -1)))
