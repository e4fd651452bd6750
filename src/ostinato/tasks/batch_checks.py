"""Checks of the batches that a task makes, before anything is computed from them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..data import Batch
from ..errors import BadInput
from ..settings import checked_kind, shown

ARRAYS = (np.ndarray, jax.Array)
WIDEST = {"c": 16}  # bytes of a number that JAX knows, if not 8


def checked_batch(name: str, made: Any) -> Batch:
    """A batch of a task; raises unless it holds arrays of numbers with its sequences side by side.

    How many steps and features there are, and which kind of number, is for loss and network to say.

    Args:
        name: of the batch, for messages.
        made: by the task.

    Example:
        >>> checked_batch("batch 0", Batch([[0.5], [0.1, 0.2]], np.zeros((2, 1)), np.ones((2, 1))))
        Traceback (most recent call last):
        ostinato.errors.BadInput: the inputs of batch 0 must be arrays of numbers; got ...
    """
    if not isinstance(made, Batch):
        kind = "None" if made is None else type(made).__name__
        raise BadInput(f"{name} must be an ostinato.data.Batch, got {kind}")
    timed = {"inputs": made.inputs, "targets": made.targets, "weights": made.weights}
    if made.resets is not None:
        timed["resets"] = made.resets
    for part, given in timed.items():
        _check_numbers(f"the {part} of {name}", given)
    sequences = made.sequences
    for part, given in timed.items():
        for array in jax.tree.leaves(given):
            if array.ndim < 2 or array.shape[1] != sequences:
                raise BadInput(
                    f"the {part} of {name} must have time first and sequences second, (T, B, ...), "
                    f"with as many sequences as the weights, {sequences}; got an array of shape "
                    f"{array.shape}"
                )
    if made.lengths is not None:
        _check_lengths(f"the lengths of {name}", made.lengths, made.steps, sequences)
    if made.first is not None:
        checked_kind(f"first of {name}", made.first, (bool, np.bool_), "true or false")
    return made


def _check_numbers(what: str, given: Any) -> None:
    """Refuse what JAX would not take as a tree of arrays, and masks, which it would drop."""
    must = f"{what} must be arrays of numbers"
    for array in jax.tree.leaves(given) or [None]:
        if not isinstance(array, ARRAYS):
            raise BadInput(f"{must}; got {shown(given)}: pad what is ragged, and give its lengths")
        dtype = array.dtype
        known = jnp.issubdtype(dtype, jnp.number) or jnp.issubdtype(dtype, jnp.bool_)
        if not known or dtype.itemsize > WIDEST.get(dtype.kind, 8):
            raise BadInput(f"{must}; got one of {dtype}")
        if np.ma.isMaskedArray(array):
            raise BadInput(f"{must} without a mask; give what is masked a weight of 0")


def _check_lengths(what: str, lengths: Any, steps: int, sequences: int) -> None:
    """Refuse lengths that are no whole numbers of steps, one for each sequence."""
    must = f"{what} must be {sequences} whole numbers from 0 to {steps}, one for each sequence"
    if not isinstance(lengths, ARRAYS) or not jnp.issubdtype(lengths.dtype, jnp.integer):
        raise BadInput(f"{must}, as an array of integers; got {shown(lengths)}")
    if lengths.shape != (sequences,):
        raise BadInput(f"{must}; got an array of shape {lengths.shape}")
    wrong = lengths[(lengths < 0) | (lengths > steps)]
    if wrong.size:
        raise BadInput(f"{must}; got {wrong[0]}")
