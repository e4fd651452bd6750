"""Refuse rows that are not in the order of time, where they have no timeline.

The columns that say when a row was are known by their names (`date`, `Date Time`, `year`, `hour`).
At least one of them must tell the whole time: a date, or a number in a column called time,
timestamp, datetime, date, ds or year. It is compared first, and where it is the same the others,
from the coarse to the fine: a date, then the hour. Where day and month could be either, the rows
are refused only if they are out of order both ways.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from ..settings import shown
from .dates import NoDate
from .table import Table, time_word
from .time_columns import clocks_of, dates_of, named_times, spread

WHOLE = ("time", "timestamp", "datetime", "date", "ds", "year")  # numbers tell all of the time
DATE, NUMBER, CLOCK, PART = range(4)  # the order in which columns are compared


def check_order(table: Table, groups: Sequence[np.ndarray], without: Iterable[str] = ()) -> None:
    """Refuse rows whose times do not increase.

    Args:
        table: the rows.
        groups: the rows of each series, in the order in which they are read.
        without: columns that are not to be looked at, such as a time to predict.
    """
    names = named_times(table, {*without})
    read = {name: list(_readings(table, name)) for name in names}
    ranks = {name: readings[0].rank for name, readings in read.items() if readings}
    first = min(ranks.values(), default=PART)
    if first == PART:
        return
    known = sorted(ranks, key=lambda name: ranks[name] if ranks[name] in (first, NUMBER) else PART)
    whole = known[0]
    # Not where a finer column, which cannot be read, may tell rows of one time apart.
    strict = all(read[name] for name in names[names.index(whole) :])
    fault = None
    for columns in product(*(read[name] for name in known)):
        fault = _first_fault(groups, np.stack([column.values for column in columns]), strict)
        if fault is None:
            return
    assert fault is not None
    before, after = (" ".join(_cell(table, name, row) for name in known) for row in fault)
    raise table.wrong(
        whole,
        f"{shown(after)} comes after {shown(before)}; time must increase: sort the rows, one for "
        "each time, or name with sequence the column that says to which series a row belongs (a "
        "column that is no time needs another name)",
        fault,
    )


def _cell(table: Table, name: str, row: int) -> str:
    return str(table.texts[name][row]) if name in table.texts else f"{table.numbers[name][row]:g}"


class _Reading(NamedTuple):
    """A column as numbers `(rows,)` that increase with time, and when it is to be compared."""

    values: np.ndarray
    rank: int


def _readings(table: Table, name: str) -> Iterator[_Reading]:
    """A column in each way that it can be read."""
    if name in table.numbers:
        word = time_word(name)  # a number called time may be the time of day, beside a date
        rank = PART if word not in WHOLE else CLOCK if word == "time" else NUMBER
        yield _Reading(table.numbers[name], rank)
        return
    if name in table.times:
        yield _Reading(_seconds(table.times[name][0]), DATE)
        return
    if name not in table.texts:
        return
    clocks = clocks_of(table, name)
    if clocks is not None:
        yield _Reading(_seconds(clocks), PART)
    with contextlib.suppress(NoDate):
        for dates, which in dates_of(table.texts[name]):
            times = dates.local if dates.offsets is None else dates.local - dates.offsets
            yield _Reading(_seconds(spread(times, which)), DATE)


def _seconds(times: np.ndarray) -> np.ndarray:
    """Times or durations in seconds, NaN where one is missing."""
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / 1e6)


def _first_fault(
    groups: Sequence[np.ndarray], columns: np.ndarray, strict: bool
) -> tuple[int, int] | None:
    """The first two rows of a group that are out of order; columns `(parts, rows)`."""
    known = ~np.isnan(columns).any(axis=0)
    for rows in groups:
        rows = rows[known[rows]]
        order = np.zeros(max(len(rows) - 1, 0))
        for part in columns:
            order = np.where(order == 0, np.sign(np.diff(part[rows])), order)
        wrong = np.flatnonzero(order <= 0 if strict else order < 0)
        if wrong.size:
            return int(rows[wrong[0]]), int(rows[wrong[0] + 1])
    return None
