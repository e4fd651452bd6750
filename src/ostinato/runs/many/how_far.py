"""How far many runs are together, from their events."""

from typing import Any

from ...progress import Report
from ..folder.events import ending, opens


class HowFar:
    """Reports how far many runs are.

    A run counts by the fraction of its steps; one that has ended or diverged counts as a whole.
    Other work counts as much as a run.

    Attributes:
        total: how many runs there are, and how many other parts of the work.
        report: hears of each event.
        parts: the fraction that is done of each run and part, by its name.
        steps: the number of steps of each run.

    Example:
        >>> runs = HowFar(2, print)
        >>> runs.hear("lstm, seed 0", {"kind": "start", "step": 0, "steps": 10})
        0.0 2 lstm, seed 0: step 0 of 10
        >>> runs.hear("lstm, seed 0", {"kind": "train", "step": 5})
        0.5 2 lstm, seed 0: step 5 of 10
        >>> runs.over("lstm, seed 0")
        >>> runs.within(1, 4, "measuring")
        1.25 2 measuring
    """

    def __init__(self, total: int, report: Report):
        self.total, self.report = total, report
        self.parts: dict[str, float] = {}
        self.steps: dict[str, int] = {}

    def over(self, name: str) -> None:
        """Count a run that has nothing left to do."""
        self.parts[name] = 1.0

    def hear(self, name: str, event: Any) -> None:
        """An event of a run; on a cluster only the last one is heard."""
        step = event["step"]
        if opens(event):
            self.steps[name] = event["steps"]
        steps = self.steps.get(name, step)
        self.parts[name] = min(step / max(steps, 1), 1.0)
        words = f"{name}: step {step:,} of {steps:,}"
        end = ending([event])
        if end is not None and end.get("reason") != "interrupted":
            self.over(name)
            words = f"{name} has ended"
        self.within(0, None, words)

    def within(self, done: float, total: float | None, what: str) -> None:
        """The `Report` of a part of the work other than the runs; it counts if its total is known.

        Args:
            done, total: of this part alone.
            what: in words, which also tell it from other parts.
        """
        if total:
            self.parts[what] = done / total
        self.report(sum(self.parts.values()), self.total, what)
