"""The course of a run: what its log says. Neither JAX nor the network is needed."""

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from ..runs.folder.events import E, Event, Opening, of_form, opening

if TYPE_CHECKING:
    from ..tasks import Task


@dataclasses.dataclass(frozen=True)
class Goal:
    """What charts must know of a task: its metric, what counts as solved, and units.

    Attributes:
        metric: its name.
        higher_is_better: of the metric.
        loss_factor: training loss × factor = metric; `None` if they do not compare.
        solved: the metric at which the task counts as solved.
        lag: the lag that the task needs.
        in_nats: whether the loss is in nats.
    """

    metric: str
    higher_is_better: bool
    loss_factor: float | None
    solved: float | None
    lag: float | None
    in_nats: bool

    @classmethod
    def of(cls, task: "Task") -> "Goal":
        metric = task.metric
        return cls(
            metric.name,
            metric.higher_is_better,
            metric.loss_factor,
            task.solved,
            task.lag,
            task.loss.in_nats,
        )

    @classmethod
    def logged(cls, start: Opening) -> "Goal":
        """The same from the first event of a log."""
        return cls(
            start.get("metric", "metric"),
            start.get("higher_is_better", False),
            start.get("loss_factor"),
            start.get("solved"),
            start.get("lag"),
            start.get("in_nats", False),
        )


@dataclasses.dataclass(frozen=True)
class Course:
    """The events of a run, and what is needed to draw them.

    Attributes:
        events: of the log, in order.
        goal: of the task.
        clip: the gradient norm above which steps are clipped, if it is fixed.
    """

    events: list[Event]
    goal: Goal
    clip: float | None

    @property
    def start(self) -> Opening:
        """The first `start` or `resume` event."""
        return opening(self.events)

    @property
    def in_nats(self) -> str:
        """The unit of the training loss and its derivatives, as a suffix for axis titles."""
        return " (nats)" if self.goal.in_nats else ""

    def of_form(self, form: type[E]) -> list[E]:
        return of_form(self.events, form)


def clipped_above(setting: Any) -> float | None:
    """The norm that the setting `clip` fixes; `None` for `auto`, `off` and multiples.

    Example:
        >>> clipped_above("1"), clipped_above("auto"), clipped_above("5x")
        (1.0, None, None)
    """
    try:
        found = float(setting)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def weights_of(step: int) -> str:
    """Which weights something was measured with, in words."""
    return f"with the weights of step {step:,}"
