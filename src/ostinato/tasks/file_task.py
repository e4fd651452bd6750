"""Tasks that read a file of the user."""

import abc
import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from ..data.files import whole_path
from ..data.splits import PARTS, shares
from ..errors import BadInput
from ..settings import setting
from .task import Task

T = TypeVar("T", bound="FileTask")


@dataclasses.dataclass(frozen=True)
class FileSettings:
    """The setting of every task on a file. Paths become whole, so that a run finds its files.

    Attributes:
        paths: the settings that are paths.
    """

    file: str | None = setting(None, "the data")
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
        split: the shares of training, validation and test.
        seed: random seed of all batches.
        artefacts: what a trained model keeps of its task, if there is one; see `Task.artefacts`.
    """

    file: str | None
    settings: Any
    split: tuple[float, float, float]
    seed: int = 0
    artefacts: Mapping[str, Any] | None = None


class FileTask(Task):
    """A task on the data of a file; subclasses implement `read`.

    Attributes:
        parts: the data of `"train"`, `"valid"` and `"test"`.
    """

    parts: Any

    @classmethod
    @abc.abstractmethod
    def read(cls: type[T], given: Reading) -> T:
        """The task of a file, or of the data that need none."""

    @classmethod
    def from_settings(
        cls: type[T], settings: Any, seed: int, artefacts: Mapping[str, Any] | None = None
    ) -> T:
        given = Reading(settings.file, settings, shares(settings.split), seed, artefacts or None)
        return cls.read(given)

    @classmethod
    def on_file(cls: type[T], path: Path, settings: Any, artefacts: dict[str, Any]) -> T:
        task = cls.read(Reading(str(path), settings, (1, 0, 0), artefacts=artefacts))
        task.hold_out_all()
        return task

    def hold_out_all(self) -> None:
        """Make every part the whole of the data, which was all for training."""
        self.parts = dict.fromkeys(PARTS, self.parts["train"])


@contextlib.contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Put the name of a file in front of messages that do not contain it."""
    try:
        yield
    except BadInput as error:
        if str(path) in str(error):
            raise
        raise BadInput(f"{path}: {error}") from None
