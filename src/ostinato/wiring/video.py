"""Films: an encoder reads the frames; decoders draw them again, draw the next ones, or describe."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Layer, Model
from ..cells.building import parameter_dtype
from ..cells.cell import Run
from ..data import Batch
from .captioner import Convolutions
from .encoder_decoder import Bridge, EncoderDecoder, OwnAnswers
from .network import Network

LEARNED = ("both", "predict", "reconstruct")  # what a `VideoModel` can be asked


class Frames(eqx.Module):
    """Each frame of a film as a vector: its pixels from 0 to 1, or what convolutions make of it.

    Shapes: frames `(S, B, height, width, channels)`, whole numbers from 0 to 255; vectors
    `(S, B, size)`.

    Attributes:
        convolutions: see `Convolutions`; `None` for the pixels themselves.

    Example:
        >>> from ostinato.wiring.video import Frames
        >>> Frames(None)(jnp.zeros((5, 2, 8, 8, 1), jnp.uint8), jnp.float32).shape
        (5, 2, 64)
    """

    convolutions: Convolutions | None

    def __call__(self, frames: jax.Array, dtype: Any) -> jax.Array:
        steps, count = frames.shape[:2]
        if self.convolutions is None:
            return jnp.asarray(frames, dtype).reshape(steps, count, -1) / 255
        every = jnp.moveaxis(jnp.reshape(frames, (steps * count, *frames.shape[2:])), 0, 1)
        features = self.convolutions(every)  # (cells, S B, size)
        return jnp.moveaxis(features, 0, 1).reshape(steps, count, -1)


class OwnFrames(OwnAnswers):
    """A network of frames that reads the one it drew last, whatever it is given.

    Shapes: x `(..., 1)`; state `(the network's, last frame)`.
    """

    def vector_size(self) -> int:
        return 1

    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        return super().step(state, (u, True))


class InTurn(Layer):
    """Two layers, one after the other: the first has the first `steps` steps, the second the rest.

    Each starts from its own state, so the second goes on from nothing that the first did.

    Shapes: x and y as the layers'; state `(state of the first, state of the second)`.
    """

    first: Layer
    second: Layer
    steps: int = eqx.field(static=True)

    @property
    def input_axes(self) -> int:
        return self.first.input_axes

    def initial(self, batch: tuple[int, ...]) -> Any:
        return self.first.initial(batch), self.second.initial(batch)

    def over_time(self, run: Run, xs: Any, state: Any) -> tuple[Any, Any]:
        one, two = (None, None) if state is None else state
        ys, one = run(self.first, jax.tree.map(lambda x: x[: self.steps], xs), one)
        zs, two = run(self.second, jax.tree.map(lambda x: x[self.steps :], xs), two)
        return jnp.concatenate([ys, zs]), (one, two)


class FrameDecoder(eqx.Module):
    """A decoder of frames, with the bridge from the encoder to it.

    Attributes:
        network: a cell and its readout, whose outputs are the logits of the pixels.
        bridge: from the encoder's final state to the cell's, or `None` to hand it over.
    """

    network: Network
    bridge: Bridge | None

    def starting(self, encoder: Layer, state: Any) -> Any:
        """The state of the decoder after the encoder has read the film."""
        cell: Any = self.network.cell
        return state if self.bridge is None else self.bridge(encoder, state, cell)


class VideoModel(Model):
    """An encoder reads a film; one decoder draws it again, backwards, another what comes next.

        s = encoder(x_1 … x_S)
        x̂_S … x̂_1 = σ(readout(decoder(s)))         the reconstruction, last frame first
        x̂_{S+1} … x̂_{S+A} = σ(readout'(decoder'(s)))    the prediction

    With both it is the composite model; they share the encoder alone. The state of the encoder is
    all that a decoder knows. One that is conditional also reads the frame that it drew last: first
    a black frame, or where it predicts the last one of the film. One that is not reads nothing, a
    constant 1.

    Source: Srivastava, Mansimov and Salakhutdinov (2015), Unsupervised learning of video
    representations using LSTMs; Lipton et al. (2015), section 5.5.

    Shapes: inputs a `Pair` of ones `(T, B, 1)` and frames `(S, B, height, width, channels)`;
    outputs `(T, B, pixels)`, logits. T is S for a reconstruction, A for a prediction, S + A for
    both, the reconstruction first.

    Attributes:
        frames: how the encoder reads a frame.
        encoder: a layer.
        again: the decoder of the reconstruction, or `None`.
        ahead: the decoder of the prediction, or `None`.
        conditional: whether decoders read what they drew.
    """

    frames: Frames
    encoder: Layer
    again: FrameDecoder | None
    ahead: FrameDecoder | None
    conditional: bool = eqx.field(static=True)

    @property
    def outputs(self) -> int:
        """The number of pixels, times channels."""
        return next(x for x in (self.again, self.ahead) if x is not None).network.outputs

    @property
    def dtype(self) -> Any:
        """The floating dtype of the parameters."""
        return parameter_dtype(self)

    def prepare(self, run: Run, batch: Batch) -> tuple[Layer, Any, Any]:
        """Read the film."""
        ones, film = batch.inputs.target, batch.inputs.source
        _, state = run(self.encoder, self.frames(film, self.dtype))
        last = Frames(None)(film[-1:], self.dtype)[0]
        made: list[tuple[Layer, Any]] = []
        for decoder, before in ((self.again, jnp.zeros_like(last)), (self.ahead, last)):
            if decoder is not None:
                begin = decoder.starting(self.encoder, state)
                own = OwnFrames(decoder.network, jax.nn.sigmoid), (begin, before)
                made.append(own if self.conditional else (decoder.network, begin))
        if len(made) == 1:
            return made[0][0], ones, made[0][1]
        (one, first), (two, second) = made
        return InTurn(one, two, len(film)), ones, (first, second)


class VideoCaptioner(EncoderDecoder):
    """An encoder reads the frames of a film, a decoder writes what happens in it.

    The decoder is that of an `EncoderDecoder`; with attention it looks at the frames.

    Source: Venugopalan et al. (2015), Sequence to sequence - video to text; Lipton et al. (2015),
    section 5.5.

    Shapes: inputs a `Pair` whose source is frames `(S, B, height, width, channels)`; outputs
    `(T, B, symbols)`.

    Attributes:
        frames: how the encoder reads a frame.
    """

    frames: Frames

    def encode(self, run: Run, source: Any, lengths: Any) -> tuple[jax.Array, jax.Array, Any]:
        """See `EncoderDecoder.encode`."""
        return super().encode(run, self.frames(source, self.dtype), lengths)
