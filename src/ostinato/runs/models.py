"""How the parts of a network are put together, by the kind of model that a task needs.

A task names its model in `Task.model`, a dictionary with a `kind` and the numbers that this kind
needs; `None` is a plain `Network`. A new kind is one function here and one line in `MODELS`.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..errors import BadInput
from ..wiring import (
    ATTENTION,
    Bridge,
    DeepReadout,
    Drop,
    Dropped,
    Embedding,
    EncoderDecoder,
    Network,
    can_hand_over,
)
from .parts import Parts, readout_kind


def network(parts: Parts, key: jax.Array) -> Network:
    """An encoding of symbols, if the task has them, layers and a readout."""
    task = parts.task
    body, out, symbols = jax.random.split(key, 3)
    encoding, size = None, task.inputs
    if task.symbolic:
        encoding, size = parts.encoding(task.inputs, symbols)
    elif parts.settings.embedding:
        raise BadInput(f"the task {task.name} reads vectors, so it takes no embedding")
    if readout_kind(parts.cell, parts.settings, task) == "own":
        parts.check_own_readout()
        made, _ = parts.layers(size, body, last={"outputs": task.outputs})
        return Network(made, None, encoding)
    made, width = parts.layers(size, body)
    return Network(made, parts.readout(width, task.outputs, out), encoding)


def encoder_decoder(parts: Parts, key: jax.Array) -> EncoderDecoder:
    """An encoder of `inputs` symbols and a decoder of `outputs` symbols.

    The numbers of the model: `attention`, the name of one or `None`; `tied`, whether the readout
    is the decoder's embedding; `embedding`, the size of both embeddings.
    """
    task, model = parts.task, parts.task.model or {}
    keys = iter(jax.random.split(key, 12))
    source: Any
    target: Any
    source, size = parts.encoding(task.inputs, next(keys))
    target, width = parts.encoding(task.outputs, next(keys))
    layers, memory = parts.layers(size, next(keys))
    attention, reads = None, width
    if model["attention"] is not None:
        reads += memory if model["attention"] == "additive" else 0
    decoder, units = parts.layers(reads, next(keys), both_ways=False)
    if model["attention"] is not None:
        attention = ATTENTION[model["attention"]](units, memory, units, key=next(keys))
    bridge = None
    if not can_hand_over(layers, decoder):
        bridge = Bridge(layers, decoder, key=next(keys))
    hidden = parts.readout(units + (memory if attention else 0), width, next(keys))
    if model["tied"] and not isinstance(target, Embedding):
        raise BadInput("tied needs an embedding; give --embedding a size")
    V = None if model["tied"] else parts.readout(width, task.outputs, next(keys)).V
    drop = parts.settings.dropout
    if drop:
        source, target = (Dropped(x, Drop(drop, key=next(keys))) for x in (source, target))
    last = Drop(drop, key=next(keys)) if drop else None
    readout = DeepReadout(hidden, V, jnp.zeros(task.outputs), last)
    encoder = Network(layers, None, source)
    return EncoderDecoder(encoder, decoder, target, bridge, attention, readout)


MODELS: dict[str, Callable[[Parts, jax.Array], Any]] = {
    "network": network,
    "encoder-decoder": encoder_decoder,
}
