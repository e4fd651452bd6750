"""Checks that padded and packed sequences give the same results as alone, derivatives included.

Two sequences of 3 steps, x and y, each have their own row:

    padded    x x x · ·        packed    x x x | · | ·
              y y y                      · | · | y y y

Dots are other steps, which have no weight in the loss; bars are resets. The loss is a weighted sum
of the outputs and the final state of y.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from ..through_time import unroll
from ._compile import quickly
from ._explain import CellError
from ._trees import apart, floats, is_float, like_normal, row, same_structure
from .case import STEPS, Case

SHORT = STEPS - 2
RESETS = ((0, SHORT, SHORT + 1), (0, 1, 2))  # the resets in each row
PADDED = ((0, SHORT), (0, SHORT))  # start and stop of x and y
PACKED = ((0, SHORT), (STEPS - SHORT, STEPS))
Places = tuple[tuple[int, int], tuple[int, int]]


class Found(NamedTuple):
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
    padded = _run(case, case.xs, _weights(case, PADDED), lengths=lengths)
    _compare(case, padded, PADDED, "padded, unroll(..., lengths)")


def packing_changes_nothing(case: Case) -> None:
    """Sequences packed into one row, with resets, give the same results as alone."""
    xs, resets = case.xs.copy(), np.zeros(case.xs.shape[:2], bool)
    xs[slice(*PACKED[1]), 1] = case.xs[:SHORT, 1]
    for i, times in enumerate(RESETS):
        resets[list(times), i] = True
    packed = _run(case, xs, _weights(case, PACKED), resets=resets)
    _compare(case, packed, PACKED, "packed, unroll(..., resets)")


def _compare(case: Case, found: Found, places: Places, how: str) -> None:
    """Refuse results that differ from those of the sequences alone, which are at `places`."""
    alone = [_alone(case, i) for i in (0, 1)]
    for i, (start, stop) in enumerate(places):
        ys = jax.tree.map(lambda y: y[start:stop, i], found.ys)  # noqa: B023
        if apart(ys, alone[i].ys):
            raise CellError(f"step: a sequence gives other outputs {how}, than alone")
    if case.can_step and apart(jax.tree.map(lambda x: x[1], found.final), alone[1].final):
        raise CellError(f"step: a sequence ends in another state {how}, than alone")
    total = jax.tree.map(np.add, alone[0].derivatives, alone[1].derivatives)
    if apart(found.derivatives, total):
        raise CellError(f"step: sequences have other derivatives {how}, than alone")


def _alone(case: Case, i: int) -> Found:
    """x or y alone; if noise depends on the position in the batch, in its batch."""
    known = case.__dict__.setdefault("_alone", {})
    if i not in known:
        weights = _weights(case, PADDED, row=i, steps=SHORT)
        if case.noisy:
            found = _run(case, case.xs[:SHORT], weights)
            ys, final = row((found.ys, found.final), i)
            known[i] = Found(ys, final, found.derivatives)
        else:
            known[i] = _run(case, case.xs[:SHORT, i], row(weights, i))
    return known[i]


def _weights(case: Case, places: Places, row: int | None = None, steps: int = STEPS) -> Any:
    """Loss weights of the outputs at these places and of y's final state; or of one row only."""
    shapes = eqx.filter_eval_shape(lambda cell: unroll(cell, case.xs), case.cell)
    ys, final = like_normal(24, floats(shapes))
    counted = [row in (None, i) for i in (0, 1)]

    def at_places(w: np.ndarray) -> np.ndarray:
        found = np.zeros((steps, *w.shape[1:]))
        for i, (start, stop) in enumerate(places):
            found[start:stop, i] = counted[i] * w[:SHORT, i]
        return found

    def of_y(w: np.ndarray) -> np.ndarray:
        last = counted[1] and case.can_step  # the backward half of a layer does not end in y
        return np.stack([np.zeros_like(w[0]), last * w[1]])

    return jax.tree.map(at_places, ys), jax.tree.map(of_y, final)


def _run(case: Case, xs: np.ndarray, weights: tuple[Any, Any], **options: Any) -> Found:
    if "_packing" not in case.__dict__:
        case.__dict__["_packing"] = _found(case)
    return Found(*jax.device_get(case.__dict__["_packing"](xs, weights, options)))


def _found(case: Case) -> Callable[..., tuple]:
    moving, fixed = eqx.partition(case.cell, is_float)
    direction = like_normal(25, moving)

    def found(xs: Any, weights: Any, options: dict[str, Any]) -> Any:
        def run(moving: Any) -> tuple[Any, Any]:
            ys, final = unroll(eqx.combine(moving, fixed), xs, **options)
            return floats((ys, final)), (ys, final)

        outputs, push, (ys, final) = jax.linearize(run, moving, has_aux=True)
        assert same_structure(outputs, weights)
        pull = jax.linear_transpose(push, moving)
        slopes = jax.tree.map(lambda w, change: w + w**2 * change, weights, push(direction))
        (derivatives,) = pull(slopes)
        return ys, final, derivatives

    return quickly(found)
