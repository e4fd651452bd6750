"""What may be asked of a configuration when it is refused: the `Case`."""

from collections.abc import Callable
from typing import Any

import jax

from ...cells import CELLS
from ...settings import settings_of
from ..network.parts import model_of, readout_kind
from ..network.vocabulary import even, uneven
from .members import REGISTRIES
from .sections import changed


class Case:
    """A configuration, perhaps with a task, and what conditions and messages ask of them."""

    def __init__(self, config: Any, task: Any = None):
        self.config, self.task = config, task
        self.cell, self.network = config.cell, config.network
        self.learner, self.first, self.training = config.learner, config.first, config.training

    @property
    def layers(self) -> int:
        """How many layers there are numbers of units for."""
        units = self.network.units
        return len(units) if isinstance(units, tuple) else self.network.layers

    @property
    def length(self) -> int | None:
        """The length of sequences, where it is a setting of the task."""
        return self.config.task.setting("length")

    @property
    def halves(self) -> bool:
        """Whether the rate of a learner is halved by the epoch."""
        members = [self.learner, *([] if self.first is None else [self.first])]
        schedules = [str(member.setting("schedule")) for member in members]
        return any(words.partition(":")[0] == "halving" for words in schedules)

    @property
    def first_gradient(self) -> str | None:
        return None if self.first is None else self.first.setting("gradient")

    @property
    def exact_gradient(self) -> bool:
        """Whether all of the gradient is computed at once, over whole sequences."""
        return self.gradient == "full"

    @property
    def lstm1997(self) -> bool:
        """Whether the gradient is that of 1997."""
        return "lstm1997" in (self.gradient, self.first_gradient)

    @property
    def one_cell(self) -> bool:
        net = self.network
        return net.layers == 1 and not (net.skip or net.bidirectional or net.feedback)

    @property
    def model(self) -> str:
        """The kind of model that the task needs."""
        return model_of(self.task)["kind"]

    @property
    def embedding(self) -> int:
        """The size of learned input vectors; 0 for one-hot."""
        given = self.network.embedding
        return model_of(self.task).get("embedding", 0) if given is None else given

    @property
    def reads_words(self) -> bool:
        """Whether words are parts of the vectors that the task gives."""
        return bool(model_of(self.task).get("words"))

    @property
    def tied(self) -> bool:
        """Whether the readout is the embedding of the decoder."""
        return bool(model_of(self.task).get("tied"))

    @property
    def own_readout(self) -> bool:
        return readout_kind(self.cell, self.network, self.task) == "own"

    @property
    def scales_recurrent(self) -> bool:
        return self.network.incoming is not None or self.network.spectral_radius is not None

    @property
    def scales_input(self) -> bool:
        return self.network.input_scale is not None

    @property
    def ignored(self) -> str | None:
        """A setting of drawn data that is given although a file is read."""
        names, settings = self.task.drawn_settings, self.config.task.settings
        if not names or settings.file is None:
            return None
        return next((name for name in names if name in changed(settings)), None)

    def lacks(self, name: str) -> bool:
        """Whether the cell has no such setting."""
        return name not in settings_of(self.cell.kind.Settings)

    @property
    def gradient(self) -> str:
        """How the learner's gradient is computed."""
        return self.learner.setting("gradient") or "full"

    @property
    def devices(self) -> int:
        """How many there are here."""
        return len(jax.devices())

    @property
    def shards(self) -> bool:
        """Whether devices share the vocabulary."""
        return self.training.shard_vocabulary and self.training.devices > 1

    @property
    def uneven(self) -> int | None:
        return uneven(self.task, self.training.devices)

    @property
    def even(self) -> str:
        """What devices could share in place of a vocabulary that they cannot."""
        words = even(self.uneven or 1, self.training.devices)
        settings = settings_of(type(self.config.task.settings))
        return words + ("; see --level subwords, --subwords" if "subwords" in settings else "")

    @property
    def turning(self) -> str:
        """The learners that take turns with a first one."""
        return _named(REGISTRIES["learner"], takes_turns)

    @property
    def cells_of_1997(self) -> str:
        return _named(CELLS, lambda kind: kind.memory_cell)

    @property
    def cells_that_read_out(self) -> str:
        return _named(CELLS, lambda kind: kind.reads_out)


def _named(kinds: Any, such: Callable[[Any], bool]) -> str:
    return ", ".join(name for name, kind in kinds.items() if such(kind))


def takes_turns(kind: Any) -> bool:
    return "first_steps" in settings_of(kind.Settings)
