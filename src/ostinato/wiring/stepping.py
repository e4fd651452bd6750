"""A trained network that is stepped by itself: in float32, with its noise off."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Layer, Model
from ..errors import BadInput


class Stepping(eqx.Module):
    """`state, y = step(state, x)`, where x is a symbol or a vector.

    What a step needs of each symbol is computed once and then looked up, unless that would take
    more than twice the memory of the weights.

    Shapes: x integers `(...)` with symbols, vectors `(..., inputs)` without; y `(..., outputs)`.

    Attributes:
        layer: what is stepped.
        table: `layer.inputs` of every symbol, if it is looked up.
        symbols: how many there are; `None` if it reads vectors.
        residual: whether x is added to what the layer gives.

    Example:
        >>> from ostinato.wiring.stepping import Stepping
        >>> stepping = Stepping.of(network)
        >>> state, y = stepping.step(stepping.initial(()), jnp.ones(3))
    """

    layer: Layer
    table: Any
    symbols: int | None = eqx.field(static=True)
    residual: bool = eqx.field(static=True, default=False)

    @classmethod
    def of(cls, network: Model, residual: bool = False) -> Self:
        """Raises `BadInput` for a network without a step."""
        if not network.can_step:
            raise BadInput(
                f"{type(network).__name__} has no step, because a part of it reads the whole "
                "sequence first, as bidirectional layers and encoders do"
            )
        layer = plain(network)
        symbols = symbols_of(layer)
        return cls(layer, _table(layer, symbols), symbols, residual)

    def initial(self, batch: tuple[int, ...]) -> Any:
        """The state before the first step."""
        return jax.tree.map(_single, self.layer.initial(batch))

    def step(self, state: Any, x: jax.Array) -> tuple[Any, Any]:
        """One step of time."""
        u = self.layer.inputs(x) if self.table is None else _rows(self.table, x)
        state, y = self.layer.step(state, u)
        return state, y + x if self.residual else y


def plain(network: Model) -> Layer:
    """A network in float32, with its noise off."""
    layer = eqx.nn.inference_mode(network).as_layer()
    return jax.tree.map(lambda x: _single(x) if eqx.is_array(x) else x, layer)


def symbols_of(layer: Layer) -> int | None:
    """How many symbols a network reads; `None` if it reads vectors."""
    encoding = layer.parts().encoding
    return None if encoding is None else encoding.symbols


def _single(x: Any) -> Any:
    """An array in float32, if it has more or fewer bits; integers and keys as they are."""
    return x.astype(jnp.float32) if jnp.issubdtype(x.dtype, jnp.floating) else x


def _table(layer: Layer, symbols: int | None) -> Any:
    if symbols is None:
        return None
    table = jax.eval_shape(layer.inputs, jax.ShapeDtypeStruct((symbols,), jnp.int32))
    weights = sum(x.size for x in jax.tree.leaves(layer) if eqx.is_array(x))
    if sum(x.size for x in jax.tree.leaves(table)) > 2 * weights:
        return None
    return layer.inputs(jnp.arange(symbols))


def _rows(table: Any, x: jax.Array) -> Any:
    """The rows of some symbols, which are known to be in range."""
    if x.ndim:
        return jax.tree.map(lambda rows: rows.at[x].get(mode="promise_in_bounds"), table)
    return jax.tree.map(lambda rows: jax.lax.dynamic_index_in_dim(rows, x, keepdims=False), table)
