"""The units of a network by name: `h[12]`, `layer 2, c[3]`.

A state is named as in the cell's equations, h and c. Where the network has several layers or
directions, they come first.
"""

import re
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jax.tree_util import keystr, tree_leaves_with_path

from ..cells import Layer
from ..errors import BadInput
from ..through_time import unroll
from ._cells_in_turn import cells_in_turn
from .names import plain_name

TWO = ("h", "c")  # the states of all LSTMs; other cells have one, h


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
        found = re.fullmatch(r"\s*(.+?)\s*\[\s*([0-9]{1,9})\s*\]\s*", name)
        if found is None:
            raise BadInput(f"a unit is written as h[12] or forget gate[3], got {name!r:.60}")
        return cls(found[1], int(found[2]))

    def of(self, groups: dict[str, np.ndarray]) -> np.ndarray:
        """Its values, of arrays `(..., units)` by group."""
        if self.group not in groups:
            names = ", ".join(groups)
            raise BadInput(f"there is no {self.group!r:.40} in this network; it has {names}")
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
    return _distinct(names)


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


def _distinct(names: list[str]) -> list[str]:
    """The names, numbered where one comes more than once."""
    return [
        f"{name} ({names[: n + 1].count(name)})" if names.count(name) > 1 else name
        for n, name in enumerate(names)
    ]
