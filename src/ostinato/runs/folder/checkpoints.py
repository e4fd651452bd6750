"""The checkpoints of a run: `checkpoints/step-00000100.safetensors`, one file each.

A checkpoint holds the network, the learner state and the carried state after a number of steps. The
last two and the best one are kept; none is removed before a newer one has been written.
"""

import json
import math
import os
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...cells import Model
from ...errors import BadInput
from ...files import unlinked, write_whole
from ...weights import CorruptFile, StructureMismatch, load, notes_of, pack, unpack

FORMAT = 4
KEPT = 2
_NAME = "step-{:08d}.safetensors"


class Checkpoint(NamedTuple):
    """All arrays needed to resume a run."""

    network: Model
    learner: Any
    state: Any


class Progress(NamedTuple):
    """The numbers needed to resume a run.

    Attributes:
        step: number of completed steps.
        best: the best validation so far, or `None`.
        best_step: its step.
        waited: validations with a finite metric since the best one; as long as there is no best
            one, those that had none.
    """

    step: int = 0
    best: float | None = None
    best_step: int = 0
    waited: int = 0


class Found(NamedTuple):
    """What could be read: the result, the step of its checkpoint, and which others could not."""

    result: Any
    step: int
    problems: Sequence[str] = ()


class Checkpoints:
    """The checkpoints in a run folder. Each records its run, so another run's is refused."""

    def __init__(self, run: Path, name: str):
        self.run, self.folder, self.name = run, run / "checkpoints", name

    def steps(self) -> list[int]:
        """The steps of the existing checkpoints, in order."""
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            if self.folder.is_symlink():
                raise BadInput(f"{self.folder} is a broken symbolic link") from None
            return []
        except OSError as error:
            raise BadInput(f"{self.folder} cannot be read: {error.strerror}") from None
        matches = (re.fullmatch(r"step-(\d{8,})\.safetensors", name) for name in names)
        return sorted(int(name[1]) for name in matches if name)

    def save(self, checkpoint: Checkpoint, progress: Progress) -> None:
        """Write a checkpoint, then remove earlier ones that are no longer needed."""
        unlinked(self.run, self.folder).mkdir(exist_ok=True)
        write_whole(self.path(progress.step), *self.content(checkpoint, progress))
        before = [step for step in self.steps() if step <= progress.step]
        for step in before[:-KEPT]:
            if step != progress.best_step:
                self.path(step).unlink(missing_ok=True)

    def content(self, checkpoint: Any, progress: Progress) -> list[bytes | memoryview]:
        """The parts of the file of a checkpoint."""
        notes = {"format": str(FORMAT), "progress": json.dumps(progress._asdict())}
        return pack(checkpoint, notes | {"run": self.name})

    def newest(self, like: Any, part: str = "") -> tuple[Any, Progress] | None:
        """The newest readable checkpoint, or `None` if there are none at all.

        A damaged checkpoint is skipped with a warning. Refused are an intact one that does not fit
        `like`, and a folder in which no checkpoint can be read.
        """
        return self._first_readable(self._read, like, part)

    def best(self, like: Any, part: str = "") -> tuple[Any, int] | None:
        """The best checkpoint and its step: the newest readable one says which it is.

        Of the newest one only the notes are read, unless it is the best, or the best is damaged,
        which is a warning. For the rest see `newest`.
        """
        return self._first_readable(self._read_best, like, part)

    def _first_readable(self, read: Callable[[int, Any, str], Found], like: Any, part: str) -> Any:
        """What `read` gives for the newest checkpoint of which it can be read."""
        problems: list[str] = []
        for step in reversed(self.steps()):
            try:
                found = read(step, like, part)
            except StructureMismatch as error:
                raise BadInput(
                    f"the checkpoint does not belong to this run: {error}; nothing was changed"
                ) from None
            except (CorruptFile, OSError) as error:
                if isinstance(error, FileNotFoundError) and not self.path(step).is_symlink():
                    # The run removed it in the meantime.
                    return self._first_readable(read, like, part)
                problems.append(_reason(error))
            else:
                for problem in [*problems, *found.problems]:
                    words = f"{problem}; using the checkpoint of step {found.step}"
                    warnings.warn(words, RuntimeWarning, stacklevel=4)
                return found.result
        if problems:
            raise BadInput(
                f"no checkpoint in {self.folder} can be read ({problems[0]}); restore a good "
                "copy, or start again with another --run; nothing was changed"
            )
        return None

    def _read(self, step: int, like: Any, part: str) -> "Found":
        arrays, notes = unpack(self.path(step), like, part)
        return Found((arrays, self._progress(notes, step)), step)

    def _read_best(self, step: int, like: Any, part: str) -> "Found":
        """The best network, as the checkpoint of a step knows it."""
        notes, problems = notes_of(self.path(step)), []
        best = self._progress(notes, step).best_step
        if best != step and best in self.steps():
            try:
                return Found((self.read(best, like, part), best), best)
            except (CorruptFile, OSError) as error:
                problems = [_reason(error)]
        return Found((load(self.path(step), like, part), step), step, problems)

    def read(self, step: int, like: Any, part: str = "") -> Any:
        """The arrays of one checkpoint."""
        return unpack(self.path(step), like, part)[0]

    def path(self, step: int) -> Path:
        return self.folder / _NAME.format(step)

    def _progress(self, notes: dict[str, str], step: int) -> Progress:
        """The numbers in the notes of a checkpoint, each of them checked."""
        try:
            progress = Progress(**json.loads(notes["progress"]))
        except (KeyError, TypeError, ValueError, RecursionError):
            raise CorruptFile(f"{self.path(step)} has no readable notes") from None
        whole = all(
            type(x) is int and x >= 0 for x in (progress.step, progress.best_step, progress.waited)
        )
        if not whole or progress.step != step or not isinstance(progress.best, float | int | None):
            raise CorruptFile(f"{self.path(step)} has invalid notes: {notes['progress']}")
        if self.name != notes.get("run"):
            raise StructureMismatch(f"{self.path(step)} is from another run")
        if progress.best is not None and not math.isfinite(progress.best):  # of earlier versions
            return progress._replace(best=None, best_step=0)
        return progress


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename} cannot be read: {error.strerror}"
    return str(error)
