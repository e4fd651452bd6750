"""Symbols as vectors: one-hot, embedded, or a word from its characters; with dropout."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from ..cells.building import draw
from ..cells.initialisers import Initialiser, normal
from ..data.word_vectors import StartVectors
from ..errors import BadInput
from .noise import Drop


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

    @property
    def inputs(self) -> int | None:
        """The size of the vectors that it reads; `None` because it reads symbols."""
        return None

    def __call__(self, x: jax.Array, dtype: Any) -> jax.Array:
        check_symbols(self, x, self.symbols)
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

    @property
    def inputs(self) -> int | None:
        return None

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
        check_symbols(self, x, self.symbols)
        return _rows(self.E, x).astype(dtype)

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


class WordEmbedding(eqx.Module):
    """Vectors some of whose parts are one-hot words, which become vectors that are learned.

    With `x = [v, w_1, …, w_n]`, where v are the numbers in no part, it is
    `[v, w_1 E_{k_1}, …, w_n E_{k_n}]`. A word that is a vector of zeros, as an unknown one is,
    stays one.

    Shapes: x `(..., inputs)`; vectors `(..., size)`; each table of `E` is `(words, numbers)`.

    Example:
        >>> words = WordEmbedding(5, [(2, 3, 0)], 2, key=jax.random.key(0))
        >>> sunny = words(jnp.array([7.0, 8.0, 0.0, 1.0, 0.0]), jnp.float32)
        >>> sunny.tolist() == [7.0, 8.0, *words.E[0][1].tolist()]
        True
    """

    E: tuple[jax.Array, ...]
    inputs: int = eqx.field(static=True)
    places: tuple[tuple[int, int, int], ...] = eqx.field(static=True)

    symbols: ClassVar[None] = None
    one_hot: ClassVar[int] = 0

    def __init__(
        self,
        inputs: int,
        places: Sequence[Sequence[int]],
        size: int,
        *,
        key: jax.Array,
        init: Initialiser = normal(1.0),
    ):
        """
        Args:
            inputs: size of x.
            places: of each part its first number, how many it has, and which table it is looked
                up in; parts with the same table have the same words.
            size: size of a learned vector.
            key: random key for the initial vectors.
            init: initialiser of each table.
        """
        words = {table: count for _, count, table in places}
        taken = [n for first, count, _ in places for n in range(first, first + count)]
        if len({*taken}) < len(taken) or not {*taken} <= {*range(inputs)}:
            raise BadInput(f"the words of {inputs} inputs are not parts of them")
        if [*words] != [*range(len(words))] or any(words[k] != n for _, n, k in places):
            raise BadInput("the tables of words are not numbered from 0, or their sizes differ")
        self.inputs = inputs
        self.places = tuple((first, count, table) for first, count, table in places)
        keys = jax.random.split(key, len(words))
        self.E = tuple(draw(init, k, n, size) for k, n in zip(keys, words.values(), strict=True))

    @property
    def size(self) -> int:
        vectors = sum(self.E[table].shape[1] - count for _, count, table in self.places)
        return self.inputs + vectors

    def __call__(self, x: jax.Array, dtype: Any) -> jax.Array:
        if jnp.shape(x)[-1:] != (self.inputs,):
            raise BadInput(
                f"{type(self).__name__} expects inputs of shape (..., {self.inputs}), got "
                f"{jnp.shape(x)}"
            )
        taken = {n for first, count, _ in self.places for n in range(first, first + count)}
        plain = np.array([n for n in range(self.inputs) if n not in taken], int)
        words = [x[..., first : first + n] @ self.E[table] for first, n, table in self.places]
        return jnp.concatenate([x[..., plain], *words], axis=-1).astype(dtype)


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
    def inputs(self) -> int | None:
        return self.encoding.inputs

    @property
    def E(self) -> jax.Array:
        return self.encoding.E  # type: ignore[union-attr]

    def __call__(self, x: jax.Array, dtype: Any) -> jax.Array:
        return self.drop(self.encoding(x, dtype))

    def starting_from(self, given: StartVectors) -> "Dropped":
        return Dropped(self.encoding.starting_from(given), self.drop)


Encoding = OneHot | Embedding | WordEmbedding | Dropped


def _rows(table: jax.Array, x: jax.Array) -> jax.Array:
    """`table[x]`; where devices share the table, each looks up its own rows for all symbols."""
    mesh = jax.sharding.get_abstract_mesh()
    if not mesh.auto_axes or len(table) % mesh.size:
        return table[x]
    (axis,) = mesh.axis_names

    def own(rows: jax.Array, x: jax.Array) -> jax.Array:
        at = x - jax.lax.axis_index(axis) * len(rows)
        here = (at >= 0) & (at < len(rows))
        looked_up = jnp.where(here[..., None], rows[jnp.where(here, at, 0)], 0)
        return jax.lax.psum(looked_up, axis)

    some, whole = PartitionSpec(axis), PartitionSpec()
    return jax.shard_map(own, in_specs=(some, whole), out_specs=whole)(table, x)


def check_symbols(encoding: Any, x: Any, symbols: int) -> None:
    """Refuse what is not an array of integers from 0 to `symbols - 1`."""
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
