"""Dates and times as people write them.

    2024-01-31   2024/1/31   20240131   2024-01   01/2024   2024-W05   2024-Q1   Q1 2024
    31 Jan 2024   Jan 31, 2024   January 2024   Wed, 31 Jan 2024
    31.01.2024   1/31/2024   31-01-24

A time of day may follow (`14:00`, `T14:00:00.5`, `2:00 PM`), and after it a zone (`Z`, `UTC`,
`+02:00`). All cells of a column are written in one way. Years of two digits are 1969 to 2068.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np

from .frequency import STAMP

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
NAME = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
NTH = r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?"
YEAR, SHORT_YEAR = r"(?P<year>\d{4})", r"(?P<year>\d{4}|\d\d)"
FORMS = {  # an example of each form, and its pattern
    "2024-01-31": YEAR + r"(?P<sign>[-/.])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})",
    "20240131": YEAR + r"(?P<month>\d\d)(?P<day>\d\d)",
    "2024-01": YEAR + r"[-/.](?P<month>\d{1,2})",
    "01/2024": r"(?P<month>\d{1,2})[-/.]" + YEAR,
    "2024-W05": YEAR + r"-?W(?P<week>\d\d)(?:-?(?P<weekday>[1-7]))?",
    "2024-Q1": YEAR + r"[- ]?Q(?P<quarter>[1-4])",
    "Q1 2024": r"Q(?P<quarter>[1-4])[-/ ]?" + YEAR,
    "31 Jan 2024": NTH + "[-/ ]*" + NAME + "[-,/ ]*" + SHORT_YEAR,
    "Jan 31, 2024": NAME + r"\s*" + NTH + r"(?:,\s*|\s+)" + YEAR,
    "Jan 2024": NAME + "[-,/ ]*" + YEAR,
    "2024 Jan": YEAR + "[-/ ]*" + NAME,
    "31/01/2024": r"(?P<one>\d{1,2})(?P<sign>[-/.])(?P<two>\d{1,2})(?P=sign)" + SHORT_YEAR,
}
EITHER = "31/01/2024"  # the form whose first number may be the day or the month
ORDERS = ("day/month/year", "month/day/year")
WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
CLOCK = (
    r"(?:(?:T|,?\s+)(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::(?P<second>\d\d)"
    r"(?:[.,](?P<fraction>\d{1,9}))?)?)?(?:\s*(?P<half>[ap])\.?m\.?)?"
    r"(?:\s*(?P<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?))?)?"
)
PATTERNS = {
    form: re.compile(WEEKDAY + pattern + CLOCK, re.IGNORECASE | re.ASCII)
    for form, pattern in FORMS.items()
}
YEAR_1 = np.datetime64("0001-01-01", "us")
ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{3}(?:\d{3})?)?)?)?", re.ASCII)


class NoDate(ValueError):
    """A cell that cannot be read, or not as the others of its column; the words follow it."""

    def __init__(self, cell: str, why: str):
        super().__init__(why)
        self.cell = cell


class When(NamedTuple):
    """What one cell says.

    Attributes:
        local: the time on the clock.
        offset: what that clock is ahead of UTC, if the cell says so.
        clock: whether it says a time of day.
        form: how it is written, one of `FORMS`.
    """

    local: datetime
    offset: timedelta | None
    clock: bool
    form: str


class Dates(NamedTuple):
    """What the cells of a column say, each as one entry of an array.

    Attributes:
        local: `(n,)`, the times on the clock.
        offsets: `(n,)`, what that clock is ahead of UTC; `None` if no zone is given.
        clock: whether some have a time of day.
        form: how they are written: one of `FORMS`, or of `ORDERS` if it is `EITHER`.
    """

    local: np.ndarray
    offsets: np.ndarray | None
    clock: bool
    form: str


def looks_like_date(cell: str) -> bool:
    """Whether a cell can be read as a date.

    Example:
        >>> looks_like_date("31. Jan 2024 14:00"), looks_like_date("31 apples")
        (True, False)
    """
    return any(True for _ in _readings(cell, ORDERS))


def date_readings(cells: Iterable[str], orders: Iterable[str] = ORDERS) -> Iterator[Dates]:
    """The dates of some cells, in each of the one or two ways that they can be read.

    Args:
        cells: none of them missing.
        orders: which of `ORDERS` to try where the day and the month are numbers of one form.

    Raises:
        NoDate: they can be read in no way.

    Example:
        >>> [(reading.form, str(reading.local[0])[:10]) for reading in date_readings(["1/2/2024"])]
        [('day/month/year', '2024-02-01'), ('month/day/year', '2024-01-02')]
    """
    cells = list(cells)
    if all(map(ISO.fullmatch, cells[:1])) and (dates := _all_iso(cells)) is not None:
        yield dates
        return
    fault, readings, worst = None, 0, -1
    for order in orders:
        try:
            dates = _read(cells, order)
        except NoDate as error:
            at = cells.index(error.cell)
            fault, worst = (error, at) if at > worst else (fault, worst)
            continue
        readings += 1
        yield dates
        if dates.form not in ORDERS:
            return
    if not readings and fault is not None:
        raise fault


def _all_iso(cells: list[str]) -> Dates | None:
    """Plain ISO dates without a zone, all at once; `None` if some are written in another way."""
    if not _as_first(cells) and not all(map(ISO.fullmatch, cells)):
        return None
    try:
        times = np.array(cells, STAMP)
        if len(times) and times.min() < YEAR_1:
            raise ValueError
    except ValueError:
        wrong = next(cell for cell in cells if not _is_day(cell))
        raise NoDate(wrong, "is no day or time that there is") from None
    clock = any(len(cell) > len("2024-01-31") for cell in cells)
    return Dates(times, None, clock, "2024-01-31")


def _as_first(cells: list[str]) -> bool:
    """Whether all cells have digits where the first one has, and the same signs elsewhere."""
    width = len(cells[0]) if cells else 0
    if not width or any(len(cell) != width for cell in cells):
        return False
    codes = np.array(cells).view(np.uint32).reshape(-1, width)
    digits = (codes >= ord("0")) & (codes <= ord("9"))
    return bool((digits == digits[0]).all() and ((codes == codes[0]) | digits[0]).all())


def _is_day(cell: str) -> bool:
    try:
        return bool(np.datetime64(cell) >= YEAR_1)
    except ValueError:
        return False


def _read(cells: list[str], order: str) -> Dates:
    """The dates of some cells, where numbers alone are in the given order."""
    times: list[When] = []
    for cell in cells:
        time = next(_readings(cell, (order,)), None)
        if time is None:
            raise NoDate(cell, "is no date or time that can be read; write 2024-01-31 14:00")
        first = times[0] if times else time
        if time.form != first.form:
            raise NoDate(cell, f"is written in another way than {cells[0]!r:.40} above")
        if (time.offset is None) != (first.offset is None):
            zones = ("no", "one") if time.offset is None else ("a", "none")
            raise NoDate(
                cell, f"has {zones[0]} time zone, but {cells[0]!r:.40} above has {zones[1]}"
            )
        times.append(time)
    zoned, form = times[0].offset is not None, times[0].form
    return Dates(
        np.array([when.local for when in times], STAMP),
        np.array([when.offset for when in times], "timedelta64[us]") if zoned else None,
        any(when.clock for when in times),
        order if form == EITHER else form,
    )


def _readings(cell: str, orders: Iterable[str]) -> Iterator[When]:
    """What a cell says, in each way that it can be read."""
    for form, pattern in PATTERNS.items():
        match = pattern.fullmatch(cell)
        if match is None:
            continue
        for order in orders if form == EITHER else ("",):
            try:
                yield _when(match.groupdict(), form, order)
            except ValueError:  # there is no such day
                continue


def _when(said: dict[str, str | None], form: str, order: str) -> When:
    number = {name: int(text) for name, text in said.items() if text and text.isdigit()}
    year, month = number["year"], number.get("month", 1)
    if len(said["year"] or "") == 2:
        year += 1900 if year > 68 else 2000
    if form == EITHER:
        number["day"], month = [number[name] for name in ("one", "two")][
            :: 1 if order == ORDERS[0] else -1
        ]
    elif said.get("name"):
        month = MONTHS.index(said["name"][:3].lower()) + 1  # type: ignore[index]
    elif "quarter" in number:
        month = 3 * number["quarter"] - 2
    if "week" in number:
        date = datetime.fromisocalendar(year, number["week"], number.get("weekday", 1))
    else:
        date = datetime(year, month, number.get("day", 1))
    hour, half = number.get("hour", 0), (said["half"] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            raise ValueError(hour)
        hour = hour % 12 + (12 if half == "p" else 0)
    fraction = int((said["fraction"] or "").ljust(6, "0")[:6])
    local = date.replace(
        hour=hour,
        minute=number.get("minute", 0),
        second=number.get("second", 0),
        microsecond=fraction,
    )
    return When(local, _offset(said["zone"]), said["hour"] is not None, form)


def _offset(zone: str | None) -> timedelta | None:
    if zone is None:
        return None
    if zone[0] not in "+-":
        return timedelta(0)
    hours, minutes = int(zone[1:3]), int(zone[3:].strip(":") or 0)
    if hours > 14 or minutes > 59:
        raise ValueError(zone)
    return timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)
