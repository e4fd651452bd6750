"""From a picture to words: convolutions read the picture, a decoder writes its caption."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells.cell import Run
from ..errors import BadInput
from .encoder_decoder import EncoderDecoder
from .noise import Drop

CHANNELS = (32, 64, 128)  # of the first layers; further ones have as many as the last
GRID = 4  # cells along the longer side of the picture, at most
KERNEL = 3


class Convolutions(eqx.Module):
    """A picture as a grid of feature vectors.

        f_0 = 2 x / 255 - 1
        f_k = relu(W_k * f_{k-1} + b_k)

    Each convolution (*) is 3 × 3 with a stride of 2, so it halves both sides. There are as many as
    bring the longer side to 4 cells or fewer.

    Source: LeCun et al. (1998), without pooling as in Springenberg et al. (2015).

    Shapes: pictures `(height, B, width, channels)`, whole numbers from 0 to 255; features
    `(S, B, size)`, where the S cells of the grid are in reading order.

    Example:
        >>> convolutions = Convolutions((8, 8, 3), key=jax.random.key(0))
        >>> eqx.filter_jit(convolutions)(np.zeros((8, 7, 8, 3), np.uint8)).shape
        (16, 7, 32)
    """

    layers: tuple[eqx.nn.Conv2d, ...]
    drop: Drop | None
    picture: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, picture: Sequence[int], *, key: jax.Array, drop: Drop | None = None):
        """
        Args:
            picture: height, width and channels.
            key: random key for the initial weights.
            drop: dropout of the features.
        """
        self.picture, self.drop = tuple(picture), drop
        sides, channels = max(self.picture[:2]), self.picture[2]
        layers: list[eqx.nn.Conv2d] = []
        while not layers or sides > GRID:
            key, one = jax.random.split(key)
            size = CHANNELS[min(len(layers), len(CHANNELS) - 1)]
            layer = eqx.nn.Conv2d(channels, size, KERNEL, stride=2, padding=1, key=one)
            layers.append(_scaled(layer, one))
            sides, channels = -(-sides // 2), size
        self.layers = tuple(layers)

    @property
    def size(self) -> int:
        """The size of a feature vector."""
        return self.layers[-1].out_channels

    @property
    def cells(self) -> int:
        """S."""
        height, width = self.picture[:2]
        for _ in self.layers:
            height, width = -(-height // 2), -(-width // 2)
        return height * width

    def initial(self, batch: tuple[int, ...]) -> jax.Array:
        """Features of zero, in the shape that a `Bridge` reads: those of all cells joined."""
        return jnp.zeros((*batch, self.cells * self.size), self.layers[0].weight.dtype)

    def state_groups(self, state: jax.Array) -> list[list[jax.Array]]:
        """What a `Bridge` reads."""
        return [[state]]

    def __call__(self, pictures: jax.Array) -> jax.Array:
        height, _, *rest = pictures.shape
        if (height, *rest) != self.picture:
            raise BadInput(
                f"the network reads pictures of {as_size(self.picture)}, got "
                f"{as_size((height, *rest))}"
            )
        x = jnp.transpose(pictures, (1, 3, 0, 2)).astype(self.layers[0].weight.dtype)
        x = x / 127.5 - 1
        for layer in self.layers:
            x = jax.nn.relu(jax.vmap(layer)(x))
        x = x if self.drop is None else self.drop(x)
        return jnp.moveaxis(x.reshape(*x.shape[:2], -1), 2, 0)


class Captioner(EncoderDecoder):
    """Convolutions read a picture; their features start a decoder, which writes the caption.

        m = convolutions(picture)
        s = tanh(W [m_1 … m_S] + b)
        o_t = readout(decoder(caption_{t-1}; s, m))

    With attention, the decoder looks at the cells m_1 … m_S of the grid at each step.

    Source: Vinyals et al. (2015), Show and tell; with attention Xu et al. (2015), Show, attend and
    tell; Lipton et al. (2015), section 5.4.

    Shapes: inputs a `Pair` whose source is the pictures, `(height, B, width, channels)`; its
    lengths are not read. Outputs `(T, B, symbols)`.

    Attributes:
        encoder: reads the pictures.
        decoder, embedding, attention, readout: see `EncoderDecoder`.
        bridge: from the features of all cells to the decoder's state.

    Example:
        >>> from ostinato.data import Batch
        >>> from ostinato.wiring.encoder_decoder import Bridge, DeepReadout, Pair
        >>> one, two, three = jax.random.split(jax.random.key(0), 3)
        >>> pictures, decoder = Convolutions((8, 8, 3), key=one), GRU(6, 16, key=two)
        >>> readout = DeepReadout(Readout(16, 6, key=one), None, jnp.zeros(5), None)
        >>> bridge, words = Bridge(pictures, decoder, key=three), Embedding(5, 6, key=three)
        >>> captioner = Captioner(pictures, decoder, words, bridge, None, readout)
        >>> symbols = np.array([[0, 0], [2, 3], [4, 1]])
        >>> inputs = Pair(symbols, np.zeros((8, 2, 8, 3), np.uint8), np.full((1, 2), 8))
        >>> batch = Batch(inputs, None, np.ones((3, 2)))
        >>> eqx.filter_jit(outputs_of)(captioner, batch)[0].shape
        (3, 2, 5)
    """

    def encode(self, run: Run, source: Any, lengths: Any) -> tuple[jax.Array, jax.Array, Any]:
        """The features of each cell, all of which may be looked at, and the initial state."""
        memory = self.encoder(source)
        joined = jnp.moveaxis(memory, 0, 1).reshape(memory.shape[1], -1)
        assert self.bridge is not None
        state = self.bridge(self.encoder, joined, self.decoder)
        return memory, jnp.ones((memory.shape[1], len(memory)), bool), state


def as_size(picture: Sequence[int]) -> str:
    """The height, width and channels of a picture in words.

    Example:
        >>> as_size((32, 24, 3))
        '32 × 24 pixels with 3 channels'
    """
    height, width, channels = picture
    return f"{height} × {width} pixels with {channels} channel{'s' if channels > 1 else ''}"


def _scaled(layer: eqx.nn.Conv2d, key: jax.Array) -> eqx.nn.Conv2d:
    """Weights of variance 2 / inputs and biases of 0, for relu. Source: He et al. (2015)."""
    weight = layer.weight
    inputs = weight[0].size
    drawn = jax.random.normal(key, weight.shape, weight.dtype) * (2 / inputs) ** 0.5
    assert layer.bias is not None
    return eqx.tree_at(lambda x: (x.weight, x.bias), layer, (drawn, jnp.zeros_like(layer.bias)))
