"""Series and labelled sequences from your own files: tables, `.npz` and `.npy`."""

import dataclasses
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from ...data import Table, read_npy, read_npz, read_table
from ...data.order import check_order
from ...data.scaling import check_complete
from ...data.table import first_twice, missing_cells, written_twice
from ...data.text_table import suffix_of
from ...errors import BadInput, naming
from ...settings import shown
from ..file_task import Reading

CELLS = (".csv", ".tsv")  # which may be compressed with gzip
TABLES = (*CELLS, ".parquet", ".pq")


FORECASTING = (  # settings of the task series that labelled sequences do not have
    *("horizon", "quantiles", "season", "known", "static", "words"),
    *("time", "gaps", "duplicates", "calendar"),
    *("conformal", "coverage", "carry", "washout"),
)


def task_name_for(
    path: str | Path, sequence: str | None = None, asked: Collection[str] = ()
) -> str:
    """The task that a file is for, by its suffix and by what is asked of it.

    Args:
        path: the file; it need not exist.
        sequence: the column that divides a table into sequences, if any. They are labelled, unless
            something is asked that only forecasts have.
        asked: the names of the settings that are given.

    Example:
        >>> task_name_for("walks.npz"), task_name_for("weather.csv"), task_name_for("book.txt")
        ('arrays', 'series', 'text')
    """
    if str(path).lower().removesuffix(".gz").endswith((".conllu", ".conll")):
        return "tag"
    suffix = Path(path).suffix.lower()
    if suffix == ".npz":
        return "arrays"
    if suffix == ".wav":
        return "audio"
    if suffix in TABLES or suffix_of(path) in CELLS:
        forecasts = sequence is None or any(name in asked for name in FORECASTING)
        return "series" if forecasts else "arrays"
    return "series" if suffix == ".npy" else "text"


def table_of_file(path: Path, text: list[str], all_there: bool = True) -> Table:
    """A `.csv`, `.parquet` or `.npy` file as a table.

    Args:
        path: the file.
        text: the columns that are kept as text too.
        all_there: whether the file must have all of these.
    """
    if path.suffix.lower() == ".npz":
        raise BadInput(f"{path} holds labelled sequences: use the task arrays")
    if path.suffix.lower() != ".npy":
        table = read_table(path, tuple(text))
    else:
        table = _of_array(path, read_npy(path), text)
    for name in text if all_there else ():
        table.check(name)
    return table


def arrays_of_file(given: Reading) -> dict[str, Any]:
    """The arguments of `Arrays` for an `.npz` file or a table with a sequence column.

    For an `.npz` file, `columns` and `target` name the arrays of inputs and targets, if these do
    not have the usual names.
    """
    assert given.file is not None
    path, settings, kind = Path(given.file), given.settings, given.settings.kind
    options = {"source": str(path), **given.arguments}
    with naming(path):
        if path.suffix.lower() == ".npz":
            for name in ("sequence", "ignore"):
                if getattr(settings, name) is not None:
                    raise BadInput(f"{path} has no columns; leave out {name}")
            arrays = read_npz(path, settings.columns, settings.target)
            return dict(zip(("xs", "ys", "lengths"), arrays, strict=True)) | options
        if path.suffix.lower() == ".npy":
            raise BadInput(f"{path} is one array, without labels: use the task series")
        if settings.sequence is None or settings.target is None:
            raise BadInput(
                "labelled sequences in a table need sequence and target: the column that says "
                f"which sequence a row of {path} belongs to, and the column to learn"
            )
        target = names_in(settings.target)
        table = table_of_file(path, [*target, settings.sequence])
        without = [settings.sequence, *target]
        columns, values, groups = _inputs(table, given, without)
        check_order(table, groups, target)
        if kind is None and target[0] in table.faults:
            table.check_labels(target[0])
            kind = "classification"
        rows = targets_of(table, target, kind, settings.missing)
        xs, ys = each(values, groups), each(rows, groups)
        constant = _constant(table, rows, groups)
        labels: Any = np.array([y[0] for y in ys], rows.dtype) if constant else ys
        options["settings"] = dataclasses.replace(settings, kind=kind)
        return {"xs": xs, "ys": labels, "per_step": not constant, "names": columns, **options}


def sequences_of_file(given: Reading) -> tuple[Any, Any, list[str] | None]:
    """The inputs of a file, as `Arrays` takes them, their lengths or `None`, and their names.

    Targets are not read, and need not be there.
    """
    assert given.file is not None
    path, settings = Path(given.file), given.settings
    with naming(path):
        if path.suffix.lower() == ".npz":
            xs, _, lengths = read_npz(path, settings.columns, labelled=False)
            return xs, lengths, None
        if path.suffix.lower() == ".npy":
            return read_npy(path), None, None
        if settings.sequence is None:
            raise BadInput("this run learned from an .npz file; give one, or an .npy file")
        table = table_of_file(path, [settings.sequence])
        without = [settings.sequence, *(x for x in names_in(settings.target) if x in table.names)]
        values, groups = _inputs(table, given, without)[1:]
        names = [str(table.texts[settings.sequence][group[0]]) for group in groups]
        return each(values, groups), None, names


def names_in(words: str | None) -> list[str]:
    """The names of columns in `a,b,c`."""
    names = [] if words is None else [name.strip() for name in words.split(",") if name.strip()]
    if words is not None and not names:
        raise BadInput(f"names of columns must read like a,b; got {words!r}")
    if twice := first_twice(names):
        raise BadInput(f"the column {twice!r} is named twice in {words}")
    return names


def in_words(names: Any, setting: str) -> str | None:
    """Names of columns as the text `a,b,c` of a setting, which a list of them becomes."""
    if names is None or isinstance(names, str):
        return names
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise BadInput(f"{setting} must be names of columns, got {shown(names)}")
    for name in names:
        if "," in name:
            raise BadInput(f"{setting}: the column {shown(name)} has a comma; rename it")
    return ",".join(names) or None


def _of_array(path: Path, array: np.ndarray, text: list[str]) -> Table:
    """An array as a table with columns named 1, 2, 3, …"""
    if array.ndim not in (1, 2) or not array.size:
        raise BadInput(f"{path} must hold a series (T, columns) or (T,), got shape {array.shape}")
    columns = array.reshape(len(array), -1).T
    names = [str(n) for n in range(1, len(columns) + 1)]
    numbers = dict(zip(names, columns.astype(float), strict=True))
    # Python writes every number in full, so that different ones stay different.
    texts = {
        name: np.array([*map(str, columns[n].tolist())], object)
        for n, name in enumerate(names)
        if name in text
    }
    return Table(path, names, numbers, texts, {}, np.arange(1, len(array) + 1))


def _inputs(
    table: Table, given: Reading, without: list[str]
) -> tuple[list[str], np.ndarray, list[np.ndarray]]:
    """The names of the columns to read, their values, and the rows of each sequence."""
    settings = given.settings
    columns = (given.artefacts or {}).get("columns") or chosen_columns(table, settings, without)
    values = table.matrix(columns, names_in(settings.ignore))
    check_cells(table, values, columns, settings.missing)
    return columns, values, groups_of(table, settings.sequence)


def chosen_columns(table: Table, settings: Any, without: list[str]) -> list[str]:
    """The names of the columns to read, by the settings `columns` and `ignore`."""
    return table.chosen(names_in(settings.columns) or None, names_in(settings.ignore), without)


def check_cells(table: Table, values: np.ndarray, columns: list[str], missing: str) -> None:
    """Refuse infinite and missing values `(rows, columns)`, with their line and column."""

    def where(at: tuple[int, ...]) -> str:
        return f"{table.where(at[0])}, column {columns[at[1]]!r}"

    check_complete(values, missing, where, table.option("missing", "mask"))


def targets_of(table: Table, target: list[str], kind: str | None, missing: str) -> np.ndarray:
    """The target columns: labels `(rows,)`, or numbers `(rows,)` or `(rows, outputs)`."""
    if kind == "classification":
        if len(target) > 1:
            raise BadInput(f"classification has one target, got {', '.join(target)}")
        return table.labels(target[0], missing)
    rows = table.matrix(target)
    check_cells(table, rows, target, missing)
    return rows[:, 0] if len(target) == 1 else rows


def groups_of(table: Table, sequence: str | None) -> list[np.ndarray]:
    """The rows of each sequence, in order of first appearance."""
    if sequence is None:
        return [np.arange(table.rows)]
    ids = table.texts[table.check(sequence)]
    _check_ids(table, sequence, ids)
    _, first, inverse = np.unique(ids.astype(str), return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))[inverse]
    order = np.argsort(rank, kind="stable")
    return np.split(order, np.cumsum(np.bincount(rank))[:-1])


def _check_ids(table: Table, sequence: str, ids: np.ndarray) -> None:
    """Refuse rows that belong to no sequence, and ids that differ only in how they are written."""
    gaps = np.flatnonzero(missing_cells(ids))
    if gaps.size:
        raise BadInput(
            f"{table.where(gaps)}, column {sequence!r:.60}: it does not say to which "
            "sequence the row belongs; fill it in or leave the row out"
        )
    if alike := written_twice(ids.tolist()):
        one, two = ids[[*alike]]
        same = "number" if sequence in table.numbers else "text or number"
        raise BadInput(
            f"{table.where(np.array(alike))}, column {sequence!r:.60}: {one!r:.40} and "
            f"{two!r:.40} are the same {same}; write the ids of one sequence alike"
        )


def _constant(table: Table, rows: np.ndarray, groups: list[np.ndarray]) -> bool:
    """Whether every sequence has one target.

    Refused is a sequence whose rows have one target and gaps, unless the targets of others change.
    """
    missing = rows == "" if rows.dtype.kind == "O" else np.isnan(rows)
    missing = missing if missing.ndim == 1 else missing.any(axis=1)
    partly = np.zeros(0, int)
    for group in groups:
        there = group[~missing[group]]
        if len(there) and not (rows[there] == rows[there[0]]).all():
            return False
        if 0 < len(there) < len(group):
            partly = np.append(partly, group[missing[group]])
    if partly.size:
        raise BadInput(
            f"{table.where(partly)}: the target is missing, but other rows of the "
            "sequence have one; fill it in on all rows of a sequence, or on none"
        )
    return True


def each(rows: np.ndarray, groups: list[np.ndarray]) -> list[np.ndarray]:
    return [rows[group] for group in groups]
