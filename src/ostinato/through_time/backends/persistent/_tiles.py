"""Pieces of weights and values, and the sizes that they come in."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import JaxprEqn

SMALLEST = 16  # rows and columns that the matrix units take at least


class Tile(NamedTuple):
    """A piece of each block of a weight in memory; programs have blocks of it, `across` in a row.

    Attributes:
        row, column: where the piece of the first block begins.
        rows, columns: its size.
        row_step, column_step: from one block to the next, below it and beside it.
        across: blocks side by side.
    """

    row: int
    rows: int
    row_step: int
    column: int
    columns: int
    column_step: int
    across: int

    @property
    def place(self) -> tuple:
        """Its rows, whatever its columns."""
        return self.row, self.rows, self.row_step, self.across

    def block(self, number: Any) -> tuple[Any, Any]:
        """Where the block of a program stands."""
        number, across = jnp.int32(number), jnp.int32(self.across)
        return jax.lax.div(number, across), jax.lax.rem(number, across)

    def at(self, number: Any) -> tuple[Any, Any]:
        """The first row and column of a program's piece."""
        down, beside = self.block(number)
        row = self.row + down * self.row_step if self.row_step else self.row
        return row, self.column + beside * self.column_step if self.column_step else self.column


class Bundle(NamedTuple):
    """Parts of equal share that stand side by side, as many as a power of two.

    Attributes:
        parts, share: how many parts, and a program's columns of each.
        at: where the first one is stored.
    """

    parts: int
    share: int
    at: int

    @property
    def width(self) -> int:
        return self.parts * self.share


def in_full(equation: JaxprEqn) -> bool:
    """Whether a product is one in full float32, which no matrix unit does at once."""
    full = jax.lax.Precision.HIGHEST
    operand: Any = equation.invars[0]
    precision = equation.params["precision"]
    return precision in (full, (full, full)) and operand.aval.dtype == jnp.float32


def turned(equation: JaxprEqn, tile: Tile) -> bool:
    """Whether a tile of a weight is held with its columns first.

    The matrix units of a Hopper chip take 64 of them at once, in 16 bits, right from shared memory.
    """
    return tile.columns % 64 == 0 and operand_bytes(equation) in (2, 6)


def operand_bytes(equation: JaxprEqn) -> int:
    """Of a number that a product takes; of one in full float32 there are thirds."""
    operand: Any = equation.invars[0]
    return 6 if in_full(equation) else operand.aval.dtype.itemsize


def power_of_two(n: int) -> int:
    """The smallest that is not below n.

    Example:
        >>> power_of_two(12)
        16
    """
    return 1 << (n - 1).bit_length()


def chunks(width: int, widest: int) -> list[tuple[int, int]]:
    """A width as powers of two of limited size, the largest first: `(start, size)`.

    Example:
        >>> chunks(176, 64)
        [(0, 64), (64, 64), (128, 32), (160, 16)]
    """
    pieces, at = [], 0
    while at < width:
        size = min(widest, 1 << ((width - at).bit_length() - 1))
        pieces.append((at, size))
        at += size
    return pieces
