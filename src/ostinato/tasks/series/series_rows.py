"""The rows of some series, before their end and after it: where their parts are, and when."""

import dataclasses

import numpy as np

from ...data.times import Timeline
from ..checks import checked_part
from .series_times import calendar_after, stamps_after


@dataclasses.dataclass(frozen=True)
class SeriesRows:
    """The rows of one or several series.

    Attributes:
        series: the rows of each, `(T, columns)`, in the units of the data.
        future: the rows after each, in which only what is known ahead counts.
        cuts: where the parts of each are, by name.
        timelines: when the rows of each were; `None` if nothing says so.
        calendar: the columns of the calendar, if it is read.
    """

    series: list[np.ndarray]
    future: list[np.ndarray]
    cuts: list[dict[str, slice]]
    timelines: list[Timeline] | None = None
    calendar: slice | None = None

    def numbers_of(self, part: str, horizon: int) -> np.ndarray:
        """The number of the series to which each step of a part with targets belongs, `(T,)`."""
        steps = [max(cut[part].stop - cut[part].start - horizon, 0) for cut in self.cuts]
        return np.repeat(np.arange(len(steps)), steps)

    def span(self, part: str, number: int = 0) -> tuple[int, int]:
        """The first step of a part of a series and that after its last."""
        cut = self.cuts[number][checked_part(part)]
        return cut.start, cut.stop

    def begins(self, part: str, number: int = 0) -> int:
        """The first step of a part of a series; its length if the part is empty."""
        start, stop = self.span(part, number)
        return start if start < stop else len(self.series[number])

    def after(self, number: int, begin: int, steps: int) -> np.ndarray:
        """The rows from a step of a series on: at least `steps` of them if a calendar is read.

        They are what a forecast from there may know: of all other columns it must not read them.
        """
        rows = np.concatenate([self.series[number][begin:], self.future[number]])
        more = steps - len(rows)
        if self.calendar is None or more <= 0 or self.timelines is None:
            return rows
        end = len(self.series[number]) + len(self.future[number])
        last = rows[-1:] if len(rows) else self.series[number][-1:]
        later = np.repeat(last, more, axis=0)
        later[:, self.calendar] = calendar_after(self.timelines[number], end, more)
        return np.concatenate([rows, later])

    def stamps_from(self, number: int, begin: int, count: int) -> np.ndarray | None:
        """The times of some steps of a series, and of those after it; `None` if it has none."""
        if self.timelines is None:
            return None
        return stamps_after(self.timelines[number], begin, count)

    def time_of(self, number: int, step: int) -> str | None:
        """When a step of a series is, in words; `None` if it has no times."""
        stamps = self.stamps_from(number, step, 1)
        if stamps is None or self.timelines is None:
            return None
        return self.timelines[number].shown(stamps[0])
