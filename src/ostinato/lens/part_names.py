"""What the parts of a network are called: words in place of paths.

.cell.layers[0].cell.forget gate   ->  layer 1, forget gate
.cell.R[1] of an LSTM              ->  forget gate
.cell.R of an LSTM                 ->  gates (R)
.cell.R of a simple cell           ->  units (R)
.cell.R[1] of an unknown cell      ->  R, block 2
unit 3 of c in the second layer    ->  layer 2, c[3]

A state is named as in the cell's equations, h and c. Where the network has several layers or
directions, they come first.
"""

import re
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jax.tree_util import keystr, tree_leaves_with_path

from ..cells import Layer, Model
from ..errors import BadInput
from ..names import distinct, plain_name
from ..settings import shown
from ..through_time import unroll
from .cells_in_turn import cells_in_turn
from .squashing_functions import cells_within

TWO = ("h", "c")  # the states of all LSTMs; other cells have one, h


def weight_name(path: str, network: Model) -> str:
    """What a recurrent weight of a network, or a block of one, acts on.

    Args:
        path: as in `recurrent_matrices`.
        network: the network in which it is.

    Example:
        >>> weight_name(".cell.R[1]", network), weight_name(".cell.R", network)
        ('forget gate', 'gates (R)')
    """
    cells = cells_within(network)
    # The innermost cell, since a sparse weight is a module with arrays of its own: `.R.blocks`.
    owner = max((one for one in cells if path.startswith(f"{one}.")), key=len, default=None)
    parts = owner is not None and re.match(r"\.(\w+)(?:\[(\d+)\])?", path[len(owner) :])
    if owner is None or not parts:
        return plain_name(path)
    cell, (weight, block) = cells[owner], parts.groups()
    names, number = cell.blocks.get(weight, ()), int(block or 0)
    if len(names) == 1:
        words = names[0]
    elif number < len(names):
        words = names[number] if block else f"gates ({weight})"
    else:
        return plain_name(path)
    where = plain_name(owner)
    return f"{where}, {words}" if where else words


class Unit(NamedTuple):
    """One unit of a named group.

    Example:
        >>> Unit.read("layer 2, h[12]")
        Unit(group='layer 2, h', number=12)
        >>> str(Unit("c", 3))
        'c[3]'
    """

    group: str
    number: int

    def __str__(self) -> str:
        return f"{self.group}[{self.number}]"

    @classmethod
    def read(cls, name: str) -> "Unit":
        match = re.fullmatch(r"\s*(.+?)\s*\[\s*([0-9]{1,9})\s*\]\s*", name)
        if match is None:
            raise BadInput(f"a unit is written as h[12] or forget gate[3], got {shown(name)}")
        return cls(match[1], int(match[2]))

    def of(self, groups: dict[str, np.ndarray]) -> np.ndarray:
        """Its values, of arrays `(..., units)` by group."""
        if self.group not in groups:
            names = ", ".join(groups)
            raise BadInput(f"there is no {shown(self.group)} in this network; it has {names}")
        values = groups[self.group]
        if self.number >= values.shape[-1]:
            raise BadInput(
                f"{self.group} has {values.shape[-1]} units, from 0 on, so there is no {self}"
            )
        return values[..., self.number]


def state_names(network: Layer, xs: Any) -> list[str]:
    """The names of all states, in the order of `unroll(..., watch="states")`.

    Args:
        network: a cell, a network, or a layer of cells.
        xs: its inputs, time first.

    Example:
        >>> stack = Stack([LSTM(3, 4, key=key), GRU(4, 2, key=key)])
        >>> state_names(stack, jnp.ones((10, 8, 3)))
        ['layer 1, h', 'layer 1, c', 'layer 2, h']
    """
    names: list[str] = []

    def visit(path: str, cell: Layer, xs: Any, state: Any, reverse: bool) -> tuple[Any, Any]:
        names.extend(plain_name(path + name) for name in _of_cell(cell))
        return unroll(cell, xs, state, reverse=reverse)

    eqx.filter_eval_shape(lambda xs: cells_in_turn(network, xs, None, visit), xs)
    return distinct(names)


def _of_cell(cell: Layer) -> list[str]:
    shapes = eqx.filter_eval_shape(lambda: cell.initial(()))
    leaves = [
        keystr(path)
        for path, leaf in tree_leaves_with_path(shapes)
        if jax.numpy.issubdtype(leaf.dtype, jax.numpy.inexact)
    ]
    if len(leaves) == 1:
        return [".h"]
    if type(shapes) is tuple and leaves == ["[0]", "[1]"]:
        return [f".{name}" for name in TWO]
    return [path if path.startswith(".") else f".state {n}" for n, path in enumerate(leaves, 1)]
