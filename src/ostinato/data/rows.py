"""Rows that have their cells by name, such as the objects of a JSON list, as a table."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import BadInput
from ..settings import shown
from .csv_file import table_of_cells
from .table import Table

SOURCE = "the rows"
LONGEST = 1000  # characters of a cell: an array of texts is as wide as the longest of them
SPARSE = 10  # times as many cells as are given that a table may have


def is_rows(x: Any) -> bool:
    """Whether something is a list of rows with their cells by name.

    Example:
        >>> is_rows([{"a": 1}]), is_rows([[1]])
        (True, False)
    """
    return isinstance(x, list | tuple) and bool(x) and all(isinstance(one, Mapping) for one in x)


def table_of_rows(rows: Sequence[Mapping[str, Any]], text: tuple[str, ...] = ()) -> Table:
    """The columns of some rows, whose cells are read like those of a CSV file.

    A cell that is `None`, or that a row does not have, is missing.

    Args:
        rows: see `is_rows`.
        text: names of columns to keep as text too.

    Example:
        >>> table = table_of_rows([{"day": "2024-01-31", "sold": 3}, {"day": "2024-02-01"}])
        >>> table.names, table.numbers["sold"].tolist()
        (['day', 'sold'], [3.0, nan])
    """
    names = [*dict.fromkeys(str(name) for row in rows for name in row)]
    if len(names) * len(rows) > SPARSE * sum(map(len, rows)):
        raise BadInput(f"{SOURCE} have {len(names)} columns; give every row the same columns")
    cells = [
        [_cell(row.get(name), number, name) for name in names] for number, row in enumerate(rows, 1)
    ]
    return table_of_cells(SOURCE, names, cells, text)


def _cell(value: Any, number: int, name: str) -> str:
    """A cell as a file has it."""
    if value is None:
        return ""
    if isinstance(value, np.generic):
        value = value.item()
    where = f"{SOURCE}, row {number}, column {shown(name)}: a cell"
    if not isinstance(value, str | float | int | datetime.date):
        raise BadInput(f"{where} is a number, a text or nothing, got {shown(value)}")
    try:
        cell = str(int(value) if isinstance(value, bool) else value)
    except ValueError:  # Python writes whole numbers of at most 4300 digits
        cell = "9" * (LONGEST + 1)
    if len(cell) > LONGEST:
        raise BadInput(f"{where} has at most {LONGEST} characters, got {shown(cell[:60])}")
    return cell
