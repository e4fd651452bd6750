"""The future of what is known ahead, in a table or array of its own: rows after the last ones."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...data import Table
from ...data.frames import is_frame, table_of_frame
from ...data.rows import is_rows, table_of_rows
from ...data.times import timeline_of
from ...errors import BadInput
from ...settings import shown
from .from_files import groups_of, names_in, table_of_file
from .series_data import as_series, column_numbers
from .series_table import text_columns, words_in


def with_future(
    given: Any, future: Any, settings: Any, kept: Mapping[str, Any]
) -> tuple[Any, tuple[str, ...]]:
    """A table, or arrays, with the rows after it, which have only what is known ahead.

    Args:
        given: the values so far: a path, a data frame, rows, or arrays.
        future: the rows after them, in the same form. Of a table the columns of series, of times
            and of what is known ahead are read; of an array all columns, or those known ahead.
        settings, kept: those of the run, and what it keeps of its task.

    Returns:
        What was given with these rows, and notes on what was not read.
    """
    known = [*kept.get("roles", {}).get("known", ())]
    if not known:
        raise BadInput("this run knows no column ahead, which known names; leave out future")
    text = text_columns(settings, names_in(settings.target))
    table, later = _table_of(given, text), _table_of(future, text)
    if later is not None and not later.of_file:
        later = dataclasses.replace(later, path="the future")
    if table is None or later is None:
        if table is not later:
            raise BadInput("give the future in the same form as the series: tables, or arrays")
        return _joined_arrays(given, future, known, kept), ()
    line = kept.get("time")
    when = [line["column"], *line["parts"]] if line and line["column"] in table.names else []
    read = [*dict.fromkeys([*names_in(settings.sequence), *when, *known])]
    for name in read:
        later.check(name)
    words = [name for name in known if name in kept["roles"]["words"]]
    if numbers := [name for name in known if name not in words]:
        later.matrix(numbers)
    for name in kept["targets"]:
        values = later.numbers.get(name, np.full(later.rows, np.nan))
        if name in later.faults or not np.isnan(values).all():
            raise BadInput(
                f"{later.path}: column {shown(name)} is to be forecast; leave it out of the future"
            )
    _check_series(table, later, settings.sequence)
    both = _joined(table, later, read, words)
    if when:
        _check_times(both, table.rows, later.path, settings, line)
    others = [name for name in later.names if name not in {*read, *kept["targets"]}]
    note = f"of {later.path} only {', '.join(read)} are read, not {', '.join(others[:20])}"
    return both, (note,) if others else ()


def _table_of(given: Any, text: Sequence[str]) -> Table | None:
    """What is given as a table; `None` if it is arrays."""
    if is_frame(given):
        return table_of_frame(given, tuple(text))
    if is_rows(given):
        return table_of_rows(given, tuple(text))
    if isinstance(given, str | Path):
        return table_of_file(Path(given), [*text], all_there=False)
    return None


def _joined(table: Table, later: Table, read: Sequence[str], words: Sequence[str]) -> Table:
    """The rows of one table and then of another, of which the columns `read` alone count."""
    number, text, time = {}, {}, {}
    for name, values in table.numbers.items():
        if name in later.numbers or name not in words:
            more = later.numbers[name] if name in read and name in later.numbers else np.nan
            number[name] = np.append(values, np.broadcast_to(more, later.rows))
    for name, cells in table.texts.items():
        more = np.full(later.rows, "", object)
        if name in words:
            cells, more = (words_in(x, [name])[:, 0] for x in (table, later))
        elif name in read:
            more = later.texts[name]
        text[name] = np.append(cells, more)
    for name, (stamps, zone) in table.times.items():
        if name in read and name in later.times:
            if later.times[name][1] != zone:
                raise BadInput(
                    f"{later.path}, column {shown(name)}: the zone is {later.times[name][1]}, "
                    f"before it was {zone}"
                )
            time[name] = np.append(stamps, later.times[name][0]), zone
        elif name not in read:
            time[name] = np.append(stamps, np.full(later.rows, "NaT", stamps.dtype)), zone
    faults = {name: later.faults[name] for name in words if name in later.faults}
    lines = [*table.lines.tolist(), *(f"{n} of {later.path}" for n in later.lines)]
    return dataclasses.replace(
        table,
        numbers=number,
        texts=text,
        faults=faults | table.faults,
        lines=np.array(lines, object),
        times=time,
    )


def _check_series(table: Table, later: Table, sequence: str | None) -> None:
    """Refuse a future that is not of all series, or of others."""
    if sequence is None:
        return
    own, other = ({*map(str, x.texts[sequence].tolist())} for x in (table, later))
    lacks = "has no rows of"
    for names, what in ((own - other, lacks), (other - own, "goes on with")):
        if names:
            some = ", ".join(map(shown, sorted(names)[:10]))
            more = f" and {len(names) - 10} more" if len(names) > 10 else ""
            end = f", which {table.path} does not have"
            if what == lacks:
                end = "; give some, or leave these series out of the table"
            raise BadInput(f"{later.path} {what} series {some}{more}{end}")


def _check_times(table: Table, rows: int, path: Any, settings: Any, line: Any) -> None:
    """Refuse rows from number `rows` on that do not follow on those before, one step each."""
    groups = groups_of(table, settings.sequence)
    timeline = timeline_of(table, groups, settings.time, known=line)
    assert timeline is not None
    for group in groups:
        stamps = timeline.stamps[group[group < rows]]
        before, later = np.sort(stamps)[-1:], np.sort(timeline.stamps[group[group >= rows]])
        wrong = np.append(before, later[:-1]) >= later
        due = ""
        if timeline.frequency is not None:
            expected = timeline.next(before, np.arange(1, len(later) + 1))
            wrong = later != expected
            due = f", not {timeline.shown(expected[np.argmax(wrong)])}"
        if wrong.any():
            at = int(np.argmax(wrong))
            after = timeline.shown(np.append(before, later)[at])
            name = names_in(settings.sequence) and table.texts[settings.sequence][group[0]]
            raise BadInput(
                f"{path}, column {shown(timeline.column)}: after {after} comes "
                f"{timeline.shown(later[at])}{due}{f' ({name})' if name else ''}"
            )


def _joined_arrays(given: Any, future: Any, known: list[str], kept: Mapping[str, Any]) -> Any:
    """Arrays with the rows after them, of which only what is known ahead counts."""
    xs, later = as_series(given), as_series(future)
    if len(later) != len(xs):
        raise BadInput(f"there are {len(xs)} series, and the future of {len(later)}")
    places, width = column_numbers(known, [*kept["columns"]]), len(kept["columns"])
    joined = []
    for x, more in zip(xs, later, strict=True):
        if more.shape[1] not in (width, len(places)):
            raise BadInput(
                f"the future must be (steps, {width}), or (steps, {len(places)}) of {known}, got "
                f"{more.shape}"
            )
        rows = np.full((len(more), x.shape[1]), np.nan)
        rows[:, places] = more if more.shape[1] == len(places) else more[:, places]
        joined.append(np.concatenate([x, rows]))
    return joined
