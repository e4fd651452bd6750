"""How the parts of a network are put together, by the kind of model that a task needs.

A task names its model in `Task.model`, a dictionary with a `kind` and the numbers that this kind
needs; `None` is a plain `Network`. A new kind is one function here and one line in `MODELS`.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax

from ..cells.initialisers import normal
from ..errors import BadInput
from ..wiring import Embedding, Mean, Network, Stack, Tagger
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
        if parts.settings.pool == "mean":
            raise BadInput(f"the output of {parts.cell.name} is the answer; leave out --pool")
        made, _ = parts.layers(size, body, last={"outputs": task.outputs})
        return Network(made, None, encoding)
    made, width = parts.layers(size, body)
    if parts.settings.pool == "mean":
        made = Stack([made, Mean(width)])
    return Network(made, parts.readout(width, task.outputs, out), encoding)


def tagger(parts: Parts, key: jax.Array) -> Tagger:
    """Words and their characters, bidirectional layers and a readout.

    Its numbers: `letters`, how many characters there are; `letter`, the size of a character's
    vector; `spelling`, the units of the cell that reads a word's characters; `embedding`.
    """
    task, settings, numbers = parts.task, parts.settings, parts.task.model or {}
    if readout_kind(parts.cell, settings, task) == "own":
        raise BadInput(f"the task {task.name} needs a readout; give another cell or --readout bias")
    if settings.feedback:
        raise BadInput(f"the task {task.name} is bidirectional; leave out --feedback")
    one, two, three, four, five, six = jax.random.split(key, 6)
    size = numbers["embedding"] if settings.embedding is None else settings.embedding
    if not size:
        raise BadInput(f"the task {task.name} needs an embedding of at least 1, got 0")
    # Short vectors, so that a rare word, whose vector is hardly learned, is known by its spelling.
    words = Embedding(task.inputs, size, key=one, init=normal(0.1))
    letters = Embedding(numbers["letters"], numbers["letter"], key=two)
    single = dataclasses.replace(settings, units=None, layers=1, skip=False, dropout=0.0)
    small = Parts(parts.cell, single, task, numbers["spelling"])
    spelling, more = small.layers(numbers["letter"], three, both_ways=True)
    layers, width = parts.layers(size + more, four, both_ways=True)
    network = Network(layers, parts.readout(width, task.outputs, five))
    return Tagger(words, letters, spelling, network, key=six, rate=settings.dropout)


MODELS: dict[str, Callable[[Parts, jax.Array], Any]] = {"network": network, "tagger": tagger}
