"""Build the task, the network and the learner that a configuration describes."""

import contextlib
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..data.scaling import DTYPE
from ..data.splits import PARTS
from ..errors import BadInput
from ..learning import Hybrid, LayerWise, Learner, Objective, RunSize
from ..learning.objective import AXIS
from ..settings import settings_of
from ..tasks import TASKS, Task
from ..tasks.task import TaskSizes
from ..wiring import Network
from .config import Config
from .config.refusals import HERE, RUN, refuse
from .network.budget import Units, units_of
from .network.models import make_network
from .network.vocabulary import vocabularies

if TYPE_CHECKING:
    import optax


def build_task(config: Config, artefacts: Mapping[str, Any] | None = None) -> Task:
    """The task of a configuration, with the artefacts of a trained model if given."""
    kind, settings = config.task.kind, config.task.settings
    task: Task = kind.from_settings(settings, config.training.seed, artefacts)
    task.arguments = None  # the settings say it all, and this may hold the data a second time
    return task


def recipe_is_open(config: Config) -> bool:
    """Whether the network and the training of a configuration may depend on the data."""
    return config.task.kind.recipe_from_data and config.leaves_recipe_open


def in_precision(task: Task) -> Task:
    """A given task as the run's precision makes it.

    A task scales its data to float32 where it is made, which is before a run of float64 begins. Its
    folder makes it again from the kept arguments, in float64, and must find the same data.
    """
    ours = task.name in TASKS and TASKS[task.name] is type(task)
    if DTYPE.get() is np.float32 or not ours or task.arguments is None:
        return task
    given, named = task.arguments
    return type(task)(*given, **named)


def config_of(config: Config, task: Task) -> Config | None:
    """The configuration with the name and the settings of a given task; `None` if it is not ours.

    Example:
        >>> config_of(Config(units=8), Adding(length=30)).non_default()
        {'task': 'adding', 'length': 30, 'units': 8}
    """
    if task.name not in TASKS or TASKS[task.name] is not type(task):
        return None
    return config.replace(task=task.name, **settings_in_words(task.settings))


def settings_in_words(settings: Any) -> dict[str, Any]:
    """Settings as a configuration has them: what a constructor may be given instead becomes text.

    Example:
        >>> chosen = Series(np.arange(99.0), split=(0.8, 0.1, 0.1), quantiles=(0.1, 0.9)).settings
        >>> words = settings_in_words(chosen)
        >>> words["split"], words["quantiles"]
        ('80/10/10', '0.1,0.9')
    """
    known, values = settings_of(type(settings)), dict[str, Any]()
    for name, setting in known.items():
        value = values[name] = getattr(settings, name)
        if setting.read is None or value is None or type(value) is str:
            continue
        if isinstance(value, Mapping):  # the numbers of the sequences of each part
            counts = np.array([len(value.get(part, ())) for part in PARTS])
            value = counts / counts.sum()
        values[name] = ",".join(value) if setting.write is None else setting.write(value)
    return values


def build_network(config: Config, task: TaskSizes, units: Units | None = None) -> Network:
    """A new network for a task, initialised from the configuration's seed.

    If `units` is given, it replaces the number of units in the configuration.
    """
    units = units or units_of(config, task)
    key = jax.random.key(config.training.seed)
    return make_network(config, task, units, key)


def build_learner(
    config: Config,
    task: Task,
    given: "optax.GradientTransformation | None" = None,
    *,
    here: bool = True,
) -> Learner:
    """The configuration's learner for a task, or one made from a given optax transformation.

    It may be for devices that are not `here`.
    """
    if here:
        refuse(HERE, config, task)
    refuse(RUN, config, task)
    exact = config.learner.kind.exact and given is None
    shared = config.training.devices > 1
    by_symbol, backend = shared and config.training.shard_vocabulary, config.training.backend
    objective = Objective(
        task.loss,
        "bfloat16" if config.training.precision == "bfloat16" else None,
        config.training.memory,
        "scan" if by_symbol else None if backend == "auto" else backend,
        # The training loop detects a NaN; a learner with exact products would mistake it for a step
        # that is too long.
        on_failure="scan" if exact else "nan",
        axis=AXIS if shared and not by_symbol else None,
        by_symbol=by_symbol and task.outputs in vocabularies(task),
    )
    if given is not None:
        from ..learning import Transformation  # late, because it imports optax

        return Transformation(given, objective)
    alone = config.training.layer_wise
    units = units_of(config, task)
    widest = units if isinstance(units, int) else max(units)
    share = task.epochs(1, config.batch_size)
    size = RunSize(
        steps_of(config, task),
        config.batch_size,
        widest,
        epoch=1 / share if share else None,
        devices=config.training.devices,
        single_answer=task.single_answer,
    )
    if alone is not None:
        # What comes after the layers; at least a step, because a schedule needs one.
        left = max(1, size.steps - alone * config.network.layers)
        return LayerWise(
            config.learner.make_learner(objective, size._replace(steps=alone)),
            config.learner.make_learner(objective, size._replace(steps=left)),
            alone,
        )
    learner = config.learner.make_learner(objective, size)
    if config.first is None:
        return learner
    first = config.first.make_learner(objective, size)
    return Hybrid(first, learner, config.first_steps, config.turns)


def steps_of(config: Config, task: Task) -> int:
    """The steps of a run: as configured, or fewer if the learner needs only so many epochs."""
    steps, asked, wanted = config.training.steps, config.epochs, config.learner.kind.epochs
    share = None if asked is wanted is None else task.epochs(1, config.batch_size)
    if asked is not None and share:
        steps = _steps_in(asked, share)
    return steps if wanted is None or not share else min(steps, _steps_in(wanted, share))


def _steps_in(epochs: float, share: float) -> int:
    """The steps of so many epochs, if each is this share of one."""
    return math.ceil(epochs / share - 1e-9)


def check_counts(config: Config, task: Task) -> None:
    """Refuse a run in whose steps no target counts, because all of it is washout."""
    steps, size = steps_of(config, task), config.batch_size
    batches = (task.batch(n, size) for n in range(steps))
    if not any(np.any(batch.counted) for batch in batches):
        what = f"{steps} batches" if steps > 1 else "a single batch"
        raise BadInput(
            f"nothing would be learned: no target counts in {what} of {task.batch(0, size).steps} "
            "steps; give more --steps, or a shorter --washout"
        )


@contextlib.contextmanager
def precision(config: Config) -> Iterator[None]:
    """A context in which a run's numbers have the precision that it needs.

    Some devices round the operands of float32 products by default. A learner that needs exact ones
    does without: conjugate gradient breaks down with rounded products, and so do the networks it
    finds, whose states can be very sensitive to their past.
    """
    name = config.learner.kind.precision or config.training.precision
    double = name == "float64"
    before = DTYPE.set(np.float64 if double else np.float32)
    try:
        with (
            jax.enable_x64(double or jax.config.read("jax_enable_x64")),
            jax.default_matmul_precision("highest" if config.learner.kind.exact else None),
        ):
            yield
    finally:
        DTYPE.reset(before)
