"""When the rows of a table were: found, read, sorted, and checked for gaps.

A column of dates makes a `Timeline`: one that a file or a data frame keeps as times, or text that
can be read as dates (see `dates`). `arrange` puts rows in the order of time and says what it did.
Columns of numbers (`year`; `year,month,day,hour`) say the time only if they are asked to.

Without a timeline rows must be in order (`check_order`). The columns that are compared are known by
their names (`date`, `Date Time`, `year`, `hour`). At least one of them must tell the whole time: a
date, or a number in a column called time, timestamp, datetime, date, ds or year. It is compared
first, and where it is the same the others, from the coarse to the fine: a date, then the hour.
Where day and month could be either, the rows are refused only if they are out of order both ways.
"""

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import time
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput
from ..settings import shown
from .dates import ORDERS, Dates, NoDate, date_readings, looks_like_date
from .frequency import STAMP, Frequency, infer_frequency, local_times
from .table import MISSING, TIMES, Table, is_time, missing_cells, time_word

WHOLE = ("time", "timestamp", "datetime", "date", "ds", "year")  # numbers tell all of the time
DATE, NUMBER, CLOCK, PART = range(4)  # the order in which columns are compared
GAPS = ("refuse", "mask", "fill", "keep")
DUPLICATES = ("refuse", "first", "last", "mean", "sum")
PARTS = {  # the columns that go on where another ends: unit, first and last value
    **dict.fromkeys(("quarter", "qtr"), ("Q", 1, 4)),
    "month": ("M", 1, 12),
    "day": ("D", 1, 31),
    **dict.fromkeys(("hour", "hr"), ("h", 0, 24)),
    "minute": ("m", 0, 59),
    **dict.fromkeys(("second", "sec"), ("s", 0, 60)),
}
EPOCHS = {"seconds": 1e6, "milliseconds": 1e3, "microseconds": 1, "nanoseconds": 1e-3}
SINCE = 1e8  # from so many seconds since 1970, which is in 1973, a number can be told to be a time
MORE = 20  # so many times the rows of a table may be put into its gaps


@dataclasses.dataclass(frozen=True, eq=False)
class Timeline:
    """When each row of a table was.

    Attributes:
        column: that says so.
        stamps: `(rows,)`, datetime64 in microseconds; in UTC if there is a zone.
        zone: of the local clock, such as `Europe/Berlin`, `+02:00` or `UTC`; `None` if unknown.
        frequency: how far apart the rows of a series are; `None` if they are not regular.
        parts: further columns that say the time of day, such as `hour`.
        form: how the dates are written; see `dates`.
    """

    column: str
    stamps: np.ndarray
    zone: str | None
    frequency: Frequency | None
    parts: tuple[str, ...] = ()
    form: str = ""

    @property
    def local(self) -> np.ndarray:
        """The times as a clock in the zone shows them, `(rows,)`."""
        return local_times(self.stamps, self.zone)

    @property
    def words(self) -> str:
        """What was read, as a sentence for the notes of a run."""
        first, last = (shown_time(x, self.zone) for x in (self.stamps.min(), self.stamps.max()))
        order = f", read as {self.form}" if self.form in ORDERS else ""
        zone = f" ({self.zone})" if self.zone else ""
        apart = f"{self.frequency.words} apart" if self.frequency else "not evenly apart"
        names = " and ".join(map(shown, (self.column, *self.parts)))
        return f"the time is {names}{order}: {first} to {last}{zone}, rows {apart}"

    def next(self, stamp: Any, k: Any) -> Any:
        """The times `k` steps after some stamps; the rows must have a frequency."""
        assert self.frequency is not None
        return self.frequency.next(stamp, k, self.zone)

    def as_json(self) -> dict[str, Any]:
        """What other data must agree in, for `known` of `timeline_of`."""
        return {
            "column": self.column,
            "parts": list(self.parts),
            "zone": self.zone,
            "frequency": None if self.frequency is None else self.frequency.as_json(),
            "form": self.form,
        }


def shown_time(stamp: np.datetime64, zone: str | None = None) -> str:
    """A time as people read it: the date, and the time of day unless it is midnight.

    Example:
        >>> shown_time(np.datetime64("2024-01-31T00:00"))
        '2024-01-31'
        >>> shown_time(np.datetime64("2024-01-31T13:00"), "Europe/Berlin")
        '2024-01-31 14:00'
    """
    local = local_times(np.asarray(stamp, STAMP).reshape(1), zone)[0]
    for unit in ("D", "m", "s"):
        if local.astype(f"datetime64[{unit}]") == local:
            return np.datetime_as_string(local, unit=unit).replace("T", " ")
    return str(local).replace("T", " ")


def timeline_of(
    table: Table,
    groups: Sequence[np.ndarray],
    column: str | None = None,
    without: Iterable[str] = (),
    known: Mapping[str, Any] | None = None,
) -> Timeline | None:
    """When the rows of a table were; `None` if no column says so.

    Args:
        table: the rows.
        groups: the rows of each series.
        column: that says the time, or several, `date,hour` or `year,month,day`; by default the one
            column of dates that is no number.
        without: columns that are not to be looked at if none is named.
        known: what a trained model keeps of its timeline (`as_json`), which these rows must fit.

    Example:
        >>> with open("sales.csv", "w") as file:
        ...     _ = file.write("day,sales\\n28.2.2024,3\\n29.2.2024,5\\n1.3.2024,4\\n")
        >>> from ostinato.data import read_table
        >>> timeline_of(read_table("sales.csv"), [np.arange(3)]).words
        "the time is 'day', read as day/month/year: 2024-02-28 to 2024-03-01, rows 1 day apart"
    """
    if known is not None:
        column = ",".join([known["column"], *known["parts"]])
    if column is None:
        main = _date_column(table, groups, {*without})
        if main is None:
            return None
        parts = None
    else:
        whole = column in table.names
        main, *parts = [column] if whole else [name.strip() for name in column.split(",")]
        for name in (main, *parts):
            table.check(name)
    readings = list(_timelines(table, groups, main, parts, {*without}, known))
    if len(readings) > 1:
        readings = _better(readings, groups)
    if len(readings) > 1:
        cell = shown(table.texts[main][int(np.argmax(~missing_cells(table.texts[main])))])
        raise BadInput(
            f"{table.where(0)}, column {shown(main)}: {cell} may be {' or '.join(ORDERS)}, and the "
            "rows are regular both ways; write the dates as 2024-01-31"
        )
    timeline = readings[0]
    gaps = np.flatnonzero(np.isnat(timeline.stamps))
    if gaps.size:
        raise BadInput(
            f"{table.where(gaps)}, column {shown(main)}: the time is missing; fill it in or leave "
            "the row out"
        )
    return timeline if known is None else _fitted(table, groups, timeline, known)


def _date_column(table: Table, groups: Sequence[np.ndarray], without: set[str]) -> str | None:
    """The one column of dates that are no numbers; those with a name of times come first."""
    dated = [
        name
        for name in table.names
        if name not in without and (name in table.times or _begins_with_date(table, name))
    ]
    dated = [name for name in dated if is_time(name)] or dated
    if len(dated) > 1:
        some = ", ".join(map(shown, dated[:5]))
        raise BadInput(
            f"{table.path}: the columns {some} are dates; name the one that says when a row was: "
            f"{table.option('time', dated[0])}"
        )
    return dated[0] if dated else None


def _begins_with_date(table: Table, name: str) -> bool:
    """Whether the first cell of a column of text is a date."""
    if name not in table.texts or name in table.numbers:
        return False
    cells = table.texts[name]
    first = next((cell for cell in cells.tolist() if cell.lower() not in MISSING), None)
    return first is not None and looks_like_date(first)


def _timelines(
    table: Table,
    groups: Sequence[np.ndarray],
    main: str,
    parts: list[str] | None,
    without: set[str],
    known: Mapping[str, Any] | None,
) -> Iterator[Timeline]:
    """The timeline of a column, in each way that it can be read."""
    for main_times in _times_of(table, main, known):
        stamps = main_times.choices[0][0]
        some = parts
        if some is None:
            some = [] if main_times.clock else _clock_columns(table, groups, stamps, without)
        timelines = []
        for stamps, zone in main_times.choices:
            for name in some:
                stamps = _finer(table, stamps, name)
            frequency = infer_frequency(_sorted(stamps, groups), zone)
            form = main_times.form
            timelines.append(Timeline(main, stamps, zone, frequency, tuple(some), form))
        yield next((one for one in timelines if one.frequency), timelines[0])


class _Times(NamedTuple):
    """A column read as times: stamps and zone, which may be one of two; see `Dates`."""

    choices: list[tuple[np.ndarray, str | None]]
    clock: bool
    form: str


def _times_of(table: Table, name: str, known: Mapping[str, Any] | None) -> Iterator[_Times]:
    """A column in each way in which it can be read as times."""
    if name in table.times:
        stamps, zone = table.times[name]
        days = zone is None and (stamps == stamps.astype("datetime64[D]")).all()
        yield _Times([(stamps, zone)], not days, "")
        return
    if name in table.numbers:
        yield _of_numbers(table, name)
        return
    if name not in table.texts:
        fault = table.faults[name]
        what = fault.what.removesuffix("a number") + "a date or time; write 2024-01-31 14:00"
        raise BadInput(f"{table.path}, {fault.where}, column {shown(name)}: {what}")
    form = "" if known is None else known["form"]
    try:
        readings = list(_dates_of(table.texts[name], (form,) if form in ORDERS else ORDERS))
    except NoDate as error:
        row = int(np.argmax(table.texts[name] == error.cell))
        raise BadInput(
            f"{table.where(row)}, column {shown(name)}: {shown(error.cell)}: {error}"
        ) from None
    for dates, which in readings:
        local, offsets = _spread(dates.local, which), dates.offsets
        if offsets is None:
            choices: list[tuple[np.ndarray, str | None]] = [(local, None)]
        elif (offsets == offsets[0]).all():
            choices = [(local - offsets[0], _offset_name(offsets[0]))]
        else:  # hours are even in UTC, days on the local clock
            choices = [(_spread(dates.local - offsets, which), "UTC"), (local, None)]
        yield _Times(choices, dates.clock, dates.form)


def _dates_of(
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


def _spread(times: np.ndarray, which: np.ndarray) -> np.ndarray:
    """The times of the different cells as those of the rows, NaT where one is missing."""
    return np.append(times, np.array("NaT", times.dtype))[which]


def _offset_name(offset: np.timedelta64) -> str:
    minutes = int(offset / np.timedelta64(1, "m"))
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}" if minutes else "UTC"


def _of_numbers(table: Table, name: str) -> _Times:
    """Years, numbers such as 20240131, or the time since 1970 in one of `EPOCHS`."""
    values = table.numbers[name]
    there = values[~np.isnan(values)]
    stamps = np.full(len(values), "NaT", STAMP)
    at, whole = ~np.isnan(values), bool((there == np.rint(there)).all())
    if whole and ((there >= 1000) & (there < 3000)).all():
        stamps[at] = (there.astype(int) - 1970).astype("datetime64[Y]")
        return _Times([(stamps, None)], False, "years")
    if whole and ((there >= 1e7) & (there < 1e8)).all():
        cells = np.where(at, np.char.mod("%d", np.nan_to_num(values)), "").astype(object)
        with_cells = dataclasses.replace(table, numbers={}, times={}, texts={name: cells})
        return next(_times_of(with_cells, name, None))
    for unit, size in EPOCHS.items():  # in microseconds
        if ((there * size >= SINCE * 1e6) & (there * size < SINCE * 1e9)).all():
            stamps[at] = np.rint(there * size).astype(np.int64).astype(STAMP)
            return _Times([(stamps, "UTC")], True, f"{unit} since 1970")
    raise BadInput(
        f"{table.path}, column {shown(name)}: its numbers are no times that can be read; they may "
        "be years (2024), dates (20240131), or seconds or milliseconds since 1970"
    )


def clocks_of(table: Table, name: str) -> np.ndarray | None:
    """The times of day in a column of text, NaT where one is missing; `None` if it has others."""
    if name not in table.texts or name in table.numbers or name in table.times:
        return None
    number, which = _different(table.texts[name])
    try:
        clocks = [time.fromisoformat(cell) for cell in number if cell[1:3].count(":")]
    except ValueError:
        return None
    if len(clocks) < len(number):
        return None
    passed = [
        ((x.hour * 60 + x.minute) * 60 + x.second) * 1_000_000 + x.microsecond for x in clocks
    ]
    return _spread(np.array(passed, "timedelta64[us]"), which)


def _clock_columns(
    table: Table, groups: Sequence[np.ndarray], stamps: np.ndarray, without: set[str]
) -> list[str]:
    """The columns that tell rows of one date apart, from the coarse to the fine."""
    days = sum(map(len, _sorted(stamps, groups)))
    if days == (~np.isnat(stamps)).sum():
        return []
    names = [name for name in table.names if is_time(name) and name not in without]
    parts = [
        name
        for name in names
        if (name in table.numbers and PARTS.get(time_word(name), "D")[0] in "hms")
        or clocks_of(table, name) is not None
    ]
    return sorted(parts, key=lambda name: TIMES.index(time_word(name)))


def _finer(table: Table, stamps: np.ndarray, name: str) -> np.ndarray:
    """Times with what another column adds to them: the month of a year, the hour of a day."""
    clocks = clocks_of(table, name)
    if clocks is not None:
        return stamps + clocks
    unit, first, last = PARTS.get(time_word(name), ("", 0, 0))
    values = table.numbers.get(name)
    if values is None or not unit:
        raise BadInput(
            f"{table.path}, column {shown(name)}: it is no part of a time that can be read; there "
            f"are {', '.join(PARTS)}, and times of day such as 14:00"
        )
    known = ~np.isnan(values)
    wrong = np.flatnonzero(known & ~((values >= first) & (values <= last) & (values % 1 == 0)))
    if wrong.size:
        raise BadInput(
            f"{table.where(wrong)}, column {shown(name)}: {values[wrong[0]]:g} is no "
            f"{time_word(name)}"
        )
    whole = np.where(known, values, first).astype(int) - (first if unit in "QMD" else 0)
    if unit in "QM":
        months = stamps.astype("datetime64[M]") + whole * (3 if unit == "Q" else 1)
        stamps = months.astype(STAMP)
    else:
        stamps = stamps + whole.astype(f"timedelta64[{unit}]")
    return np.where(known, stamps, np.array("NaT", STAMP))


def _sorted(stamps: np.ndarray, groups: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The different times of each series, in order."""
    each = (stamps[rows] for rows in groups)
    return [np.unique(one[~np.isnat(one)]) for one in each]


def _better(readings: list[Timeline], groups: Sequence[np.ndarray]) -> list[Timeline]:
    """Those of several readings that are the most regular: without gaps, or at least even."""
    regular, whole = [], []
    for one in readings:
        if one.frequency is None:
            continue
        regular.append(one)
        each = _sorted(one.stamps, groups)
        if not any(one.frequency.left_out(stamps, one.zone).any() for stamps in each):
            whole.append(one)
    return whole or regular or readings


def _fitted(
    table: Table, groups: Sequence[np.ndarray], timeline: Timeline, known: Mapping[str, Any]
) -> Timeline:
    """A timeline with the frequency of the trained model; refused if the rows have another."""
    if known["frequency"] is None:
        return timeline
    frequency = Frequency.from_json(known["frequency"])
    zone = timeline.zone if timeline.zone == known["zone"] else known["zone"]
    if (timeline.zone is None) != (known["zone"] is None):
        which = "no time zone, but" if timeline.zone is None else "a time zone, and not"
        raise BadInput(
            f"{table.path}, column {shown(timeline.column)}: it has {which} that of the run's data"
        )
    for stamps in _sorted(timeline.stamps, groups):
        if len(stamps) and not frequency.fits(stamps, zone):
            raise BadInput(
                f"{table.path}, column {shown(timeline.column)}: the rows of this run are "
                f"{frequency.words} apart, and {timeline.words}"
            )
    return dataclasses.replace(timeline, frequency=frequency, zone=zone)


def check_order(table: Table, groups: Sequence[np.ndarray], without: Iterable[str] = ()) -> None:
    """Refuse rows whose times do not increase.

    Args:
        table: the rows.
        groups: the rows of each series, in the order in which they are read.
        without: columns that are not to be looked at, such as a time to predict.
    """
    skipped = {*without}
    names = [name for name in table.names if is_time(name) and name not in skipped]
    names.sort(key=lambda name: TIMES.index(time_word(name)))
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
    lines = " and ".join(str(table.lines[row]) for row in fault)
    raise BadInput(
        f"{table.path}, lines {lines}, column {shown(whole)}: {shown(after)} comes after "
        f"{shown(before)}; time must increase: sort the rows, one for each time, or name with "
        "sequence the column that says to which series a row belongs (a column that is no time "
        "needs another name)"
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
        for dates, which in _dates_of(table.texts[name]):
            offsets = 0 if dates.offsets is None else dates.offsets
            yield _Reading(_seconds(_spread(dates.local - offsets, which)), DATE)


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
