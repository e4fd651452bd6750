"""The contract of a task: batches, a loss, metrics and baselines, all from one seed.

What only some tasks can do are classes of their own: give a text, answer new input. A task that can
is a subclass of the ability. Whoever needs one asks the task, `task.text()` or `kind.answering()`,
and gets the task itself as one that can, `None`, or one line that says that it cannot. A series
that forecasts is asked for by `task.forecasting()`; see `series/series.py`.
"""

import abc
import contextlib
import functools
import hashlib
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import jax
import numpy as np

from ..cells import Model
from ..constructors import from_arguments, signature
from ..data import Batch, Vocabulary
from ..errors import BadInput
from ..names import METRIC_NAME
from ..settings import (
    NoSettings,
    checked_int,
    checked_kind,
    options,
    shown,
)
from .applying import WITHOUT, ApplyOptions
from .framing import Framing
from .interface import Interface
from .losses import Loss
from .metrics import Metric
from .pictures import Picture, Plot

if TYPE_CHECKING:
    from .series.series import Series
    from .text.passages import Passage

Artefacts = Mapping[str, Any] | None  # what a trained model keeps of its task, if there is one
Own = Callable[[int], slice]  # from the number of sequences of a batch to those that are wanted

MAX_SEED = 2**32 - 1
EVALUATED_TOGETHER = 64


class TaskSizes(Protocol):
    """What a network must know about its task: a `Task` has it, and so has what a run keeps of one.

    For what each of them is see `Task`.
    """

    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> int: ...
    @property
    def outputs(self) -> int: ...
    @property
    def symbolic(self) -> bool: ...
    @property
    def readout_bias(self) -> bool: ...
    @property
    def predicts_next(self) -> bool: ...
    @property
    def model(self) -> Mapping[str, Any] | None: ...


class Task(abc.ABC):
    """Something to learn.

    A batch is a function of the task's seed and the batch's number alone, so a resumed run sees
    the same batches without keeping a position in the data.

    A task of your own needs `name`, `inputs`, `outputs`, `loss`, `metrics`, `chance`, `length`,
    `batch` and `held_out`; a `framing` has loss, metrics and chance together.
    `ostinato.testing.check_task` tests it. Everything else has a default.

    Attributes:
        name: its name on the command line.
        inputs: size of an input vector, or the number of input symbols.
        symbolic: whether inputs are symbols.
        outputs: size of the network's output.
        framing: what is asked, with the three that follow; see `framing`.
        loss: what training minimises; see `losses`.
        metrics: what evaluations report; the first one chooses the best checkpoint. See `metrics`.
        chance: the first metric of the best answer that ignores the input.
        solved: the first metric at which the task counts as solved, or `None`.
        length: the number of steps per sequence.
        lag: the least number of steps back that an answer depends on; `None` if unknown.
        unit: what a batch has many of, for messages.
        held_out_together: how many generated held-out sequences are in memory at once.
        predicts_next: whether the targets are later inputs, which a network must not see.
        readout_bias: whether readouts have a bias, unless the cell says otherwise.
        pictured: what `pictures` show, as the heading of a report.
        classes: what each output stands for, if an answer is one of them; see `confusion`.
        model: the kind of model that the task needs and its numbers, as JSON; `None` for a plain
            `Network`. See `runs/network/models.py`.
        recipe: settings of a network and a learner that learn the task, by name. A configuration
            takes them where it names no cell, and its own before them.
        drawn_settings: the settings that only data have that are drawn here, not read from a file.
        notes: what was done to the data, a sentence each: rows sorted, gaps masked. A run says them
            at its start and keeps them in its log.
        Settings: a dataclass of the settings that a configuration can change; see
            `ostinato.settings`. The constructor takes them by name.
        settings: an instance of `Settings`.
        seed: random seed of all batches.
        arguments: those with which it was made, so that a run can keep them; `None` if its settings
            say it all.
    """

    Settings: ClassVar[type] = NoSettings
    name: str
    inputs: int
    symbolic: bool = False
    outputs: int
    framing: Framing
    solved: float | None = None
    length: int
    unit: ClassVar[str] = "sequences"
    held_out_together: int = 0
    predicts_next: bool = False
    readout_bias: bool = True
    pictured: str = "Where the network looks"
    classes: tuple[str, ...] | None = None
    model: Mapping[str, Any] | None = None
    recipe: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    drawn_settings: ClassVar[tuple[str, ...]] = ()
    notes: tuple[str, ...] = ()
    settings: Any
    seed: int
    arguments: tuple[tuple[Any, ...], dict[str, Any]] | None

    def __new__(cls, *given: Any, **named: Any) -> Self:
        task = super().__new__(cls)
        task.arguments = given, named
        return task

    def __init__(self, *, seed: int = 0, settings: Any = None, **given: Any) -> None:
        """
        Args:
            seed: random seed of all batches.
            settings: an instance of `Settings`, in place of settings by name.
            given: settings by name; see `Settings`.
        """
        self.seed = checked_seed(seed)
        self.settings = from_arguments(self.Settings, given, settings)

    def __init_subclass__(cls, **more: Any) -> None:
        """Check the arguments of `batch`; show the settings in the signature of the constructor."""
        super().__init_subclass__(**more)
        if "batch" in vars(cls) and "batch_of" not in vars(cls):  # whose batches are others
            cls.batch_of = Task.batch_of  # type: ignore[method-assign]
        for name, check in (("batch", _checked_batch), ("held_out", _checked_held_out)):
            if name in vars(cls):
                setattr(cls, name, check(vars(cls)[name]))
        with contextlib.suppress(BadInput, NameError, TypeError):  # whoever makes one is told
            cls.__signature__ = signature(cls.__init__, cls.Settings, Task.__init__)  # type: ignore[attr-defined]

    @classmethod
    def from_settings(cls, settings: Any, seed: int, artefacts: Artefacts = None) -> Self:
        """Build the task of a configuration.

        Args:
            settings: an instance of `Settings`; the constructor gets every setting that is not
                `None` as an option.
            seed: random seed of all batches.
            artefacts: what a trained model keeps of its task; see `artefacts`.
        """
        return cls(seed=seed, **options(settings))

    @functools.cached_property
    def loss(self) -> Loss:
        return self.framing.loss

    @functools.cached_property
    def metrics(self) -> tuple[Metric, ...]:
        return self.framing.metrics

    @functools.cached_property
    def chance(self) -> float:
        return self.framing.chance

    @property
    def metric(self) -> Metric:
        """The first of the metrics."""
        return self.metrics[0]

    @property
    def lag(self) -> int | None:
        return None

    # Data

    @property
    def source(self) -> str:
        """The data in words, with a verb, for messages: `fox.txt is`."""
        return f"the data of {self.name} are"

    @abc.abstractmethod
    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        """Training batch number `index`, of `size` sequences; `length` overrides the task's."""

    def batch_of(
        self, own: Own, index: int, size: int, length: int | None = None
    ) -> tuple[Batch, int]:
        """The same sequences as in `batch`, but only some, and the size of the whole batch.

        A process that shares batches with others asks for those of its devices. By default the
        batch is made and the others are dropped; a task that can make some alone does so.

        Args:
            own: from the number of sequences of the batch to those that are asked for.
            index, size, length: see `batch`.
        """
        batch = self.batch(index, size, length)
        every = range(batch.sequences)
        some = own(len(every))
        return batch if every[some] == every else batch.take(some), batch.size

    @abc.abstractmethod
    def held_out(self, part: str, size: int) -> Iterator[Batch]:
        """The batches of `"valid"` or `"test"`, always the same, of up to `size` sequences each."""

    def evaluated(self, part: str) -> Iterator[Batch]:
        """The batches on which a trained network is evaluated."""
        return self.held_out(part, EVALUATED_TOGETHER)

    def text(self) -> "TextTask | None":
        """The task as one on a text, with its vocabulary and its symbols; else `None`."""
        return None

    def forecasting(self) -> "Series | None":
        """The task as one that forecasts a series, which a network can continue; else `None`."""
        return None

    def passage(self, part: str) -> "Passage":
        """A part of a text to look at from inside, `"train"`, `"valid"` or `"test"`."""
        raise BadInput(f"the task {self.name} reads no text to look at")

    @classmethod
    def passage_of(cls, text: str, network: Model, how: ApplyOptions) -> "Passage":
        """The same for a text that somebody typed.

        Args:
            text: one or more lines.
            network: the trained network.
            how: what the run keeps of its task.
        """
        raise BadInput(f"the task {cls.name} reads no text to look at")

    def batch_shape(self, size: int) -> tuple[int, int]:
        """Steps and sequences of the largest batch."""
        return self.length, size

    def epochs(self, batches: int, size: int, length: int | None = None) -> float | None:
        """The number of epochs in so many batches; `None` if the training data are unlimited."""
        return None

    def training_steps(self) -> int | None:
        """How many steps of a text or series there are to learn; `None` for other tasks."""
        return None

    @classmethod
    def on_file(cls, path: Path, settings: Any, artefacts: dict[str, Any]) -> "Task":
        """The same task on other data, all of it held out as `"valid"` and `"test"`.

        Args:
            path: the file.
            settings, artefacts: those of the run; its own data need not exist any more.
        """
        raise BadInput(f"the task {cls.name} reads no files, got {path}")

    @classmethod
    def verb(cls, artefacts: Mapping[str, Any]) -> str:
        """The method of `Run` by which a run of the task is used, by its name.

        Args:
            artefacts: those of the run.
        """
        return "evaluate"

    @classmethod
    def answering(cls) -> "type[AnsweringTask]":
        """The task as one whose trained network answers new input; raises if it does not."""
        raise BadInput(f"a run of the task {cls.name} cannot be applied to new input")

    @classmethod
    def interface(cls, settings: Any, artefacts: Mapping[str, Any]) -> Interface:
        """What inputs and outputs of a trained network mean, for streams and programs elsewhere.

        Args:
            settings, artefacts: those of the run.
        """
        return Interface("raw", {"task": cls.name})

    def starting(self, network: Any) -> Any:
        """The network that training begins with, from a new one: with given word vectors, say."""
        return network

    def after_training(self, best: Callable[[], Model]) -> dict[str, Any]:
        """Artefacts that need the trained network, such as a calibration of its intervals.

        They are made on the validation part, whenever training ends, and are added to the others.

        Args:
            best: gives the network of the best checkpoint.
        """
        return {}

    def scores(self, network: Model, part: str) -> dict[str, Any]:
        """What takes more than one run over the batches, such as BLEU of what a network writes."""
        return {}

    # What is shown and kept

    def baselines(self) -> dict[str, float]:
        """The first metric of simple predictors on the validation part, by name."""
        return {"chance": self.chance}

    def yardsticks(self, part: str) -> dict[str, float]:
        """The first metric of naive forecasts on `"valid"` or `"test"`, by name.

        They are shown beside an evaluation of that part; `baselines` should have them too.
        """
        return {}

    def preview(self, network: Model, key: jax.Array) -> str | None:
        """A few lines that show what a network has learned, for example text that it generates.

        A longer run calls it once in a thread, so that it is compiled before the first validation.
        """
        return None

    def pictures(self, network: Model) -> list[Picture]:
        """Where a network looks, or what it draws, in some examples; for the report."""
        return []

    def plots(self, network: Model) -> list[Plot]:
        """What a network makes of some examples, as lines; for the report."""
        return []

    def artefacts(self) -> dict[str, Any]:
        """What a trained network needs to know of the data, as JSON: a vocabulary, a scaling.

        They are saved with the model. `from_settings` gets them back, and must then use them.
        """
        return {}

    @classmethod
    def check_artefacts(cls, artefacts: Mapping[str, Any]) -> tuple[int | None, int | None]:
        """Check the artefacts that a run folder holds; raises `BadInput` for what is wrong.

        Returns:
            The numbers of inputs and outputs that they ask of a network; `None` if they do not.
        """
        return None, None

    def fingerprint(self) -> str:
        """A hash of the data; by default of inputs, targets and weights of two training batches."""
        batches = (self.batch(index, 2)[:3] for index in range(2))
        return hashed([x for batch in batches for x in jax.tree.leaves(batch)])


def _checked_batch(batch: Callable[..., Batch]) -> Callable[..., Batch]:
    """The method `batch`, which refuses a wrong number, and a wrong or too large size."""

    @functools.wraps(batch)
    def checked(self: Task, index: int, size: int, *more: Any, **named: Any) -> Batch:
        if not _is_whole(index) or index < 0:
            raise BadInput(f"batches are numbered from 0, got {shown(index)}")
        checked_count(size, f"{self.unit} of a batch")
        try:
            return batch(self, index, size, *more, **named)
        except MemoryError as error:
            raise BadInput(f"a batch of {size} {self.unit} is too large: {error}") from None

    return checked


def _checked_held_out(held_out: Callable[..., Any]) -> Callable[..., Iterator[Batch]]:
    """The method `held_out`, which must give batches."""

    @functools.wraps(held_out)
    def checked(self: Task, part: str, size: int) -> Iterator[Batch]:
        batches = held_out(self, part, size)
        what = "an iterator over batches"
        return iter(checked_kind(f"held_out of the task {self.name}", batches, Iterable, what))

    return checked


class TextTask(Task):
    """A task on one long text.

    Attributes:
        vocabulary: the characters or bytes that its symbols stand for.
    """

    vocabulary: Vocabulary

    @abc.abstractmethod
    def stream(self, part: str) -> np.ndarray:
        """The symbols `(T,)` of `"train"`, `"valid"` or `"test"`."""

    def text(self) -> Self:
        return self

    @classmethod
    def verb(cls, artefacts: Mapping[str, Any]) -> str:
        return "sample"


class AnsweringTask(Task):
    """A task whose trained network answers new input: `ostinato apply`.

    Attributes:
        apply_options: the options of `apply` that it has a use for; see `ApplyOptions`.
        save_as: the end of the names of files in which answers are saved, if they can be.
    """

    apply_options: ClassVar[tuple[str, ...]] = ()
    save_as: ClassVar[str] = ""

    @classmethod
    def answering(cls) -> type[Self]:
        return cls

    @classmethod
    def verb(cls, artefacts: Mapping[str, Any]) -> str:
        return "apply"

    @classmethod
    def check_options(cls, asked: Mapping[str, Any]) -> None:
        """Refuse an option of `apply` that the task, or another option, has no use for."""
        for name in asked:
            if name not in cls.apply_options:
                having = ", ".join(f"--{x.replace('_', '-')}" for x in cls.apply_options)
                raise BadInput(
                    f"--{name.replace('_', '-')} means nothing for a run of the task {cls.name}; "
                    f"it takes {having or 'no such option'}"
                )
        for name, useless in WITHOUT.items():
            for other in useless:
                if name in asked and other in asked:
                    raise BadInput(f"--{other.replace('_', '-')} means nothing with --{name}")
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


def check_declared(task: Task) -> None:
    """Refuse a task that lacks what its contract asks of it, in one line."""
    who = type(task).__name__
    for name in ("name", "inputs", "outputs", "length", "loss", "metrics", "chance"):
        try:
            getattr(task, name)
        except AttributeError as error:
            raise BadInput(f"the task {who} does not say its {name}: {error}") from None
    for name in ("inputs", "outputs"):
        checked_int(f"{name} of the task {who}", getattr(task, name))
    if not checked_kind(f"metrics of the task {who}", task.metrics, tuple, "a tuple"):
        raise BadInput(f"metrics of the task {who} must have at least one metric")
    for metric in task.metrics:
        checked_kind(f"each of metrics of the task {who}", metric, Metric, "a Metric")
        if not re.match(METRIC_NAME, metric.name):
            raise BadInput(
                f"a metric's name has 1 to 100 characters and none of <>&\"`, because a log keeps "
                f"it; the task {who} has {shown(metric.name)}"
            )
    try:
        float(task.chance)
    except (TypeError, ValueError):
        what = shown(task.chance)
        raise BadInput(f"chance of the task {who} must be a number, got {what}") from None


def hashed(arrays: list[Any]) -> str:
    """The SHA-256 of some arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def checked_seed(seed: int) -> int:
    """The seed; raises unless it is from 0 to 2³² - 1, the range of a JAX random key."""
    if not _is_whole(seed) or not 0 <= seed <= MAX_SEED:
        raise BadInput(f"a seed is a whole number from 0 to {MAX_SEED}, got {seed!r}")
    return int(seed)


def _is_whole(number: Any) -> bool:
    try:
        operator.index(number)
    except TypeError:
        return False
    return not isinstance(number, bool)


def checked_count(count: int, what: str = "steps of a sequence") -> int:
    """A number of steps or sequences; raises unless it is whole and at least 1."""
    if not _is_whole(count) or count < 1:
        raise BadInput(f"the {what} must be a whole number of at least 1, got {shown(count)}")
    return int(count)


def checked_length(
    task: Task,
    length: int | None,
    min_length: int = 1,
    max_length: int | None = None,
    why: str = "",
) -> int:
    """A number of steps, by default the task's, which must be from `min_length` to `max_length`.

    Args:
        task: named in the message.
        length: the steps asked for.
        min_length, max_length: those that the task allows.
        why: the reason, for the message, if there is but one length.
    """
    length = task.length if length is None else checked_count(length)
    if min_length <= length and (max_length is None or length <= max_length):
        return length
    allowed = f"takes a length of at least {min_length} steps"
    if max_length is not None:
        allowed = f"takes a length of {min_length} to {max_length} steps"
    if min_length == max_length:
        allowed = f"has a length of {max_length} steps{why}"
    raise BadInput(f"the task {task.name} {allowed}, got {length}")


def checked_part(part: str) -> str:
    """The name of a held-out part; raises for any other."""
    if not isinstance(part, str) or part not in ("valid", "test"):
        raise BadInput(f"the part must be valid or test, got {part!r:.40}")
    return part


def random(seed: int, *place: int) -> np.random.Generator:
    """A random generator from a seed and a position, for example `random(seed, TRAIN, index)`."""
    return np.random.default_rng([seed, *place])
