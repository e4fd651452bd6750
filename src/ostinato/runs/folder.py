"""A run's folder: what was asked for, what happened, and the weights.

    config.json       the configuration, enough to run the same thing again
    model.json        the sizes of input and output, the vocabulary, a fingerprint of the data
    events.jsonl      one line for everything that happened
    checkpoints/      step-00000100.safetensors: network, learner and state after so many steps

A checkpoint is one file, complete or not there. The last two and the best one are kept.
"""

import dataclasses
import hashlib
import json
import re
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from ..errors import BadInput
from ..files import write_whole
from ..tasks import Task, Text, Vocabulary
from ..weights import notes_of, pack, unpack
from ..wiring import Network
from .build import Sizes, build_task, matmul_precision, network_shapes
from .config import Config

FORMAT = 1
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


@dataclasses.dataclass(frozen=True)
class Run:
    """An existing run folder.

    Example:
        >>> run = open_run("runs/text-lstm-1")
        >>> network = run.network()
    """

    path: Path
    config: Config
    sizes: Sizes
    vocabulary: Vocabulary | None
    data: str

    def with_steps(self, config: Config) -> "Run":
        """The same run with the number of steps of a configuration that is otherwise its own."""
        if config == self.config:
            return self
        for setting in dataclasses.fields(config):
            name = setting.name
            asked, own = getattr(config, name), getattr(self.config, name)
            if asked != own and name != "steps":
                raise BadInput(
                    f"{self.path} was begun with {name} = {own}, so it cannot go on with {asked}; "
                    "only steps can change"
                )
        write_whole(self.path / "config.json", str(config).encode())
        return dataclasses.replace(self, config=config)

    def task(self) -> Task:
        """The task with the run's own data, which must not have changed."""
        task = build_task(self.config, self.vocabulary)
        if fingerprint(task) != self.data:
            raise BadInput(
                f"{self.config.file or 'the embedded text'} is no longer the text that "
                f"{self.path} was trained on"
            )
        return task

    def network(self, which: str = "best", like: Network | None = None) -> Network:
        """The network with the weights of the `"best"` or the `"last"` checkpoint.

        One that is not of the configuration's making needs another `like` it.
        """
        steps = self.steps()
        if not steps:
            raise BadInput(f"{self.path} has no checkpoint yet; go on with --resume")
        step = steps[-1]
        if which == "best":
            step = next((s for s in [self.progress(step).best_step] if s in steps), step)
        like = network_shapes(self.config, self.sizes) if like is None else like
        return unpack(self._file(step), like, "network")[0]

    def precision(self) -> AbstractContextManager:
        """Within it, products are as exact as the run's learner needs them; see `build`."""
        return jax.default_matmul_precision(matmul_precision(self.config))

    def steps(self) -> list[int]:
        """The steps of the checkpoints that are there, in order."""
        files = (self.path / "checkpoints").glob("step-*.safetensors")
        names = (re.fullmatch(r"step-(\d+)\.safetensors", file.name) for file in files)
        return sorted(int(name[1]) for name in names if name)

    def progress(self, step: int) -> Progress:
        """The numbers of a checkpoint."""
        return _progress(notes_of(self._file(step)))

    def save(self, checkpoint: Checkpoint, progress: Progress) -> None:
        """Write a checkpoint, then remove those that are no longer needed."""
        notes = {"format": str(FORMAT), "progress": json.dumps(progress._asdict())}
        (self.path / "checkpoints").mkdir(exist_ok=True)
        write_whole(self._file(progress.step), pack(checkpoint, notes))
        kept = {*self.steps()[-KEPT:], progress.best_step}
        for step in self.steps():
            if step not in kept:
                self._file(step).unlink()

    def load(self, like: Checkpoint) -> tuple[Checkpoint, Progress] | None:
        """The newest checkpoint that can be read, or `None` where there is none."""
        for step in reversed(self.steps()):
            try:
                checkpoint, notes = unpack(self._file(step), like)
                return checkpoint, _progress(notes)
            except ValueError:
                continue  # damaged from outside; the one before it serves as well
        return None

    def drop_after(self, step: int) -> None:
        """Remove checkpoints and events that lie after a step, from which the run goes on."""
        for later in self.steps():
            if later > step:
                self._file(later).unlink()
        lines = [line for line in self.events() if line.get("step", 0) <= step]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        write_whole(self.path / "events.jsonl", text.encode())

    def events(self) -> list[dict]:
        """What happened; a line that a crash left unfinished is passed over."""
        found = []
        path = self.path / "events.jsonl"
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:
                continue
        return found

    def note(self, event: dict) -> None:
        """Append a line to the events."""
        with open(self.path / "events.jsonl", "a") as file:
            file.write(json.dumps(_finite(event), allow_nan=False) + "\n")

    def _file(self, step: int) -> Path:
        return self.path / "checkpoints" / _NAME.format(step)


def _finite(event: dict) -> dict:
    """JSON knows no NaN and no infinity: `None` in their place."""
    strange = (float("inf"), float("-inf"))
    return {
        name: None if isinstance(x, float) and (x != x or x in strange) else x
        for name, x in event.items()
    }


def _progress(notes: dict[str, str]) -> Progress:
    return Progress(**json.loads(notes["progress"]))


def create_run(path: str | Path, config: Config, task: Task) -> Run:
    """A new run folder, which must not be there yet or be empty."""
    path = Path(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        what = "is a run already; go on with --resume" if is_run(path) else "is not an empty folder"
        raise BadInput(f"{path} {what}, or choose another --run")
    path.mkdir(parents=True, exist_ok=True)
    vocabulary = task.vocabulary if isinstance(task, Text) else None
    sizes = Sizes(task.name, task.inputs, task.outputs, task.symbolic)
    run = Run(path, config, sizes, vocabulary, fingerprint(task))
    model = {
        "format": FORMAT,
        "sizes": sizes._asdict(),
        "vocabulary": None if vocabulary is None else vocabulary.as_json(),
        "data": run.data,
    }
    write_whole(path / "model.json", json.dumps(model).encode())
    write_whole(path / "config.json", str(config).encode())  # last: with it the folder is a run
    return run


def is_run(path: Path) -> bool:
    return (path / "config.json").is_file()


def open_run(path: str | Path) -> Run:
    """An existing run folder, read and checked."""
    path = Path(path)
    if not path.is_dir():
        raise BadInput(f"there is no run folder {path}")
    if not is_run(path):
        raise BadInput(f"{path} is not a run folder: it has no config.json")
    model = _read(path / "model.json")
    if not isinstance(model.get("format"), int) or model["format"] > FORMAT:
        raise BadInput(
            f"{path} was written by a newer version of Ostinato (format {model.get('format')}, "
            f"this one reads up to {FORMAT}); install that version"
        )
    try:
        config = Config.from_json(_read(path / "config.json"))
        sizes, words = Sizes(**model["sizes"]), model["vocabulary"]
        vocabulary = None if words is None else Vocabulary.from_json(words)
        return Run(path, config, sizes, vocabulary, model["data"])
    except BadInput as error:
        raise BadInput(f"{path / 'config.json'}: {error}") from None
    except (KeyError, TypeError) as error:
        raise BadInput(f"{path / 'model.json'} is not what a run writes: {error}") from None


def _read(path: Path) -> dict:
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        raise BadInput(f"{path.parent} is not a whole run folder: it has no {path.name}") from None
    except ValueError as error:
        raise BadInput(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(found, dict):
        raise BadInput(f"{path} is not what a run writes: it should hold one JSON object")
    return found


def fingerprint(task: Task) -> str:
    """A name for the data of a task: the same text gives the same one."""
    if not isinstance(task, Text):
        return ""
    digest = hashlib.sha256()
    for part in task.parts.values():
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()
