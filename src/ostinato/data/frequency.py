"""How far apart the rows of a series are: hours, days, business days, months.

A frequency is a grid. Hours and less are counted in absolute time, so that a day with a change of
clocks has 23 or 25 of them; days, weeks and months are counted on the local clock, so that rows of
every midnight are a day apart. Business days are Monday to Friday. Months know the day on which
their rows are: a number, which a shorter month cuts off, or the last day.
"""

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from ..errors import BadInput
from ..settings import shown

STAMP = np.dtype("datetime64[us]")
DAY, MONTH = np.timedelta64(1, "D"), np.timedelta64(1, "M")
KNOWN_YEARS = np.array(["0001-01-03", "9999-12-29"], STAMP)
MICROSECONDS = {  # in a unit of time
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1000,
    "microsecond": 1,
}
UNITS = ("microsecond", "day", "business day", "month")
LAST, FIRST_WEEKDAY, LAST_WEEKDAY = "last", "first weekday", "last weekday"
PLACES = (LAST, *range(1, 31), FIRST_WEEKDAY, LAST_WEEKDAY)  # of a row within its month
COMMON = 4  # a step is one that at least one of so many pairs of rows are apart
OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")


@dataclasses.dataclass(frozen=True)
class Frequency:
    """A fixed number of units between one row and the next.

    Attributes:
        unit: one of `UNITS`.
        count: how many of them.
        day: for months, the day on which rows are: one of `PLACES`.

    Example:
        >>> Frequency("day", 7).words, Frequency("month", 3).words
        ('1 week', '1 quarter')
        >>> month_ends = Frequency("month", 1, "last")
        >>> str(month_ends.next(np.datetime64("2024-01-31", "us"), 1))[:10]
        '2024-02-29'
    """

    unit: str
    count: int
    day: int | str = 1

    @property
    def words(self) -> str:
        """The step in words: `15 minutes`."""
        count, unit = self.count, self.unit
        if unit == "microsecond":
            unit = next(name for name, size in MICROSECONDS.items() if count % size == 0)
            count //= MICROSECONDS[unit]
        for small, large, size in (("day", "week", 7), ("month", "year", 12)):
            if unit == small and count % size == 0:
                unit, count = large, count // size
        if unit == "month" and count % 3 == 0:
            unit, count = "quarter", count // 3
        return f"{count} {unit}{'s' if count > 1 else ''}"

    @property
    def seconds(self) -> float:
        """The step in seconds, a month as one of 30 days and a business day as a day."""
        days = {"day": 1, "business day": 1, "month": 30}
        return self.count * (days[self.unit] * 86400 if self.unit in days else 1e-6)

    def next(self, stamps: Any, k: Any, zone: str | None = None) -> Any:
        """The times `k` steps after those of some rows.

        Args:
            stamps: datetime64, one or an array; in UTC if there is a zone.
            k: steps, one or an array of the same shape.
            zone: of the local clock, by which days and months are counted.
        """
        stamps, k = np.broadcast_arrays(np.asarray(stamps, STAMP), np.asarray(k, np.int64))
        if self.unit == "microsecond":
            return (stamps + k * np.timedelta64(self.count, "us"))[()]
        local = local_times(stamps, zone)
        days = local.astype("datetime64[D]")
        clock = local - days
        if self.unit == "day":
            days = days + k * self.count * DAY
        elif self.unit == "business day":
            days = np.busday_offset(days, k * self.count, roll="backward")
        else:
            days = self._in_month(days.astype("datetime64[M]") + k * self.count * MONTH)
        return utc_times((days + clock).astype(STAMP), zone)[()]

    def _in_month(self, months: np.ndarray) -> np.ndarray:
        """The day of a row in some months."""
        first = months.astype("datetime64[D]")
        last = (months + MONTH).astype("datetime64[D]") - DAY
        if self.day == FIRST_WEEKDAY:
            return np.busday_offset(first, 0, roll="forward")
        if self.day == LAST_WEEKDAY:
            return np.busday_offset(last, 0, roll="backward")
        return last if self.day == LAST else np.minimum(first + (int(self.day) - 1) * DAY, last)

    def steps(self, start: Any, stamps: Any, zone: str | None = None) -> np.ndarray:
        """The number of whole steps from `start` to some times, where they are on its grid."""
        if self.unit == "microsecond":
            return (np.asarray(stamps, STAMP) - start).astype(np.int64) // self.count
        one, two = (local_times(np.asarray(x, STAMP), zone) for x in (start, stamps))
        one, two = (
            x.astype(f"datetime64[{'M' if self.unit == 'month' else 'D'}]") for x in (one, two)
        )
        if self.unit == "business day":
            return np.busday_count(one, two) // self.count
        return (two - one).astype(np.int64) // self.count

    def fits(self, stamps: np.ndarray, zone: str | None = None) -> bool:
        """Whether all times are on the grid that the first one begins."""
        return bool(
            (self.next(stamps[0], self.steps(stamps[0], stamps, zone), zone) == stamps).all()
        )

    def left_out(self, stamps: np.ndarray, zone: str | None = None) -> np.ndarray:
        """How many times of the grid are missing after each of some times but the last."""
        if len(stamps) < 2:
            return np.zeros(0, int)
        return np.diff(self.steps(stamps[0], stamps, zone)) - 1

    def as_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Frequency":
        """The frequency that `as_json` gave; raises `BadInput` if it is none."""
        unit, count, day = kept["unit"], kept["count"], kept["day"]
        if unit not in UNITS or type(count) is not int or count < 1 or day not in PLACES:
            raise BadInput("its frequency is none")
        return cls(unit, count, day)


def infer_frequency(series: Sequence[np.ndarray], zone: str | None = None) -> Frequency | None:
    """The frequency of some series, which may have gaps.

    It is the most common step, of a quarter of all pairs of rows or more, on whose grid all rows of
    every series are; `None` if there is no such step, or no series has two rows.

    Args:
        series: the times of each, sorted, none of them twice; in UTC if there is a zone.
        zone: of the local clock, by which days and months are counted.

    Example:
        >>> days = np.array(["2024-02-27", "2024-02-28", "2024-03-02", "2024-03-03"], "M8[us]")
        >>> infer_frequency([days]).words
        '1 day'
    """
    several = [stamps for stamps in series if len(stamps) > 1]
    if not several:
        return None
    for frequency in _candidates(several, [local_times(stamps, zone) for stamps in several]):
        if all(frequency.fits(stamps, zone) for stamps in series if len(stamps)):
            return frequency
    return None


def _candidates(series: list[np.ndarray], local: list[np.ndarray]) -> Iterator[Frequency]:
    days = [stamps.astype("datetime64[D]") for stamps in local]
    apart = np.concatenate([np.diff(one) for one in days]).astype(int)
    if apart.min() >= 28:
        months = [one.astype("datetime64[M]") for one in days]
        for count in _common(np.concatenate([np.diff(one) for one in months]).astype(int)):
            for place in _places(np.concatenate(days)):
                yield Frequency("month", count, place)
    if apart.min() >= 1:
        weekends = any(  # from a Friday to the next Monday
            ((np.diff(one).astype(int) == 3) & (np.busday_count(one[:-1], one[1:]) == 1)).any()
            for one in days
        )
        for count in _common(apart):
            if count == 1 and weekends and np.is_busday(np.concatenate(days)).all():
                yield Frequency("business day", 1)
            yield Frequency("day", count)
    for count in _common(np.concatenate([np.diff(one) for one in series]).astype(np.int64)):
        yield Frequency("microsecond", count)


def _common(apart: np.ndarray) -> list[int]:
    """The steps that are common, the most common one first, and of equals the smallest."""
    steps, counts = np.unique(apart[apart > 0], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return [int(steps[n]) for n in order if counts[n] * COMMON >= counts.sum()]


def _places(days: np.ndarray) -> Iterator[int | str]:
    """Where in the month some days may be, `PLACES`."""
    months = days.astype("datetime64[M]")
    number = int((days - months.astype("datetime64[D]")).astype(int).max()) + 1
    for place in (LAST, min(number, 30), FIRST_WEEKDAY, LAST_WEEKDAY):
        if (Frequency("month", 1, place)._in_month(months) == days).all():
            yield place


@functools.cache
def zone_named(name: str) -> tzinfo:
    """The time zone of a name such as `Europe/Berlin`, or an offset such as `+02:00`."""
    if match := OFFSET.fullmatch(name):
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(-offset if match[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        raise BadInput(
            f"there is no time zone {shown(name)}; there are UTC, Europe/Berlin, +02:00 and so on"
        ) from None


def local_times(stamps: np.ndarray, zone: str | None) -> np.ndarray:
    """Times in UTC as a clock in the zone shows them; without a zone they stay."""
    if zone is None or zone == "UTC" or not stamps.size:
        return stamps
    flat = stamps.reshape(-1)
    days, which = np.unique(flat.astype("datetime64[D]"), return_inverse=True)
    at_midnights = _offsets(np.append(days, days + DAY).astype(STAMP), zone).reshape(2, -1)
    changing = (at_midnights[0] != at_midnights[1])[which]
    offsets = at_midnights[0][which]
    offsets[changing] = _offsets(flat[changing], zone)
    return (flat + offsets).reshape(stamps.shape)


def _offsets(stamps: np.ndarray, zone: str) -> np.ndarray:
    """What a clock in the zone is ahead of UTC at some times `(n,)`, in microseconds."""
    where = zone_named(zone)
    times = [when.replace(tzinfo=UTC).astimezone(where) for when in _of_python(stamps)]
    return np.array([when.utcoffset() for when in times], "timedelta64[us]")


def _of_python(stamps: np.ndarray) -> list[datetime]:
    """Times `(n,)` as those of Python, which knows the years 1 to 9999."""
    return np.clip(stamps, *KNOWN_YEARS).tolist()


def utc_times(local: np.ndarray, zone: str | None) -> np.ndarray:
    """Times on a clock in the zone as UTC; of an hour that the clock shows twice, the first."""
    if zone is None or zone == "UTC" or not local.size:
        return local
    where, flat = zone_named(zone), local.reshape(-1)
    offsets = [when.replace(tzinfo=where).utcoffset() for when in _of_python(flat)]
    return (flat - np.array(offsets, "timedelta64[us]")).reshape(local.shape)
