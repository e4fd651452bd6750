"""Rows of a table in the order of time, without gaps and repeated times."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput
from ..names import counted
from ..settings import shown
from .frequency import local_times
from .table import Table
from .time_columns import calendar_part
from .times import Timeline

GAPS = ("refuse", "mask", "fill", "keep")
DUPLICATES = ("refuse", "first", "last", "mean", "sum")
MORE = 20  # so many times the rows of a table may be put into its gaps


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
        >>> from ostinato.data.times import timeline_of
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
        notes.append(f"{counted(moved, 'row')} were sorted by {shown(timeline.column)}")
    rows = np.concatenate(order)
    series = np.repeat(np.arange(len(order)), list(map(len, order)))
    stamps = timeline.stamps[rows]
    again = np.append(False, (np.diff(series) == 0) & (np.diff(stamps) == np.timedelta64(0, "us")))
    if again.any():
        table, rows, note = _joined(table, timeline, rows, again, duplicates)
        series, stamps = series[~again], stamps[~again]
        notes.append(note)
    left_out = _left_out(timeline, stamps, series)
    if gaps == "keep" and left_out.any():
        notes.append(f"{counted(int((left_out > 0).sum()), 'gap')} in time stayed")
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
            table.numbers[name][put_in] = calendar_part(local, name)
    counts = np.bincount(series[source], minlength=len(order))
    new_groups = np.split(np.arange(len(source)), np.cumsum(counts)[:-1])
    timeline = dataclasses.replace(timeline, stamps=stamps)
    return Arranged(table, new_groups, timeline, tuple(notes), put_in)


def _joined(
    table: Table, timeline: Timeline, rows: np.ndarray, again: np.ndarray, how: str
) -> tuple[Table, np.ndarray, str]:
    """The table and its rows, one for each time, and a note; `again` marks all but the first."""
    extra = counted(int(again.sum()), "row")
    done = f"{extra} with a time that was there before {'was' if again.sum() == 1 else 'were'}"
    at = int(np.argmax(again))
    if how == "refuse":
        when = timeline.shown(timeline.stamps[rows[at]])
        words = table.columns_of_words()
        series = f": {' or '.join(map(shown, words[:5]))}?" if words else ""
        raise table.wrong(
            timeline.column,
            f"{when} is there twice ({extra} with a time that was there before); name with "
            f"sequence the column that says to which series a row belongs{series}, or give "
            f"{table.option('duplicates', 'first')} ({', '.join(DUPLICATES[2:])})",
            np.sort(rows[[at - 1, at]]),
        )
    begins = np.flatnonzero(~again)
    if how in ("first", "last"):
        kept = begins if how == "first" else np.append(begins[1:], len(rows)) - 1
        return table, rows[kept], f"{done} left out ({how} kept)"
    numbers = dict(table.numbers)
    one = rows[begins]
    for name, values in table.numbers.items():
        present = ~np.isnan(values[rows])
        total = np.add.reduceat(np.where(present, values[rows], 0), begins)
        count = np.add.reduceat(present.astype(int), begins)
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
            both = f"{shown(cells[pair[0]])} and {shown(cells[pair[1]])} at one time have no {how}"
            raise table.wrong(name, f"{both}; give {table.option('duplicates', 'first')}", pair)
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
    before, after = (timeline.shown(stamps[n]) for n in (at, at + 1))
    every, some = int(series[-1]) + 1, len(np.unique(series[left_out > 0]))
    gaps = counted(int((left_out > 0).sum()), "gap") + (
        f" in {some} of {every} series" * (every > 1)
    )
    mask, fill, keep = (table.option("gaps", how) for how in ("mask", "fill", "keep"))
    missing = counted(int(left_out.sum()), "row")
    raise table.wrong(
        timeline.column,
        f"{after} comes after {before}, but rows are {timeline.frequency.words} apart ({gaps}, "
        f"{missing} missing); give {mask} (missing values there), {fill} (the values before) or "
        f"{keep} (as it is)",
        np.sort(rows[[at, at + 1]]),
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
    return f"{counted(count, 'gap')} {was} {done} with {counted(total, 'row')} {what}"


def _with_rows(table: Table, rows: np.ndarray, blank: np.ndarray, constant: set[str]) -> Table:
    """A table of some of the rows of another one; those that are blank have missing values."""

    def of(columns: dict[str, Any], missing: Any) -> dict[str, np.ndarray]:
        chosen = {name: values[rows] for name, values in columns.items()}
        for name, values in chosen.items():
            if name not in constant:
                values[blank] = missing
        return chosen

    stamps = {name: stamps for name, (stamps, _) in table.times.items()}
    times = of(stamps, np.datetime64("NaT", "us"))
    return dataclasses.replace(
        table,
        numbers=of(table.numbers, np.nan),
        texts=of(table.texts, ""),
        lines=table.lines[rows],
        times={name: (times[name], zone) for name, (_, zone) in table.times.items()},
    )
