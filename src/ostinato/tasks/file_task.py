"""Tasks that read a file of the user."""

import abc
import dataclasses
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from ..data.files import whole_path
from ..data.splits import PARTS
from ..settings import setting
from .abilities import OnFileTask
from .task import Artefacts


@dataclasses.dataclass(frozen=True)
class FileSettings:
    """The setting of every task on a file. Paths become whole, so that a run finds its files.

    Attributes:
        paths: the settings that are paths.
    """

    file: str | None = setting(None, "the data", of_file=True)
    paths: ClassVar[tuple[str, ...]] = ("file",)

    def __post_init__(self) -> None:
        for name in self.paths:
            if (path := getattr(self, name)) is not None:
                object.__setattr__(self, name, whole_path(path))


class Reading(NamedTuple):
    """What a task is made of.

    Attributes:
        file: the data; `None` for those that need no file.
        settings: an instance of the task's `Settings`.
        seed: random seed of all batches.
        artefacts: what a trained model keeps of its task, if there is one; see `Task.artefacts`.
    """

    file: str | None
    settings: Any
    seed: int = 0
    artefacts: Artefacts = None

    @property
    def arguments(self) -> dict[str, Any]:
        """All but the file, for a constructor."""
        return {"settings": self.settings, "seed": self.seed, "artefacts": self.artefacts}


class FileTask(OnFileTask):
    """A task on the data of a file; subclasses implement `read`.

    Attributes:
        parts: the data of `"train"`, `"valid"` and `"test"`.
        where: where the data are from, for messages.
        plural: whether they are many in words.
    """

    parts: Any
    where: str
    plural: ClassVar[bool] = False

    def __init__(self, *, source: str, **given: Any) -> None:
        """
        Args:
            source: where the data are from, for messages.
            given: those of `Task`.
        """
        super().__init__(**given)
        self.where = source

    @property
    def source(self) -> str:
        return f"{self.where} {'are' if self.plural else 'is'}"

    @classmethod
    @abc.abstractmethod
    def read(cls, given: Reading) -> Self:
        """The task of a file, or of the data that need none."""

    @classmethod
    def from_settings(cls, settings: Any, seed: int, artefacts: Artefacts = None) -> Self:
        return cls.read(Reading(settings.file, settings, seed, artefacts or None))

    @classmethod
    def on_file(cls, path: Path, settings: Any, artefacts: dict[str, Any]) -> Self:
        whole = dataclasses.replace(settings, split="100/0/0")
        task = cls.read(Reading(str(path), whole, artefacts=artefacts))
        task.hold_out_all()
        return task

    def hold_out_all(self) -> None:
        """Make every part the whole of the data, which was all for training."""
        self.parts = dict.fromkeys(PARTS, self.parts["train"])
