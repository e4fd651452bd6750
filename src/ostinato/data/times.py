"""When the rows of a table were: found, sorted, and checked for gaps and repeated times.

A column of dates makes a `Timeline`: one that a file or a data frame keeps as times, or text that
can be read as dates (see `dates`). `arrange` puts rows in the order of time and says what it did.
Columns of numbers (`year`; `year,month,day,hour`) say the time only if they are asked to. Without a
timeline rows must be in order; see `order`.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput
from ..settings import shown
from .dates import ORDERS
from .frequency import STAMP, Frequency, infer_frequency, local_times
from .order import check_order as check_order
from .table import Table, is_time, missing_cells
from .time_columns import (
    begins_with_date,
    clock_columns,
    finer,
    part_of,
    sorted_times,
    times_of,
)

GAPS = ("refuse", "mask", "fill", "keep")
DUPLICATES = ("refuse", "first", "last", "mean", "sum")
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
        if name not in without and (name in table.times or begins_with_date(table, name))
    ]
    dated = [name for name in dated if is_time(name)] or dated
    if len(dated) > 1:
        some = ", ".join(map(shown, dated[:5]))
        raise BadInput(
            f"{table.path}: the columns {some} are dates; name the one that says when a row was: "
            f"{table.option('time', dated[0])}"
        )
    return dated[0] if dated else None


def _timelines(
    table: Table,
    groups: Sequence[np.ndarray],
    main: str,
    parts: list[str] | None,
    without: set[str],
    known: Mapping[str, Any] | None,
) -> Iterator[Timeline]:
    """The timeline of a column, in each way that it can be read."""
    for main_times in times_of(table, main, known):
        stamps = main_times.choices[0][0]
        some = parts
        if some is None:
            some = [] if main_times.clock else clock_columns(table, groups, stamps, without)
        timelines = []
        for stamps, zone in main_times.choices:
            for name in some:
                stamps = finer(table, stamps, name)
            frequency = infer_frequency(sorted_times(stamps, groups), zone)
            form = main_times.form
            timelines.append(Timeline(main, stamps, zone, frequency, tuple(some), form))
        yield next((one for one in timelines if one.frequency), timelines[0])


def _better(readings: list[Timeline], groups: Sequence[np.ndarray]) -> list[Timeline]:
    """Those of several readings that are the most regular: without gaps, or at least even."""
    regular, whole = [], []
    for one in readings:
        if one.frequency is None:
            continue
        regular.append(one)
        each = sorted_times(one.stamps, groups)
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
    for stamps in sorted_times(timeline.stamps, groups):
        if len(stamps) and not frequency.fits(stamps, zone):
            raise BadInput(
                f"{table.path}, column {shown(timeline.column)}: the rows of this run are "
                f"{frequency.words} apart, and {timeline.words}"
            )
    return dataclasses.replace(timeline, frequency=frequency, zone=zone)


class Arranged(NamedTuple):
    """Rows in the order of time.

    Attributes:
        table, groups, timeline: those that were given, or new ones if rows were put in or joined.
        notes: what was read and what was done, a sentence each.
        put_in: `(rows,)`, which rows were put into gaps.
    """

    table: Table
    groups: list[np.ndarray]
    timeline: Timeline
    notes: tuple[str, ...]
    put_in: np.ndarray


def arrange(
    table: Table,
    groups: Sequence[np.ndarray],
    timeline: Timeline,
    gaps: str = "refuse",
    duplicates: str = "refuse",
    constant: Iterable[str] = (),
) -> Arranged:
    """Sort the rows of each series by time, and see to gaps and to times that are there twice.

    Args:
        table: the rows.
        groups: the rows of each series.
        timeline: when they were.
        gaps: `mask` puts in rows of missing values, `fill` repeats the row before, `keep` lets rows
            follow one another as they do.
        duplicates: of rows of one series and time, the first or the last is kept, or the mean or
            the sum of their numbers; their words must then be the same.
        constant: columns that a row which is put in has from the row before, even with `mask`: the
            name of the series, say.

    Example:
        >>> with open("sales.csv", "w") as file:
        ...     _ = file.write("day,sales\\n2024-01-04,4\\n2024-01-01,1\\n2024-01-02,2\\n")
        >>> from ostinato.data import read_table
        >>> table, groups = read_table("sales.csv"), [np.arange(3)]
        >>> arranged = arrange(table, groups, timeline_of(table, groups), gaps="mask")
        >>> arranged.table.numbers["sales"][arranged.groups[0]].tolist()
        [1.0, 2.0, nan, 4.0]
        >>> arranged.notes[1:]
        ("3 rows were sorted by 'day'", '1 gap was masked with 1 row of missing values')
    """
    notes = [timeline.words]
    order = [rows[np.argsort(timeline.stamps[rows], kind="stable")] for rows in groups]
    moved = sum(int((a != b).sum()) for a, b in zip(order, groups, strict=True))
    if moved:
        notes.append(f"{_count(moved, 'row')} were sorted by {shown(timeline.column)}")
    rows = np.concatenate(order)
    series = np.repeat(np.arange(len(order)), list(map(len, order)))
    stamps = timeline.stamps[rows]
    again = np.append(False, (np.diff(series) == 0) & (np.diff(stamps) == np.timedelta64(0)))
    if again.any():
        table, rows, note = _joined(table, timeline, rows, again, duplicates)
        series, stamps = series[~again], stamps[~again]
        notes.append(note)
    left_out = _left_out(timeline, stamps, series)
    if gaps == "keep" and left_out.any():
        notes.append(f"{_count(int((left_out > 0).sum()), 'gap')} in time stayed")
        left_out[:] = 0
    if not left_out.any():
        if not again.any():
            return Arranged(table, order, timeline, tuple(notes), np.zeros(table.rows, bool))
    elif gaps == "refuse":
        _refuse_gaps(table, timeline, rows, stamps, series, left_out)
    else:
        notes.append(_gap_note(table, left_out, gaps))
    source = np.repeat(np.arange(len(rows)), left_out + 1)
    after = np.arange(len(source)) - np.repeat(np.cumsum(left_out + 1) - left_out - 1, left_out + 1)
    put_in = after > 0
    stamps = timeline.next(stamps[source], after) if put_in.any() else stamps
    blank = put_in if gaps == "mask" else np.zeros(len(put_in), bool)
    table = _with_rows(table, rows[source], blank, {*constant})
    if put_in.any():
        for name in {*timeline.parts} & {*table.numbers}:
            local = local_times(stamps[put_in], timeline.zone)
            table.numbers[name][put_in] = part_of(local, name)
    counts = np.bincount(series[source], minlength=len(order))
    new_groups = np.split(np.arange(len(source)), np.cumsum(counts)[:-1])
    timeline = dataclasses.replace(timeline, stamps=stamps)
    return Arranged(table, new_groups, timeline, tuple(notes), put_in)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _joined(
    table: Table, timeline: Timeline, rows: np.ndarray, again: np.ndarray, how: str
) -> tuple[Table, np.ndarray, str]:
    """The table and its rows, one for each time, and a note; `again` marks all but the first."""
    column, extra = shown(timeline.column), _count(int(again.sum()), "row")
    done = f"{extra} with a time that was there before {'was' if again.sum() == 1 else 'were'}"
    at = int(np.argmax(again))
    if how == "refuse":
        when = shown_time(timeline.stamps[rows[at]], timeline.zone)
        words = table.columns_of_words()
        series = f": {' or '.join(map(shown, words[:5]))}?" if words else ""
        raise BadInput(
            f"{table.where(np.sort(rows[[at - 1, at]]))}, column {column}: {when} is there twice "
            f"({extra} with a time that was there before); name with sequence the column that says "
            f"to which series a row belongs{series}, or give {table.option('duplicates', 'first')} "
            f"({', '.join(DUPLICATES[2:])})"
        )
    begins = np.flatnonzero(~again)
    if how in ("first", "last"):
        kept = begins if how == "first" else np.append(begins[1:], len(rows)) - 1
        return table, rows[kept], f"{done} left out ({how} kept)"
    numbers = dict(table.numbers)
    one = rows[begins]
    for name, values in table.numbers.items():
        there = ~np.isnan(values[rows])
        total = np.add.reduceat(np.where(there, values[rows], 0), begins)
        count = np.add.reduceat(there.astype(int), begins)
        numbers[name] = values.copy()
        with np.errstate(invalid="ignore"):
            joined = total / count if how == "mean" else np.where(count, total, np.nan)
        numbers[name][one] = joined
    which = np.cumsum(~again) - 1
    for name, cells in table.texts.items():
        if name in table.numbers:
            continue
        differ = np.flatnonzero(cells[rows] != cells[one][which])
        if differ.size and name not in (timeline.column, *timeline.parts):
            pair = np.sort([rows[differ[0]], one[which[differ[0]]]])
            raise BadInput(
                f"{table.where(pair)}, column {shown(name)}: {shown(cells[pair[0]])} and "
                f"{shown(cells[pair[1]])} at one time have no {how}; give "
                f"{table.option('duplicates', 'first')}"
            )
    joined_table = dataclasses.replace(table, numbers=numbers)
    return joined_table, one, f"{done} joined ({how})"


def _left_out(timeline: Timeline, stamps: np.ndarray, series: np.ndarray) -> np.ndarray:
    """How many rows are missing after each row."""
    left_out = np.zeros(len(stamps), int)
    if timeline.frequency is None:
        return left_out
    for rows in np.split(np.arange(len(stamps)), np.flatnonzero(np.diff(series)) + 1):
        left_out[rows[:-1]] = timeline.frequency.left_out(stamps[rows], timeline.zone)
    return left_out


def _refuse_gaps(
    table: Table,
    timeline: Timeline,
    rows: np.ndarray,
    stamps: np.ndarray,
    series: np.ndarray,
    left_out: np.ndarray,
) -> None:
    assert timeline.frequency is not None
    at = int(np.argmax(left_out > 0))
    before, after = (shown_time(stamps[n], timeline.zone) for n in (at, at + 1))
    every, some = int(series[-1]) + 1, len(np.unique(series[left_out > 0]))
    gaps = _count(int((left_out > 0).sum()), "gap") + (
        f" in {some} of {every} series" * (every > 1)
    )
    mask, fill, keep = (table.option("gaps", how) for how in ("mask", "fill", "keep"))
    where = table.where(np.sort(rows[[at, at + 1]]))
    raise BadInput(
        f"{where}, column {shown(timeline.column)}: {after} comes after {before}, but rows are "
        f"{timeline.frequency.words} apart ({gaps}, {_count(int(left_out.sum()), 'row')} missing); "
        f"give {mask} (missing values there), {fill} (the values before) or {keep} (as it is)"
    )


def _gap_note(table: Table, left_out: np.ndarray, gaps: str) -> str:
    """What was done about gaps; refused if that takes far more rows than there are."""
    count, total = int((left_out > 0).sum()), int(left_out.sum())
    if total > MORE * table.rows:
        raise BadInput(
            f"{table.path}: its gaps take {total:,} rows, more than {MORE} times those that are "
            f"there; is a date wrong? or give {table.option('gaps', 'keep')}"
        )
    done, what = ("masked", "of missing values") if gaps == "mask" else ("filled", "as before it")
    was = "was" if count == 1 else "were"
    return f"{_count(count, 'gap')} {was} {done} with {_count(total, 'row')} {what}"


def _with_rows(table: Table, rows: np.ndarray, blank: np.ndarray, constant: set[str]) -> Table:
    """A table of some of the rows of another one; those that are blank have missing values."""

    def of(columns: dict[str, Any], missing: Any) -> dict[str, np.ndarray]:
        chosen = {name: values[rows] for name, values in columns.items()}
        for name, values in chosen.items():
            if name not in constant:
                values[blank] = missing
        return chosen

    times = of({name: stamps for name, (stamps, _) in table.times.items()}, np.datetime64("NaT"))
    return dataclasses.replace(
        table,
        numbers=of(table.numbers, np.nan),
        texts=of(table.texts, ""),
        lines=table.lines[rows],
        times={name: (times[name], zone) for name, (_, zone) in table.times.items()},
    )
