"""Read a CSV file.

The delimiter is a tab, a semicolon, a comma or `|`, whichever divides the first lines evenly. With
any but a comma a decimal comma is read too: `1,5;2,0`. A first line that is
not all numbers holds the names of the columns; without one they are called 1, 2, 3 and so on. A
first line that could be either, such as `2020-01-01,5`, is refused. Cells may be quoted. Empty
cells and `NA`, `N/A`, `#N/A`, `<NA>`, `NaN`, `null`, `None` and `?` are missing values. The text is
UTF-8, with or without a byte-order mark, and the file may be compressed with gzip. An unnamed first
column, such as the row numbers that pandas writes, is left out.

In a table that is not divided by commas, `1,234` may be 1.234 or 1234, and so may `1.234`.
A number with one to three digits, a separator and three digits is *unsure*; `1,5`, `0,123` and
`1234,567` are sure, because a separator of thousands cannot stand there. Thousands separators are
never read. A column is read if only one way of reading fits:

    both separators in a column                 refused: `1.5` and `2,5`
    some sure cells                             the separator is that of decimals
    unsure commas only                          read if another column has a sure decimal comma and
                                                none a sure decimal point
    unsure points only                          read unless another column has a sure decimal comma
                                                and none a sure decimal point, or whole numbers
                                                below 1000 stand in between (`1.234` and `999`)
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from ..settings import shown
from .dates import looks_like_date
from .files import check_file, opened
from .frames import read_parquet
from .table import GROUPED, MAX_WORDS, MISSING, Fault, Table, first_twice, is_time

DELIMITERS = ("\t", ";", ",", "|")
LOOKED_AT = 20  # lines
TOGETHER = 4096  # rows
SIGNS = r"[-+−.,:;/_%$€£'’\s\deETZ\ufeff\u200b-\u200f]*"
VALUE = re.compile(SIGNS + r"\d" + SIGNS)  # such as 2020-01-31, 1.234,5 and −5
WORDS = ("inf", "infinity", "true", "false")  # values that no column is called


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
        return read_parquet(path, text)
    table = read_csv(path, text)
    if not table.rows:
        raise BadInput(f"{path} has a header and no rows")
    return table


def read_csv(path: Path, text: tuple[str, ...] = ()) -> Table:
    """The columns of a CSV file; see `read_table`."""
    try:
        with io.TextIOWrapper(opened(path), encoding="utf-8-sig", newline="") as file:
            return _read(path, file, text)
    except UnicodeDecodeError as error:
        byte = error.object[error.start : error.start + 1].hex()
        raise BadInput(f"{path} is not UTF-8 text (byte 0x{byte}); save it as UTF-8") from None
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None


def table_of_cells(
    where: str, names: list[str], rows: list[list[str]], text: tuple[str, ...]
) -> Table:
    """The columns of cells that are no file, read like those of one.

    Args:
        where: what has the rows, for messages, which number them from 1.
        names: of the columns.
        rows: the cells of each.
        text: names of columns to keep as text too.
    """
    columns, numbers = _Columns(names, text, decimal_comma=False, unit="row"), np.arange(len(rows))
    columns.add(rows, (numbers + 1).tolist())
    return columns.table(where, numbers + 1, set())


def _read(path: Path, file: Iterator[str], text: tuple[str, ...]) -> Table:
    opening = list(islice(file, LOOKED_AT))
    delimiter = _delimiter(opening)

    def lines() -> Iterator[str]:
        for number, line in enumerate(chain(opening, file), 1):
            if "\0" in line:
                raise BadInput(f"{path}, line {number}: a zero byte; give a text in UTF-8")
            yield line

    rows = _rows(path, csv.reader(lines(), delimiter=delimiter, strict=True))
    first = next(rows, None)
    if first is None:
        raise BadInput(f"{path} has no rows; give a table with a row per time step")
    line, cells = first
    decimal_comma = delimiter != ","
    header = _is_header(path, line, cells, decimal_comma, _opening_rows(opening, delimiter)[1:])
    # An unnamed first column is left out; another one has its number for a name.
    names = [cell.strip() or (f"{n}" if n > 1 else "") for n, cell in enumerate(cells, 1)]
    unnamed = {n for n, cell in enumerate(cells) if header and not cell.strip()}
    if not header:
        names = [f"{n}" for n in range(1, len(cells) + 1)]
    if twice := first_twice(names):
        raise BadInput(f"{path}, line {line}: two columns are called {shown(twice)}")
    columns = _Columns(names, text, decimal_comma)
    numbers: list[int] = []
    block: list[list[str]] = []
    for line, cells in rows if header else chain([first], rows):
        if len(cells) != len(names):
            raise BadInput(
                f"{path}, line {line}: the number of cells is {len(cells)}, in the first line "
                f"{len(names)}"
            )
        block.append(cells)
        numbers.append(line)
        if len(block) == TOGETHER:
            columns.add(block, numbers)
            block = []
    columns.add(block, numbers)
    return columns.table(path, np.array(numbers, int), unnamed)


def _rows(path: Path, reader: Any) -> Iterator[tuple[int, list[str]]]:
    """The line and the cells of each row.

    Blank lines are left out, but for those between the rows of a single column, where they are
    missing values.
    """
    width, blank = None, []
    try:
        for cells in reader:
            if not cells or (width is None and not any(map(str.strip, cells))):
                blank.append(reader.line_num)
                continue
            if width == 1:
                yield from ((line, [""]) for line in blank)
            width, blank = width or len(cells), []
            yield reader.line_num, cells
    except csv.Error as error:
        raise BadInput(f"{path}, line {reader.line_num}: {error}; is it a CSV file?") from None


def _opening_rows(opening: list[str], delimiter: str) -> list[list[str]]:
    """The rows of the first lines, but for empty ones; none if they cannot be read."""
    try:
        rows = [row for row in csv.reader(opening, delimiter=delimiter) if any(map(str.strip, row))]
    except csv.Error:
        return []
    return rows


def _delimiter(opening: list[str]) -> str:
    """The delimiter that divides the first lines into equally many cells, more than one."""
    for delimiter in DELIMITERS:
        rows = _opening_rows(opening, delimiter)
        # The last of a cut-off opening may end within a quoted cell.
        widths = {len(row) for row in (rows[:-1] or rows)}
        if len(widths) == 1 and widths.pop() > 1:
            return delimiter
    first = opening[0] if opening else ""
    return max(",;\t|", key=first.count)


def _is_header(
    path: Path, line: int, cells: list[str], decimal_comma: bool, later: list[list[str]]
) -> bool:
    """Whether the first line holds names.

    Refused if it reads like values that are not numbers, or if one of its words is in its column
    again in the `later` rows, as the label of a row is.
    """
    if all(_number(cell, decimal_comma) is not None for cell in cells):
        # pandas writes the columns of an unnamed array as 0, 1, 2, after those of the row numbers
        return len(cells) > 1 and cells == ["", *map(str, range(len(cells) - 1))]
    names = [cell.strip() for cell in cells]
    words = [n for n, name in enumerate(names) if _number(name, decimal_comma) is None]
    values = names[0] and all(_is_value(names[n]) for n in words)
    alike = [row for row in later if len(row) == len(names)]
    again = [n for n in words if any(row[n].strip() == names[n] for row in alike)]
    if values or again:
        raise BadInput(
            f"{path}, line {line}: {shown(names[(again or words)[0]])} is not a number, and the "
            "line does not read like names of columns; put such a line first, or mend the number"
        )
    return True


def _is_value(word: str) -> bool:
    return word.lower().lstrip("+-") in WORDS or VALUE.fullmatch(word) is not None


def _number(cell: str, decimal_comma: bool) -> float | None:
    """The number in a cell, NaN if it is missing, `None` if it is something else."""
    cell = cell.strip()
    if cell.lower() in MISSING:
        return np.nan
    if decimal_comma and "." not in cell:
        cell = cell.replace(",", ".", 1)
    try:
        value = float(cell)
    except ValueError:
        return None
    return None if "_" in cell or np.isinf(value) else value


class _Columns:
    """The columns of a table while it is being read."""

    def __init__(
        self, names: list[str], text: tuple[str, ...], decimal_comma: bool, unit: str = "line"
    ):
        self.names, self.decimal_comma, self.unit = names, decimal_comma, unit
        self.numbers: dict[str, list[np.ndarray]] = {name: [] for name in names}
        self.texts: dict[str, list[str]] = {
            name: [] for name in names if name in text or is_time(name)
        }
        self.faults: dict[str, Fault] = {}
        self.words: dict[str, set[str]] = {}
        self.forms = {name: Forms() for name in names} if decimal_comma else {}

    def add(self, rows: list[list[str]], lines: list[int]) -> None:
        """More rows, the last of those with these lines."""
        if not rows:
            return
        first = len(lines) - len(rows)
        for name, cells in zip(self.names, zip(*rows, strict=True), strict=True):
            if name in self.texts:
                self.texts[name].extend(cell.strip() for cell in cells)
            if name in self.faults:
                self._count_words(name, cells)
                continue
            values, commas = _plain(cells), False
            if values is None:
                column = [_number(cell, self.decimal_comma) for cell in cells]
                if None in column:
                    at = column.index(None)
                    cell = cells[at].strip()
                    self.faults[name] = Fault.of_cell(f"{self.unit} {lines[first + at]}", cell)
                    self.forms.pop(name, None)
                    numbers = sum(x is not None and x == x for x in column)
                    if not first and column.count(None) > numbers and not GROUPED.fullmatch(cell):
                        self._begin_words(name, cells, cell)
                    continue
                values = np.array(column, float)
                commas = True
            if name in self.forms:
                self.forms[name].add(cells, lines[first:], commas)
            self.numbers[name].append(values)

    def _begin_words(self, name: str, cells: tuple[str, ...], first: str) -> None:
        """Most cells of a column are words: count them, and keep them if they are dates."""
        self.words[name] = set()
        if looks_like_date(first):
            self.texts.setdefault(name, [cell.strip() for cell in cells])
            self.words[name] = {*map(str, range(MAX_WORDS + 1))}  # too many to be kinds
        self._count_words(name, cells)

    def _count_words(self, name: str, cells: tuple[str, ...]) -> None:
        if name in self.words and len(self.words[name]) <= MAX_WORDS:
            self.words[name].update(map(str.strip, cells))

    def table(self, path: Path | str, lines: np.ndarray, unnamed: set[int]) -> Table:
        for name, where, what in conflicts(self.forms):
            self.faults[name] = Fault(where, what, numbers=True)
        numbers = {
            name: np.concatenate(parts)
            for name, parts in self.numbers.items()
            if parts and name not in self.faults
        }
        # Without a name: row numbers, or nothing at all behind the last delimiter.
        nothing = {n for n in unnamed if np.isnan(numbers.get(self.names[n], np.zeros(1))).all()}
        left_out = nothing | (unnamed & {0})
        kept = [name for n, name in enumerate(self.names) if n not in left_out]
        texts = {name: np.array(cells, object) for name, cells in self.texts.items()}
        for name, words in self.words.items():
            count = sum(word.lower() not in MISSING for word in words)
            self.faults[name] = self.faults[name]._replace(words=count)
        return Table(path, kept, numbers, texts, self.faults, lines)


def _plain(cells: tuple[str, ...]) -> np.ndarray | None:
    """All cells as numbers at once, where they are written plainly."""
    try:
        values = np.array(cells).astype(float)
    except ValueError:
        return None
    plain = np.isfinite(values).all() and not any("_" in cell for cell in cells)
    return values if plain else None


UNSURE = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}", re.ASCII)
SMALL = re.compile(r"[+-]?\d{1,3}", re.ASCII)
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
RIGHT = "write decimals with a point and thousands without a separator"

Place = tuple[int, str]  # a line and its cell


class Forms:
    """The first cell of each form in a column, with its line."""

    def __init__(self) -> None:
        self.sure: dict[str, Place] = {}
        self.unsure: dict[str, Place] = {}
        self.small: Place | None = None  # a whole number below 1000
        self.large = False  # whether a whole number above 999 has no separator

    def add(self, cells: Sequence[str], lines: Sequence[int], commas: bool) -> None:
        """More cells, all numbers or missing; `commas` says whether some may have a comma."""
        settled = "." in self.sure or (self.small and self.large and "." not in "".join(cells))
        if settled and not commas:
            return  # nothing here can say more
        for line, cell in zip(lines, map(str.strip, cells), strict=True):
            mark = "," if "," in cell else "." if "." in cell else ""
            if mark:
                places = self.unsure if UNSURE.fullmatch(cell) else self.sure
                places.setdefault(mark, (line, cell))
            elif SMALL.fullmatch(cell):
                self.small = self.small or (line, cell)
            elif WHOLE.fullmatch(cell):
                self.large = True


def conflicts(columns: Mapping[str, Forms]) -> Iterator[tuple[str, str, str]]:
    """The name of each column that cannot be read, the lines, and what is wrong there."""
    sure = {mark: {n for n, forms in columns.items() if mark in forms.sure} for mark in ".,"}
    for name, forms in columns.items():
        seen = [forms.sure.get(mark) or forms.unsure.get(mark) for mark in ".,"]
        if all(seen):
            (one, point), (two, comma) = seen  # type: ignore[misc]
            first, second = sorted(((one, point), (two, comma)))
            yield (
                name,
                f"lines {first[0]} and {second[0]}",
                f"{shown(first[1])} and {shown(second[1])} are written in two ways; {RIGHT}",
            )
        elif forms.unsure and not forms.sure and not forms.large:
            mark, place = next(iter(forms.unsure.items()))
            decimal_comma = bool(sure[","]) and not sure["."]
            decimal_point = bool(sure["."]) and not sure[","]
            if mark == "," and decimal_comma:
                continue
            if mark == "." and (decimal_point or (not decimal_comma and forms.small is None)):
                continue
            beside = forms.small or (0, "")
            where = f"lines {place[0]} and {beside[0]}" if forms.small else f"line {place[0]}"
            also = f" beside {beside[1]!r}" if forms.small else ""
            cell = place[1]
            either = f"{cell.replace(',', '.')} or {cell.replace(mark, '')}"
            yield name, where, f"{cell!r}{also} may be {either}; {RIGHT}"
