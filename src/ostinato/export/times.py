"""How exported programs compare the times of rows: which columns, and how their cells are written.

A program reads its rows as they come, so it can only refuse those that are out of order. It knows
the form in which the run read its dates, and reads no other.

A program in C is given a pattern of one letter for each part of a date:

    Y S     a year of four digits; of two or four      Q W     the letter itself
    M D     a month, a day, of one or two digits       q       a quarter, 1 to 4
    m d w   a month, a day, a week, of two digits      k       a weekday after a week, or nothing
    N       the name of a month                        n       what follows a day: th, or a point
    -       one of - / . and the same each time        _       any spaces and signs, or none
    #       a number instead of a date                 p       a number, or a time of day

A page is given the regular expression by which the library reads the form.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..data.dates import CLOCK, EITHER, FORMS, ORDERS, WEEKDAY
from ..data.order import WHOLE
from ..data.table import TIMES, is_time, time_word

PATTERNS = {  # by the form of `dates`; a form without a name is of a file that keeps times
    "2024-01-31": "Y-M-D",
    "20240131": "Ymd",
    "2024-01": "Y-M",
    "01/2024": "M-Y",
    "2024-W05": "Y_Wwk",
    "2024-Q1": "Y_Qq",
    "Q1 2024": "Qq_Y",
    "31 Jan 2024": "Dn_N_S",
    "Jan 31, 2024": "N_Dn_Y",
    "Jan 2024": "N_Y",
    "2024 Jan": "Y_N",
    "day/month/year": "D-M-S",
    "month/day/year": "M-D-S",
    "": "Y-M-D",
}
NUMBER, PART = "#", "p"


class Ordered(NamedTuple):
    """A column by which rows are ordered.

    Attributes:
        name: of the column.
        pattern: of its cells.
        like: an example of a cell, or its form.
        expression: `pattern` for a page; empty where it is no date.
        months: whether a date of numbers alone begins with the month.
    """

    name: str
    pattern: str
    like: str
    expression: str
    months: bool


def ordered(about: Mapping[str, Any]) -> tuple[list[Ordered], bool]:
    """The columns by which the rows of an interface are ordered, from the coarse to the fine.

    Returns:
        The columns, and whether each row must come after the one before. Without a column of dates
        only a number such as `year`, which the network reads, may not decrease.
    """
    time = about.get("time")
    if time is not None:
        finer = [Ordered(name, PART, "14:00", "", False) for name in _by_size(time["parts"])]
        return [_of_date(time["column"], time["form"]), *finer], True
    names = _by_size([x for x in about.get("columns") or () if is_time(x)])
    whole = [name for name in names if time_word(name) in WHOLE]
    parts = [name for name in names if name not in whole] if whole else []
    return [Ordered(x, NUMBER, "a number", "", False) for x in [*whole, *parts]], False


def _by_size(names: list[str]) -> list[str]:
    """Columns of times, those of the largest unit first and other names last."""

    def size(name: str) -> int:
        word = time_word(name)
        return TIMES.index(word) if word in TIMES else len(TIMES)

    return sorted(names, key=size)


def _of_date(name: str, form: str) -> Ordered:
    if form not in PATTERNS:  # years, or seconds since 1970
        return Ordered(name, NUMBER, "a number", "", False)
    expression = FORMS[EITHER if form in ORDERS else form or "2024-01-31"]
    plain = re.sub(r"\(\?P<", "(?<", WEEKDAY + expression + CLOCK)
    plain = re.sub(r"\(\?P=(\w+)\)", r"\\k<\1>", plain)
    return Ordered(name, PATTERNS[form], form or "2024-01-31", plain, form == ORDERS[1])
