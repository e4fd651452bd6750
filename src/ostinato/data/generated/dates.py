"""Dates in many formats, to ISO 8601: `Friday, March 5, 2021` to `2021-03-05`.

The formats are English, German, French, and numbers alone. Every text means one date only: with
slashes the month comes before the day unless the year leads, with dots the day comes first, and
years have four digits.
"""

import datetime

import numpy as np

from ...errors import BadInput
from ..splits import draw_in

FIRST, LAST = datetime.date(1600, 1, 1), datetime.date(2199, 12, 31)

MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
}
WEEKDAYS = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche",
}

# Language and pattern. {d}, {m}: as short as possible; {dd}, {mm}: two digits; {y}: year;
# {nth}: 1st in English, 1er in French; {month}, {mon}: the name and its first three letters.
FORMATS: tuple[tuple[str, str], ...] = (
    ("en", "{month} {d}, {y}"),
    ("en", "{month} {nth}, {y}"),
    ("en", "{d} {month} {y}"),
    ("en", "the {nth} of {month} {y}"),
    ("en", "{weekday}, {month} {d}, {y}"),
    ("en", "{weekday}, {d} {month} {y}"),
    ("en", "{mon} {d}, {y}"),
    ("en", "{d}-{mon}-{y}"),
    ("en", "{mm}/{dd}/{y}"),
    ("en", "{m}/{d}/{y}"),
    ("de", "{d}. {month} {y}"),
    ("de", "{weekday}, {d}. {month} {y}"),
    ("de", "{weekday}, den {d}. {month} {y}"),
    ("de", "{dd}.{mm}.{y}"),
    ("de", "{d}.{m}.{y}"),
    ("fr", "{nth} {month} {y}"),
    ("fr", "{weekday} {nth} {month} {y}"),
    ("fr", "le {nth} {month} {y}"),
    ("", "{y}/{mm}/{dd}"),
    ("", "{y}{mm}{dd}"),
)


def date_pair(date: datetime.date, form: int) -> tuple[str, str]:
    """A date in one of `FORMATS`, and in ISO 8601.

    Args:
        date: any date with a year of four digits.
        form: the number of the format.

    Example:
        >>> date_pair(datetime.date(2021, 3, 5), 4)
        ('Friday, March 5, 2021', '2021-03-05')
        >>> date_pair(datetime.date(1789, 7, 1), 16)
        ('mercredi 1er juillet 1789', '1789-07-01')
    """
    if not 0 <= form < len(FORMATS):
        raise BadInput(f"the format must be a number from 0 to {len(FORMATS) - 1}, got {form}")
    language, pattern = FORMATS[form]
    fields: dict[str, object] = {"d": date.day, "m": date.month, "y": date.year}
    fields |= {"dd": f"{date.day:02}", "mm": f"{date.month:02}"}
    if language:
        month = MONTHS[language].split()[date.month - 1]
        fields |= {"month": month, "mon": month[:3], "nth": _ordinal(date.day, language)}
        fields["weekday"] = WEEKDAYS[language].split()[date.weekday()]
    return pattern.format(**fields), date.isoformat()


def draw_date(
    rng: np.random.Generator,
    part: str = "train",
    first: datetime.date = FIRST,
    last: datetime.date = LAST,
) -> datetime.date:
    """A random date of the part, from `first` to `last`; see `part_of`.

    A date belongs to the same part in every format.

    Example:
        >>> draw_date(np.random.default_rng(0))
        datetime.date(1982, 3, 6)
    """
    if first > last:
        raise BadInput(f"the first date {first} is later than the last, {last}")
    low, high = first.toordinal(), last.toordinal()

    def draw() -> datetime.date:
        return datetime.date.fromordinal(int(rng.integers(low, high, endpoint=True)))

    return draw_in(part, draw)


def draw_dates(rng: np.random.Generator, count: int, part: str = "train") -> list[tuple[str, str]]:
    """Random dates of the part, each in a random format, with their ISO form.

    Example:
        >>> draw_dates(np.random.default_rng(0), 1)
        [('6. März 1982', '1982-03-06')]
    """
    return [date_pair(draw_date(rng, part), int(rng.integers(len(FORMATS)))) for _ in range(count)]


def _ordinal(day: int, language: str) -> str:
    if language == "fr":
        return "1er" if day == 1 else str(day)
    ending = "th" if 10 <= day <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"
