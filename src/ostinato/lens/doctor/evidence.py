"""What the doctor looks at: plain numbers about a run, its data and its network."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any


@dataclass(frozen=True)
class Goal:
    """What is learned.

    Attributes:
        metric: its name, for example "bits per character".
        chance: its value for the best answer that ignores the input.
        higher_is_better: about the metric.
        solved: the value from which on the task counts as solved, or `None`.
        lag: how many steps back an answer has to look, at least, or `None` where it is not known.
        baselines: by name, what counting reaches in validation; of a text "bigram" and "order 5".
        loss_factor: what makes a training loss the metric, or `None` where nothing does.
    """

    metric: str
    chance: float
    higher_is_better: bool
    solved: float | None
    lag: int | None
    baselines: dict[str, float] = field(default_factory=dict)
    loss_factor: float | None = None

    def gain(self, value: float) -> float:
        """How much better than chance: 0 at chance, 1 at the best there can be, below 0 if worse.

        Example:
            >>> Goal("bits per character", 4.0, False, None, None).gain(1.0)
            0.75
        """
        if self.higher_is_better:
            return (value - self.chance) / (1 - self.chance)
        return (self.chance - value) / self.chance


@dataclass(frozen=True)
class History:
    """The course of a run, one number for each entry of its log, the oldest first.

    Attributes:
        steps: done by then.
        losses: the mean training loss since the entry before.
        norms, largest: the gradient's norm since then, the mean and the largest.
        rates: the learning rate.
        clipped: the share of steps whose gradient was clipped.
        moved, farthest: `‖Δw‖ / ‖w‖` of a step, the mean and the largest.
        validations: pairs of a step and the metric.
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
    """Two consecutive batches, and how they hang together.

    A share is that of the places where the loss counts; it is `None` where it makes no sense, as
    when targets are of another kind than inputs.

    Attributes:
        shape: steps and sequences of a batch.
        asked: the same, as they should be.
        same, next, previous: shares of targets that are the input of this, the next, or the
            previous step.
        beside: share of targets that are the input of the next sequence at the same step.
        across: whether the loss counts at all steps of some sequences and at none of the others.
        carried: whether the state at the end of a batch goes into the next one.
        goes_on: share of the sequences that the next batch goes on with, where targets are the next
            input.
        symbols: how many input symbols the network knows, or `None` for vectors.
        answers: how many answers it can give, or `None` where they are no symbols.
        largest_symbol, largest_answer: the largest that occur.
        parts_differ: how much the shares of the symbols differ between the training and the
            validation part: half the sum of absolute differences, 0 for equal and 1 for disjoint.
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
    """The network as it was last.

    Attributes:
        score: the metric on batches that it has learned from.
        gradient: for each recurrent weight the norm of the error by lag, from 0 on.
        memory: the lag up to which replacing inputs changes an answer by a hundredth or more of
            what replacing all of them does, or `None` where nothing changes it.
        gates: by name, for each σ, tanh or ReLU of a step: its `kind`, and the shares `high`,
            `low`, `always_high` and `always_low`, as in `lens.saturation`.
    """

    score: float
    gradient: dict[str, list[float]]
    memory: int | None
    gates: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Evidence:
    """All that the doctor knows.

    Attributes:
        settings: those of the run that are not the usual ones.
        network: `None` where no weights were kept.
    """

    goal: Goal
    settings: dict[str, Any]
    history: History
    data: Data
    network: Network | None

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
            }
        )
