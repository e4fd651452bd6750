"""The contract of a task: batches, a loss, metrics and baselines, all from one seed.

The batches have a contract of their own, `Batches`, of which a task is one kind. What only some
tasks can do are classes of their own, too: see `abilities` for them and `Task.ability` for how a
task is asked.
"""

import contextlib
import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, Self, TypeVar

import jax

from ..cells import Model
from ..constructors import from_arguments, signature
from ..errors import BadInput
from ..settings import NoSettings, options
from .batches import Batches
from .checks import checked_seed
from .framing import Framing
from .interface import Interface
from .losses import Loss
from .metrics import Metric

Able = TypeVar("Able", bound="Ability")
Artefacts = Mapping[str, Any] | None  # what a trained model keeps of its task, if there is one


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


class Task(Batches):
    """Something to learn.

    A task of your own needs `name`, `inputs`, `outputs`, `loss`, `metrics`, `chance`, `length`,
    `batch` and `held_out`; a `framing` has loss, metrics and chance together.
    `ostinato.testing.check_task` tests it. Everything else has a default.

    Attributes:
        inputs: size of an input vector, or the number of input symbols.
        symbolic: whether inputs are symbols.
        outputs: size of the network's output.
        framing: what is asked, with the three that follow; see `framing`.
        loss: what training minimises; see `losses`.
        metrics: what evaluations report; the first one chooses the best checkpoint. See `metrics`.
        chance: the first metric of the best answer that ignores the input.
        solved: the first metric at which the task counts as solved, or `None`.
        lag: the least number of steps back that an answer depends on; `None` if unknown.
        predicts_next: whether the targets are later inputs, which a network must not see.
        readout_bias: whether readouts have a bias, unless the cell says otherwise.
        single_answer: whether at most one step of each sequence counts.
        classes: what each output stands for, if an answer is one of them; see `confusion`.
        model: the kind of model that the task needs and its numbers, as JSON; `None` for a plain
            `Network`. See `runs/network/models.py`.
        recipe: settings of a network and a learner that learn the task, by name. A configuration
            takes them where it names no cell, and its own before them.
        recipe_from_data: whether `recipe_of_data` may say more than `recipe`.
        drawn_settings: the settings that only data have that are drawn here, not read from a file.
        Settings: a dataclass of the settings that a configuration can change; see
            `ostinato.settings`. The constructor takes them by name.
        settings: an instance of `Settings`.
        arguments: those with which it was made, so that a run can keep them; `None` if its settings
            say it all.
    """

    Settings: ClassVar[type] = NoSettings
    inputs: int
    symbolic: bool = False
    outputs: int
    framing: Framing
    solved: float | None = None
    predicts_next: bool = False
    single_answer: bool = False
    readout_bias: bool = True
    classes: tuple[str, ...] | None = None
    model: Mapping[str, Any] | None = None
    recipe: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    recipe_from_data: ClassVar[bool] = False
    drawn_settings: ClassVar[tuple[str, ...]] = ()
    settings: Any
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
        """Show the settings in the signature of the constructor."""
        super().__init_subclass__(**more)
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

    def recipe_of_data(self) -> Mapping[str, Any]:
        """Settings that suit the amount and kind of the data that were read, by name.

        A configuration takes them where it leaves both network and training to their defaults.
        """
        return {}

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

    # What only some tasks can do

    def ability(self, kind: type[Able]) -> Able | None:
        """The task as one that has an ability, a class of `abilities`; `None` if it has not.

        Example:
            >>> from ostinato.tasks import AnsweringTask, PassageTask, Text
            >>> task = Text.of("text of some length " * 20)
            >>> task.ability(PassageTask) is task, task.ability(AnsweringTask) is None
            (True, True)
        """
        return self if isinstance(self, kind) else None

    @classmethod
    def able(cls, kind: "type[Able]") -> "type[Able]":
        """The class as one of tasks that have an ability; raises if they have not."""
        if issubclass(cls, kind):
            return cls
        raise BadInput(kind.lacking.format(cls.name))

    # What a trained network needs and gives

    @classmethod
    def verb(cls, artefacts: Mapping[str, Any]) -> str:
        """The method of `Run` by which a run of the task is used, by its name.

        Args:
            artefacts: those of the run.
        """
        return "evaluate"

    @classmethod
    def interface(cls, settings: Any, artefacts: Mapping[str, Any]) -> Interface:
        """What inputs and outputs of a trained network mean, for streams and programs elsewhere.

        Args:
            settings, artefacts: those of the run.
        """
        return Interface("raw", {"task": cls.name})

    def after_training(self, best: Callable[[], Model]) -> dict[str, Any]:
        """Artefacts that need the trained network, such as a calibration of its intervals.

        They are made on the validation part, whenever training ends, and are added to the others.

        Args:
            best: gives the network of the best checkpoint.
        """
        return {}

    def recall(self, artefacts: Mapping[str, Any]) -> None:
        """Use again what `after_training` made.

        Args:
            artefacts: all of a run of the task.
        """

    def scores(self, network: Model, part: str) -> dict[str, Any]:
        """What takes more than one run over the batches, such as BLEU of what a network writes."""
        return {}

    # What is shown and kept

    def baselines(self) -> dict[str, float]:
        """The first metric of simple predictors on the validation part, by name."""
        return {"chance": self.chance, **self.yardsticks("valid")}

    def yardsticks(self, part: str) -> dict[str, float]:
        """The first metric of naive forecasts on `"valid"` or `"test"`, by name.

        They are shown beside an evaluation of that part, and are among the `baselines`.
        """
        return {}

    def preview(self, network: Model, key: jax.Array) -> str | None:
        """A few lines that show what a network has learned, for example text that it generates.

        A longer run calls it once in a thread, so that it is compiled before the first validation.
        """
        return None

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


class Ability(Task):
    """What only some tasks can do; each subclass of it, in `abilities`, is an ability.

    Attributes:
        lacking: what a task without the ability, `{}`, is refused with.
    """

    lacking: ClassVar[str]
