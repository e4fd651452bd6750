"""Tables: columns with names, from a CSV or a Parquet file."""

import dataclasses
import re
import unicodedata
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput, NeedsExtra
from ..settings import shown
from .files import check_unpacked

MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "?")
FLOAT64 = 8  # bytes
TIMES = (  # names of columns that say when a row was, from the coarse to the fine
    *("year", "quarter", "qtr", "month", "week", "day", "date", "ds", "datetime", "timestamp"),
    *("time", "hour", "hr", "minute", "second", "sec"),
)


def is_time(name: str) -> bool:
    """Whether a column of this name says when a row was.

    Example:
        >>> is_time("Date Time"), is_time("temperature")
        (True, False)
    """
    return time_word(name) in TIMES


def time_word(name: str) -> str:
    """The name of a column as it is compared with `TIMES`."""
    return re.sub(r"[\s_-]", "", name).lower()


class Fault(NamedTuple):
    """Why a column cannot be read as numbers.

    Attributes:
        where: `line 3`, or `lines 3 and 4`.
        what: what is wrong there.
        numbers: whether the column is one of numbers all the same, and so not one of labels.
    """

    where: str
    what: str
    numbers: bool = False

    @classmethod
    def of_cell(cls, line: int, cell: str, numbers: bool = False) -> "Fault":
        return cls(f"line {line}", f"{shown(cell)} is not a number", numbers)


@dataclasses.dataclass(frozen=True)
class Table:
    """The columns of a file.

    Attributes:
        path: the file, for messages.
        names: of the columns, in the file's order.
        numbers: `(rows,)` in float64 for every column of numbers, NaN where one is missing.
        texts: the cells of the columns that were asked for as text, and of times.
        faults: for every column that cannot be read as numbers, why.
        lines: the line of each row in the file, for messages.
    """

    path: Path
    names: list[str]
    numbers: dict[str, np.ndarray]
    texts: dict[str, np.ndarray]
    faults: dict[str, Fault]
    lines: np.ndarray

    @property
    def rows(self) -> int:
        return len(self.lines)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.names)

    def check(self, name: str) -> str:
        """The name, if the table has such a column."""
        if name not in self._known:
            known = ", ".join(self.names[:20]) + (", …" if len(self.names) > 20 else "")
            raise BadInput(f"{self.path} has no column {shown(name)}; it has {known}")
        return name

    def matrix(self, names: list[str]) -> np.ndarray:
        """Some columns side by side, `(rows, columns)`; refused where one is not numbers."""
        for name in names:
            if self.check(name) in self.faults:
                fault = self.faults[name]
                raise BadInput(
                    f"{self.path}, {fault.where}, column {shown(name)}: {fault.what}; "
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
        gaps = missing_cells(cells)
        if gaps.any() and missing == "refuse":
            line = self.lines[int(np.argmax(gaps))]
            raise BadInput(
                f"{self.path}, line {line}, column {shown(name)} is missing; fill it in, or use "
                "missing=mask"
            )
        if name in self.faults:
            return np.where(gaps, "", cells)
        if alike := written_twice(np.where(gaps, "", cells).tolist()):
            lines, (one, two) = " and ".join(str(self.lines[n]) for n in alike), cells[[*alike]]
            raise BadInput(
                f"{self.path}, lines {lines}, column {shown(name)}: the labels {shown(one)} and "
                f"{shown(two)} are the same number; write one class in one way"
            )
        return self.numbers[name]

    def check_labels(self, name: str) -> None:
        """Refuse a column that was read as text but has numbers too: they are no labels."""
        fault = self.faults[self.check(name)]
        cells = self.texts[name][~missing_cells(self.texts[name])].tolist()
        if fault.numbers or 0 < sum(map(_is_number, cells)) < len(cells):
            others = "" if fault.numbers else ", but others there are"
            raise BadInput(
                f"{self.path}, {fault.where}, column {shown(name)}: {fault.what}{others}; mend it, "
                "or say kind=classification if they are labels"
            )

    def chosen(self, columns: list[str] | None, ignore: list[str], without: list[str]) -> list[str]:
        """The names of the columns to read: the given ones or all, but those to ignore."""
        for name in [*(columns or []), *ignore]:
            self.check(name)
        names, left_out = self.names if columns is None else columns, {*ignore, *without}
        return [name for name in names if name not in left_out]


def missing_cells(cells: np.ndarray) -> np.ndarray:
    """Which cells of a column of text stand for a missing value."""
    return np.array([str(cell).strip().lower() in MISSING for cell in cells.tolist()], bool)


def written_twice(cells: list[str]) -> tuple[int, int] | None:
    """The rows of two names that differ only in how they are written, if there are such.

    Names are the same if they are the same number, as `1`, `01` and `1.0` are, or the same text,
    as Unicode spells an accent in two ways.

    Example:
        >>> written_twice(["7", "8", "07"]), written_twice(["a", "A"])
        ((0, 2), None)
    """
    known: dict[Any, int] = {}
    first: dict[str, int] = {}
    for row, cell in enumerate(cells):
        first.setdefault(cell, row)
    for cell, row in first.items():
        before = known.setdefault(_same_for_all_forms(cell), row)
        if before != row:
            return before, row
    return None


def _same_for_all_forms(cell: str) -> Any:
    try:
        number = Decimal(cell)  # a float would take large whole numbers for one another
    except InvalidOperation:
        return unicodedata.normalize("NFC", cell)
    return number if number.is_finite() and "_" not in cell else cell


def _is_number(cell: Any) -> bool:
    try:
        return bool(np.isfinite(float(str(cell).replace(",", ".", 1))))
    except ValueError:
        return False


def first_twice(names: list[str]) -> str | None:
    """The first name that was there before; `None` if all are different."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def read_parquet(path: Path, text: tuple[str, ...]) -> Table:
    """The columns of a Parquet file; see `read_table`."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise NeedsExtra(f"reading {path}", "pyarrow", "parquet") from None
    try:
        about = pyarrow.parquet.read_metadata(path)
        check_unpacked(path, about.num_rows * about.num_columns * FLOAT64)
        content = pyarrow.parquet.read_table(path)
    except BadInput:
        raise
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        words = str(error).strip().splitlines()
        raise BadInput(
            f"{path} cannot be read as Parquet: {words[0] if words else error}"
        ) from None
    names = [str(name) for name in content.column_names]
    if twice := first_twice(names):
        raise BadInput(f"{path}: two columns are called {shown(twice)}")
    if not content.num_rows:
        raise BadInput(f"{path} has no rows")
    table = Table(path, names, {}, {}, {}, np.arange(1, content.num_rows + 1))
    for name, column in zip(names, content.columns, strict=True):
        _add(table, name, column, text)
    return table


def _add(table: Table, name: str, column: Any, text: tuple[str, ...]) -> None:
    """One column of a Parquet file."""
    import pyarrow
    import pyarrow.types as types

    kind = column.type
    if name in text or is_time(name):
        when = types.is_timestamp(kind)  # without its zone, which Python may not know
        cells = (column.cast(pyarrow.timestamp("us"), safe=False) if when else column).to_pylist()
        table.texts[name] = np.array(["" if x is None else str(x) for x in cells], object)
    if types.is_boolean(kind):
        column = column.cast("int8")
    elif types.is_decimal(kind):
        column = column.cast("string")  # from its digits; Arrow's own cast is off by a last bit
    elif not (types.is_integer(kind) or types.is_floating(kind)):
        table.faults[name] = Fault.of_cell(1, f"{column[0].as_py()}")
        return
    # Not safe: whole numbers above 2**53 are rounded, as those of a CSV file are.
    values = np.array(column.cast("float64", safe=False).to_numpy(), float)
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        table.faults[name] = Fault.of_cell(int(infinite[0]) + 1, "inf", numbers=True)
        return
    table.numbers[name] = values
