"""A decoder that reads its own answers."""

from typing import Any

import jax.numpy as jnp

from ..cells import Cell


class OwnSymbols(Cell):
    """At marked steps a network reads its own last answer instead of the symbol it is given.

    The answer is the most probable symbol, and no derivative goes through the choice. With marks
    drawn at random this is scheduled sampling (Bengio et al., 2015), with marks at all steps but
    the first the network writes on its own.

    Shapes: x `(symbols (...), marks (...))`; state `(the network's, last answer (*batch,))`.
    """

    network: Cell

    @property
    def input_axes(self) -> int:
        return 0

    def initial(self, batch: tuple[int, ...]) -> Any:
        return self.network.initial(batch), jnp.zeros(batch, jnp.int32)

    def inputs(self, x: Any) -> Any:
        return x

    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        (state, last), (given, own) = state, u
        symbols = jnp.where(own, last, given)
        state, y = self.network.step(state, self.network.inputs(symbols))
        return (state, jnp.argmax(y, axis=-1).astype(last.dtype)), y
