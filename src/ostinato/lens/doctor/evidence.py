"""What the doctor knows: plain numbers about a run, its data and its network."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any


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
    """

    goal: Goal
    settings: dict[str, Any]
    history: History
    data: Data
    network: Network | None
    first_order: bool = True
    remedy: str | None = None

    @property
    def weights(self) -> str:
        """The weights that were measured, in words, to follow a number about them."""
        return "" if self.network is None else f" (weights of step {self.network.step})"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> "Evidence":
        parts = {"goal": Goal, "history": History, "data": Data, "network": Network}
        return cls(
            **{
                part.name: parts[part.name](**found[part.name])
                if part.name in parts and found[part.name] is not None
                else found[part.name]
                for part in fields(cls)
                if part.name in found
            }
        )
