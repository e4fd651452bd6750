"""From one sequence to another: an encoder, a decoder, and the bridge from one to the other."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Cell, Layer, Model
from ..cells.building import parameter_dtype
from ..cells.cell import Run
from ..data import Batch
from .encodings import Dropped, Embedding, OneHot
from .network import Network, Readout
from .noise import Drop


class Pair(NamedTuple):
    """The inputs of an encoder-decoder: what the decoder reads, and the source.

    Attributes:
        target: symbols `(T, B)`: the start symbol, then the answer but for its last symbol.
        source: symbols `(S, B)`, or anything else that the encoder reads.
        lengths: `(1, B)`, the valid steps of each source.
        own: `(T, B)`, true where the decoder reads its own last answer instead of the target
            (scheduled sampling); `None` for never.
    """

    target: Any
    source: Any
    lengths: Any
    own: Any = None


def most_probable(outputs: jax.Array) -> jax.Array:
    """The symbol with the largest output, `(..., symbols)` to `(...)`."""
    return jnp.argmax(outputs, axis=-1).astype(jnp.int32)


class OwnAnswers(Cell):
    """At marked steps a network reads its own last answer instead of what it is given.

    An answer is by default the most probable symbol, and no derivative goes through the choice.
    With marks drawn at random this is scheduled sampling (Bengio et al., 2015), with marks at all
    steps but the first the network writes on its own.

    Shapes: x `(given (...), marks (...))`, symbols or vectors with marks `(..., 1)`; state
    `(the network's, last answer)`.

    Attributes:
        answer: from an output to what the network reads next.
    """

    network: Network
    answer: Callable[[jax.Array], jax.Array] = eqx.field(static=True, default=most_probable)

    @property
    def input_axes(self) -> int:
        return self.network.input_axes

    def initial(self, batch: tuple[int, ...]) -> Any:
        outputs = jnp.zeros((*batch, self.network.outputs), self.network.dtype)
        return self.network.initial(batch), jnp.zeros_like(self.answer(outputs))

    def inputs(self, x: Any) -> Any:
        return x

    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        (state, last), (given, own) = state, u
        read = jnp.where(own, last, given)
        state, y = self.network.step(state, self.network.inputs(read))
        return (state, self.answer(y).astype(last.dtype)), y


class Encoder(Protocol):
    """A layer, or anything else whose final state is handed over."""

    def initial(self, batch: tuple[int, ...]) -> Any: ...

    def state_groups(self, state: Any) -> list[list[Any]]: ...


class Bridge(eqx.Module):
    """`s_i = tanh(W_i e_i + b_i)` for each array s_i of the decoder's state.

    Where encoder and decoder have the same layers, e_i is the array in the same place, of both
    directions if the encoder has two; otherwise it is the whole state of the encoder. Arrays that
    are not floats, such as counters, start as usual.

    Source: Cho et al. (2014); Bahdanau et al. (2015), appendix A.2.2.

    Example:
        >>> one, two = jax.random.split(jax.random.key(0))
        >>> both = Bidirectional(GRU(3, 16, key=one), GRU(3, 16, key=two))
        >>> decoder = GRU(5, 8, key=one)
        >>> bridge = Bridge(both, decoder, key=two)
        >>> bridge(both, both.initial((4,)), decoder).shape
        (4, 8)
    """

    maps: tuple[Readout, ...]

    def __init__(self, encoder: Encoder, decoder: Cell, *, key: jax.Array):
        """
        Args:
            encoder: a cell, or a layer such as `Bidirectional`.
            decoder: a cell.
            key: random key for the initial weights.
        """
        theirs, ours = _state_shapes(encoder), _state_shapes(decoder)
        made = []
        goals = [x for x in jax.tree.leaves(ours) if _is_float(x)]
        sources = _sources(encoder, theirs, len(goals))
        for parts, goal, k in zip(sources, goals, jax.random.split(key, len(goals)), strict=True):
            size = sum(part.shape[-1] for part in parts)
            made.append(Readout(size, goal.shape[-1], key=k))
        self.maps = tuple(made)

    def __call__(self, encoder: Encoder, final: Any, decoder: Cell) -> Any:
        """The decoder's initial state, from the final state of the encoder `(*batch, ...)`."""
        batch = jax.tree.leaves(final)[0].shape[:1]
        leaves, tree = jax.tree.flatten(decoder.initial(batch))
        sources = iter(_sources(encoder, final, len(self.maps)))
        maps = iter(self.maps)
        state = [
            jnp.tanh(next(maps)(jnp.concatenate(next(sources), axis=-1))) if _is_float(x) else x
            for x in leaves
        ]
        return jax.tree.unflatten(tree, state)


def can_hand_over(encoder: Encoder, decoder: Cell) -> bool:
    """Whether the encoder's final state is a state of the decoder."""
    return bool(eqx.tree_equal(_state_shapes(encoder), _state_shapes(decoder)))


def _state_shapes(layer: Encoder) -> Any:
    return eqx.filter_eval_shape(layer.initial, (1,))


def _sources(encoder: Encoder, state: Any, count: int) -> list[list[Any]]:
    """For each of `count` arrays of the decoder, the arrays of the encoder's state it reads."""
    groups = encoder.state_groups(state)
    if len(groups) == count:
        return groups
    return [[x for group in groups for x in group]] * count


def _is_float(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.floating)


class EncoderDecoder(Model):
    """An encoder reads the source; its final state starts a decoder, which writes the target.

        m_1 … m_S, s = encoder(source)
        o_t = readout(decoder(target_{t-1}; s, m))

    With attention, the decoder looks at m_1 … m_S at each step. The final state of the encoder
    becomes the initial state of the decoder, through a `Bridge` if their shapes differ.

    Source: Sutskever et al. (2014); Lipton et al. (2015), section 5.3; for attention see
    `wiring/attention.py`.

    Shapes: inputs a `Pair`; outputs `(T, B, symbols)`.

    Attributes:
        encoder: a `Network` without a readout.
        decoder: a cell.
        embedding: how the decoder reads symbols.
        bridge: from the encoder's final state to the decoder's, or `None` to hand it over.
        attention: `Additive`, `Dot` or `None`.
        readout: from the decoder's output, joined by the context if there is one, to the symbols.
    """

    encoder: Any
    decoder: Cell
    embedding: OneHot | Embedding | Dropped
    bridge: Bridge | None
    attention: Any
    readout: Any

    @property
    def outputs(self) -> int:
        """The number of target symbols."""
        return self.embedding.symbols

    @property
    def dtype(self) -> Any:
        """The floating dtype of the parameters."""
        return parameter_dtype(self)

    def prepare(self, run: Run, batch: Batch) -> tuple[Layer, Any, Any]:
        """Read the source."""
        pair = batch.inputs
        network, state = self.read(run, pair.source, pair.lengths[0])
        if pair.own is None:
            return network, pair.target, state
        cell = OwnAnswers(network)
        return cell, (pair.target, pair.own), (state, pair.target[0])

    def read(self, run: Run, source: Any, lengths: Any, copies: int = 1) -> tuple[Network, Any]:
        """The decoder after reading the source, as a network of target symbols, and its state.

        Args:
            run: `unroll`, or `unroll` with options.
            source: `(S, B)`.
            lengths: `(B,)`, the valid steps of each source.
            copies: how many decoders each source gets, next to each other, for a beam.
        """
        memory, valid, state = self.encode(run, source, lengths)

        def copied(x: jax.Array) -> jax.Array:
            return x if copies == 1 else jnp.repeat(x, copies, axis=0)

        state = jax.tree.map(copied, state)
        if self.attention is None:
            return Network(self.decoder, self._readout(), self.embedding), state
        memory = copied(jnp.moveaxis(memory, 0, 1))
        cell = self.attention.around(self.decoder, memory, copied(valid))
        return Network(cell, self._readout(), self.embedding), cell.starting(state)

    def encode(self, run: Run, source: Any, lengths: Any) -> tuple[jax.Array, jax.Array, Any]:
        """What attention looks at, and the decoder's initial state; see `read`.

        Returns:
            m `(S, B, size)`; `(B, S)`, true where it may be looked at; the state.
        """
        memory, state = run(self.encoder, source, lengths=lengths)
        if self.bridge is not None:
            state = self.bridge(self.encoder.cell, state, self.decoder)
        return memory, jnp.arange(len(memory)) < jnp.asarray(lengths)[:, None], state

    def looks(self, run: Run, batch: Batch) -> jax.Array | None:
        """α: how much each step of the target looks at each of the source, `(T, B, S)`."""
        if self.attention is None:
            return None
        pair = batch.inputs
        network, state = self.read(run, pair.source, pair.lengths[0])
        cell: Any = network.cell
        ys, _ = run(Network(cell, None, self.embedding), pair.target, state, **batch.marks)
        units = ys.shape[-1] - cell.values.shape[-1]
        return cell.weights(cell.queries(ys[..., :units]))

    def _readout(self) -> Any:
        return self.readout.tied_to(self.embedding) if self.readout.V is None else self.readout


class DeepReadout(eqx.Module):
    """`o = V tanh(W h + b) + a`; tied to an embedding E, `V` is its transpose.

    Source: Luong et al. (2015), (5); tied: Press and Wolf (2017).

    Shapes: h `(..., width)`, o `(..., outputs)`; `V` is `(size, outputs)`.

    Attributes:
        V: `None` if it is the embedding of the decoder, which `tied_to` fills in.
    """

    hidden: Readout
    V: jax.Array | None
    a: jax.Array
    drop: Drop | None

    def tied_to(self, embedding: Any) -> "DeepReadout":
        """The same with `V` from the embedding."""
        return DeepReadout(self.hidden, embedding.E.T, self.a, self.drop)

    def dropping(self, drop: Drop) -> "DeepReadout":
        """The same with dropout of the hidden layer."""
        return DeepReadout(self.hidden, self.V, self.a, drop)

    def __call__(self, h: jax.Array) -> jax.Array:
        hidden = jnp.tanh(self.hidden(h))
        hidden = hidden if self.drop is None else self.drop(hidden)
        assert self.V is not None, "tied_to comes first"
        return hidden @ self.V + self.a
