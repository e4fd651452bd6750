"""A table as one or several series: which rows belong together, and what its columns are for."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...data import Table
from ...data.csv_file import with_texts
from ...data.frames import is_frame, table_of_frame
from ...data.splits import PARTS
from ...data.table import is_time, missing_cells
from ...data.time_columns import begins_with_date
from ...errors import BadInput
from ...settings import shown
from .from_files import check_cells, chosen_columns, each, groups_of, names_in, targets_of
from .series_data import Roles, SeriesData, check_constant, data_of_arrays, ends_of
from .series_times import rows_in_order, time_columns

OF_FORECASTS = {"horizon": 1, "quantiles": None, "season": None, "known": None, "conformal": False}
OF_TABLES = ("sequence", "columns", "ignore", "words", "time", "calendar")


def text_columns(settings: Any, target: Sequence[str]) -> list[str]:
    """The columns of a table that are to be kept as text."""
    labels = target if settings.kind == "classification" else ()
    roles = [settings.words, settings.known, settings.static, settings.time]
    sequence = [settings.sequence] if settings.sequence else []
    return [*dict.fromkeys([*labels, *sequence, *(n for x in roles for n in names_in(x))])]


def is_table(xs: Any) -> bool:
    """Whether a series is given as a table that was read already."""
    return isinstance(xs, Table)


def given_series(
    xs: Any,
    ys: Any,
    names: Sequence[str] | None,
    targets: Sequence[int | str] | None,
    settings: Any,
    kept: Mapping[str, Any],
) -> SeriesData:
    """The series of the constructor of `Series`, whose arguments these are: arrays or a table."""
    target = names_in(settings.target)
    if is_frame(xs):
        xs = table_of_frame(xs, tuple(text_columns(settings, target)))
    if is_table(xs):
        if ys is not None or names is not None:
            raise BadInput("a table has its own names and targets; leave out ys and names")
        xs = with_texts(xs, text_columns(settings, target))
        return data_of_table(xs, settings, target, kept)
    several = isinstance(xs, list | tuple) and any(map(is_frame, xs))
    if several or isinstance(xs, str | Path):
        raise BadInput(
            f"a series is arrays or one table, got {'several tables' if several else shown(xs)}; "
            "several series in a table are told apart by a column, sequence"
        )
    if kept.get("roles", {}).get("words") or (settings.calendar and kept):
        raise BadInput("this run reads words or the calendar, which arrays have not; give a table")
    for name in () if kept else OF_TABLES:
        if getattr(settings, name):
            raise BadInput(f"{name} names columns of a table; leave it out for arrays")
    known, static = names_in(settings.known), names_in(settings.static)
    roles = Roles([], targets, known=known, static=static)
    return data_of_arrays(xs, ys, names, roles, settings.missing)


def data_of_table(
    table: Table, settings: Any, target: list[str], kept: Mapping[str, Any]
) -> SeriesData:
    """The series of a table.

    Args:
        table: with the `text_columns` as text.
        settings: those of `Series`.
        target: the columns to predict; empty for all.
        kept: what a trained model keeps of its task.
    """
    kind = settings.kind
    for name in target:  # before anything that a wrong name may be the cause of
        table.check(name)
    if kind is not None:
        if not target:
            raise BadInput(f"kind {kind} needs target, the column to learn")
        for name, value in OF_FORECASTS.items():
            if getattr(settings, name) != value:
                raise BadInput(f"{name} is of forecasts; leave it out with kind {kind}")
    groups = groups_of(table, settings.sequence)
    ids: list[Any] = [0]
    if settings.sequence is not None:
        ids = [str(table.texts[settings.sequence][group[0]]) for group in groups]
    roles = _roles(table, settings, target, kept, [])
    without = [*target, *roles.words, *roles.known, *roles.static, *names_in(settings.sequence)]
    needed = any(
        name in table.times
        or (name in table.faults and (is_time(name) or begins_with_date(table, name)))
        for name in roles.numbers
    )
    rows = rows_in_order(table, groups, settings, without, kept, needed)
    table, groups = rows.table, [*rows.groups]
    times = time_columns(table, settings, rows.timeline)
    roles = _roles(table, settings, target, kept, times)
    forecast = target if kind is None else []
    values = table.matrix([*roles.numbers], names_in(settings.ignore), roles.words, forecast)
    cells = words_in(table, roles.words)
    ends = ends_of(each(values, groups), roles)
    columns = dict(zip([*roles.numbers, *roles.words], [*values.T, *cells.T], strict=True))
    _check_values(table, columns, roles.known, groups, ends, settings.missing, rows.put_in)
    for name, group in itertools.product(roles.static, groups):
        check_constant(columns[name][group], partial(_where, table, group), name)
    ys = None
    if kind is not None:
        missing = "mask" if rows.put_in.any() else settings.missing
        ys = each(targets_of(table, target, kind, missing), groups)
    line = rows.timeline
    data = SeriesData(
        each(values, groups),
        each(cells, groups),
        roles,
        tuple(ids),
        ends,
        ys,
        None if line is None else [replace(line, stamps=line.stamps[group]) for group in groups],
        rows.notes,
    )
    return _without_short(data, table, 1 if kept else len(PARTS))


def _roles(
    table: Table, settings: Any, target: list[str], kept: Mapping[str, Any], times: list[str]
) -> Roles:
    """What the columns of a table are for, by the settings or what a trained model keeps.

    The columns `times` are left out. Columns that are known ahead or static and have no numbers are
    columns of words.
    """
    known, static = names_in(settings.known), names_in(settings.static)
    words, ignored = names_in(settings.words), names_in(settings.ignore)
    for name in [*known, *static, *words]:
        if table.check(name) in ignored:
            raise BadInput(f"column {shown(name)} is left out by ignore; it cannot have a role")
    words += [n for n in [*known, *static] if n in table.faults and table.faults[n].words]
    words = [*dict.fromkeys(words)]
    without = [settings.sequence] if settings.sequence else []
    without += [*times, *words, *([] if settings.kind is None else target)]
    numbers = chosen_columns(table, settings, without)
    numbers += [n for n in [*known, *static] if n not in {*numbers, *words}]
    if kept:
        numbers, words = list(kept["columns"]), list(kept.get("roles", {}).get("words", {}))
    targets = kept.get("targets") or target or None
    if settings.kind is not None:
        return Roles(numbers, None, words, static=static)
    return Roles(numbers, targets, words, known, static).checked()


def _where(table: Table, group: np.ndarray, row: int) -> str:
    return table.where(group[row])


def _without_short(data: SeriesData, table: Table, min: int) -> SeriesData:
    """The series that have some steps up to their last target, and a note about the others."""
    there = [n for n, end in enumerate(data.ends) if end >= min]
    if len(there) == len(data.ends):
        return data
    targets = ", ".join(map(str, data.roles.targets or data.roles.numbers))
    if not there and not any(data.ends):
        raise BadInput(f"{table.path}: no row has a value of {targets}")
    if not there:
        return data  # which is refused where it is divided
    short = ", ".join(shown(data.ids[n]) for n, end in enumerate(data.ends) if end < min)
    note = f"left out are series with fewer than {min} rows of {targets:.200}: {short:.200}"
    if min == 1:
        note = f"left out are series without a value of {targets:.200}: {short:.200}"
    some: dict[str, Any] = {
        name: [getattr(data, name)[n] for n in there] for name in ("xs", "cells", "ids", "ends")
    }
    if data.timelines is not None:
        some["timelines"] = [data.timelines[n] for n in there]
    some |= {"ids": tuple(some["ids"]), "notes": (*data.notes, note)}
    return replace(data, **some)


def words_in(table: Table, words: Sequence[str]) -> np.ndarray:
    """Columns of words as text `(rows, columns)`; empty where one is missing.

    Numbers are written alike wherever they are from: 1, 1.0 and 01 are the same word.
    """
    columns = np.full((table.rows, len(words)), "", object)
    for n, name in enumerate(words):
        if name in table.numbers:
            values = table.numbers[name]
            columns[:, n] = ["" if np.isnan(x) else f"{x:.15g}" for x in values.tolist()]
        else:
            text = np.array([str(cell).strip() for cell in table.texts[name].tolist()], object)
            columns[:, n] = np.where(missing_cells(text), "", text)
    return columns


def _check_values(
    table: Table,
    columns: dict[str, np.ndarray],
    known: Sequence[str],
    groups: list[np.ndarray],
    ends: list[int],
    missing: str,
    put_in: np.ndarray,
) -> None:
    """Refuse missing values, but not in rows `put_in`, nor after the end of a series of what is not
    known ahead."""
    later = np.zeros(table.rows, bool)
    for group, end in zip(groups, ends, strict=True):
        later[group[end:]] = True
    values = [np.where(x == "", np.nan, 0.0) if x.dtype == object else x for x in columns.values()]
    unknown = np.array([name not in known for name in columns])
    allowed = put_in[:, None] | (later[:, None] & unknown)
    every = np.where(allowed, 0.0, np.stack(values, axis=1))
    check_cells(table, every, [*columns], missing)
