"""A whole network: an encoding of symbols, a cell, and a readout; its outputs on a batch."""

from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Cell, Layer, Model
from ..cells.building import draw, input_size, output_size, parameter_dtype, project, zeros
from ..cells.cell import Parts, Run, Wrapper
from ..cells.initialisers import Initialiser, glorot, normal
from ..data import Batch
from ..data.word_vectors import StartVectors
from ..errors import BadInput
from ..through_time import unroll
from .noise import Drop


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


class OneHot(eqx.Module):
    """A symbol as a vector of zeros with a single one.

    Shapes: symbols, integers `(...)`; vectors `(..., symbols)`.
    """

    symbols: int = eqx.field(static=True)

    @property
    def size(self) -> int:
        return self.symbols

    @property
    def one_hot(self) -> int:
        """How many numbers of a vector are those of a one-hot vector."""
        return self.symbols

    def __call__(self, x: jax.Array, dtype: Any) -> jax.Array:
        _check_symbols(self, x, self.symbols)
        return jax.nn.one_hot(x, self.symbols, dtype=dtype)

    def starting_from(self, given: StartVectors) -> Self:
        raise BadInput(f"the vectors of {given.path} need an embedding; leave out --embedding 0")


class Embedding(eqx.Module):
    """A symbol as a vector that is learned.

    Shapes: symbols, integers `(...)`; vectors `(..., size)`; `E` is `(symbols, size)`.
    """

    E: jax.Array

    @property
    def symbols(self) -> int:
        return self.E.shape[0]

    @property
    def size(self) -> int:
        return self.E.shape[1]

    @property
    def one_hot(self) -> int:
        return 0

    def __init__(self, symbols: int, size: int, *, key: jax.Array, init: Initialiser = normal(1.0)):
        """
        Args:
            symbols: how many symbols there are.
            size: size of a vector.
            key: random key for the initial vectors.
            init: initialiser of `E`.
        """
        self.E = draw(init, key, symbols, size)

    def __call__(self, x: jax.Array, dtype: Any) -> jax.Array:
        _check_symbols(self, x, self.symbols)
        return self.E[x].astype(dtype)

    def starting_from(self, given: StartVectors) -> Self:
        """The same, with given vectors in place of random ones: `E[symbols] = vectors`."""
        size = given.vectors.shape[1]
        if size != self.size:
            raise BadInput(
                f"the vectors of {given.path} have {size} numbers, the embedding {self.size}; "
                "leave out --embedding"
            )
        return eqx.tree_at(
            lambda x: x.E, self, self.E.at[given.symbols].set(given.vectors.astype(self.E.dtype))
        )


class FixedEmbedding(Embedding):
    """A symbol as a vector that is given, and not learned."""

    frozen: ClassVar[tuple[str, ...]] = ("E",)

    def __init__(self, symbols: int, size: int, *, key: jax.Array, init: Initialiser = normal(1.0)):
        super().__init__(symbols, size, key=key, init=init)


class Dropped(eqx.Module):
    """An encoding some of whose numbers are dropped.

    Shapes: those of the encoding.
    """

    encoding: OneHot | Embedding
    drop: Drop

    @property
    def symbols(self) -> int:
        return self.encoding.symbols

    @property
    def size(self) -> int:
        return self.encoding.size

    @property
    def E(self) -> jax.Array:
        return self.encoding.E  # type: ignore[union-attr]

    def __call__(self, x: jax.Array, dtype: Any) -> jax.Array:
        return self.drop(self.encoding(x, dtype))

    def starting_from(self, given: StartVectors) -> "Dropped":
        return Dropped(self.encoding.starting_from(given), self.drop)


class Network(Cell):
    """`o_t = readout(h_t)`, where h is the cell's output on the encoded input.

    A network is itself a cell: unroll it, step it, wrap it. Who needs what the readout reads
    unrolls `network.cell` on what `to_cell` gives.

    Shapes: x integers `(...)` with an encoding, vectors `(..., inputs)` without; state the
    cell's; y `(..., outputs)`.

    Example:
        >>> one, two = jax.random.split(jax.random.key(0))
        >>> cell = ostinato.cells.MLSTM(70, 170, key=one)
        >>> network = Network(cell, Readout(170, 70, key=two, bias=False), OneHot(70))
        >>> logits, state = ostinato.unroll(network, jnp.array([[3], [1], [4]]))
        >>> logits.shape
        (3, 1, 70)
    """

    in_parts: ClassVar[bool] = True

    cell: Layer
    readout: Any
    encoding: OneHot | Embedding | Dropped | None

    def __init__(
        self, cell: Layer, readout: Any, encoding: OneHot | Embedding | Dropped | None = None
    ):
        """
        Args:
            cell: a cell, or a layer such as `Bidirectional`.
            readout: from the cell's output to the network's; `None` for a cell whose output is
                the network's, such as `Jordan`.
            encoding: how symbols become vectors; `None` for inputs that are vectors.
        """
        self.cell, self.readout, self.encoding = cell, readout, encoding

    @property
    def input_axes(self) -> int:
        return self.cell.input_axes if self.encoding is None else 0

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
        return self.cell.vector_size()

    def check_inputs(self, xs: Any) -> None:
        if self.encoding is not None:
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
        if self.encoding is not None:
            cell = looking_up(self.cell, self._encode(jnp.arange(self.encoding.symbols)), xs.size)
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
    if count < len(vectors) or jax.default_backend() != "cpu":
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


def _check_symbols(encoding: Any, x: Any, symbols: int) -> None:
    name = type(encoding).__name__
    if isinstance(x, str | bytes):
        raise BadInput(f"{name} expects integer symbols, got {type(x).__name__}")
    if not jnp.issubdtype(jnp.result_type(x), jnp.integer):
        raise BadInput(f"{name} expects integer symbols, got {jnp.result_type(x)}{jnp.shape(x)}")
    if isinstance(x, list | tuple) and any(isinstance(one, jax.core.Tracer) for one in x):
        raise BadInput(f"{name} expects an array of integer symbols, got a {type(x).__name__}")
    if not isinstance(x, jax.core.Tracer) and np.size(x):
        values = np.asarray(x)  # NumPy: this may run while JAX traces
        low, high = int(values.min()), int(values.max())
        if low < 0 or high >= symbols:
            wrong = low if low < 0 else high
            raise BadInput(f"{name} expects symbols from 0 to {symbols - 1}, got {wrong}")


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
