"""Tasks from your own files: tables, `.npz` and `.npy`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Table, read_npy, read_npz, read_table
from ..data.scaling import check_complete
from ..errors import BadInput
from .arrays import Arrays
from .quantiles import levels_of
from .series import Series

TABLES = (".csv", ".tsv", ".parquet", ".pq")


def task_name_for(path: str | Path, sequence: str | None = None) -> str:
    """The task that a file is for, by its suffix.

    Args:
        path: the file; it need not exist.
        sequence: the column that divides a table into sequences, if any.

    Example:
        >>> task_name_for("walks.npz"), task_name_for("weather.csv"), task_name_for("book.txt")
        ('arrays', 'series', 'text')
    """
    if str(path).lower().removesuffix(".gz").endswith(".conllu"):
        return "tag"
    suffix = Path(path).suffix.lower()
    if suffix == ".npz":
        return "arrays"
    if suffix in TABLES:
        return "series" if sequence is None else "arrays"
    return "series" if suffix == ".npy" else "text"


def series_of_file(
    path: str | Path, settings: Any, artefacts: Mapping[str, Any] | None = None, **options: Any
) -> Series:
    """The task of a series in a `.csv`, `.parquet` or `.npy` file.

    Args:
        path: the file.
        settings: `Series.Settings`.
        artefacts: those of a trained model, to read the same columns and use its scaling.
        options: further arguments of `Series`.
    """
    path, known = Path(path), artefacts or {}
    options |= {name: getattr(settings, name) for name in ("carry", "washout", "scale", "missing")}
    options |= {"source": str(path), "artefacts": artefacts}
    if settings.length is not None:
        options["length"] = settings.length
    if settings.kind is None:
        options |= {"horizon": settings.horizon, "season": settings.season}
        if settings.quantiles is not None:
            options["quantiles"] = levels_of(settings.quantiles)
    elif settings.target is None:
        raise BadInput(f"kind {settings.kind} needs target, the column to learn")
    else:
        usual = {"horizon": 1, "quantiles": None, "season": None}
        for name, value in usual.items():
            if getattr(settings, name) != value:
                raise BadInput(f"{name} is of forecasts; leave it out with kind {settings.kind}")
    target = _names(settings.target)
    with _naming(path):
        if path.suffix.lower() == ".npz":
            raise BadInput(f"{path} holds labelled sequences: use the task arrays")
        table = _table(path, settings, target if settings.kind == "classification" else [])
        without = ([settings.sequence] if settings.sequence else []) + (
            [] if settings.kind is None else target
        )
        columns = known.get("columns") or table.chosen(
            _names(settings.columns) or None, _names(settings.ignore), without
        )
        values = table.matrix(columns)
        _check_table(table, values, columns, settings.missing)
        groups = _groups(table, settings.sequence)
        options["names"] = columns
        if settings.kind is not None:
            rows = _answers(table, target, settings.kind, settings.missing)
            return Series(_each(values, groups), _each(rows, groups), kind=settings.kind, **options)
        options["targets"] = known.get("targets") or target or None
        return Series(_each(values, groups), **options)


def arrays_of_file(
    path: str | Path, settings: Any, artefacts: Mapping[str, Any] | None = None, **options: Any
) -> Arrays:
    """The task of labelled sequences in an `.npz` file or a table with a sequence column.

    Args:
        path: the file. For an `.npz` file, `settings.columns` and `settings.target` name the arrays
            of inputs and targets, if these do not have the usual names.
        settings: `Arrays.Settings`.
        artefacts: those of a trained model, to use its scaling and classes.
        options: further arguments of `Arrays`.
    """
    path, kind = Path(path), settings.kind
    options |= {"scale": settings.scale, "missing": settings.missing, "kind": kind}
    options |= {"source": str(path), "artefacts": artefacts}
    with _naming(path):
        if path.suffix.lower() == ".npz":
            for name in ("sequence", "ignore"):
                if getattr(settings, name) is not None:
                    raise BadInput(f"{path} has no columns; leave out {name}")
            return Arrays(*read_npz(path, settings.columns, settings.target), **options)
        if path.suffix.lower() == ".npy":
            raise BadInput(f"{path} is one array, without labels: use the task series")
        if settings.sequence is None or settings.target is None:
            raise BadInput(
                "labelled sequences in a table need sequence and target: the column that says "
                f"which sequence a row of {path} belongs to, and the column to learn"
            )
        target = _names(settings.target)
        table = _table(path, settings, target)
        without = [settings.sequence, *target]
        columns = (artefacts or {}).get("columns") or table.chosen(
            _names(settings.columns) or None, _names(settings.ignore), without
        )
        values = table.matrix(columns)
        _check_table(table, values, columns, settings.missing)
        groups = _groups(table, settings.sequence)
        if kind is None and target[0] in table.faults:
            kind = "classification"
        rows = _answers(table, target, kind, settings.missing)
        xs, ys = _each(values, groups), _each(rows, groups)
        constant = all(_constant(y) for y in ys)
        labels: Any = np.array([y[0] for y in ys], rows.dtype) if constant else ys
        options |= {"kind": kind, "per_step": not constant, "names": columns}
        return Arrays(xs, labels, **options)


class _naming:
    """Put the file's name in front of messages that do not contain it."""

    def __init__(self, path: Path):
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, BadInput) and str(self.path) not in str(error):
            raise BadInput(f"{self.path}: {error}") from None


def _names(words: str | None) -> list[str]:
    """The names in `a,b,c`."""
    found = [] if words is None else [name.strip() for name in words.split(",") if name.strip()]
    if twice := next((name for n, name in enumerate(found) if name in found[:n]), None):
        raise BadInput(f"the column {twice!r} is named twice in {words}")
    return found


def _table(path: Path, settings: Any, text: list[str]) -> Table:
    text = [*text, *([settings.sequence] if settings.sequence else [])]
    if path.suffix.lower() != ".npy":
        table = read_table(path, tuple(text))
    else:
        table = _of_array(path, read_npy(path), text)
    for name in text:
        table.check(name)
    return table


def _of_array(path: Path, found: np.ndarray, text: list[str]) -> Table:
    """An array as a table with columns named 1, 2, 3, …"""
    if found.ndim not in (1, 2) or not found.size:
        raise BadInput(f"{path} must hold a series (T, columns) or (T,), got shape {found.shape}")
    columns = found.reshape(len(found), -1).astype(float).T
    names = [str(n) for n in range(1, len(columns) + 1)]
    numbers = dict(zip(names, columns, strict=True))
    texts = {
        name: np.array([f"{x:g}" for x in numbers[name]], object)
        for name in text
        if name in numbers
    }
    return Table(path, names, numbers, texts, {}, np.arange(1, len(found) + 1))


def _check_table(table: Table, values: np.ndarray, columns: list[str], missing: str) -> None:
    def where(at: tuple[int, ...]) -> str:
        return f"{table.path}, line {table.lines[at[0]]}, column {columns[at[1]]!r}"

    check_complete(values, missing, where)


def _answers(table: Table, target: list[str], kind: str | None, missing: str) -> np.ndarray:
    """The target columns: labels `(rows,)`, or numbers `(rows,)` or `(rows, outputs)`."""
    if kind == "classification":
        if len(target) > 1:
            raise BadInput(f"classification has one target, got {', '.join(target)}")
        return table.labels(target[0], missing)
    rows = table.matrix(target)
    _check_table(table, rows, target, missing)
    return rows[:, 0] if len(target) == 1 else rows


def _groups(table: Table, sequence: str | None) -> list[np.ndarray]:
    """The rows of each sequence, in order of first appearance."""
    if sequence is None:
        return [np.arange(table.rows)]
    ids = table.texts[table.check(sequence)]
    _, first, inverse = np.unique(ids.astype(str), return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))[inverse]
    order = np.argsort(rank, kind="stable")
    return np.split(order, np.cumsum(np.bincount(rank))[:-1])


def _constant(ys: np.ndarray) -> bool:
    if ys.dtype.kind == "f" and np.isnan(ys).all():
        return True
    return bool((ys == ys[0]).all())


def _each(rows: np.ndarray, groups: list[np.ndarray]) -> list[np.ndarray]:
    return [rows[group] for group in groups]
