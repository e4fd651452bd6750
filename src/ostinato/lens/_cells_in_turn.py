"""Follow a network through time, one cell after the other, each with its path."""

from collections.abc import Callable
from typing import Any

from ..cells import Layer
from ..through_time import over_parts
from ._squashed import cells_within

# path, cell, inputs, state or None, backwards -> outputs, final state
RunCell = Callable[[str, Layer, Any, Any, bool], tuple[Any, Any]]


def cells_in_turn(network: Layer, xs: Any, state: Any, run_cell: RunCell) -> tuple[Any, Any]:
    """Run every cell that is stepped on its own by `run_cell`, as `unroll` does.

    Args:
        network, xs, state: as for `unroll`.
        run_cell: `run_cell(path, cell, xs, state, reverse)`, called in the order of computation.
            The path is that in the network, for example `.cell.layers[0]`.

    Returns:
        Outputs and final state of the network.
    """
    places = {id(part): path for path, part in cells_within(network).items()}

    def run_part(part: Layer, xs: Any, state: Any, reverse: bool) -> tuple[Any, Any]:
        if part.in_parts:
            return over_parts(part, xs, state, run_part, reverse)
        path = places.get(id(part), places.get(id(part.stands_for()), ""))
        return run_cell(path, part, xs, state, reverse)

    return run_part(network, xs, state, False)
