"""A label for each word of a sentence, from the word and its characters."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Layer, Model
from ..cells.cell import Run
from ..data import Batch
from .encodings import Embedding
from .network import Network, looking_up
from .noise import Seed, checked_rate, dropped
from .stack import Bidirectional


class Tagger(Model):
    """`x_t = [E w_t, →s_t, ←s_t]`, read by a network, usually a bidirectional one.

    `E w_t` is the vector of word t; `→s_t` and `←s_t` are the outputs of two cells that have read
    its characters, at its last and at its first character. Every distinct word of a batch is
    read once; see `ostinato.data.words`. With probability `rate` a number of `x_t` is dropped.

    Source: Ling et al. (2015); Plank, Søgaard and Goldberg (2016).

    Shapes: inputs `SpelledWords` of T words and B sentences; outputs `(T, B, outputs)`.

    Example:
        >>> from ostinato.data.words import Spellings, Words
        >>> keys = jax.random.split(jax.random.key(0), 5)
        >>> reading = Bidirectional(LSTM(8, 6, key=keys[0]), LSTM(8, 6, key=keys[1]))
        >>> network = Network(LSTM(10 + 12, 16, key=keys[2]), Readout(16, 3, key=keys[3]))
        >>> words, letters = Embedding(3, 10, key=keys[4]), Embedding(6, 8, key=keys[4])
        >>> tagger = Tagger(words, letters, reading, network, key=key)
        >>> spellings = Spellings.of(["the", "cat"], Words.of("thecat"))
        >>> inputs = spellings.batch(np.array([[1], [2]]), np.array([[0], [1]]))
        >>> outputs, _ = eqx.filter_jit(outputs_of)(tagger, Batch(inputs, None, np.ones((2, 1))))
        >>> outputs.shape
        (2, 1, 3)
    """

    words: Embedding
    letters: Embedding
    spelling: Bidirectional
    network: Network
    seed: Seed
    inference: bool
    rate: float = eqx.field(static=True)

    def __init__(
        self,
        words: Embedding,
        letters: Embedding,
        spelling: Bidirectional,
        network: Network,
        *,
        key: jax.Array,
        rate: float = 0.0,
        inference: bool = False,
    ):
        """
        Args:
            words, letters: the vectors of words and characters.
            spelling: reads the characters of a word; both cells of the same number of units.
            network: reads the vectors `x_t`.
            key: random key of the dropout.
            rate: probability to drop a number of `x_t`, from 0 to below 1.
            inference: without dropout.
        """
        self.words, self.letters, self.spelling = words, letters, spelling
        self.network, self.seed, self.inference = network, Seed(key), inference
        self.rate = checked_rate(rate, "Tagger")

    @property
    def outputs(self) -> int:
        """The size of an output."""
        return self.network.outputs

    @property
    def dtype(self) -> Any:
        """The floating dtype of the parameters."""
        return self.network.dtype

    def prepare(self, run: Run, batch: Batch) -> tuple[Layer, Any, Any]:
        """Read the characters; what remains is the network with a vector for each word."""
        spelled, dtype = batch.inputs, self.dtype
        layer, letters = self._reading(jnp.asarray(spelled.letters)[:, 0])
        hs, _ = run(layer, letters, resets=spelled.begins[:, 0])
        ahead, behind = jnp.split(hs.reshape(-1, hs.shape[-1]), 2, axis=-1)
        parts = [self.words(spelled.words, dtype), ahead[spelled.last], behind[spelled.first]]
        x = jnp.concatenate(parts, axis=-1)
        if self.rate and not self.inference:
            x = dropped(x, self.rate, self.seed.key())
        return self.network, x, None

    def _reading(self, letters: jax.Array) -> tuple[Bidirectional, jax.Array]:
        """What reads the characters, and what it reads: symbols, where that is faster."""
        both, dtype = self.spelling, self.dtype
        vectors = self.letters(jnp.arange(self.letters.symbols), dtype)
        ahead, behind = (
            looking_up(cell, vectors, letters.size) for cell in (both.forward, both.backward)
        )
        if ahead is None or behind is None:
            return both, self.letters(letters, dtype)
        return Bidirectional(ahead, behind), letters
