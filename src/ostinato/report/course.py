"""The course of a run: what its log says. Neither JAX nor the network is needed."""

import dataclasses
import math
from typing import Any

from ..runs.folder.events import E, Event, Goal, Opening, of_form, opening


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
