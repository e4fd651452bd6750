"""When the steps of a series are: rows in order of time, what comes after them, the calendar."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...data import Table
from ...data.arrange import arrange
from ...data.artefact_checks import kept_object
from ...data.calendar_features import calendar_features
from ...data.frequency import Frequency
from ...data.order import check_order
from ...data.table import is_time
from ...data.times import Timeline, timeline_of
from ...errors import BadInput
from ...settings import shown
from .from_files import names_in

TIME = ("column", "parts", "zone", "frequency", "form")  # what a run keeps of its times


class Rows(NamedTuple):
    """The rows of a table in the order of time; see `Arranged`, which this is without a timeline.

    Attributes:
        table, groups: the rows, and those of each series.
        timeline: when they were; `None` if nothing says so.
        notes: what was done, a sentence each.
        put_in: `(rows,)`, which rows were put into gaps.
    """

    table: Table
    groups: Sequence[np.ndarray]
    timeline: Timeline | None
    notes: tuple[str, ...]
    put_in: np.ndarray


def rows_in_order(
    table: Table,
    groups: Sequence[np.ndarray],
    settings: Any,
    without: Sequence[str],
    kept: Mapping[str, Any],
    needed: bool,
) -> Rows:
    """Sort the rows of each series by the column of dates, if there is one.

    Args:
        table: the rows.
        groups: those of each series.
        settings: those of `Series`: `time`, `gaps`, `duplicates`, `calendar`, `static`.
        without: columns that say no time, because they have another role.
        kept: what a trained model keeps of its task.
        needed: whether a column of dates that cannot be read is refused. Otherwise, and if nothing
            is asked of the times, rows are taken as they come, if they are in order.
    """
    asked = {"time": None, "gaps": "keep", "duplicates": "refuse", "calendar": False}
    needed = needed or any(getattr(settings, name) != usual for name, usual in asked.items())
    known = kept.get("time")
    if known is not None and known["column"] not in table.names and not settings.calendar:
        known = None
    needed = needed or known is not None
    plain = Rows(table, groups, None, (), np.zeros(table.rows, bool))
    try:
        timeline = timeline_of(table, groups, settings.time, without, known)
        if timeline is not None:
            constant = [*names_in(settings.sequence), *names_in(settings.static)]
            how = settings.gaps, settings.duplicates, constant
            return Rows(*arrange(table, groups, timeline, *how))
    except BadInput as error:
        if needed:
            raise
        check_order(table, groups, without)
        return plain._replace(notes=(f"times are not used: {error}",))
    for name, usual in asked.items():
        if getattr(settings, name) != usual:
            raise BadInput(
                f"{table.path} has no column of dates, which {name} needs; name it with time"
            )
    check_order(table, groups, without)
    numbers = [name for name in table.names if name in table.numbers and name not in without]
    notes = [
        f"{shown(name)} is read as a number like any other; if it says when a row was, give "
        f"{table.option('time', name)}"
        for name in filter(is_time, numbers)
    ]
    return plain._replace(notes=(*notes[:1],))


def time_columns(table: Table, settings: Any, timeline: Timeline | None) -> list[str]:
    """The columns of times that a network does not read: text, and those that are named as time."""
    if timeline is None:
        return []
    names = (timeline.column, *timeline.parts)
    return [name for name in names if settings.time is not None or name not in table.numbers]


def stamps_after(timeline: Timeline, end: int, count: int) -> np.ndarray | None:
    """The times of the steps after the first `end` of a series; `None` if they are not known.

    Rows that are there say their own times, and after them the steps are those of the frequency.
    """
    given = timeline.stamps[end : end + count]
    if len(given) == count:
        return given
    if timeline.frequency is None:
        return None
    more = timeline.next(timeline.stamps[-1], np.arange(1, count - len(given) + 1))
    return np.concatenate([given, more])


def calendar_of(
    timelines: list[Timeline] | None, xs: list[np.ndarray]
) -> tuple[list[str], list[np.ndarray | None]]:
    """The names of the features of the calendar, and those of each series; none without times."""
    if timelines is None:
        return [], [None for _ in xs]
    made = [calendar_features(one.stamps, one.frequency, one.zone) for one in timelines]
    return made[0][0], [values for _, values in made]


def calendar_after(timeline: Timeline, end: int, count: int) -> np.ndarray:
    """The features of the calendar of these steps, `(count, features)`."""
    stamps = stamps_after(timeline, end, count)
    if stamps is None:
        raise BadInput(
            "the rows are not evenly apart, so the times to forecast are not known, which the "
            "calendar needs; give rows with these times, or leave the calendar out"
        )
    return calendar_features(stamps, timeline.frequency, timeline.zone)[1]


def check_time(kept: Any) -> None:
    """Raise `BadInput` for what a run keeps of its times that is not what it should be."""
    kept_object(kept, "time", TIME)
    parts = kept["parts"]
    texts = [kept["column"], kept["form"], *(parts if isinstance(parts, list) else [None])]
    if not all(isinstance(x, str) for x in [*texts, kept["zone"] or ""]):
        raise BadInput("its time is not that of a column")
    if kept["frequency"] is not None:
        Frequency.from_json(kept_object(kept["frequency"], "frequency", ("unit", "count", "day")))
