"""A whole network: an encoding of symbols, a cell, and a readout; its outputs on a batch."""

from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Cell, Layer, Model
from ..cells.building import (
    divided_by_compiler,
    draw,
    input_size,
    output_size,
    parameter_dtype,
    project,
    zeros,
)
from ..cells.cell import Parts, Run, Wrapper
from ..cells.initialisers import Initialiser, glorot
from ..data import Batch
from ..through_time import unroll
from .encodings import Encoding


class Readout(eqx.Module):
    """`o = V h + b`, or without bias `o = V h`.

    Shapes: h `(..., units)`, o `(..., outputs)`.

    Example:
        >>> readout = Readout(170, 70, key=jax.random.key(0), bias=False)
        >>> readout(jnp.ones((8, 170))).shape
        (8, 70)
    """

    V: jax.Array
    b: jax.Array | None

    def __init__(
        self,
        units: int,
        outputs: int,
        *,
        key: jax.Array,
        bias: bool = True,
        init: Initialiser = glorot(),
    ):
        """
        Args:
            units, outputs: sizes of `h` and `o`.
            key: random key for the initial weights.
            bias: with a bias, starting at zero.
            init: initialiser of `V`. Krause (2015) has `normal(0.1)`, for his mRNN `normal(0.05)`.
        """
        self.V = draw(init, key, units, outputs)
        self.b = zeros(outputs) if bias else None

    def __call__(self, h: jax.Array) -> jax.Array:
        return project(self, h, self.V, self.b)

    def with_weights(self, V: jax.Array, b: jax.Array | None) -> Self:
        """The same with other weights, and without a bias if it has none."""
        return eqx.tree_at(lambda x: (x.V, x.b), self, (V, b), is_leaf=lambda x: x is None)


class Network(Cell):
    """`o_t = readout(h_t)`, where h is the cell's output on the encoded input.

    A network is itself a cell: unroll it, step it, wrap it. Who needs what the readout reads
    unrolls `network.cell` on what `to_cell` gives.

    Shapes: x integers `(...)` with an encoding of symbols, else vectors `(..., inputs)`; state the
    cell's; y `(..., outputs)`.

    Example:
        >>> one, two = jax.random.split(jax.random.key(0))
        >>> cell = ostinato.cells.MLSTM(70, 170, key=one)
        >>> network = Network(cell, Readout(170, 70, key=two, bias=False), OneHot(70))
        >>> logits, state = ostinato.unroll(network, np.array([[3], [1], [4]]))
        >>> logits.shape
        (3, 1, 70)
    """

    in_parts: ClassVar[bool] = True

    cell: Layer
    readout: Any
    encoding: Encoding | None

    def __init__(self, cell: Layer, readout: Any, encoding: Encoding | None = None):
        """
        Args:
            cell: a cell, or a layer such as `Bidirectional`.
            readout: from the cell's output to the network's; `None` for a cell whose output is
                the network's, such as `Jordan`.
            encoding: how symbols become vectors, or vectors others (`WordEmbedding`); `None` for
                inputs that are vectors and read as they are.
        """
        self.cell, self.readout, self.encoding = cell, readout, encoding

    @property
    def input_axes(self) -> int:
        return self.cell.input_axes if self._symbols is None else 0

    @property
    def _symbols(self) -> int | None:
        """How many symbols it reads; `None` if it reads vectors."""
        return None if self.encoding is None else self.encoding.symbols

    @property
    def can_step(self) -> bool:
        return self.cell.can_step

    @property
    def outputs(self) -> int:
        """The size of an output."""
        if self.readout is not None:
            return self.readout.V.shape[1]
        size = input_size(self.cell) if self.encoding is None else self.encoding.size
        return output_size(self.cell, size)

    @property
    def dtype(self) -> Any:
        """The floating dtype of the parameters."""
        return parameter_dtype(self)

    def vector_size(self) -> int | None:
        read = None if self.encoding is None else self.encoding.inputs
        return self.cell.vector_size() if read is None else read

    def check_inputs(self, xs: Any) -> None:
        if self._symbols is not None:
            self._encode(xs)

    def initial(self, batch: tuple[int, ...]) -> Any:
        return self.cell.initial(batch)

    def inputs(self, x: Any) -> Any:
        return self.cell.inputs(self._encode(x))

    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        state, h = self.cell.step(state, u)
        return state, self._read(h)

    def over_time(self, run: Run, xs: Any, state: Any) -> tuple[Any, Any]:
        """The cell first, then the readout as one product for all steps."""
        cell = None
        if self._symbols is not None:
            cell = looking_up(self.cell, self._encode(jnp.arange(self._symbols)), xs.size)
        if cell is None:
            cell, xs = self.cell, self._encode(xs)
        hs, state = run(cell, xs, state)
        return self._read(hs), state

    def to_cell(self, batch: Batch, state: Any) -> tuple[Batch, Any]:
        return batch._replace(inputs=self._encode(batch.inputs)), state

    def parts(self) -> Parts:
        return Parts(self.encoding, self.cell, self.readout)

    def on_vectors(self, xs: jax.Array) -> tuple[jax.Array, Layer]:
        if self.encoding is None:
            return xs, self
        return self.encoding(xs, self.dtype), Network(self.cell, self.readout)

    def _encode(self, x: Any) -> Any:
        return x if self.encoding is None else self.encoding(x, self.dtype)

    def _read(self, h: Any) -> Any:
        return h if self.readout is None else self.readout(h)


def looking_up(layer: Layer, vectors: jax.Array, count: int) -> Layer | None:
    """A layer that reads symbols by looking up their projected inputs, if that is faster.

    Args:
        layer: a cell that reads vectors, or a layer whose first cell does.
        vectors: those of all symbols, `(symbols, size)`.
        count: how many symbols are to be read.
    """
    # On a GPU the product is cheap, and the derivative of looking up is not.
    if count < len(vectors) or jax.default_backend() != "cpu" or divided_by_compiler():
        return None

    def looked_up(cell: Layer) -> Layer | None:
        return None if cell.in_parts or not cell.can_step else _Lookup(cell, vectors)

    return layer.with_reader(looked_up)


class _Lookup(Wrapper):
    """A cell that reads symbols: `inputs` is computed once for each symbol, and then looked up."""

    vectors: jax.Array

    @property
    def input_axes(self) -> int:
        return 0

    def inputs(self, x: Any) -> Any:
        return jax.tree.map(lambda rows: rows[x], self.cell.inputs(self.vectors))

    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        return self.cell.step(state, u)


def outputs_of(network: Model, batch: Batch, state: Any = None, **options: Any) -> tuple[Any, Any]:
    """The outputs of a network on a batch, and its state afterwards.

    This is `unroll` over the steps of the batch, with its lengths and resets; see `Model.prepare`.

    Args:
        network: a cell, a layer, or any other model.
        batch: the sequences.
        state: before the first step; by default the network's initial state.
        options: `compute`, `memory`, `watch`, `backend` and `on_failure`; see `unroll`.

    Returns:
        Outputs `(T, B, outputs)` and the final state. With `watch` the first is a pair: the
        outputs, and a list of what was watched in all parts.

    Example:
        >>> xs = jnp.ones((5, 2, 3))
        >>> batch = Batch(xs, None, jnp.ones((5, 2)), lengths=jnp.array([5, 2]))
        >>> outputs, state = outputs_of(network, batch)
        >>> bool(jnp.all(outputs[2:, 1] == network.readout(jnp.zeros(network.cell.R.shape[0]))))
        True
    """
    seen: list = []
    watch = options.get("watch")

    def run(part: Layer, xs: Any, state: Any = None, **how: Any) -> tuple[Any, Any]:
        ys, state = unroll(part, xs, state, **how, **options)
        if watch is not None:
            ys, more = ys
            seen.extend(more)
        return ys, state

    layer, xs, begin = network.prepare(run, batch)
    ys, final = run(layer, xs, state if layer is network else begin, **batch.marks)
    return (ys if watch is None else (ys, seen)), (final if layer is network else ())
