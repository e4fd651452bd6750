"""Checks of a cell through time: streamed, saved, and padded or packed with other sequences.

`unroll` is compared with a plain loop of steps. For padding and packing, two sequences of 6 steps,
x and y, each have their own row:

    padded    x x x x x x · ·        packed    x x x x x x | · | ·
              y y y y y y                      · | · | y y y y y y

Dots are other steps, which have no weight in the loss; bars are resets. The loss is a weighted sum
of the outputs and the final state of y. Derivatives must be those of the sequences alone, too.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..through_time import unroll
from ..through_time.check import same_structure
from ..weights import load_weights, save_weights
from .case import BATCH, STEPS, Case, of_steps, quickly
from .explain import CellError
from .trees import apart, at, distance, floats, is_float, like_normal, row, zeros

SHORT = STEPS - 2
RESETS = ((0, SHORT, SHORT + 1), (0, 1, 2))  # the resets in each row
PADDED = ((0, SHORT), (0, SHORT))  # start and stop of x and y
PACKED = ((0, SHORT), (STEPS - SHORT, STEPS))
Places = tuple[tuple[int, int], tuple[int, int]]


@of_steps
def unroll_is_a_loop_of_steps(case: Case) -> None:
    """`unroll` and streaming one input at a time agree, in float64 and in the cell's own dtypes."""
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
        ragged, begin = _ragged(case, reverse)
        for i, length in enumerate(map(int, case.lengths)):
            xs, state = case.xs[:length], begin
            if not case.noisy:  # noise depends on the position, so it needs the whole batch
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


def _ragged(case: Case, reverse: bool) -> tuple[Any, Any]:
    """Outputs and final state with lengths, and the state before the first step."""
    if case.can_step and not reverse:  # what padding is checked with, compiled once
        never = np.zeros(case.xs.shape[:2], bool)
        weights = _weights(case, PADDED)
        whole = _run(case, case.xs, weights, lengths=case.lengths, resets=never)
        return (whole.ys, whole.final), case.start
    return case.unroll(case.xs, case.state, lengths=case.lengths, reverse=reverse), case.state


def weights_survive_a_file(case: Case) -> None:
    """Weights give the same results after saving and loading."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "weights.safetensors"
        save_weights(file, case.cell)
        arrays, rest = eqx.partition(case.cell, eqx.is_array)
        blank = eqx.combine(jax.tree.map(lambda x: jnp.asarray(np.zeros_like(x)), arrays), rest)
        loaded = load_weights(file, blank)
    before, after = (case.unroll(case.xs, case.state, cell=cell) for cell in (case.cell, loaded))
    if distance(before, after) > 0:
        raise CellError("weights that were saved and loaded give other numbers in step or inputs")


class SequenceResult(NamedTuple):
    """The results of one run.

    Attributes:
        ys, final: outputs and final state.
        derivatives: the gradient of the loss with respect to the parameters plus the Gauss-Newton
            product `JᵀHJv` with `H = diag(w²)` for loss weights w. The sum is `Jᵀ(w + HJv)`: one
            `jvp` and one `vjp` check both directions.
    """

    ys: Any
    final: Any
    derivatives: Any


def padding_changes_nothing(case: Case) -> None:
    """The sequences of a padded batch give the same results as alone."""
    # A layer without a step would read past the end of x, so for a layer x is padded too.
    lengths = np.array([STEPS if case.can_step else SHORT, SHORT])
    never = np.zeros(case.xs.shape[:2], bool)
    padded = _run(case, case.xs, _weights(case, PADDED), lengths=lengths, resets=never)
    _compare(case, padded, PADDED, "padded, unroll(..., lengths)")


def packing_changes_nothing(case: Case) -> None:
    """Sequences packed into one row, with resets, give the same results as alone."""
    xs, resets = case.xs.copy(), np.zeros(case.xs.shape[:2], bool)
    xs[slice(*PACKED[1]), 1] = case.xs[:SHORT, 1]
    for i, times in enumerate(RESETS):
        resets[list(times), i] = True
    whole = np.full(BATCH, STEPS)  # both options in both checks, which so share what is compiled
    packed = _run(case, xs, _weights(case, PACKED), lengths=whole, resets=resets)
    _compare(case, packed, PACKED, "packed, unroll(..., resets)")


def _compare(case: Case, result: SequenceResult, places: Places, how: str) -> None:
    """Refuse results that differ from those of the sequences alone, which are at `places`."""
    alone = [_alone(case, i) for i in (0, 1)]
    for i, (start, stop) in enumerate(places):
        ys = jax.tree.map(lambda y: y[start:stop, i], result.ys)  # noqa: B023
        if apart(ys, alone[i].ys):
            raise CellError(f"step: a sequence gives other outputs {how}, than alone")
    if case.can_step and apart(jax.tree.map(lambda x: x[1], result.final), alone[1].final):
        raise CellError(f"step: a sequence ends in another state {how}, than alone")
    total = jax.tree.map(np.add, alone[0].derivatives, alone[1].derivatives)
    if apart(result.derivatives, total):
        raise CellError(f"step: sequences have other derivatives {how}, than alone")


def _alone(case: Case, i: int) -> SequenceResult:
    """x or y alone; if noise depends on the position in the batch, in its batch."""
    known = case.alone
    if i not in known:
        weights = _weights(case, PADDED, row=i, steps=SHORT)
        if case.noisy:
            both = _run(case, case.xs[:SHORT], weights)
            ys, final = row((both.ys, both.final), i)
            known[i] = SequenceResult(ys, final, both.derivatives)
        else:
            known[i] = _run(case, case.xs[:SHORT, i], row(weights, i))
    return known[i]


def _weights(case: Case, places: Places, row: int | None = None, steps: int = STEPS) -> Any:
    """Loss weights of the outputs at these places and of y's final state; or of one row only."""
    shapes = eqx.filter_eval_shape(lambda cell: unroll(cell, case.xs), case.cell)
    ys, final = like_normal(24, floats(shapes))
    counted = [row in (None, i) for i in (0, 1)]

    def at_places(w: np.ndarray) -> np.ndarray:
        placed = np.zeros((steps, *w.shape[1:]))
        for i, (start, stop) in enumerate(places):
            placed[start:stop, i] = counted[i] * w[:SHORT, i]
        return placed

    def of_y(w: np.ndarray) -> np.ndarray:
        last = counted[1] and case.can_step  # the backward half of a layer does not end in y
        return np.stack([np.zeros_like(w[0]), last * w[1]])

    return jax.tree.map(at_places, ys), jax.tree.map(of_y, final)


def _run(case: Case, xs: np.ndarray, weights: tuple[Any, Any], **options: Any) -> SequenceResult:
    if case.in_rows is None:
        case.in_rows = _compiled(case)
    return SequenceResult(*jax.device_get(case.in_rows(xs, weights, options)))


def _compiled(case: Case) -> Callable[..., tuple]:
    moving, fixed = eqx.partition(case.cell, is_float)
    direction = like_normal(25, moving)

    def results(xs: Any, weights: Any, options: dict[str, Any]) -> Any:
        def run(moving: Any) -> tuple[Any, Any]:
            ys, final = unroll(eqx.combine(moving, fixed), xs, **options)
            return floats((ys, final)), (ys, final)

        outputs, push, (ys, final) = jax.linearize(run, moving, has_aux=True)
        assert same_structure(outputs, weights)
        pull = jax.linear_transpose(push, moving)
        slopes = jax.tree.map(lambda w, change: w + w**2 * change, weights, push(direction))
        (derivatives,) = pull(slopes)
        return ys, final, derivatives

    return quickly(results)
