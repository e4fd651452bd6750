"""Computes one program's share of a step, on tiles.

A value with units is a list of tiles `(rows, share)`, one per part; a value without units is a
column `(rows, 1)`; scalars stay scalars. A tile that is constant over rows or columns is broadcast
only when its full shape is needed.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import JaxprEqn, Literal

from ._body import aval_of
from ._layout import pieces
from ._memory import thirds
from ._plan import Plan
from ._tiles import Tile, in_full, turned

Tiles = Any
SUMS: dict[str, Callable] = {"reduce_sum": jnp.sum, "reduce_max": jnp.max, "reduce_min": jnp.min}
NEUTRAL = {"reduce_sum": 0.0, "reduce_max": -jnp.inf, "reduce_min": jnp.inf}
_JOINED: dict[str, Callable] = {
    "reduce_sum": jnp.add,
    "reduce_max": jnp.maximum,
    "reduce_min": jnp.minimum,
}
# These propagate NaN, as JAX does everywhere else; the kernel compiler's own would drop it.
_SOUND: dict[str, Callable] = {
    "max": lambda x, y: jnp.where((x > y) | (x != x), x, y),
    "min": lambda x, y: jnp.where((x < y) | (x != x), x, y),
    "clamp": lambda low, x, high: _SOUND["min"](_SOUND["max"](low, x), high),
}


class Program:
    """The step of a plan, for one program.

    Attributes:
        plan: how the step is distributed.
        number: the index of the program, which may be traced.
        weight: `weight(equation, tile)` gives a tile of a product's weight, transposed where the
            product is; for a product in full float32, the three tiles of its `thirds`.
    """

    def __init__(self, plan: Plan, number: Any, weight: Callable):
        self.plan, self.number, self.weight = plan, number, weight

    def run(self, equations: list[JaxprEqn], env: dict, exchanged: dict) -> None:
        """Evaluate equations and store their results in `env`.

        `exchanged` holds the totals by `id` of their equation and, for each gathered value, a
        function from the tiles of a weight to the matching pieces of the value.
        """
        for equation in equations:
            name = equation.primitive.name
            if name == "dot_general":
                value = exchanged.get(id(equation))  # the sum of all programs' partial products
                if value is None:
                    value = self._product(equation, exchanged[equation.invars[0]])
                env[equation.outvars[0]] = value
            elif name in SUMS:
                value = exchanged.get(id(equation))  # otherwise a single column, its own sum
                env[equation.outvars[0]] = env[equation.invars[0]] if value is None else value
            elif name in ("split", "slice", "concatenate", "pad"):
                self._cut(equation, env)
            elif name in ("broadcast_in_dim", "reshape", "squeeze", "expand_dims"):
                self._reshape(equation, env)
            else:
                self._elementwise(equation, env)

    def handed_out(self, var: Any, env: dict) -> list[jax.Array]:
        """The tiles of a value for other programs to read, zero beyond its last column."""
        parts = []
        for (width, share, _), tile in zip(self.plan.shares(var), env[var], strict=True):
            tile = self.whole(tile, share).astype(var.aval.dtype)
            parts.append(self._within(width, share, tile, 0))
        return parts

    def total(self, equation: JaxprEqn, env: dict) -> jax.Array:
        """This program's partial sum `(rows,)` over its units."""
        name = equation.primitive.name
        var: Any = equation.invars[0]
        joined: dict[int, jax.Array] = {}  # by width: fewer tiles to reduce, which is the slow part
        for (width, share, _), tile in zip(self.plan.shares(var), env[var], strict=True):
            tile = self._within(width, share, self.whole(tile, share), NEUTRAL[name])
            joined[share] = _JOINED[name](joined[share], tile) if share in joined else tile
        sums = [SUMS[name](tile, axis=1) for tile in joined.values()]
        return functools.reduce(_JOINED[name], sums)

    def whole(self, tile: Any, share: int) -> jax.Array:
        return jnp.broadcast_to(tile, (self.plan.rows, share))

    def kept(self, var: Any, env: dict) -> Tiles:
        """A value with its tiles broadcast to full shape, as stores and loops need them."""
        value = self._read(var, env)
        if var in self.plan.layout.cuts:
            shares = self.plan.shares(var)
            return [self.whole(x, share) for x, (_, share, _) in zip(value, shares, strict=True)]
        return jnp.broadcast_to(value, (self.plan.rows, 1))

    def _within(self, width: int, share: int, tile, other):
        if width == share * self.plan.programs:
            return tile
        column = jax.lax.broadcasted_iota(jnp.int32, tile.shape, 1) + self.number * share
        return jnp.where(column < width, tile, jnp.asarray(other, tile.dtype))

    def _read(self, var: Any, env: dict):
        return jnp.asarray(var.val, aval_of(var).dtype) if isinstance(var, Literal) else env[var]

    def part(self, equation: JaxprEqn, tiles: list[Tile], env: dict, exchanged: dict) -> jax.Array:
        """This program's partial product for some columns, from some columns of the value."""
        gathered: Any = exchanged.get(equation.invars[0])
        pieces = gathered(tiles) if gathered else self.handed_out(equation.invars[0], env)
        pairs = zip(pieces, tiles, strict=True)
        total = functools.reduce(jnp.add, [self._dot(equation, *pair) for pair in pairs])
        return total.T if turned(equation, tiles[0]) else total

    def _product(self, equation: JaxprEqn, gathered: Callable) -> list[jax.Array]:
        """One tile per part of the result, summed over all pieces of the gathered value."""
        out: Any = equation.outvars[0]
        sums: list[Any] = [0 for _ in self.plan.bundles(equation)]
        every = self.plan.tiles(equation)
        for piece, *tiles in zip(gathered(every[0]), *every, strict=True):
            sums = [s + self._dot(equation, piece, t) for s, t in zip(sums, tiles, strict=True)]
        found: list[jax.Array] = []
        for total, (tile, *_), bundle in zip(sums, every, self.plan.bundles(equation), strict=True):
            total = total.T if turned(equation, tile) else total
            sizes = [bundle.share] * bundle.parts
            found += jax.lax.split(total.astype(out.aval.dtype), sizes, axis=1)
        return found

    def _dot(self, equation: JaxprEqn, piece: jax.Array, tile: Tile) -> jax.Array:
        """A piece of the value times a tile of the weight; transposed if the tile is."""
        weight, wide = self.weight(equation, tile), jnp.promote_types(jnp.float32, piece.dtype)
        times = functools.partial(_times, turned=turned(equation, tile), dtype=wide)
        if not in_full(equation):
            return times(piece, weight, equation.params["precision"])
        # The omitted terms are below float32 rounding. Two sums, because each is a serial chain.
        (a, b, c), (x, y, z) = thirds(piece), weight
        small, large = [(c, x), (b, y), (a, z)], [(b, x), (a, y), (a, x)]
        sums = (
            functools.reduce(jnp.add, [times(*p, None) for p in pairs]) for pairs in (small, large)
        )
        return jnp.add(*sums)

    def _elementwise(self, equation: JaxprEqn, env: dict) -> None:
        cuts, (out, *_) = self.plan.layout.cuts, equation.outvars
        values = [self._read(v, env) for v in equation.invars]
        if equation.primitive.name in ("optimization_barrier", "copy"):
            env.update(zip(equation.outvars, values, strict=True))
            return
        if out not in cuts:
            env[out] = _bind(equation, values)
            return
        env[out] = [
            _bind(
                equation,
                [
                    x[i] if not isinstance(v, Literal) and v in cuts else x
                    for v, x in zip(equation.invars, values, strict=True)
                ],
            )
            for i in range(len(cuts[out]) - 1)
        ]

    def _reshape(self, equation: JaxprEqn, env: dict) -> None:
        """Change axes only: rows, columns and scalars broadcast to any tile."""
        (out,), cuts = equation.outvars, self.plan.layout.cuts
        source = equation.invars[0]
        value = self._read(source, env)
        if out in cuts and (isinstance(source, Literal) or source not in cuts):
            value = [value] * (len(cuts[out]) - 1)
        env[out] = value

    def _cut(self, equation: JaxprEqn, env: dict) -> None:
        cuts = self.plan.layout.cuts
        if equation.primitive.name in ("split", "slice"):
            for part, whole, at in pieces(equation):
                begin = cuts[whole].index(at)
                env[part] = env[whole][begin : begin + len(cuts[part]) - 1]
            return
        (out,) = equation.outvars
        if equation.primitive.name == "pad":
            env[out] = [self._read(equation.invars[1], env)] * (len(cuts[out]) - 1)
        else:
            env[out] = [None] * (len(cuts[out]) - 1)
        env[out] = list(env[out])
        for part, whole, at in pieces(equation):
            begin = cuts[whole].index(at)
            tiles = self._read(part, env)
            env[out][begin : begin + len(cuts[part]) - 1] = tiles


def _times(
    piece: jax.Array, weight: jax.Array, precision: Any, turned: bool, dtype: Any
) -> jax.Array:
    """`piece @ weight`, or `weight @ piece.T` if the weight is transposed.

    Threads divide the larger side of a product; the compiler needs that to be the columns.
    """
    how = {"precision": precision, "preferred_element_type": dtype}
    if turned:
        return jnp.dot(weight, piece.T, **how)
    if weight.shape[1] >= piece.shape[0]:
        return jnp.dot(piece, weight, **how)
    return jax.lax.dot_general(weight, piece, (((0,), (1,)), ((), ())), **how).T


def _bind(equation: JaxprEqn, values: list) -> jax.Array:
    """Apply the equation to tiles, broadcast to a common shape."""
    shape = jnp.broadcast_shapes(*(jnp.shape(x) for x in values))
    operands = [jnp.broadcast_to(x, shape) for x in values]
    if equation.primitive.name in _SOUND:
        return _SOUND[equation.primitive.name](*operands)
    params = equation.primitive.get_bind_params(equation.params)
    return equation.primitive.bind(*operands, **params)
