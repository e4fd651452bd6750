"""The run folder: configuration, events and checkpoints.

    config.json       the configuration, enough to repeat the run
    model.json        what was built: network, task, vocabulary, values and versions
    events.jsonl      the log, one event per line
    data.safetensors  the data of a task that was made in Python; see `kept_data`
    checkpoints/      step-00000100.safetensors: network, learner state and carried state

Only one process at a time trains in it; any number may read it meanwhile.
"""

import dataclasses
import secrets
import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Self

from ...cells import Model
from ...data import Vocabulary
from ...errors import BadInput
from ...files import check_appendable, checked_path, is_unused, remove_leftovers, write_whole
from ...learning import Learner
from ...settings import checked_kind
from ...tasks import OnFileTask, Task
from ...weights import CorruptFile, StructureMismatch, shapes_only
from ..build import build_task, config_of, precision
from ..config import Config
from ..config.members import allow_members
from ..network.blueprint import blueprint, from_blueprint
from ..network.budget import Units, network_shapes
from ..network.parts import Sizes
from .checkpoints import Checkpoint, Checkpoints, Progress
from .events import Event
from .kept_data import NAME, CannotKeep, keep_data, kept_task, settings_say_it_all
from .log import NAME as LOG
from .log import add_event, read_events
from .manifest import changed_setting, read_model, read_object, write_model
from .provenance import described, described_learner, described_task, difference, versions


class Saved(NamedTuple):
    """The network of a checkpoint.

    Attributes:
        step: the training steps that it had done.
        network: with the weights of that step.
    """

    step: int
    network: Model


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """An existing run folder and its checkpoints; a `Run` is one whose network can be asked.

    Attributes:
        path: the folder.
        config: the settings.
        sizes: what the network knows about its task.
        artefacts: what the network needs from the data, as JSON; see `Task.artefacts`.
        manifest: what the run was made with, as plain JSON: its name `run`, the `network`, `task`
            and `learner`, which of them were `given`, the `blueprint` of a given network, the
            values `used`, `versions` and `config`.
        like: a network of the run's structure, if its own cannot be made from the folder.

    Example:
        >>> run = open_run("runs/text-mlstm-1")
        >>> network = run.network()
        >>> run.steps()[-1]  # of the last checkpoint
        4
    """

    path: Path
    config: Config
    sizes: Sizes
    artefacts: dict
    manifest: dict
    like: Model | None = None

    @classmethod
    def open(cls, path: str | Path, network: Model | None = None) -> Self:
        """An existing run folder, checked; see `open_run`."""
        path = checked_path("path", path)
        if not path.is_dir():
            raise BadInput(f"there is no run folder {path}")
        if not is_run(path):
            raise BadInput(f"{path} is not a run folder: it has no config.json")
        check_own(None, network)
        return cls(path, *read_model(path), None if network is None else shapes_only(network))

    @classmethod
    def create(
        cls,
        path: Path,
        config: Config,
        task: Task,
        network: Model,
        used: dict,
        given: list[str],
        learner: Learner,
    ) -> Self:
        """Create a run in an empty folder whose lock is held.

        Args:
            path: the folder.
            config, task, network, learner: what is trained, and how.
            used: the values that the run uses; see `values_used`.
            given: which of task, network and learner were given instead of built from `config`.
        """
        check_free(path)
        allow_members((config.task, config.cell, config.learner, config.first))
        sizes = Sizes.of(task)
        data = None
        if "task" in given and config_of(config, task) == config:
            data, given = _kept(path, config, task, given)
        manifest = {
            "run": secrets.token_hex(8),
            "versions": versions(),
            "task": described_task(task),
            "network": described(network),
            "learner": described_learner(learner),
            "given": given,
            "blueprint": blueprint(network) if "network" in given else None,
            "used": used,
            "data": data,
            "config": config.as_json(),
        }
        artefacts, manifest = write_model(path, sizes, task.artefacts(), manifest)
        write_whole(path / "config.json", str(config).encode())  # last: now the folder is a run
        return cls(path, config, sizes, artefacts, manifest)

    def with_steps(self, config: Config) -> Self:
        """The same run with another number of steps or minutes; nothing else may change.

        Steps that are done cannot be taken back, so there must be at least as many.
        """
        # A run that keeps its data has no file, and cannot go on with one.
        kept = () if self.manifest.get("data") is None else ("file",)
        if change := changed_setting(self.config, config, kept):
            name, own, asked = change
            raise BadInput(
                f"{self.path} was started with {name} = {own}, so it cannot continue with {asked}; "
                "only steps, minutes and devices can change"
            )
        done = max(self.steps(), default=0)
        if config.steps < done:
            raise BadInput(
                f"{self.path} has done {done} steps, so it cannot continue to step {config.steps}; "
                f"give at least {done} steps, or start again with another --run"
            )
        return dataclasses.replace(self, config=config)

    def task(self, given: Task | None = None) -> Task:
        """The task with the run's own data, which must be unchanged.

        Args:
            given: the task itself, where the folder does not have it.
        """
        if given is not None:
            given.recall(self.artefacts)
            return given
        if "task" in self.manifest["given"]:
            raise BadInput(
                f"{self.path} was started from Python with its own task, which is not in the "
                "folder: pass it again, as in examine(run, task=...)"
            )
        with self.precision():
            if self.manifest.get("data") is None:
                task = build_task(self.config, self.artefacts)
            else:
                task = kept_task(self.path, self.config.task.kind)
                task.recall(self.artefacts)
            self._check_task(task)
        return task

    def task_on(self, path: Path) -> Task:
        """The task on another file; the run's own data are not needed."""
        task = self.config.task
        with self.precision():
            return task.kind.able(OnFileTask).on_file(path, task.settings, self.artefacts)

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The vocabulary of a text; `None` for other tasks."""
        kept = self.artefacts.get("vocabulary")
        return None if kept is None else Vocabulary.from_json(kept)

    def check(self, task: Task, network: Model, used: dict, learner: Learner) -> None:
        """`check_made`, with a warning if versions differ, for a run that is to be continued."""
        self.check_made(task, network, used, learner)
        for name, value in versions().items():
            recorded = self.manifest["versions"].get(name, value)
            if recorded != value:
                warnings.warn(
                    f"{self.path} was started with {name} {recorded}, and this is {value}: results "
                    "may differ in their last digits",
                    RuntimeWarning,
                    stacklevel=3,
                )

    def check_made(self, task: Task, network: Model, used: dict, learner: Learner) -> None:
        """Refuse another task, network or learner, or other values, than the run was made with."""
        self._check_task(task)
        self._check_same("network", "made with", described(network))
        self._check_same("learner", "started with", described_learner(learner))
        for name, value in used.items():
            recorded = self.manifest["used"].get(name, value)
            if recorded != value:
                raise BadInput(
                    f"{self.path} was started with {name} = {recorded}, which would now be {value}"
                )

    def _check_task(self, task: Task) -> None:
        now = described_task(task)
        data = now.pop("data")
        self._check_same("task", "trained on", now)
        if self.manifest["task"].get("data") != data:
            raise BadInput(
                f"{task.source} not, or no longer, what {self.path} was trained on"
                f"{self._given('task')}"
            )

    def _check_same(self, what: str, was: str, now: Any) -> None:
        """Refuse a task, network or learner that is described otherwise than that of the run."""
        if differs := difference(self.manifest[what], now):
            raise BadInput(f"{self.path} was {was} another {what}: {differs}{self._given(what)}")

    def _given(self, what: str) -> str:
        """Advice if the run was given its own task, network or learner from Python."""
        if what not in self.manifest["given"]:
            return ""
        how = ": open_run(path, network=...)" if what == "network" else ""
        return f"; it was started from Python with its own {what}: pass it again{how}"

    def network(self, which: str | int = "best", like: Model | None = None) -> Model:
        """The network of a checkpoint; the arguments are those of `saved`."""
        return self.saved(which, like).network

    def saved(self, which: str | int = "best", like: Model | None = None) -> "Saved":
        """The network of a checkpoint, and the step that it is from.

        Args:
            which: `"best"`, `"last"`, or the step of a checkpoint that exists; see `steps`.
            like: a network of the same structure, where the run cannot make it; see `open_run`.

        Example:
            >>> open_run("runs/text-mlstm-1").saved().step
            4
        """
        with self.precision():
            return self._saved(which, like)

    def _saved(self, which: str | int, like: Model | None) -> "Saved":
        steps = self.steps()
        if not steps:
            raise BadInput(f"{self.path} has no checkpoint yet; continue with --resume")
        if which not in ("best", "last") and (type(which) is not int or which not in steps):
            existing = ", ".join(map(str, steps))
            raise BadInput(
                f"{self.path} has no checkpoint {which!r:.40}; there are 'best', 'last' and the "
                f"steps {existing}"
            )
        like = self.shapes() if like is None else like
        self._check_same("network", "made with", described(like))
        if isinstance(which, int):
            try:
                return Saved(which, self.checkpoints.read(which, like, "network"))
            except (CorruptFile, StructureMismatch, OSError) as error:
                raise BadInput(f"{error}; ask for another step") from None
        if which == "best":
            found = self.checkpoints.best(like, "network")
        else:
            newest = self.checkpoints.newest(like, "network")
            found = None if newest is None else (newest[0], newest[1].step)
        if found is None:  # removed in the meantime
            raise BadInput(f"{self.path} has no checkpoint any more")
        network, step = found
        return Saved(step, network)

    def shapes(self) -> Model:
        """The network with shapes in place of arrays: as opened, recorded or configured."""
        if self.like is not None:
            return self.like
        if (drawn := self.manifest.get("blueprint")) is not None:
            return from_blueprint(drawn)
        return network_shapes(self.config, self.sizes, self.units)

    @property
    def units(self) -> Units | None:
        """The number of units that the run was started with, if known."""
        units = self.manifest["used"].get("units")
        return tuple(units) if isinstance(units, list) else units

    @property
    def checkpoints(self) -> Checkpoints:
        return Checkpoints(self.path, self.name)

    @property
    def name(self) -> str:
        """A random name that marks the files of this run."""
        return self.manifest["run"]

    def precision(self) -> AbstractContextManager:
        """A context in which numbers and products have the precision that the run needs."""
        return precision(self.config)

    def steps(self) -> list[int]:
        """The steps of the existing checkpoints, in order."""
        return self.checkpoints.steps()

    def save(self, checkpoint: Checkpoint, progress: Progress) -> None:
        """Write a checkpoint, then remove those that are no longer needed."""
        self.checkpoints.save(checkpoint, progress)

    def with_artefacts(self, more: Mapping[str, Any]) -> Self:
        """The same run that also keeps what was made after training; see `after_training`."""
        kept = self.artefacts | dict(more)
        artefacts, _ = write_model(self.path, self.sizes, kept, self.manifest)
        return dataclasses.replace(self, artefacts=artefacts)

    def go_on(self) -> None:
        """Record the new number of steps, and clean up after a killed process."""
        if Config.from_json(read_object(self.path / "config.json")) != self.config:
            write_whole(self.path / "config.json", str(self.config).encode())
        for folder in (self.path, self.checkpoints.folder):
            remove_leftovers(folder)

    def check_log(self) -> None:
        """Refuse to add to the log of another run, or to what is no file."""
        check_appendable(self.path / LOG)
        for event in self.events():
            if event.get("run", self.name) != self.name:
                raise BadInput(f"{self.path / 'events.jsonl'} is from another run; restore its own")

    def events(self) -> list[Event]:
        """The events of the log; see `read_events`."""
        return read_events(self.path)

    def note(self, event: Mapping[str, Any]) -> None:
        """Append an event to the log."""
        add_event(self.path, event)


def _kept(path: Path, config: Config, task: Task, given: list[str]) -> tuple[str | None, list[str]]:
    """The file of the data of a given task, if it needs one, and what must be given again."""
    rest = [name for name in given if name != "task"]
    if config.training.seed == task.seed and settings_say_it_all(task):
        return None, rest
    try:
        keep_data(path, task)
    except CannotKeep as error:
        warnings.warn(
            f"the data of the task are not kept in {path}, because {error}: pass the task again "
            "to evaluate or to resume",
            RuntimeWarning,
            stacklevel=4,
        )
        return None, given
    return NAME, rest


def check_free(path: Path) -> None:
    """Refuse a folder for a new run unless it is empty, except for what a killed start left."""
    if is_unused(path, "model.json", NAME):
        return
    what = "is already a run; continue with --resume" if is_run(path) else "is not an empty folder"
    raise BadInput(f"{path} {what}, or choose another --run")


def is_run(path: Path) -> bool:
    return (path / "config.json").is_file()


def checked_run(run: RunFolder) -> RunFolder:
    """The run that a function of the library is given; raises for a path, or anything else."""
    return checked_kind("run", run, RunFolder, "a run, as open_run or train returns it")


def check_own(task: Task | None, network: Model | None) -> None:
    """Refuse a given task or network that is of another class."""
    for name, own, kind in (("task", task, Task), ("network", network, Model)):
        if own is not None:
            checked_kind(name, own, kind, f"a {kind.__name__}")
