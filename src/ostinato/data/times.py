"""When the rows of a table were.

A column of dates makes a `Timeline`: one that a file or a data frame keeps as times, or text that
can be read as dates (see `dates`). `arrange` puts rows in the order of time and says what it did.
Columns of numbers (`year`; `year,month,day,hour`) say the time only if they are asked to. Without a
timeline rows must be in order; see `order`.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import BadInput
from ..settings import shown
from .dates import ORDERS
from .frequency import STAMP, Frequency, infer_frequency, local_times
from .table import Table, is_time
from .time_columns import (
    YEARS,
    begins_with_date,
    clock_columns,
    finer,
    first_word,
    sorted_times,
    times_of,
)


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
        first, last = map(self.shown, (self.stamps.min(), self.stamps.max()))
        order = f", read as {self.form}" if self.form in ORDERS else ""
        zone = f" ({self.zone})" if self.zone else ""
        apart = f"{self.frequency.words} apart" if self.frequency else "not evenly apart"
        names = " and ".join(map(shown, (self.column, *self.parts)))
        return f"the time is {names}{order}: {first} to {last}{zone}, rows {apart}"

    @property
    def years(self) -> bool:
        """Whether the column has years alone, as numbers."""
        return self.form == YEARS and not self.parts

    def shown(self, stamp: np.datetime64) -> str:
        """A time as people read it, or as a year where the column has no more."""
        return shown_time(stamp, self.zone, self.years)

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


def shown_time(stamp: np.datetime64, zone: str | None = None, years: bool = False) -> str:
    """A time as people read it: the date, and the time of day unless it is midnight.

    With `years` it is the year alone.

    Example:
        >>> shown_time(np.datetime64("2024-01-31T00:00"))
        '2024-01-31'
        >>> shown_time(np.datetime64("2024-01-31T13:00"), "Europe/Berlin")
        '2024-01-31 14:00'
    """
    local = local_times(np.asarray(stamp, STAMP).reshape(1), zone)[0]
    if years:
        return str(local.astype("datetime64[Y]"))
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
        cell = shown(first_word(table.texts[main]))
        what = f"{cell} may be {' or '.join(ORDERS)}, and the rows are regular both ways"
        raise table.wrong(main, f"{what}; write the dates as 2024-01-31", 0)
    timeline = readings[0]
    gaps = np.flatnonzero(np.isnat(timeline.stamps))
    if gaps.size:
        raise table.wrong(main, "the time is missing; fill it in or leave the row out", gaps)
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
        further = parts
        if further is None:
            further = [] if main_times.clock else clock_columns(table, groups, stamps, without)
        timelines = []
        for stamps, zone in main_times.choices:
            for name in further:
                stamps = finer(table, stamps, name)
            frequency = infer_frequency(sorted_times(stamps, groups), zone)
            form = main_times.form
            timelines.append(Timeline(main, stamps, zone, frequency, tuple(further), form))
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
        raise table.wrong(timeline.column, f"it has {which} that of the run's data")
    for stamps in sorted_times(timeline.stamps, groups):
        if len(stamps) and not frequency.fits(stamps, zone):
            what = f"the rows of this run are {frequency.words} apart, and {timeline.words}"
            raise table.wrong(timeline.column, what)
    return dataclasses.replace(timeline, frequency=frequency, zone=zone)
