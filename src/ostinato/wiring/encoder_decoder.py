"""From one sequence to another: an encoder, a decoder, and what goes from one to the other."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Cell, Layer, Model
from ..cells.cell import Run
from ..cells.sizes import parameter_dtype
from ..data import Batch
from .bridge import Bridge
from .network import Dropped, Embedding, Network, OneHot, Readout
from .noise import Drop
from .own_symbols import OwnSymbols


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
        cell = OwnSymbols(network)
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
