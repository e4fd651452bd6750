"""Combinations of options that are refused: tables of messages and conditions.

    MEMBERS    what is wrong with the chosen task, cell and learners
    SETTINGS   what is wrong with the settings together: there is no such `Config`
    RUN        what is wrong with a configuration and its task, whatever the network
    NETWORK    what is wrong with the network that is configured for a task

A condition is a function of the `Case`, a configuration with its task or its sizes; in the first
two tables there is no task yet. A message may name what belongs to the case, as in `{x.cell.name}`.
What a single setting may be is said where it is declared.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...errors import BadInput
from ...learning.gradients import gradient_named
from ..network.vocabulary import vocabularies
from .case import Case, takes_turns
from .sections import changed, memory_size

Table = dict[str, Callable[[Case], Any]]
OF_HEADS = (  # settings of a neural Turing machine
    "heads",
    "head_shift",
    "head_strength",
    "read_gate",
    "write_gate",
    "read_stay",
    "read_onward",
)


def refuse(table: Table, config: Any, task: Any = None) -> None:
    """Raise `BadInput` with the message of the first row whose condition holds."""
    case = Case(config, task)
    for words, holds in table.items():
        if holds(case):
            raise BadInput(words.format(x=case))


def _each(names: Sequence[str], words: str, holds: Callable[[Case], Any]) -> Table:
    """A row for each of some settings of the network, for which NAME stands in the message."""

    def given(name: str) -> Callable[[Case], Any]:
        return lambda x: vars(x.network)[name] and holds(x)

    return {words.replace("NAME", name): given(name) for name in names}


def _without_memory(name: str, x: Case) -> bool:
    """Whether a setting of the heads is given to a network without a memory."""
    return x.network.turing is None and name in changed(x.network)


MEMBERS: Table = {
    "first is a setting of {x.turning}; the learner is {x.learner.name}": lambda x: (
        x.first is not None and not takes_turns(x.learner.kind)
    ),
    "first must be a first-order learner, got {x.first.name}": lambda x: (
        x.first is not None and x.first.kind.exact
    ),
}

SETTINGS: Table = {
    "units has {x.layers} numbers, one per layer, and layers is {x.network.layers}; leave layers "
    "out": lambda x: x.network.layers != x.layers,
    "give either units or budget, not both": lambda x: x.network.units and x.network.budget,
    **_each(
        ("skip", "bidirectional"),
        "feedback cannot be combined with NAME; leave one of them out",
        lambda x: x.network.feedback,
    ),
    "turing cannot be combined with bidirectional; leave one of them out": lambda x: (
        x.network.turing and x.network.bidirectional
    ),
    **{
        f"{name} is a setting of --turing; give it a memory, such as 128x20": partial(
            _without_memory, name
        )
        for name in OF_HEADS
    },
    "head_shift must be less than half of the memory's rows, {x.network.turing}; got "
    "{x.network.head_shift}": lambda x: (
        x.network.turing and 2 * x.network.head_shift >= memory_size(x.network.turing)[0]
    ),
    "give either steps or epochs, not both": lambda x: (
        x.training.epochs and "steps" in changed(x.training)
    ),
    "epochs cannot be combined with curriculum, which changes their length": lambda x: (
        x.training.epochs and x.training.curriculum
    ),
    "the schedule halving counts epochs, whose length a curriculum changes": lambda x: (
        x.halves and x.training.curriculum
    ),
    "curriculum is the initial length, so it must be at most the length of {x.length}, got "
    "{x.training.curriculum}": lambda x: (
        x.training.curriculum and x.length and x.training.curriculum > x.length
    ),
    "layer_wise cannot be combined with first; leave one of them out": lambda x: (
        x.training.layer_wise and x.first is not None
    ),
    "layer_wise validates layers that are not trained yet; leave out patience": lambda x: (
        x.training.layer_wise and x.training.patience
    ),
    "layer_wise trains layers, and the learner {x.learner.name} only the readout": lambda x: (
        x.training.layer_wise and x.learner.kind.readout_only
    ),
    "layer_wise needs --gradient full": lambda x: x.training.layer_wise and not x.exact_gradient,
    **_each(
        ("bidirectional", "feedback", "turing", "expand", "output_feedback", "readout_units"),
        "layer_wise needs plain layers with a linear readout; leave out NAME",
        lambda x: x.training.layer_wise,
    ),
    "the learner {x.learner.name} needs --precision float32": lambda x: (
        x.learner.kind.exact and x.training.precision == "bfloat16"
    ),
    "the learner {x.learner.name} needs --precision {x.learner.kind.precision}": lambda x: (
        x.learner.kind.precision and x.training.precision == "bfloat16"
    ),
    "the gradient lstm1997 needs a single layer and --cell one of {x.cells_of_1997}": lambda x: (
        x.lstm1997 and not (x.cell.kind.memory_cell and x.one_cell)
    ),
    **_each(
        (
            "embedding",
            "layer_norm",
            "zoneout",
            "weight_noise",
            "dropout",
            "recurrent_dropout",
            "turing",
        ),
        "the gradient lstm1997 does not support NAME; leave it out",
        lambda x: x.lstm1997,
    ),
    "--first with the learner {x.learner} needs --gradient full": lambda x: (
        x.first_gradient and not gradient_named(x.first_gradient).carries_state
    ),
}

RUN: Table = {
    "{x.ignored} is a setting of what the task {x.task.name} draws itself; leave it out, or the "
    "file": lambda x: x.ignored,
    "curriculum is the initial length, so it must be at most the length of {x.task.length}, got "
    "{x.training.curriculum}": lambda x: (
        x.training.curriculum and x.training.curriculum > x.task.length
    ),
    "the task {x.task.name} draws new training data without end, so it has no epochs; give "
    "--steps": lambda x: x.training.epochs and not x.task.epochs(1, x.config.batch_size),
    "the task {x.task.name} draws new training data without end, so it has no epochs, which the "
    "schedule halving counts": lambda x: x.halves and not x.task.epochs(1, x.config.batch_size),
    "layer_wise trains one layer after the other; give --layers 2 or more": lambda x: (
        x.training.layer_wise and x.network.layers == 1
    ),
    "{x.training.devices} devices cannot share a batch of {x.config.batch_size} sequences "
    "equally; --batch must be a multiple of {x.training.devices}": lambda x: (
        x.config.batch_size % x.training.devices
    ),
    "devices cannot share a batch with the learner {x.learner.name}; leave out --devices": (
        lambda x: x.training.devices > 1 and not x.learner.kind.splits_batch
    ),
    "devices cannot share a batch with --gradient {x.gradient}; leave out --devices": lambda x: (
        x.training.devices > 1 and not gradient_named(x.gradient).carries_state
    ),
    "the task {x.task.name} has no vocabulary; leave out --shard-vocabulary": lambda x: (
        x.training.shard_vocabulary and not vocabularies(x.task)
    ),
    "the learner {x.learner.name} needs all weights on each device; leave out "
    "--shard-vocabulary": lambda x: x.shards and not x.learner.kind.splits_vocabulary,
    "--shard-vocabulary runs the scan; leave out --backend {x.training.backend}": lambda x: (
        x.shards and x.training.backend not in ("auto", "scan")
    ),
    "{x.training.devices} devices cannot share a vocabulary of {x.uneven} symbols equally; "
    "{x.even}": lambda x: x.shards and x.uneven,
}

# What a plan of a run does not ask.
HERE: Table = {
    "there are {x.devices} devices here, got --devices {x.training.devices}": lambda x: (
        x.training.devices > x.devices
    ),
}

NETWORK: Table = {
    "the task {x.task.name} predicts its own next input, which a bidirectional network would see; "
    "leave out --bidirectional": lambda x: x.network.bidirectional and x.task.predicts_next,
    "the task {x.task.name} answers at every step; leave out --pool": lambda x: (
        x.model != "network" and x.network.pool != "last"
    ),
    **_each(
        ("readout_units", "expand", "output_feedback", "turing", "changes"),
        "the task {x.task.name} has a network of its own kind; leave out NAME",
        lambda x: x.model != "network",
    ),
    "the task {x.task.name} has a network of its own kind, which needs --gradient full": lambda x: (
        x.model != "network" and not x.exact_gradient
    ),
    "the task {x.task.name} has a network of its own kind; leave out omega": lambda x: (
        x.model != "network" and x.learner.setting("omega")
    ),
    "the task {x.task.name} has a network of its own kind; leave out layer_wise": lambda x: (
        x.model != "network" and x.training.layer_wise
    ),
    "the task {x.task.name} reads symbols or words, which have no changes; leave out --changes": (
        lambda x: x.network.changes and (x.task.symbolic or x.reads_words)
    ),
    "layer_wise needs a first layer that reads the inputs itself; leave out --changes": lambda x: (
        x.network.changes and x.training.layer_wise
    ),
    "output_feedback needs layers that read the inputs themselves; leave out --changes": lambda x: (
        x.network.changes and x.network.output_feedback
    ),
    "layer_wise reads every layer by itself; leave out --pool, and cells with a readout of their "
    "own": lambda x: x.training.layer_wise and (x.network.pool != "last" or x.own_readout),
    "the task {x.task.name} reads vectors, so it takes no embedding": lambda x: (
        x.network.embedding
        and x.model in ("network", "video")
        and not (x.task.symbolic or x.reads_words)
    ),
    "the task {x.task.name} needs a readout; give another cell or --readout bias": lambda x: (
        x.model != "network" and x.own_readout
    ),
    "the readout own needs a cell that has one: {x.cells_that_read_out}; got "
    "{x.cell.name}": lambda x: x.own_readout and not x.cell.kind.reads_out,
    **_each(
        ("skip", "bidirectional", "dropout", "layer_norm", "turing"),
        "NAME changes the output of the last layer, which in a {x.cell.name} network is the "
        "network's answer; leave it out, or read that layer with --readout bias",
        lambda x: x.own_readout,
    ),
    "the output of {x.cell.name} is the answer; leave out --pool": lambda x: (
        x.own_readout and x.network.pool != "last"
    ),
    **_each(
        ("readout_units", "expand", "output_feedback", "changes"),
        "the output of {x.cell.name} is the answer; leave out NAME",
        lambda x: x.own_readout,
    ),
    "output feedback needs inputs that are vectors, and layers with a step": lambda x: (
        x.network.output_feedback and (x.task.symbolic or x.network.bidirectional)
    ),
    "output feedback reads words as one-hot vectors; leave out --embedding": lambda x: (
        x.network.output_feedback and x.reads_words and x.network.embedding
    ),
    "the task {x.task.name} is bidirectional; leave out --feedback": lambda x: (
        x.network.feedback and x.model == "tagger"
    ),
    "the task {x.task.name} needs an embedding of at least 1, got 0": lambda x: (
        x.model == "tagger" and not x.embedding
    ),
    "{x.cell.name} has one unit per input; leave out --units and --budget": lambda x: (
        not x.cell.kind.has_units and (x.network.units or x.network.budget)
    ),
    **_each(
        ("skip", "bidirectional", "feedback"),
        "{x.cell.name} is the whole network; leave out --NAME",
        lambda x: not x.cell.kind.has_units,
    ),
    "{x.cell.name} is the whole network; leave out --layers and --readout": lambda x: (
        not x.cell.kind.has_units
        and (x.network.layers > 1 or x.network.readout not in (None, "own"))
    ),
    "give either recurrent or incoming, not both": lambda x: (
        x.network.incoming and x.cell.setting("recurrent")
    ),
    **_each(
        ("incoming", "spectral_radius", "input_scale", "output_scale"),
        "uniform says how all weights start; leave out NAME",
        lambda x: x.network.uniform is not None,
    ),
    "uniform says how all weights start; leave out input and recurrent": lambda x: (
        x.network.uniform is not None and (x.cell.setting("input") or x.cell.setting("recurrent"))
    ),
    "give either input or input_scale, not both": lambda x: (
        x.scales_input and x.cell.setting("input")
    ),
    "incoming and spectral_radius need a recurrent matrix; {x.cell.name} has none": lambda x: (
        x.scales_recurrent and not x.cell.kind.has_recurrent_matrix
    ),
    "the cell {x.cell.name} has no setting recurrent, which incoming, spectral_radius and "
    "input_scale need": lambda x: x.scales_recurrent and x.lacks("recurrent"),
    "the cell {x.cell.name} has no setting input, which incoming, spectral_radius and input_scale "
    "need": lambda x: x.scales_input and x.lacks("input"),
    "feedback needs a readout; the output of {x.cell.name} is the answer": lambda x: (
        x.network.feedback and x.own_readout
    ),
    "tied needs an embedding; give --embedding a size": lambda x: x.tied and not x.embedding,
}
