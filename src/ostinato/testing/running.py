"""Checks of a cell through time: `unroll` and its options against a plain loop of steps."""

import tempfile
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..weights import load_weights, save_weights
from ._explain import CellError
from ._trees import apart, at, distance, row, zeros
from .case import BATCH, STEPS, Case


def unroll_is_a_loop_of_steps(case: Case) -> None:
    """`unroll` and streaming one input at a time agree, in float64 and in the cell's own dtypes."""
    if not case.can_step:
        return
    loop = case.loop(case.cell, case.xs, case.state)
    if apart(case.unroll(case.xs, case.state), loop):
        raise CellError("unroll differs from a loop of step")
    with jax.enable_x64(case.wide):
        for xs in case.own_inputs:
            _agrees_in_own_dtypes(case, xs)


def _agrees_in_own_dtypes(case: Case, xs: np.ndarray) -> None:
    """The same for the cell as given; it may refuse integer inputs, and then `unroll` may too."""
    whole = not np.issubdtype(xs.dtype, np.floating) and case.own.input_axes > 0
    state = jax.device_get(case.own.initial((BATCH,)))
    try:
        loop = case.loop(case.own, xs, state)
        ys, final = case.unroll(xs, state, cell=case.own)
    except (TypeError, ValueError):
        if whole:
            return
        raise
    dtypes = [np.result_type(x) for x in jax.tree.leaves(loop)]
    if dtypes != [np.result_type(x) for x in jax.tree.leaves((ys, final))]:
        raise CellError(f"unroll gives other dtypes than a loop of step, for inputs of {xs.dtype}")
    coarse = max((_spacing(d) for d in dtypes), default=0.0)
    if apart((ys, final), loop, 20 * coarse**0.75):
        raise CellError(f"unroll differs from a loop of step, for inputs of {xs.dtype}")


def _spacing(dtype: Any) -> float:
    """The machine epsilon of a dtype; 0 for integers."""
    return float(jnp.finfo(dtype).eps) if jnp.issubdtype(dtype, jnp.inexact) else 0.0


def lengths_give_each_sequence_alone(case: Case) -> None:
    """With lengths, forwards and reversed, each sequence gives the same results as alone."""
    for reverse in (False, True):
        ragged = case.unroll(case.xs, case.state, lengths=case.lengths, reverse=reverse)
        for i, length in enumerate(map(int, case.lengths)):
            xs, state = case.xs[:length], case.state
            if (
                not case.noisy
            ):  # noise depends on the position in the batch, so keep the whole batch
                xs, state = xs[:, i], at(state, i)
            if case.can_step:
                alone = case.loop(case.cell, xs, state, reverse)
            else:
                alone = case.unroll(xs, state, reverse=reverse)
            alone = row(alone, i) if case.noisy else alone
            ys, state = row(ragged, i)
            short, rest = (
                jax.tree.map(lambda y: y[part], ys)  # noqa: B023
                for part in (slice(0, length), slice(length, None))
            )
            if apart((short, state), alone) or distance(rest, zeros(rest)) > 0:
                way = "reversed " if reverse else ""
                raise CellError(
                    f"step: a {way}sequence of length {length} in unroll(..., lengths) of {STEPS} "
                    "differs from alone"
                )


def weights_survive_a_file(case: Case) -> None:
    """Weights give the same results after saving and loading."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "weights.safetensors"
        save_weights(file, case.cell)
        blank = jax.tree.map(lambda x: jnp.zeros_like(x) if eqx.is_array(x) else x, case.cell)
        loaded = load_weights(file, blank)
    before, after = (case.unroll(case.xs, case.state, cell=cell) for cell in (case.cell, loaded))
    if distance(before, after) > 0:
        raise CellError("weights that were saved and loaded give other numbers in step or inputs")
