"""Layers made of cells, whose method `over_time(run, xs, state)` runs their parts one by one.

Whoever wants to follow a layer through time, part by part, calls `over_parts`.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax

from ..cells import Layer

# part, inputs, state or None, backwards -> outputs, final state
RunPart = Callable[[Layer, Any, Any, bool], tuple[Any, Any]]


def over_parts(layer: Layer, xs: Any, state: Any, run_part: RunPart, reverse: bool = False) -> Any:
    """Run a layer by its own `over_time`, and each of its parts by `run_part`.

    Args:
        layer: a layer, such as `Stack` or `Bidirectional`.
        xs: inputs of the layer, time first.
        state: state of the layer, or `None`.
        run_part: `run_part(part, xs, state, reverse)`, called in the order of computation.
        reverse: whether the layer itself is read backwards. A part that the layer reads backwards
            is then read forwards.

    Returns:
        Outputs and final state of the layer.
    """

    def run(part: Layer, xs: Any, state: Any = None, *, reverse: bool = False) -> tuple[Any, Any]:
        return run_part(part, xs, state, backwards != reverse)

    backwards = reverse
    return layer.over_time(run, xs, state)


def parts_with_inputs(layer: Layer, xs: Any, run: Callable) -> list[tuple[str, Layer, Any]]:
    """The parts of a layer: the path of each, the part, and shapes and dtypes of its inputs.

    Args:
        layer, xs: the layer and its inputs.
        run: `run(part, xs, state, reverse=...)` gives a part's outputs, as `unroll` does.
    """
    found = []

    def visit(part: Layer, xs: Any, state: Any, reverse: bool) -> tuple[Any, Any]:
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), xs)
        found.append((path_of(part, layer), part, shapes))
        return run(part, xs, state, reverse=reverse)

    eqx.filter_eval_shape(lambda xs: over_parts(layer, xs, None, visit), xs)
    return found


def path_of(part: Any, whole: Any) -> str:
    """Where a module is in another one, for example `.forward`; nothing for one made on the way."""
    leaves = jax.tree_util.tree_leaves_with_path(whole, is_leaf=lambda x: x is part)
    return next((jax.tree_util.keystr(path) for path, leaf in leaves if leaf is part), "")
