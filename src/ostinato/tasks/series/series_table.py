"""A table as one or several series: which rows belong together, and what its columns are for."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...data import Table
from ...data.frames import is_frame, table_of_frame
from ...data.table import missing_cells
from ...data.times import check_order
from ...errors import BadInput
from .from_files import check_cells, chosen_columns, each, groups_of, names_in, targets_of
from .series_data import SeriesData, check_constant, check_roles, data_of_arrays, last_row

OF_FORECASTS = {"horizon": 1, "quantiles": None, "season": None, "known": None}


def text_columns(settings: Any, target: Sequence[str]) -> list[str]:
    """The columns of a table that are to be kept as text."""
    labels = target if settings.kind == "classification" else ()
    roles = (name for words in ROLES for name in names_in(getattr(settings, words)))
    sequence = [settings.sequence] if settings.sequence else []
    return [*dict.fromkeys([*labels, *sequence, *roles])]


ROLES = ("words", "known", "static")


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
    for name in ("sequence", "columns", "ignore", "words"):
        if getattr(settings, name) is not None:
            raise BadInput(f"{name} names columns of a table; leave it out for arrays")
    known, static = names_in(settings.known), names_in(settings.static)
    return data_of_arrays(xs, ys, names, targets, known, static)


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
    known, static = names_in(settings.known), names_in(settings.static)
    for name in [*known, *static]:
        table.check(name)
    words = _words(table, settings, kept)
    without = [settings.sequence] if settings.sequence else []
    without += [*words, *([] if kind is None else target)]
    numbers = kept.get("columns") or chosen_columns(table, settings, without)
    if "columns" not in kept:
        numbers = [*dict.fromkeys([*numbers, *(n for n in [*known, *static] if n not in words)])]
    groups = groups_of(table, settings.sequence)
    values, cells = table.matrix(numbers), _cells(table, words)
    targets = None if kind is not None else kept.get("targets") or target or None
    if kind is None and (known or static):
        targets = targets or [name for name in numbers if name not in {*known, *static}]
        check_roles(known, static, targets)
    ends = [len(group) for group in groups]
    if known and targets is not None:
        came = [name in targets for name in numbers]
        ends = [last_row(values[group][:, came]) for group in groups]
    ids: list[Any] = [0]
    if settings.sequence is not None:
        ids = [str(table.texts[settings.sequence][group[0]]) for group in groups]
    notes, empty = [], [n for n, end in enumerate(ends) if not end]
    if empty:
        if len(empty) == len(groups):
            raise BadInput(f"{table.path}: no row has a value of {', '.join(targets or ())}")
        left = ", ".join(shown(ids[n]) for n in empty[:20])
        notes.append(f"left out are series without a value of {', '.join(targets or ())}: {left}")
        groups, ends, ids = ([x for x, end in zip(some, ends, strict=True) if end] for some in (groups, ends, ids))
    columns = dict(zip([*numbers, *words], [*values.T, *cells.T], strict=True))
    _check_values(table, columns, known, groups, ends, settings.missing)
    check_order(table, groups, target)
    for name, group in itertools.product(static, groups):
        check_constant(
            columns[name][group],
            lambda row, group=group: f"{table.path}, line {table.lines[group[row]]}",
            name,
        )
    rows = None if kind is None else targets_of(table, target, kind, settings.missing)
    return SeriesData(
        each(values, groups),
        numbers,
        None if rows is None else each(rows, groups),
        ids=tuple(ids),
        targets=targets,
        cells=each(cells, groups),
        words=words,
        known=known,
        static=static,
        ends=ends,
    )


def _words(table: Table, settings: Any, kept: Mapping[str, Any]) -> list[str]:
    """The columns of words: those that are named, and those known ahead or static that are text."""
    if kept:
        return [table.check(name) for name in kept.get("roles", {}).get("words", {})]
    roles = [*names_in(settings.known), *names_in(settings.static)]
    text = [name for name in roles if name in table.faults and not table.faults[name].numbers]
    return [*dict.fromkeys([*map(table.check, names_in(settings.words)), *text])]


def _cells(table: Table, words: list[str]) -> np.ndarray:
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
    known: list[str],
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
