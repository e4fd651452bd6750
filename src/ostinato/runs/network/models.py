"""How the parts of a network are put together, by the kind of model that a task needs.

A task names its model in `Task.model`, a dictionary with a `kind` and the numbers that this kind
needs; `None` is a plain `Network`. A new kind is one function here and one line in `MODELS`.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ...cells import Model
from ...errors import BadInput
from ...reservoir import MLP, Expansion, OutputFeedback
from ...settings import Setting, checked
from ...tasks.task import TaskSizes
from ...weights import trained
from ...wiring import (
    Captioner,
    Embedding,
    EncoderDecoder,
    Network,
    Pool,
    Stack,
    Tagger,
    VideoCaptioner,
    VideoModel,
)
from ...wiring.attention import ATTENTION
from ...wiring.captioner import Convolutions
from ...wiring.encoder_decoder import Bridge, DeepReadout, can_hand_over
from ...wiring.encodings import Dropped
from ...wiring.noise import Drop
from ...wiring.pool import pools
from ...wiring.video import LEARNED, FrameDecoder, Frames
from ..config.refusals import NETWORK, refuse
from .parts import Parts, readout_kind

EMBEDDED = 0.1  # standard deviation of vectors: a tied readout needs small numbers


def network(parts: Parts, key: jax.Array) -> Network | OutputFeedback:
    """An encoding of symbols, if the task has them, layers and a readout."""
    task = parts.task
    body, out, symbols = jax.random.split(key, 3)
    encoding: Any
    encoding, size, one_hot = parts.words(symbols), task.inputs, 0
    if encoding is not None:
        size = encoding.size
    elif task.symbolic:
        encoding, size = parts.encoding(task.inputs, symbols)
        one_hot = encoding.one_hot
    if readout_kind(parts.cell, parts.settings, task) == "own":
        made, _ = parts.layers(size, body, symbols=one_hot, last={"outputs": task.outputs})
        return Network(made, None, encoding)
    fed_back = parts.settings.output_feedback
    changes = parts.changes(size)
    size += 0 if changes is None else size
    made, width = parts.layers(size + fed_back * task.outputs, body, symbols=one_hot)
    if changes is not None:
        made = Stack([changes, made])
    if (summaries := pools(parts.settings.pool)) != ("last",):
        made = Stack([made, Pool(width, summaries)])
        width *= len(summaries)
    if parts.settings.expand is not None:
        made = Expansion(made, parts.settings.expand, key=jax.random.fold_in(body, 1))
        width = made.width
    readout: Any = parts.readout(width, task.outputs, out)
    if parts.settings.readout_units is not None:
        readout = MLP(width, parts.settings.readout_units, task.outputs, key=out)
    return OutputFeedback(made, readout) if fed_back else Network(made, readout, encoding)


def encoder_decoder(parts: Parts, key: jax.Array) -> EncoderDecoder:
    """An encoder of `inputs` symbols and a decoder of `outputs` symbols.

    The numbers of the model: `attention`, the name of one or `None`; `tied`, whether the readout
    is the decoder's embedding; `embedding`, the size of both embeddings; `fixed` and
    `fixed_target`, whether that of the source and that of the target are not learned.
    """
    task = parts.task
    keys = iter(jax.random.split(key, 12))
    source: Any
    target: Any
    source, size = parts.encoding(task.inputs, next(keys), EMBEDDED)
    target, width = parts.encoding(task.outputs, next(keys), EMBEDDED, "fixed_target")
    layers, memory = parts.layers(size, next(keys), symbols=source.one_hot)
    decoder, bridge, attention, readout = _decoding(parts, target, width, layers, memory, keys)
    source, target, readout = _with_dropout(parts, keys, source, target, readout)
    encoder = Network(layers, None, source)
    return EncoderDecoder(encoder, decoder, target, bridge, attention, readout)


def captioner(parts: Parts, key: jax.Array) -> Captioner:
    """Convolutions and a decoder of `outputs` symbols.

    The numbers of the model: `picture`, height, width and channels; `attention`, `tied` and
    `embedding` as for an encoder-decoder.
    """
    keys = iter(jax.random.split(key, 12))
    drop = parts.settings.dropout
    pictures = Convolutions(
        parts.model["picture"],
        key=next(keys),
        drop=Drop(drop, key=next(keys)) if drop else None,
    )
    target: Any
    target, width = parts.encoding(parts.task.outputs, next(keys), EMBEDDED)
    decoder, bridge, attention, readout = _decoding(
        parts, target, width, pictures, pictures.size, keys
    )
    target, readout = _with_dropout(parts, keys, target, readout)
    return Captioner(pictures, decoder, target, bridge, attention, readout)


def video(parts: Parts, key: jax.Array) -> VideoModel:
    """An encoder of frames, and a decoder of frames for each of what is learned.

    The numbers of the model: `picture`, height, width and channels; `convolutions`, whether they
    read a frame; `learn`, one of `LEARNED`; `conditional`.
    """
    task, numbers = parts.task, parts.model
    read, inside, *keys = jax.random.split(key, 6)
    frames, size = _frames(parts, read)
    encoder, _ = parts.layers(size, inside)

    def decoder(one: jax.Array, two: jax.Array) -> FrameDecoder:
        inputs = task.outputs if numbers["conditional"] else 1
        cell, width = parts.layers(inputs, one, both_ways=False)
        made, joined = jax.random.split(two)
        network = Network(cell, parts.readout(width, task.outputs, made))
        handed_over = can_hand_over(encoder, cell)
        return FrameDecoder(network, None if handed_over else Bridge(encoder, cell, key=joined))

    again = None if numbers["learn"] == "predict" else decoder(*keys[:2])
    ahead = None if numbers["learn"] == "reconstruct" else decoder(*keys[2:])
    return VideoModel(frames, encoder, again, ahead, numbers["conditional"])


def video_captioner(parts: Parts, key: jax.Array) -> VideoCaptioner:
    """An encoder of frames and a decoder of `outputs` symbols.

    The numbers of the model: `picture` and `convolutions` as for `video`; `attention`, `tied` and
    `embedding` as for an encoder-decoder.
    """
    keys = iter(jax.random.split(key, 12))
    target: Any
    frames, size = _frames(parts, next(keys))
    layers, memory = parts.layers(size, next(keys))
    target, width = parts.encoding(parts.task.outputs, next(keys), EMBEDDED)
    decoder, bridge, attention, readout = _decoding(parts, target, width, layers, memory, keys)
    target, readout = _with_dropout(parts, keys, target, readout)
    encoder = Network(layers, None)
    return VideoCaptioner(encoder, decoder, target, bridge, attention, readout, frames)


def _frames(parts: Parts, key: jax.Array) -> tuple[Frames, int]:
    """How frames are read, and the size of what a layer reads of each."""
    numbers = parts.model
    if not numbers["convolutions"]:
        return Frames(None), math.prod(numbers["picture"])
    made = Convolutions(numbers["picture"], key=key)
    return Frames(made), made.cells * made.size


def _decoding(
    parts: Parts, target: Any, width: int, encoder: Any, memory: int, keys: Iterator[jax.Array]
) -> tuple[Any, Bridge | None, Any, DeepReadout]:
    """A decoder, the bridge to it, its attention and its readout.

    Args:
        parts: what they are made of.
        target: the decoder's embedding, of `width` numbers.
        width: see `target`.
        encoder: its final state starts the decoder.
        memory: size of the vectors that attention looks at.
        keys: random keys for the initial weights.
    """
    task, model = parts.task, parts.model
    attention, reads = None, width
    if model["attention"] is not None:
        reads += memory if model["attention"] == "additive" else 0
    decoder, units = parts.layers(reads, next(keys), symbols=target.one_hot, both_ways=False)
    if model["attention"] is not None:
        attention = ATTENTION[model["attention"]](units, memory, units, key=next(keys))
    bridge = None
    if not can_hand_over(encoder, decoder):
        bridge = Bridge(encoder, decoder, key=next(keys))
    hidden = parts.readout(units + (memory if attention else 0), width, next(keys))
    V = None if model["tied"] else parts.readout(width, task.outputs, next(keys)).V
    return decoder, bridge, attention, DeepReadout(hidden, V, jnp.zeros(task.outputs), None)


def _with_dropout(parts: Parts, keys: Iterator[jax.Array], *made: Any) -> tuple[Any, ...]:
    """Encodings, and a readout after them, with the dropout of the settings, if there is any."""
    rate = parts.settings.dropout
    if not rate:
        return made
    *encodings, readout = made
    dropped = [Dropped(x, Drop(rate, key=next(keys))) for x in encodings]
    return *dropped, readout.dropping(Drop(rate, key=next(keys)))


def tagger(parts: Parts, key: jax.Array) -> Tagger:
    """Words and their characters, bidirectional layers and a readout.

    Its numbers: `letters`, how many characters there are; `letter`, the size of a character's
    vector; `spelling`, the units of the cell that reads a word's characters; `embedding`.
    """
    task, settings, numbers = parts.task, parts.settings, parts.model
    one, two, three, four, five, six = jax.random.split(key, 6)
    # Short vectors, so that a rare word, whose vector is hardly learned, is known by its spelling.
    words: Any
    words, size = parts.encoding(task.inputs, one, EMBEDDED)
    letters = Embedding(numbers["letters"], numbers["letter"], key=two)
    single = dataclasses.replace(settings, units=None, layers=1, skip=False, dropout=0.0)
    small = Parts(parts.cell, single, task, numbers["spelling"])
    spelling, more = small.layers(numbers["letter"], three, both_ways=True)
    layers, width = parts.layers(size + more, four, both_ways=True)
    network = Network(layers, parts.readout(width, task.outputs, five))
    return Tagger(words, letters, spelling, network, key=six, rate=settings.dropout)


def _size(name: str, min: int = 1) -> Setting:
    return Setting(name, int, False, None, min=min)


_FIXED = Setting("fixed", bool, False, False)
_DECODER = (
    Setting("attention", str, True, None, among=tuple(ATTENTION)),
    Setting("tied", bool, False, None),
    _size("embedding", min=0),
)
_PICTURE = Setting("picture", tuple, False, None, min=1)
# The numbers of each kind of model, as a task gives them and a run folder holds them.
NUMBERS: dict[str, tuple[Setting, ...]] = {
    "network": (Setting("embedding", int, True, None, min=0), _FIXED),  # and words, spreads
    "encoder-decoder": (*_DECODER, _FIXED, Setting("fixed_target", bool, False, False)),
    "tagger": (
        *(_size("letters"), _size("letter"), _size("spelling"), _size("embedding", min=0)),
        _FIXED,
    ),
    "captioner": (*_DECODER, _PICTURE),
    "video": (
        _PICTURE,
        Setting("convolutions", bool, False, None),
        Setting("conditional", bool, False, None),
        Setting("learn", str, False, None, among=LEARNED),
    ),
    "video-captioner": (*_DECODER, _PICTURE, Setting("convolutions", bool, False, None)),
}


def check_numbers(model: Any) -> None:
    """Raise `BadInput` for what is not a `Task.model`."""
    if not isinstance(model, dict) or model.get("kind") not in NUMBERS:
        raise BadInput(f"there is no model {model!r:.40}")
    for one in NUMBERS[model["kind"]]:
        checked(one, model[one.name] if one.default is None else model.get(one.name, one.default))
    if "words" in model and not _are_places(model["words"]):
        raise BadInput("its words are not places among its inputs")
    if "spreads" in model and not _are_spreads(model["spreads"]):
        raise BadInput("its spreads are not numbers above 0")
    if "picture" in model and len(model["picture"]) != 3:
        raise BadInput("its pictures have no height, width and channels")


def _are_spreads(spreads: Any) -> bool:
    """Whether they are what `Changes` takes."""
    return isinstance(spreads, list) and all(
        type(x) is float and math.isfinite(x) and x > 0 for x in spreads
    )


def _are_places(words: Any) -> bool:
    """Whether they are what `WordEmbedding` takes: three whole numbers each."""
    if not isinstance(words, list | tuple) or not all(isinstance(x, list | tuple) for x in words):
        return False
    return all(len(x) == 3 and all(type(n) is int and 0 <= n < 2**31 for n in x) for x in words)


MODELS: dict[str, Callable[[Parts, jax.Array], Any]] = {
    "network": network,
    "encoder-decoder": encoder_decoder,
    "tagger": tagger,
    "captioner": captioner,
    "video": video,
    "video-captioner": video_captioner,
}


def make_network(config: Any, task: TaskSizes, units: int | Sequence[int], key: jax.Array) -> Any:
    """A newly initialised network, wired as the task needs it (`models.MODELS`).

    Args:
        config: the `Config`, of which the cell and the network count.
        task: determines the sizes of inputs and outputs, and the wiring.
        units: per layer: one number for all layers, or one for each.
        key: random key for the initial weights.
    """
    refuse(NETWORK, config, task)
    parts = Parts(config.cell, config.network, task, units)
    made = MODELS[parts.model["kind"]](parts, key)
    limit = config.network.uniform
    return made if limit is None else _uniform(made, limit, jax.random.fold_in(key, 1))


def _uniform(network: Model, limit: float, key: jax.Array) -> Model:
    """A network whose trained numbers, biases included, are drawn from U(-limit, limit)."""
    parameters, rest = trained(network)
    leaves, form = jax.tree.flatten(parameters)
    keys = jax.random.split(key, len(leaves))
    drawn = [
        jax.random.uniform(key, x.shape, x.dtype, -limit, limit)
        for key, x in zip(keys, leaves, strict=True)
    ]
    return eqx.combine(jax.tree.unflatten(form, drawn), rest)
