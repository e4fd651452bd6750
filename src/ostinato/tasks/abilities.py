"""What only some tasks can do. A task that can is a subclass of the ability; see `Task.ability`.

A task of your own has an ability in the same way: `class Mine(Task, PicturedTask)`.
"""

import abc
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from ..cells import Model
from ..data import Vocabulary
from ..errors import BadInput
from ..names import option_of
from .applying import WITHOUT, ApplyOptions
from .pictures import Picture, Plot
from .task import Ability, Task

if TYPE_CHECKING:
    from .text.passages import Passage

Trained = TypeVar("Trained", bound=Model)


class TextTask(Ability):
    """A task on one long text, with its vocabulary and its symbols.

    Attributes:
        vocabulary: the characters or bytes that its symbols stand for.
    """

    lacking = "the task {} has no text"
    vocabulary: Vocabulary

    @abc.abstractmethod
    def stream(self, part: str) -> np.ndarray:
        """The symbols `(T,)` of `"train"`, `"valid"` or `"test"`."""

    @classmethod
    def verb(cls, artefacts: Mapping[str, Any]) -> str:
        return "sample"


class PassageTask(Ability):
    """A task whose network reads texts, at which `ostinato inside` looks."""

    lacking = "the task {} reads no text to look at"

    @abc.abstractmethod
    def passage(self, part: str) -> "Passage":
        """A part of a text to look at from inside, `"train"`, `"valid"` or `"test"`."""

    @classmethod
    @abc.abstractmethod
    def passage_of(cls, text: str, network: Model, how: ApplyOptions) -> "Passage":
        """The same for a text that somebody typed.

        Args:
            text: one or more lines.
            network: the trained network.
            how: what the run keeps of its task.
        """


class OnFileTask(Ability):
    """A task whose trained network can be evaluated on another file."""

    lacking = "the task {} reads no files"

    @classmethod
    @abc.abstractmethod
    def on_file(cls, path: Path, settings: Any, artefacts: dict[str, Any]) -> Task:
        """The same task on other data, all of it held out as `"valid"` and `"test"`.

        Args:
            path: the file.
            settings, artefacts: those of the run; its own data need not exist any more.
        """


class StartedTask(Ability):
    """A task that says what a new network begins with, such as given word vectors."""

    lacking = "the task {} begins with a new network as it is"

    @abc.abstractmethod
    def starting(self, network: Trained) -> Trained:
        """The network that training begins with, from a new one."""


class PicturedTask(Ability):
    """A task that shows where a network looks, or what it draws; for the report.

    Attributes:
        pictured: what is shown, as a heading.
    """

    lacking = "the task {} shows no pictures"
    pictured: str = "Where the network looks"

    def pictures(self, network: Model) -> list[Picture]:
        """Where a network looks, or what it draws, in some examples."""
        return []

    def plots(self, network: Model) -> list[Plot]:
        """What a network makes of some examples, as lines."""
        return []


class AnsweringTask(Ability):
    """A task whose trained network answers new input: `ostinato apply`.

    Attributes:
        apply_options: the options of `apply` that it has a use for; see `ApplyOptions`.
        save_as: the end of the names of files in which answers are saved, if they can be.
    """

    lacking = "a run of the task {} cannot be applied to new input"
    apply_options: ClassVar[tuple[str, ...]] = ()
    save_as: ClassVar[str] = ""

    @classmethod
    def verb(cls, artefacts: Mapping[str, Any]) -> str:
        return "apply"

    @classmethod
    def check_options(
        cls, asked: Mapping[str, Any], written: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Refuse an option of `apply` that the task, or another option, has no use for.

        Args:
            asked: the options that are given, by name.
            written: how some of them were written, where an option has several names.
        """
        for name in asked:
            if name not in cls.apply_options:
                having = ", ".join(option_of(x) for x in cls.apply_options)
                raise BadInput(
                    f"{written.get(name, option_of(name))} means nothing for a run of the task "
                    f"{cls.name}; it takes {having or 'no such option'}"
                )
        for name, useless in WITHOUT.items():
            for other in useless:
                if name in asked and other in asked:
                    raise BadInput(f"{option_of(other)} means nothing with --{name}")
        if "seed" in asked and "temperature" not in asked:
            raise BadInput("--seed is of answers drawn at random; give --temperature too")
        if "weight" in asked and "rescore" not in asked:
            raise BadInput("--weight is of n-best lists; give --rescore too")

    @classmethod
    @abc.abstractmethod
    def apply(cls, network: Model, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        """The answers of a trained network to new input.

        Args:
            network: the trained network.
            how: what to read, what the run keeps of its task, and options.

        Returns:
            A dictionary for each input, as JSON; `text` is what is printed without --json.
        """

    @classmethod
    def saved(cls, answers: Iterable[dict[str, Any]]) -> tuple[bytes, str]:
        """The content of a file with some answers, and what is in it, in words.

        Args:
            answers: those of `apply`, with the option `save`.
        """
        raise BadInput(f"answers of a run of the task {cls.name} are not saved in a file")
