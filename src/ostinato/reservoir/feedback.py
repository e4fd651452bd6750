"""Output feedback: a network that reads its own previous output."""

from typing import Any

import jax
import jax.numpy as jnp

from ..cells import Cell
from ..cells.building import parameter_dtype
from ..cells.cell import Parts
from ..data import Batch
from ..through_time import unroll


class OutputFeedback(Cell):
    """`h_t = cell([x_t, o_{t-1}])`, `o_t = readout(h_t)`, with `o_0 = 0`.

    The learners `ridge` and `rls` fit the readout with teacher forcing: while they fit, the cell
    reads the previous target instead of the previous output (`to_cell`). In use, and for all
    other learners, the loop is closed.

    Source: Jaeger (2001), whose reservoirs for signal generation have nothing but this input.

    Shapes: x `(..., inputs)`; state: that of the cell, and o `(..., outputs)`; y `(..., outputs)`.

    Example:
        >>> one, two = jax.random.split(jax.random.key(0))
        >>> network = OutputFeedback(Reservoir(3 + 2, 50, key=one), Readout(50, 2, key=two))
        >>> ys, (h, o) = ostinato.unroll(network, xs)
        >>> ys.shape, bool((ys[-1] == o).all())
        ((10, 4, 2), True)
    """

    cell: Cell
    readout: Any

    @property
    def can_step(self) -> bool:
        return self.cell.can_step

    @property
    def outputs(self) -> int:
        """The size of an output."""
        return self.readout.V.shape[1]

    @property
    def dtype(self) -> Any:
        """The floating dtype of the parameters."""
        return parameter_dtype(self)

    def vector_size(self) -> int | None:
        size = self.cell.vector_size()
        return None if size is None else size - self.outputs

    def initial(self, batch: tuple[int, ...]) -> Any:
        return self.cell.initial(batch), jnp.zeros((*batch, self.outputs), self.dtype)

    def inputs(self, x: jax.Array) -> jax.Array:
        return x

    def step(self, state: Any, u: jax.Array) -> tuple[Any, jax.Array]:
        inner, o = state
        x = jnp.concatenate([u.astype(o.dtype), o], axis=-1)
        inner, h = self.cell.step(inner, self.cell.inputs(x))
        o = self.readout(h)
        return (inner, o), o

    def parts(self) -> Parts:
        return Parts(None, self.cell, self.readout)

    def to_cell(self, batch: Batch, state: Any) -> tuple[Batch, Any]:
        """The batch with the previous targets as further inputs, and the cell's state.

        In a batch without targets the outputs take their place. What comes before the first step
        is the last output or target in `state`.
        """
        inner, o = self.initial((batch.sequences,)) if state is None else state
        targets = batch.targets
        if targets is None:
            targets, _ = unroll(self, jnp.asarray(batch.inputs), state, **batch.marks)
        before = jnp.concatenate([o[None], jnp.asarray(targets, o.dtype)[:-1]])
        if batch.resets is not None:
            before = jnp.where(jnp.asarray(batch.resets)[..., None], 0, before)
        inputs = jnp.concatenate([jnp.asarray(batch.inputs, o.dtype), before], axis=-1)
        return batch._replace(inputs=inputs), inner

    def from_cell(self, state: Any, batch: Batch) -> tuple[Any, jax.Array]:
        """The state of the network, from that of the cell after a batch with targets."""
        return state, jnp.asarray(batch.targets, self.dtype)[-1]
