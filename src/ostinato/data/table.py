"""Tables: columns with names, from a CSV or a Parquet file."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput, NeedsExtra
from .files import check_file

MISSING = ("", "na", "n/a", "nan", "null", "none", "?")


@dataclasses.dataclass(frozen=True)
class Table:
    """The columns of a file.

    Attributes:
        path: the file, for messages.
        names: of the columns, in the file's order.
        numbers: `(rows,)` in float64 for every column of numbers, NaN where one is missing.
        texts: the cells of the columns that were asked for as text.
        faults: for every column that is not numbers, a line and what stands there.
        lines: the line of each row in the file, for messages.
    """

    path: Path
    names: list[str]
    numbers: dict[str, np.ndarray]
    texts: dict[str, np.ndarray]
    faults: dict[str, tuple[int, str]]
    lines: np.ndarray

    @property
    def rows(self) -> int:
        return len(self.lines)

    def check(self, name: str) -> str:
        """The name, if the table has such a column."""
        if name not in self.names:
            known = ", ".join(self.names[:20]) + (", …" if len(self.names) > 20 else "")
            raise BadInput(f"{self.path} has no column {name!r:.60}; it has {known}")
        return name

    def matrix(self, names: list[str]) -> np.ndarray:
        """Some columns side by side, `(rows, columns)`; refused where one is not numbers."""
        for name in names:
            if self.check(name) in self.faults:
                line, cell = self.faults[name]
                raise BadInput(
                    f"{self.path}, line {line}, column {name!r:.60}: {cell!r:.40} is not a number; "
                    "leave the column out with ignore, or name those to read with columns"
                )
        if not names:
            raise BadInput(f"{self.path}: no column is left to read")
        return np.stack([self.numbers[name] for name in names], axis=1)

    def labels(self, name: str, missing: str = "refuse") -> np.ndarray:
        """A column that was read as text: numbers if it has nothing else, else text.

        Where a label is missing it is NaN or empty; with `"refuse"` there must be none.
        """
        cells = self.texts[self.check(name)]
        gaps = _missing(cells)
        if gaps.any() and missing == "refuse":
            line = self.lines[int(np.argmax(gaps))]
            raise BadInput(
                f"{self.path}, line {line}, column {name!r:.60} is missing; fill it in, or use "
                "missing=mask"
            )
        return np.where(gaps, "", cells) if name in self.faults else self.numbers[name]

    def chosen(self, columns: list[str] | None, ignore: list[str], without: list[str]) -> list[str]:
        """The names of the columns to read: the given ones or all, but those to ignore."""
        for name in [*(columns or []), *ignore]:
            self.check(name)
        found = self.names if columns is None else columns
        return [name for name in found if name not in ignore and name not in without]


def _missing(cells: np.ndarray) -> np.ndarray:
    return np.array([str(cell).strip().lower() in MISSING for cell in cells.tolist()], bool)


def read_table(path: str | Path, text: tuple[str, ...] = ()) -> Table:
    """The columns of a `.parquet` file, or of a CSV with any other suffix.

    Args:
        path: a regular file.
        text: names of columns to keep as text too: labels, numbers of sequences.

    Example:
        >>> with open("weather.csv", "w") as file:
        ...     _ = file.write("day,rain,sun\\n1,0.5,3\\n2,,7\\n")
        >>> table = read_table("weather.csv")
        >>> table.names, table.numbers["rain"].tolist()
        (['day', 'rain', 'sun'], [0.5, nan])
    """
    path = Path(path)
    if check_file(path, "table").st_size == 0:
        raise BadInput(f"{path} is empty; give a table with a row per time step")
    if path.suffix.lower() in (".parquet", ".pq"):
        return _parquet(path, text)
    from .csv_file import read_csv

    table = read_csv(path, text)
    if not table.rows:
        raise BadInput(f"{path} has a header and no rows")
    return table


def _parquet(path: Path, text: tuple[str, ...]) -> Table:
    try:
        import pyarrow.parquet
    except ImportError:
        raise NeedsExtra(f"reading {path}", "pyarrow", "parquet") from None
    try:
        found = pyarrow.parquet.read_table(path)
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        words = str(error).strip().splitlines()
        raise BadInput(
            f"{path} cannot be read as Parquet: {words[0] if words else error}"
        ) from None
    names = [str(name) for name in found.column_names]
    if len(set(names)) < len(names):
        raise BadInput(f"{path} has two columns of the same name")
    if not found.num_rows:
        raise BadInput(f"{path} has no rows")
    table = Table(path, names, {}, {}, {}, np.arange(1, found.num_rows + 1))
    for name, column in zip(names, found.columns, strict=True):
        _add(table, name, column, text)
    return table


def _add(table: Table, name: str, column: Any, text: tuple[str, ...]) -> None:
    """One column of a Parquet file."""
    kind = column.type
    if name in text:
        cells = column.to_pylist()
        table.texts[name] = np.array(["" if x is None else str(x) for x in cells], object)
    import pyarrow.types as types

    if types.is_boolean(kind):
        column = column.cast("int8")
    elif types.is_decimal(kind):
        column = column.cast("float64")
    elif not (types.is_integer(kind) or types.is_floating(kind)):
        table.faults[name] = (1, f"{column[0].as_py()}")
        return
    values = np.array(column.cast("float64").to_numpy(), float)
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        table.faults[name] = (int(infinite[0]) + 1, "inf")
        return
    table.numbers[name] = values
