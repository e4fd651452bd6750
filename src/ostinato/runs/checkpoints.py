"""The checkpoints of a run: `checkpoints/step-00000100.safetensors`, one file each.

A checkpoint holds the network, the learner's memory and the carried state after so many steps. The
last two and the best one are kept; none is removed before a newer one is safely written.
"""

import json
import os
import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BadInput
from ..files import write_whole
from ..weights import Damaged, Differs, notes_of, pack, unpack

FORMAT = 3
KEPT = 2
_NAME = "step-{:08d}.safetensors"


class Checkpoint(NamedTuple):
    """All arrays that a run needs to go on."""

    network: Any
    learner: Any
    state: Any


class Progress(NamedTuple):
    """The numbers that a run needs to go on.

    Attributes:
        step: how many steps are done.
        best: the best validation so far and its step, or `None`.
        waited: validations since then.
    """

    step: int = 0
    best: float | None = None
    best_step: int = 0
    waited: int = 0


class Checkpoints:
    """Those in the folder of a run; each has the name of its run, so that none is another's."""

    def __init__(self, run: Path, name: str | None):
        self.folder, self.name = run / "checkpoints", name

    def steps(self) -> list[int]:
        """The steps of the checkpoints that are there, in order."""
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            if self.folder.is_symlink():
                raise BadInput(f"{self.folder} is a link that leads nowhere") from None
            return []
        except OSError as error:
            raise BadInput(f"{self.folder} cannot be read: {error.strerror}") from None
        found = (re.fullmatch(r"step-(\d{8,})\.safetensors", name) for name in names)
        return sorted(int(name[1]) for name in found if name)

    def save(self, checkpoint: Checkpoint, progress: Progress) -> None:
        """Write a checkpoint, then remove those before it that are no longer needed."""
        notes = {"format": str(FORMAT), "progress": json.dumps(progress._asdict())}
        if self.name is not None:
            notes["run"] = self.name
        self.folder.mkdir(exist_ok=True)
        write_whole(self.path(progress.step), pack(checkpoint, notes))
        before = [step for step in self.steps() if step <= progress.step]
        for step in before[:-KEPT]:
            if step != progress.best_step:
                self.path(step).unlink(missing_ok=True)

    def newest(self, like: Any, part: str = "") -> tuple[Any, Progress] | None:
        """The newest checkpoint that can be read, or `None` where there is none at all.

        One that is damaged is skipped with a warning. One that is whole but does not fit `like`
        is refused, and so is a folder in which nothing can be read.
        """
        problems: list[str] = []
        for step in reversed(self.steps()):
            try:
                found, notes = unpack(self.path(step), like, part)
                progress = self._progress(notes, step)
            except Differs as error:
                raise BadInput(
                    f"the checkpoint does not belong to this run: {error}; nothing was changed"
                ) from None
            except (Damaged, OSError) as error:
                if isinstance(error, FileNotFoundError) and not self.path(step).is_symlink():
                    return self.newest(like, part)  # removed by the run while it was looked at
                problems.append(_reason(error))
            else:
                for problem in problems:
                    words = f"{problem}; using the checkpoint of step {step}"
                    warnings.warn(words, RuntimeWarning, stacklevel=3)
                return found, progress
        if problems:
            raise BadInput(
                f"no checkpoint in {self.folder} can be read ({problems[0]}); put back a good "
                "copy, or train anew with another --run; nothing was changed"
            )
        return None

    def read(self, step: int, like: Any, part: str = "") -> Any:
        """The arrays of one checkpoint."""
        return unpack(self.path(step), like, part)[0]

    def progress(self, step: int) -> Progress:
        """The numbers of one checkpoint."""
        return self._progress(notes_of(self.path(step)), step)

    def path(self, step: int) -> Path:
        return self.folder / _NAME.format(step)

    def _progress(self, notes: dict[str, str], step: int) -> Progress:
        """The numbers in the notes of a checkpoint, checked one by one."""
        try:
            found = Progress(**json.loads(notes["progress"]))
        except (KeyError, TypeError, ValueError, RecursionError):
            raise Damaged(f"{self.path(step)} has no readable notes") from None
        whole = all(type(x) is int and x >= 0 for x in (found.step, found.best_step, found.waited))
        if not whole or found.step != step or not isinstance(found.best, float | int | None):
            raise Damaged(f"{self.path(step)} has strange notes: {notes['progress']}")
        if self.name not in (None, notes.get("run")):
            raise Differs(f"{self.path(step)} is from another run")
        return found


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename} cannot be read: {error.strerror}"
    return str(error)
