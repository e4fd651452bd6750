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

import codecs
import csv
import dataclasses
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from ..errors import BadInput
from ..settings import shown
from .cells import PADDING, Cells, PlainNumbers
from .dates import looks_like_date
from .files import check_file, opened
from .frames import read_parquet
from .table import GROUPED, MAX_WORDS, MISSING, Fault, Table, first_twice, is_time

DELIMITERS = ("\t", ";", ",", "|")
LOOKED_AT = 20  # lines
BYTES_TOGETHER = 1 << 20  # bytes; with fewer, calls of NumPy take longer than their work
ROWS_TOGETHER = 1 << 14  # rows
MARKS = r"[-+−.,:;/_%$€£'’\s\d\ufeff\u200b-\u200f]*"
LETTERS = MARKS.replace("]*", "eETZ]*")  # of 1e-5 and 2020-01-31T14:00Z
# Such as 2020-01-31, 1.234,5, −5 and T14:00. A name may begin with a letter: T1, E1.
VALUE = re.compile(rf"(?:T(?=\d+:))?{MARKS}\d{LETTERS}")
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*", re.ASCII)
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
    status = check_file(path, "table")
    if status.st_size == 0:
        raise BadInput(f"{path} is empty; give a table with a row per time step")
    parquet = path.suffix.lower() in (".parquet", ".pq")
    table = read_parquet(path, text) if parquet else read_csv(path, text)
    if not table.rows:
        raise BadInput(f"{path} has a header and no rows")
    return dataclasses.replace(table, version=(status.st_size, status.st_mtime_ns))


def with_texts(table: Table, names: Iterable[str]) -> Table:
    """A table that has some columns as text or as times.

    Those that were not kept are read again from the file, which must not have changed since. The
    rows may be some of those of the file.
    """
    lost = [name for name in names if table.check(name) not in {**table.texts, **table.times}]
    if not lost:
        return table
    if table.version is None:
        raise BadInput(f"{table.path}: the texts of {', '.join(map(shown, lost))} were not kept")
    again = read_table(table.path, (*lost,))
    if again.version != table.version:
        raise BadInput(f"{table.path} changed after its table was read; read it again")
    rows = np.searchsorted(again.lines, table.lines)
    texts = {name: again.texts[name][rows] for name in lost}
    return dataclasses.replace(table, texts=table.texts | texts)


def read_csv(path: Path, text: tuple[str, ...] = ()) -> Table:
    """The columns of a CSV file; see `read_table`."""
    try:
        with opened(path) as file:
            columns = _read(path, file, text)
    except UnicodeDecodeError as error:
        byte = error.object[error.start : error.start + 1].hex()
        raise BadInput(f"{path} is not UTF-8 text (byte 0x{byte}); save it as UTF-8") from None
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    if late := columns.late_dates():
        return read_csv(path, (*text, *late))
    return columns.table(path)


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
    columns = _Columns(names, text, decimal_comma=False, unnamed=set(), unit="row")
    columns.add(_block_of([*enumerate(rows, 1)]))
    return columns.table(where)


def _read(path: Path, file: BinaryIO, text: tuple[str, ...]) -> "_Columns":
    decoded = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    opening = list(islice(decoded, LOOKED_AT))
    delimiter = _delimiter(opening)
    taken: list[str] = []

    def lines() -> Iterator[str]:
        for one in chain(opening, decoded):
            taken.append(one)
            yield one

    rows = _rows(path, lines(), delimiter)
    first = next(rows, None)
    if first is None:
        raise BadInput(f"{path} has no rows; give a table with a row per time step")
    line, cells = first
    begin = sum(len(one.encode()) for one in taken)
    decimal_comma = delimiter != ","
    try:
        header = _is_header(path, line, cells, decimal_comma, _opening_rows(opening, delimiter)[1:])
        names = _names(path, line, cells, header)
    except BadInput:
        for _ in rows:  # raises if rows are of different widths, which may be all that is wrong
            pass
        raise
    decoded.detach()
    unnamed = {n for n, cell in enumerate(cells) if header and not cell.strip()}
    columns = _Columns(names, text, decimal_comma, unnamed)
    if not header:
        columns.add(_block_of([first]))
    file.seek(0)
    mark = len(codecs.BOM_UTF8) if file.read(3) == codecs.BOM_UTF8 else 0
    for block in _blocks(path, file, mark + begin, line, delimiter, len(names)):
        columns.add(block)
    return columns


def _names(path: Path, line: int, cells: list[str], header: bool) -> list[str]:
    """What the columns are called, by the first row."""
    if not header:
        return [f"{n}" for n in range(1, len(cells) + 1)]
    # An unnamed first column is left out; another one has its number for a name.
    names = [cell.strip() or (f"{n}" if n > 1 else "") for n, cell in enumerate(cells, 1)]
    if twice := first_twice(names):
        raise BadInput(f"{path}, line {line}: two columns are called {shown(twice)}")
    return names


# From bytes to rows


class Block(NamedTuple):
    """Some rows: the cells of each column, and the line of each row."""

    columns: list[Cells]
    lines: np.ndarray


def _blocks(
    path: Path, file: BinaryIO, begin: int, line: int, delimiter: str, width: int
) -> Iterator[Block]:
    """The rows from a place on, which is the end of a line and of a row.

    `_divided` takes what it can, which is most of most files; `_rows` all else, and all faults.
    """
    while True:
        file.seek(begin)
        raw = file.read(BYTES_TOGETHER)
        if len(raw) == BYTES_TOGETHER:
            raw = raw[: raw.rfind(b"\n") + 1]
        elif not raw:
            return
        elif not raw.endswith(b"\n"):
            raw += b"\n"
        block = _divided(raw, line, delimiter, width)
        if block is not None:
            yield block
            lines = len(block.lines)
        elif b'"' in raw or width == 1 or not raw:  # a row may go on beyond these lines
            file.seek(begin)
            yield from _exact_blocks(path, file, delimiter, line, width)
            return
        else:
            yield from _exact_blocks(path, io.BytesIO(raw), delimiter, line, width)
            lines = raw.count(b"\n") + raw.count(b"\r") - raw.count(b"\r\n")
        begin, line = begin + len(raw), line + lines


def _exact_blocks(
    path: Path, file: BinaryIO, delimiter: str, line: int, width: int
) -> Iterator[Block]:
    with io.TextIOWrapper(file, encoding="utf-8", newline="") as decoded:
        rows = _rows(path, decoded, delimiter, line, width)
        while some := list(islice(rows, ROWS_TOGETHER)):
            yield _block_of(some)


def _block_of(rows: list[tuple[int, list[str]]]) -> Block:
    lines, cells = zip(*rows, strict=True)
    columns = [Cells.of_strings(column) for column in zip(*cells, strict=True)]
    return Block(columns, np.array(lines, int))


def _divided(raw: bytes, line: int, delimiter: str, width: int) -> Block | None:
    """Whole lines, divided at every delimiter; `None` if that may not be what `_rows` does.

    So there are no quotes, each line has the same number of cells, no line is blank, and all end in
    the same way. All is UTF-8, no cell is too long for the module csv, and there is no zero byte.
    """
    if b'"' in raw or b"\0" in raw or not raw.endswith(b"\n"):
        return None
    if not raw.isascii():
        try:
            raw.decode()
        except UnicodeDecodeError:
            return None
    text = bytes(PADDING) + raw
    each = np.frombuffer(text, np.uint8)
    ends_of_lines = each == ord("\n")
    ends = np.flatnonzero(ends_of_lines | (each == ord(delimiter)))
    rows = int(np.count_nonzero(ends_of_lines))
    if len(ends) != rows * width or not ends_of_lines[ends[width - 1 :: width]].all():
        return None
    by_column = np.ascontiguousarray(ends.reshape(rows, width).T)
    begins = np.empty_like(by_column)
    np.add(by_column[:-1], 1, out=begins[1:])
    np.add(by_column[-1, :-1], 1, out=begins[0, 1:])
    begins[0, 0] = PADDING
    if b"\r" in raw:
        if raw.count(b"\r") != rows or not (each[by_column[-1] - 1] == ord("\r")).all():
            return None
        by_column[-1] -= 1
    if np.diff(by_column[-1], prepend=PADDING).max() > csv.field_size_limit():
        return None  # a line is longer, so perhaps a cell
    if width == 1 and (by_column == begins).any():
        return None
    columns = [Cells(text, *places) for places in zip(begins, by_column, strict=True)]
    return Block(columns, np.arange(line + 1, line + 1 + rows))


def _rows(
    path: Path, lines: Iterable[str], delimiter: str, before: int = 0, width: int | None = None
) -> Iterator[tuple[int, list[str]]]:
    """The line and the cells of each row.

    Blank lines are left out, but for those between the rows of a single column, where they are
    missing values.

    Args:
        path: the file, for messages.
        lines: of the file, after so many that are `before` them.
        delimiter: stands between cells.
        before: how many lines were read already.
        width: the number of cells in each row; `None` if the first row is still to come.
    """

    def whole() -> Iterator[str]:
        for number, line in enumerate(lines, before + 1):
            if "\0" in line:
                raise BadInput(f"{path}, line {number}: a zero byte; give a text in UTF-8")
            yield line

    reader = csv.reader(whole(), delimiter=delimiter, strict=True)
    blank: list[int] = []
    try:
        for cells in reader:
            line = before + reader.line_num
            if not cells or (width is None and not any(map(str.strip, cells))):
                blank.append(line)
                continue
            if width == 1:
                yield from ((at, [""]) for at in blank)
            width, blank = width or len(cells), []
            if len(cells) != width:
                raise BadInput(
                    f"{path}, line {line}: the number of cells is {len(cells)}, in the first line "
                    f"{width}; give every line the same number of cells"
                )
            yield line, cells
    except csv.Error as error:
        line = before + reader.line_num
        raise BadInput(f"{path}, line {line}: {error}; is it a CSV file?") from None


def _opening_rows(opening: list[str], delimiter: str) -> list[list[str]]:
    """The rows of the first lines, but for empty ones; none if they cannot be read."""
    try:
        rows = [row for row in csv.reader(opening, delimiter=delimiter) if any(map(str.strip, row))]
    except csv.Error:
        return []
    return rows


def _delimiter(opening: list[str]) -> str:
    """The delimiter that divides the first lines into equally many cells, more than one.

    Commas may do so where they are decimal: a comma does not divide what is a number between other
    delimiters, as in `1,5;2,5`, even if these do not divide the lines equally.
    """
    # The last of a cut-off opening may end within a quoted cell.
    rows = {delimiter: _opening_rows(opening, delimiter) for delimiter in DELIMITERS}
    widths = {d: {len(row) for row in (some[:-1] or some)} for d, some in rows.items()}
    even = [d for d, some in widths.items() if len(some) == 1 and some != {1}]
    first = opening[0] if opening else ""
    delimiter = even[0] if even else max(",;\t|", key=first.count)
    for other in DELIMITERS:
        if delimiter == "," and other in first:
            cells = [cell for row in rows[other] if len(row) > 1 for cell in row]
            delimiter = other if any(map(DECIMAL_COMMA.fullmatch, cells)) else delimiter
    return delimiter


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


class _Column:
    """A column while it is being read.

    Attributes:
        values: the numbers of each block, NaN where one is missing or something else is there.
        texts: the cells of each block, if they are kept; see `_Columns.late_dates`.
        fault: the first cell that is no number, and its line.
        words: different cells that are no numbers, but not all where they are many.
        counts: of numbers, and of cells that are no numbers.
        forms: how numbers are written, if they may have a decimal comma.
    """

    def __init__(self, text: bool, decimal_comma: bool):
        self.decimal_comma = decimal_comma
        self.values: list[np.ndarray] = []
        self.texts: list[np.ndarray] | None = [] if text else None
        self.fault: tuple[int, str] | None = None
        self.words: set[str] = set()
        self.counts = (0, 0)
        self.forms = Forms()

    @property
    def has_words(self) -> bool:
        """Whether most cells are words, and not numbers that are written wrongly."""
        numbers, others = self.counts
        return others > numbers and not GROUPED.fullmatch(self.fault[1]) if self.fault else False

    @property
    def has_dates(self) -> bool:
        return self.fault is not None and self.has_words and looks_like_date(self.fault[1])

    def add(self, cells: Cells, lines: np.ndarray) -> None:
        rows = np.arange(len(cells))
        values, plain = np.full(len(cells), np.nan), None
        numbers, others = self.counts
        if others <= numbers:
            plain = cells.plain_numbers(b".," if self.decimal_comma else b".")
            values = plain.values
            rows = np.flatnonzero(~plain.read & (cells.begins < cells.ends))
        some, which = (cells if len(rows) == len(cells) else cells[rows]).different()
        no_number = some.surely_words() if len(some) > 50 else np.zeros(len(some), bool)
        numbers_of = np.full(len(some), np.nan)
        unsure = np.flatnonzero(~no_number)
        for n, cell in zip(unsure.tolist(), some[unsure].strings(), strict=True):
            number = _number(cell, self.decimal_comma)
            no_number[n] = number is None
            numbers_of[n] = np.nan if number is None else number
        wrong = rows
        if not no_number.all():
            values[rows] = numbers_of[which]
            wrong = rows[no_number[which]]
        if wrong.size:
            self._add_words(cells, lines, int(wrong[0]), some[no_number])
        elif self.decimal_comma and plain is not None:
            first_rows = np.full(len(some), len(cells))
            np.minimum.at(first_rows, which, rows)
            self.forms.add(cells, lines, [*_first_of_each_form(cells, plain), *first_rows])
        known = len(values) - int(np.count_nonzero(np.isnan(values)))
        self.counts = numbers + known, others + len(wrong)
        self.values.append(values)
        if self.texts is not None:
            some, which = cells.different() if plain is not None else (some, which)
            self.texts.append(np.array(some.stripped(), object)[which])

    def _add_words(self, cells: Cells, lines: np.ndarray, first: int, words: Cells) -> None:
        """The first row of a block with a cell that is no number, and all such cells."""
        if self.fault is None:
            self.fault = int(lines[first]), cells[np.array([first])].stripped()[0]
            if self.texts is None and looks_like_date(self.fault[1]) and not self.values:
                self.texts = []
        if len(self.words) <= MAX_WORDS:
            self.words.update(words.stripped())

    def number_of_words(self) -> int:
        """How many different cells there are if most are words, else 0; dates count as many."""
        if not self.has_words:
            return 0
        if self.has_dates:
            return MAX_WORDS + 1
        values = np.concatenate([part[~np.isnan(part)] for part in self.values])
        return len(self.words) + len(np.unique(values))


class _Columns:
    """The columns of a table while it is being read."""

    def __init__(
        self,
        names: list[str],
        text: tuple[str, ...],
        decimal_comma: bool,
        unnamed: set[int],
        unit: str = "line",
    ):
        self.names, self.decimal_comma, self.unnamed = names, decimal_comma, unnamed
        self.unit = unit
        self.asked = {name for name in names if name in text or is_time(name)}
        self.columns = {name: _Column(name in self.asked, decimal_comma) for name in names}
        self.lines: list[np.ndarray] = []

    def add(self, block: Block) -> None:
        for column, cells in zip(self.columns.values(), block.columns, strict=True):
            column.add(cells, block.lines)
        self.lines.append(block.lines)

    def late_dates(self) -> list[str]:
        """The columns of dates whose texts were not kept, because they begin with other cells."""
        return [
            n for n, column in self.columns.items() if column.has_dates and column.texts is None
        ]

    def table(self, path: Path | str) -> Table:
        faults = {
            name: Fault.of_cell(f"{self.unit} {column.fault[0]}", column.fault[1])._replace(
                words=column.number_of_words()
            )
            for name, column in self.columns.items()
            if column.fault
        }
        if self.decimal_comma:
            forms = {n: column.forms for n, column in self.columns.items() if n not in faults}
            for name, where, what in conflicts(forms):
                faults[name] = Fault(where, what, numbers=True)
        numbers = {
            name: np.concatenate(column.values)
            for name, column in self.columns.items()
            if column.values and name not in faults
        }
        # Without a name: row numbers, or nothing at all behind the last delimiter.
        nothing = {
            n for n in self.unnamed if np.isnan(numbers.get(self.names[n], np.zeros(1))).all()
        }
        left_out = nothing | (self.unnamed & {0})
        kept = [name for n, name in enumerate(self.names) if n not in left_out]
        texts = {
            name: np.concatenate([np.empty(0, object), *column.texts])
            for name, column in self.columns.items()
            if column.texts is not None and (name in self.asked or column.has_dates)
        }
        lines = np.concatenate([np.empty(0, int), *self.lines])
        return Table(path, kept, numbers, texts, faults, lines)


def _first_of_each_form(cells: Cells, plain: PlainNumbers) -> list[int]:
    """The rows in which a form that `Forms` knows is for the first time, and perhaps others."""
    first_bytes = np.frombuffer(cells.text, np.uint8)[plain.begins]
    digits = cells.ends - plain.begins - plain.decimals - (plain.marks > 0)
    unsure = (plain.decimals == 3) & (digits >= 1) & (digits <= 3)
    unsure &= first_bytes != ord("0")
    form = np.where(plain.marks > 0, 4 * plain.marks.astype(int) + unsure, digits > 3)
    form = np.where(plain.read, form, -1)
    return np.unique(form, return_index=True)[1].tolist()


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

    def add(self, cells: Cells, lines: np.ndarray, rows: Iterable[int]) -> None:
        """More cells, all numbers or missing; `rows` has the first of each form, in any order."""
        chosen = np.array(sorted({*rows}), int)
        for line, cell in zip(lines[chosen].tolist(), cells[chosen].strings(), strict=True):
            self._add(line, cell.strip())

    def _add(self, line: int, cell: str) -> None:
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
