"""A table as one or several series: which rows belong together, and what its columns are for."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...data import Table
from ...data.frames import is_frame, table_of_frame
from ...data.table import missing_cells
from ...data.times import check_order
from ...errors import BadInput
from ...settings import shown
from .from_files import check_cells, chosen_columns, each, groups_of, names_in, targets_of
from .series_data import Roles, SeriesData, check_constant, data_of_arrays, ends_of

OF_FORECASTS = {"horizon": 1, "quantiles": None, "season": None, "known": None, "conformal": False}


def text_columns(settings: Any, target: Sequence[str]) -> list[str]:
    """The columns of a table that are to be kept as text."""
    labels = target if settings.kind == "classification" else ()
    roles = [settings.words, settings.known, settings.static]
    sequence = [settings.sequence] if settings.sequence else []
    return [*dict.fromkeys([*labels, *sequence, *(n for x in roles for n in names_in(x))])]


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
    if isinstance(xs, Table):
        if ys is not None or names is not None:
            raise BadInput("a table has its own names and targets; leave out ys and names")
        return data_of_table(xs, settings, target, kept)
    if kept.get("roles", {}).get("words"):
        raise BadInput("this run reads columns of words; give a table")
    for name in () if kept else ("sequence", "columns", "ignore", "words"):
        if getattr(settings, name) is not None:
            raise BadInput(f"{name} names columns of a table; leave it out for arrays")
    known, static = names_in(settings.known), names_in(settings.static)
    return data_of_arrays(xs, ys, names, Roles([], targets, known=known, static=static))


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
    if kind is not None:
        if not target:
            raise BadInput(f"kind {kind} needs target, the column to learn")
        for name, value in OF_FORECASTS.items():
            if getattr(settings, name) != value:
                raise BadInput(f"{name} is of forecasts; leave it out with kind {kind}")
    roles = _roles(table, settings, target, kept)
    groups = groups_of(table, settings.sequence)
    values, cells = table.matrix(roles.numbers), _cells(table, roles.words)
    ids: list[Any] = [0]
    if settings.sequence is not None:
        ids = [str(table.texts[settings.sequence][group[0]]) for group in groups]
    ends = ends_of(each(values, groups), roles)
    columns = dict(zip([*roles.numbers, *roles.words], [*values.T, *cells.T], strict=True))
    _check_values(table, columns, roles.known, groups, ends, settings.missing)
    check_order(table, groups, target)
    for name, group in itertools.product(roles.static, groups):
        check_constant(columns[name][group], partial(_where, table, group), name)
    rows = None if kind is None else targets_of(table, target, kind, settings.missing)
    ys = None if rows is None else each(rows, groups)
    data = SeriesData(each(values, groups), each(cells, groups), roles, tuple(ids), ends, ys)
    return _without_empty(data, table)


def _roles(table: Table, settings: Any, target: list[str], kept: Mapping[str, Any]) -> Roles:
    """What the columns of a table are for, by the settings or what a trained model keeps.

    Columns that are known ahead or static and have no numbers are columns of words.
    """
    known, static = names_in(settings.known), names_in(settings.static)
    words, ignored = names_in(settings.words), names_in(settings.ignore)
    for name in [*known, *static, *words]:
        if table.check(name) in ignored:
            raise BadInput(f"column {shown(name)} is left out by ignore; it cannot have a role")
    words += [n for n in [*known, *static] if n in table.faults and not table.faults[n].numbers]
    words = [*dict.fromkeys(words)]
    without = [settings.sequence] if settings.sequence else []
    without += words if settings.kind is None else [*words, *target]
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


def _without_empty(data: SeriesData, table: Table) -> SeriesData:
    """The series that have a target, and a note about those that have none."""
    there = [n for n, end in enumerate(data.ends) if end]
    if len(there) == len(data.ends):
        return data
    targets = ", ".join(map(str, data.roles.targets or ()))
    if not there:
        raise BadInput(f"{table.path}: no row has a value of {targets}")
    empty = ", ".join(shown(data.ids[n]) for n, end in enumerate(data.ends) if not end)
    note = f"left out are series without a value of {targets}: {empty:.200}"
    some: dict[str, Any] = {
        name: [getattr(data, name)[n] for n in there] for name in ("xs", "cells", "ids", "ends")
    }
    some |= {"ids": tuple(some["ids"]), "notes": (*data.notes, note)}
    return dataclasses.replace(data, **some)


def _cells(table: Table, words: Sequence[str]) -> np.ndarray:
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
) -> None:
    """Refuse missing values, but not after the end of a series of what is not known ahead."""
    later = np.zeros(table.rows, bool)
    for group, end in zip(groups, ends, strict=True):
        later[group[end:]] = True
    values = [np.where(x == "", np.nan, 0.0) if x.dtype == object else x for x in columns.values()]
    unknown = np.array([name not in known for name in columns])
    every = np.where(later[:, None] & unknown, 0.0, np.stack(values, axis=1))
    check_cells(table, every, [*columns], missing)
