"""The course of a run: what its log says. Neither JAX nor the network is needed."""

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..runs import Run
    from ..tasks import Task


@dataclasses.dataclass(frozen=True)
class Course:
    """A run, its task, and the events of its log, as `readable` gives them."""

    run: "Run"
    task: "Task"
    events: list[dict]

    @property
    def start(self) -> dict:
        """The first `start` or `resume` event."""
        return next((e for e in self.events if e["kind"] in ("start", "resume")), {})

    @property
    def in_nats(self) -> str:
        """The unit of the training loss and its derivatives, as a suffix for axis titles."""
        return " (nats)" if self.task.loss.in_nats else ""

    def of_kind(self, kind: str) -> list[dict]:
        return [event for event in self.events if event["kind"] == kind]


def weights_of(step: int) -> str:
    """Which weights something was measured with, in words."""
    return f"with the weights of step {step:,}"
