"""Columns of a table as times: dates, numbers that stand for dates, and times of day."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from datetime import time
from typing import Any, NamedTuple

import numpy as np

from ..settings import shown
from .dates import ORDERS, Dates, NoDate, date_readings, looks_like_date
from .frequency import MONTH, STAMP
from .table import MISSING, TIMES, Table, is_time, time_word

PARTS = {  # the columns that go on where another ends: unit, first and last value
    **dict.fromkeys(("quarter", "qtr"), ("Q", 1, 4)),
    "month": ("M", 1, 12),
    "day": ("D", 1, 31),
    **dict.fromkeys(("hour", "hr"), ("h", 0, 24)),
    "minute": ("m", 0, 59),
    **dict.fromkeys(("second", "sec"), ("s", 0, 60)),
}
YEARS = "years"  # the form of a column of numbers that are years
EPOCHS = {"seconds": 1e6, "milliseconds": 1e3, "microseconds": 1, "nanoseconds": 1e-3}
SINCE = 1e8  # from so many seconds since 1970, which is in 1973, a number can be told to be a time


class ColumnTimes(NamedTuple):
    """A column read as times: stamps and zone, which may be one of two; see `Dates`."""

    choices: list[tuple[np.ndarray, str | None]]
    clock: bool
    form: str


def times_of(table: Table, name: str, known: Mapping[str, Any] | None) -> Iterator[ColumnTimes]:
    """A column in each way in which it can be read as times."""
    if name in table.times:
        stamps, zone = table.times[name]
        days = zone is None and (stamps == stamps.astype("datetime64[D]")).all()
        yield ColumnTimes([(stamps, zone)], not days, "")
        return
    if name in table.numbers:
        yield _of_numbers(table, name)
        return
    if name not in table.texts:
        fault = table.faults[name]
        what = f"{fault.brief} is no date or time that can be read; write 2024-01-31 14:00"
        raise table.wrong(name, what, fault.where)
    form = "" if known is None else known["form"]
    try:
        readings = list(dates_of(table.texts[name], (form,) if form in ORDERS else ORDERS))
    except NoDate as error:
        row = int(np.argmax(table.texts[name] == error.cell))
        raise table.wrong(name, f"{shown(error.cell)} {error}", row) from None
    for dates, which in readings:
        local, offsets = spread(dates.local, which), dates.offsets
        if offsets is None:
            choices: list[tuple[np.ndarray, str | None]] = [(local, None)]
        elif (offsets == offsets[0]).all():
            choices = [(local - offsets[0], _offset_name(offsets[0]))]
        else:  # hours are even in UTC, days on the local clock
            choices = [(spread(dates.local - offsets, which), "UTC"), (local, None)]
        yield ColumnTimes(choices, dates.clock, dates.form)


def dates_of(
    cells: np.ndarray, orders: Sequence[str] = ORDERS
) -> Iterator[tuple[Dates, np.ndarray]]:
    """The readings of the different cells of a column, and the number of each row's, or -1."""
    number, which = _different(cells)
    for dates in date_readings(number, orders):
        yield dates, which


def _different(cells: np.ndarray) -> tuple[dict[str, int], np.ndarray]:
    """The number of each of the different cells, and those of all rows, -1 where one is missing."""
    number: dict[str, int] = {}
    each = cells.tolist()
    rows = [-1 if x.lower() in MISSING else number.setdefault(x, len(number)) for x in each]
    return number, np.array(rows, int)


def spread(times: np.ndarray, which: np.ndarray) -> np.ndarray:
    """The times of the different cells as those of the rows, NaT where one is missing."""
    return np.append(times, np.array("NaT", times.dtype))[which]


def _offset_name(offset: np.timedelta64) -> str:
    minutes = int(offset / np.timedelta64(1, "m"))
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}" if minutes else "UTC"


def _of_numbers(table: Table, name: str) -> ColumnTimes:
    """Years, numbers such as 20240131, or the time since 1970 in one of `EPOCHS`."""
    values = table.numbers[name]
    at = ~np.isnan(values)
    present = values[at]
    stamps = np.full(len(values), "NaT", STAMP)
    whole = bool((present == np.rint(present)).all())
    if whole and ((present >= 1000) & (present < 3000)).all():
        stamps[at] = (present.astype(int) - 1970).astype("datetime64[Y]")
        return ColumnTimes([(stamps, None)], False, YEARS)
    if whole and ((present >= 1e7) & (present < 1e8)).all():
        cells = np.where(at, np.char.mod("%d", np.nan_to_num(values)), "").astype(object)
        with_cells = dataclasses.replace(table, numbers={}, times={}, texts={name: cells})
        return next(times_of(with_cells, name, None))
    for unit, size in EPOCHS.items():  # in microseconds
        if ((present * size >= SINCE * 1e6) & (present * size < SINCE * 1e9)).all():
            stamps[at] = np.rint(present * size).astype(np.int64).astype(STAMP)
            return ColumnTimes([(stamps, "UTC")], True, f"{unit} since 1970")
    raise table.wrong(
        name,
        "its numbers are no times that can be read; they may be years (2024), dates (20240131), or "
        "seconds or milliseconds since 1970",
    )


def clocks_of(table: Table, name: str) -> np.ndarray | None:
    """The times of day in a column of text, NaT where one is missing; `None` if it has others."""
    if name not in table.texts or name in table.numbers or name in table.times:
        return None
    if first_word(table.texts[name])[1:3].count(":") == 0:
        return None
    number, which = _different(table.texts[name])
    try:
        clocks = [time.fromisoformat(cell) for cell in number]
    except ValueError:
        return None
    passed = [
        ((x.hour * 60 + x.minute) * 60 + x.second) * 1_000_000 + x.microsecond for x in clocks
    ]
    return spread(np.array(passed, "timedelta64[us]"), which)


def clock_columns(
    table: Table, groups: Sequence[np.ndarray], stamps: np.ndarray, without: set[str]
) -> list[str]:
    """The columns that tell rows of one date apart, from the coarse to the fine."""
    days = sum(map(len, sorted_times(stamps, groups)))
    if days == (~np.isnat(stamps)).sum():
        return []
    return [
        name
        for name in named_times(table, without)
        if (name in table.numbers and PARTS.get(time_word(name), "D")[0] in "hms")
        or clocks_of(table, name) is not None
    ]


def named_times(table: Table, without: set[str]) -> list[str]:
    """The columns whose names say that they are times, from the coarse to the fine."""
    names = [name for name in table.names if is_time(name) and name not in without]
    return sorted(names, key=lambda name: TIMES.index(time_word(name)))


def finer(table: Table, stamps: np.ndarray, name: str) -> np.ndarray:
    """Times with what another column adds to them: the month of a year, the hour of a day."""
    clocks = clocks_of(table, name)
    if clocks is not None:
        return stamps + clocks
    unit, first, last = PARTS.get(time_word(name), ("", 0, 0))
    values = table.numbers.get(name)
    if values is None or not unit:
        readable = f"there are {', '.join(PARTS)}, and times of day such as 14:00"
        raise table.wrong(name, f"it is no part of a time that can be read; {readable}")
    known = ~np.isnan(values)
    wrong = np.flatnonzero(known & ~((values >= first) & (values <= last) & (values % 1 == 0)))
    if wrong.size:
        raise table.wrong(name, f"{values[wrong[0]]:g} is no {time_word(name)}", wrong)
    whole = np.where(known, values, first).astype(int) - (first if unit in "QMD" else 0)
    if unit in "QM":
        months = stamps.astype("datetime64[M]") + whole * (3 if unit == "Q" else 1) * MONTH
        stamps = months.astype(STAMP)
    else:
        stamps = stamps + whole.astype(f"timedelta64[{unit}]")
    return np.where(known, stamps, np.array("NaT", STAMP))


def begins_with_date(table: Table, name: str) -> bool:
    """Whether the first cell of a column of text is a date."""
    text = name in table.texts and name not in table.numbers
    return text and looks_like_date(first_word(table.texts[name]))


def first_word(cells: np.ndarray) -> str:
    """The first cell that is not missing; empty if all are."""
    return next((cell for cell in cells.tolist() if cell.lower() not in MISSING), "")


def calendar_part(local: np.ndarray, name: str) -> np.ndarray:
    """What a column of `PARTS` says at some times.

    Example:
        >>> calendar_part(np.array(["2024-05-31T14:30"], "M8[us]"), "Hour").tolist()
        [14]
    """
    unit, first, _ = PARTS[time_word(name)]
    fine = "M" if unit == "Q" else unit
    coarse = {"M": "Y", "D": "M", "h": "D", "m": "h", "s": "m"}[fine]
    whole = local.astype(f"datetime64[{coarse}]").astype(f"datetime64[{fine}]")
    passed = (local.astype(f"datetime64[{fine}]") - whole).astype(int)
    return passed // (3 if unit == "Q" else 1) + (first if unit in "QMD" else 0)


def sorted_times(stamps: np.ndarray, groups: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The different times of each series, in order."""
    known = [one[~np.isnat(one)] for one in (stamps[rows] for rows in groups)]
    # Most are in order already, which is seen at once.
    return [x if (np.diff(x) > np.timedelta64(0, "us")).all() else np.unique(x) for x in known]
