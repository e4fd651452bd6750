"""Few of many events, such that every spike stays.

Events are counted off into buckets of equal size, and of each bucket those events are kept that
hold the smallest or the largest value of some number. So every point of a chart is a logged one,
and the extremes of any stretch are among them. When there are too many buckets, neighbours are
joined; what is kept is bounded, however long the log.
"""

from typing import Generic

import numpy as np

from .events import E

BUCKETS = 512


class Sparse(Generic[E]):
    """The first and last of many events, and some between at equal intervals.

    Example:
        >>> kept = Sparse(most=4)
        >>> for number in range(9):
        ...     kept.add({"step": number})
        >>> [event["step"] for event in kept.events()]
        [0, 4, 8]
    """

    def __init__(self, most: int):
        self.most, self.every, self.count = most, 1, 0
        self.kept: list[E] = []
        self.last: E | None = None

    def add(self, event: E) -> None:
        if self.count % self.every == 0:
            self.kept.append(event)
        self.last, self.count = event, self.count + 1
        if len(self.kept) > self.most:
            self.kept, self.every = self.kept[::2], 2 * self.every

    def forget_after(self, step: int) -> None:
        self.kept = [event for event in self.kept if event["step"] <= step]
        if self.last is not None and self.last["step"] > step:
            self.last = self.kept[-1] if self.kept else None

    def events(self) -> list[E]:
        if self.last is None or (self.kept and self.kept[-1] is self.last):
            return self.kept
        return self.kept + [self.last]  # noqa: RUF005 (of one type)


class Thinned:
    """A growing sequence of rows of numbers, thinned.

    Args:
        columns: how many numbers a row has.
        buckets: joined in pairs as soon as there are twice as many.
        telling: the columns whose extremes are kept; all of them if not given.

    Example:
        >>> thinned = Thinned(columns=1, buckets=1)
        >>> values = np.array([[3.0], [9.0], [1.0], [4.0], [5.0], [2.0], [6.0], [5.0]])
        >>> thinned.add(np.arange(8.0), values)
        >>> steps, kept = thinned.rows()
        >>> steps.tolist(), kept[:, 0].tolist()
        ([1.0, 2.0, 5.0, 6.0, 7.0], [9.0, 1.0, 2.0, 6.0, 5.0])
    """

    def __init__(self, columns: int, buckets: int = BUCKETS, telling: list[int] | None = None):
        self.buckets = buckets
        self.telling = list(range(columns)) if telling is None else telling
        self.size = 1  # events per bucket
        self.count = 0  # events seen
        self.places = np.zeros(0, int)
        self.steps = np.zeros(0)
        self.values = np.zeros((0, columns))

    def add(self, steps: np.ndarray, values: np.ndarray) -> None:
        """Append rows: `steps` is `(rows,)`, `values` is `(rows, columns)`."""
        if not len(steps):
            return
        places = self.count + np.arange(len(steps))
        self.count += len(steps)
        while self.count > 2 * self.buckets * self.size:
            self.size *= 2
            self._keep(self._chosen(self.places, self.values))
        if self.size > 1:
            chosen = self._chosen(places, values)
            places, steps, values = places[chosen], steps[chosen], values[chosen]
        self.places = np.concatenate([self.places, places])
        self.steps = np.concatenate([self.steps, steps])
        self.values = np.concatenate([self.values, values])
        if self.size > 1:
            self._keep(self._chosen(self.places, self.values))

    def forget_after(self, step: float) -> bool:
        """Drop the rows after a step, which a resume supersedes; `False` if it cannot be exact.

        Once events have been thinned, one that was left out may be what is needed now.
        """
        if self.size > 1:
            return not len(self.steps) or float(self.steps.max()) <= step
        self._keep(self.steps <= step)
        self.places, self.count = np.arange(len(self.steps)), len(self.steps)
        return True

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The steps and values that are kept, in order."""
        return self.steps, self.values

    def _chosen(self, places: np.ndarray, values: np.ndarray) -> np.ndarray:
        return extremes(places // self.size, values[:, self.telling], places)

    def _keep(self, chosen: np.ndarray) -> None:
        self.places, self.steps = self.places[chosen], self.steps[chosen]
        self.values = self.values[chosen]


def extremes(buckets: np.ndarray, values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Which rows hold the smallest or largest value of a column in their bucket.

    Args:
        buckets: the bucket of each row, rising.
        values: `(rows, columns)`. A column that is NaN throughout a bucket chooses its first row.
        places: what the rows are called; the very last one is always chosen.

    Returns:
        A mask of the rows.
    """
    chosen = np.zeros(len(buckets), bool)
    if not len(buckets):
        return chosen
    firsts = np.flatnonzero(np.diff(buckets, prepend=buckets[0] - 1))
    own = np.cumsum(np.diff(buckets, prepend=buckets[0]) != 0)
    for column in values.T:
        if np.isnan(column).all():
            chosen[firsts] = True
            continue
        for reduce in (np.fmin, np.fmax):
            best = reduce.reduceat(column, firsts)
            hits = np.flatnonzero(column == best[own])
            _, first = np.unique(own[hits], return_index=True)
            chosen[hits[first]] = True
        gaps = np.flatnonzero(np.isnan(column))  # a value that is not finite is a gap in the line
        _, first = np.unique(own[gaps], return_index=True)
        chosen[gaps[first]] = True
    chosen[np.argmax(places)] = True
    return chosen
