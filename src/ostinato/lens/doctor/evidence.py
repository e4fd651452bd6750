"""What the doctor knows: plain numbers about a run, its data and its network; its findings."""

import shlex
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import jax
import msgspec
import numpy as np

from ...data import Batch
from ...tasks import Task

SYMBOLS_READ = 200_000


@dataclass(frozen=True)
class Goal:
    """What is learned.

    Attributes:
        metric: name of the metric, for example "bits per character".
        chance: its value for the best answer that ignores the input.
        higher_is_better: whether a higher metric is better.
        solved: the value at which the task counts as solved, or `None`.
        lag: the smallest number of steps back that an output depends on, or `None` if unknown.
        baselines: validation metric of simple models by name; for a text "bigram" and "order 5".
        loss_factor: metric = loss_factor × training loss; `None` if they measure different things.
    """

    metric: str
    chance: float
    higher_is_better: bool
    solved: float | None
    lag: int | None
    baselines: dict[str, float] = field(default_factory=dict)
    loss_factor: float | None = None

    def gain(self, value: float) -> float:
        """Improvement over chance: 0 at chance, 1 at the best possible value, negative if worse.

        Example:
            >>> Goal("bits per character", 4.0, False, None, None).gain(1.0)
            0.75
        """
        if self.higher_is_better:
            return (value - self.chance) / (1 - self.chance)
        return (self.chance - value) / self.chance


@dataclass(frozen=True)
class History:
    """The course of a run, one number per log entry, the oldest first.

    Attributes:
        steps: completed steps.
        losses: mean training loss since the previous entry.
        norms, largest: mean and largest gradient norm since the previous entry.
        rates: learning rate.
        clipped: fraction of steps whose gradient was clipped.
        moved, farthest: mean and largest `‖Δw‖ / ‖w‖` of a step.
        validations: pairs of step and metric.
        trouble: why the run was stopped, or `None`.
    """

    steps: list[int]
    losses: list[float]
    norms: list[float]
    largest: list[float]
    rates: list[float]
    clipped: list[float]
    moved: list[float]
    farthest: list[float]
    validations: list[tuple[int, float]]
    trouble: str | None


@dataclass(frozen=True)
class Data:
    """Two consecutive batches, and how they are related.

    Fractions are of the positions where the loss counts; they are `None` where they make no sense,
    for example if targets are not of the same kind as inputs.

    Attributes:
        shape: steps and sequences of a batch.
        asked: the shape that was asked for.
        same, next, previous: fractions of targets that equal the input of the same, the next or
            the previous step.
        beside: fraction of targets that equal the input of the next sequence at the same step.
        across: whether the loss counts at all steps of some sequences and at none of the others.
        carried: whether the state at the end of a batch is carried into the next one.
        goes_on: fraction of the sequences that the next batch continues, if targets are the next
            input.
        symbols: number of input symbols that the network knows, or `None` for vectors.
        answers: number of output classes, or `None` if outputs are not classes.
        largest_symbol, largest_answer: the largest in the batch.
        parts_differ: total variation distance between the symbol frequencies of the training and
            the validation part: 0 if they are equal, 1 if disjoint.
        training: steps of the training part with a target, of a text or series.
        parameters: that are trained.
        epochs: how often all steps of the run read the training part.
        validated: whether anything in the validation part counts.
    """

    shape: tuple[int, int]
    asked: tuple[int, int]
    same: float | None
    next: float | None
    previous: float | None
    beside: float | None
    across: bool
    carried: bool
    goes_on: float | None
    symbols: int | None
    answers: int | None
    largest_symbol: int | None
    largest_answer: int | None
    parts_differ: float | None
    training: int | None = None
    parameters: int | None = None
    epochs: float | None = None
    validated: bool = True


@dataclass(frozen=True)
class Forecasts:
    """The forecasts of the validation part by the best checkpoint.

    Attributes:
        naive: the metric of naive forecasts, by name.
        intended: the share that the intervals should cover, or `None` without intervals.
        covered: the share that they do cover.
        apart: how many of the forecasts do not overlap, so that each says something of its own.
    """

    naive: dict[str, float]
    intended: float | None = None
    covered: float | None = None
    apart: int = 0


@dataclass(frozen=True)
class Network:
    """The network of the last checkpoint, from which training would go on.

    Attributes:
        step: the step of that checkpoint.
        score: the metric on training batches.
        gradient: for each cell, the norm of the error at its state by lag, starting at lag 0.
        memory: the largest lag from which replacing inputs changes an output by at least 1 % of
            the change from replacing all of them, or `None` if nothing changes it.
        gates: by name, for each σ, tanh or ReLU of a step: its `kind`, and the fractions `high`,
            `low`, `always_high` and `always_low`, as in `lens.saturation`.
    """

    step: int
    score: float
    gradient: dict[str, list[float]]
    memory: int | None
    gates: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Evidence:
    """Everything that the doctor knows.

    Attributes:
        settings: the run's settings that are not defaults.
        network: `None` if there is no checkpoint.
        first_order: whether the learner follows the gradient, without curvature.
        remedy: what a learner that fits once, such as rls, advises against memorising; neither
            dropout nor patience helps it.
        forecasts: of a task that forecasts, if there is a checkpoint.
    """

    goal: Goal
    settings: dict[str, Any]
    history: History
    data: Data
    network: Network | None
    first_order: bool = True
    remedy: str | None = None
    forecasts: Forecasts | None = None

    @property
    def weights(self) -> str:
        """The weights that were measured, in words, to follow a number about them."""
        return "" if self.network is None else f" (weights of step {self.network.step})"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, numbers: dict[str, Any]) -> "Evidence":
        return msgspec.convert(numbers, cls)


def look_at_batches(
    task: Task,
    one: Batch,
    two: Batch,
    size: int,
    parameters: int | None = None,
    epochs: float | None = None,
) -> Data:
    """The facts about a task's batches that the doctor needs.

    Args:
        task: the task.
        one, two: two consecutive training batches.
        size: the number of sequences that was asked for.
        parameters, epochs: of the run; see `Data`.

    Example:
        >>> text = run.task()
        >>> look_at_batches(text, text.batch(0, 4), text.batch(1, 4), 4).next
        1.0
    """
    # Of inputs that are several arrays, only the first is looked at, and only its shape.
    several = isinstance(one.inputs, tuple | list | dict)
    xs = np.asarray(jax.tree.leaves(one.inputs)[0])
    targets, counts = np.asarray(one.targets), np.asarray(one.weights) > 0
    alike = not several and xs.shape == targets.shape and xs.dtype.kind == targets.dtype.kind
    shifted = _share(targets[:-1], xs[1:], counts[:-1]) if alike else None
    goes_on = None
    if shifted is not None and shifted > 0.95 and np.shape(two.inputs)[1:] == xs.shape[1:]:
        goes_on = _share(targets[-1], np.asarray(two.inputs)[0], counts[-1])
    symbolic = not several and xs.dtype.kind in "iu"
    answering = task.loss.of_classes
    return Data(
        shape=counts.shape if len(counts) == len(xs) else xs.shape[:2],  # or transcripts
        asked=(task.length, size),
        same=_share(targets, xs, counts) if alike else None,
        next=shifted,
        previous=_share(targets[1:], xs[:-1], counts[1:]) if alike else None,
        beside=_share(targets[:, :-1], xs[:, 1:], counts[:, :-1]) if alike else None,
        across=bool((counts == counts[0]).all() and counts[0].any() and not counts[0].all()),
        carried=not two.first,
        goes_on=goes_on,
        symbols=task.inputs if symbolic else None,
        answers=task.outputs if answering else None,
        largest_symbol=int(xs.max()) if symbolic else None,
        largest_answer=int(targets[counts].max()) if answering and counts.any() else None,
        parts_differ=_parts_differ(task, size) if symbolic else None,
        training=task.training_steps(),
        parameters=parameters,
        epochs=epochs,
        validated=any(np.any(batch.counted) for batch in task.held_out("valid", size)),
    )


def _share(targets: np.ndarray, xs: np.ndarray, counts: np.ndarray) -> float | None:
    """The fraction of equal pairs where the loss counts."""
    equal = targets == xs
    equal = equal.all(axis=tuple(range(counts.ndim, equal.ndim)))[counts]
    return float(equal.mean()) if equal.size else None


def _parts_differ(task: Task, size: int) -> float | None:
    """`½ Σ |p - q|` of the symbol frequencies in training and in validation."""
    learned = (task.batch(index, size).inputs for index in range(1000))
    validating = (batch.inputs for batch in task.held_out("valid", size))
    shares = [_shares(batches) for batches in (learned, validating)]
    if shares[1].sum() == 0:
        return None
    longest = max(map(len, shares))
    p, q = (np.pad(share, (0, longest - len(share))) for share in shares)
    return float(np.abs(p - q).sum() / 2)


def _shares(batches: Any) -> np.ndarray:
    """The relative frequency of each symbol in the first batches."""
    counts, seen = np.zeros(1), 0
    for xs in batches:
        more = np.bincount(np.ravel(xs), minlength=len(counts))
        counts = np.pad(counts, (0, len(more) - len(counts))) + more
        seen += np.size(xs)
        if seen >= SYMBOLS_READ:
            break
    return counts / max(counts.sum(), 1)


class Finding(NamedTuple):
    """One thing that is wrong.

    Attributes:
        name: name of the fault, for example "rate too high".
        words: what is wrong, in one sentence.
        evidence: the numbers that show it.
        advice: what to try next: a command, or a line of Python.
    """

    name: str
    words: str
    evidence: str
    advice: str


def again(settings: dict[str, Any], **changes: Any) -> str:
    """`ostinato train` with a run's settings and some changes.

    Args:
        settings: the run's settings that are not defaults.
        changes: settings to change; `None` for the default.

    Example:
        >>> again({"task": "adding", "rate": 1.0}, rate=0.01)
        'ostinato train --task adding --rate 0.01'
    """
    words = ["ostinato", "train"]
    now = {name: value for name, value in (settings | changes).items() if value is not None}
    if file := now.pop("file", None):
        words.append(shlex.quote(str(file)))
    for name, value in now.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        else:
            if isinstance(value, list | tuple):
                value = ",".join(map(str, value))
            shown = f"{value:.3g}" if isinstance(value, float) else shlex.quote(str(value))
            words += [f"--{option}", shown]
    return " ".join(words)
