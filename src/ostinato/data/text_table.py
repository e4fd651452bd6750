"""Columns of texts by name, from a CSV, TSV or Parquet file, or from lines of JSON.

Cells stay as they are: no spaces are taken off, and `NA` or `null` is a text like any other. The
columns are asked for by name, so the delimiter is the one that divides the first line into cells
with these names. Where there is no such line, the names are 1, 2, 3.

    .csv, .tsv, …       cells with a tab, a comma, a semicolon or a bar between them
    .jsonl, .ndjson     a JSON object per line; `.json` may also be one list of objects
    .parquet, .pq       by pyarrow

All but Parquet may be compressed with gzip. What was left out is said in `notes`.
"""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BadInput
from ..names import counted
from ..settings import shown
from .lines import read_utf8
from .table import first_twice

JSON = (".jsonl", ".ndjson", ".json")
PARQUET = (".parquet", ".pq")
TABLES = (".csv", ".tsv", *JSON, *PARQUET)
DELIMITERS = ("\t", ",", ";", "|")
MAX_NAMES = 20  # that a message lists
LISTED = 110  # characters of these, at most

Rows = list[tuple[int, list[Any]]]  # the number of each row, and its cells in the columns asked for


class TextTable(NamedTuple):
    """Some columns of a table.

    Attributes:
        columns: the cells of each column that was asked for, in that order. A cell of JSON is what
            JSON says; all others are texts.
        places: where each row is, for messages: `line 3`.
        notes: what was left out, in sentences.
    """

    columns: list[list[Any]]
    places: list[str]
    notes: tuple[str, ...]


def suffix_of(path: str | Path) -> str:
    """The suffix of a file in lower case, without that of gzip.

    Example:
        >>> suffix_of("reviews.CSV.gz")
        '.csv'
    """
    return Path(str(path).lower().removesuffix(".gz")).suffix


def read_text_table(
    path: str | Path, names: Sequence[str], encoding: str | None = None
) -> TextTable:
    """Some columns of a table as texts; rows in which all of them are empty are left out.

    Example:
        >>> with open("reviews.csv", "w") as file:
        ...     _ = file.write('stars,review\\n5,"Good, but long"\\n1,Bad\\n')
        >>> read_text_table("reviews.csv", ["review", "stars"]).columns
        [['Good, but long', 'Bad'], ['5', '1']]
    """
    if twice := first_twice([*names]):
        raise BadInput(f"the column {shown(twice)} is named twice; give another one for each")
    unit, blank = "line", 0
    if suffix_of(path) in PARQUET:
        unit, rows = "row", _of_parquet(path, names)
    else:
        text = read_utf8(path, "table", encoding)
        if suffix_of(path) not in JSON:
            blank, rows = _of_cells(str(path), text, names)
        elif suffix_of(path) == ".json" and text.lstrip()[:1] == "[":
            unit, rows = "row", _of_list(str(path), text, names)
        else:
            blank = sum(not line.strip() for line in text.removesuffix("\n").split("\n"))
            rows = [*_of_json_lines(str(path), text, names)]
    kept = [row for row in rows if any(cell not in ("", None) for cell in row[1])]
    if not kept:
        raise BadInput(f"{path} has no rows with {_listed(names)}")
    notes = []
    if count := blank + len(rows) - len(kept):
        notes.append(f"{count} empty {'row was' if count == 1 else 'rows were'} left out")
    columns = [list(cells) for cells in zip(*(cells for _, cells in kept), strict=True)]
    return TextTable(columns, [f"{unit} {n}" for n, _ in kept], tuple(notes))


def _listed(names: Sequence[str]) -> str:
    listed = ", ".join(map(shown, names[:MAX_NAMES]))
    if len(listed) > LISTED:  # not within a name
        listed = listed[: LISTED + 1].rpartition(", ")[0] or shown(names[0])
    return listed + (", …" if len(listed) < len(", ".join(map(shown, names))) else "")


def _missing(path: str | Path, name: str, known: Sequence[str], tip: str = "") -> BadInput:
    return BadInput(f"{path} has no column {shown(name)}; it has {_listed(known)}{tip}")


# Cells with a delimiter between them


def _of_cells(path: str, text: str, names: Sequence[str]) -> tuple[int, Rows]:
    """How many lines are blank, and the rows of a file whose first line has the names."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    headers = {mark: _first_cells(first, mark) for mark in DELIMITERS}
    fitting = [mark for mark, cells in headers.items() if {*names} <= {*cells}]
    numbered = not fitting and all(name.isascii() and name.isdigit() for name in names)
    mark = fitting[0] if fitting else max(DELIMITERS, key=lambda mark: len(headers[mark]))
    header = [f"{n}" for n in range(1, len(headers[mark]) + 1)] if numbered else headers[mark]
    for name in names:
        if name not in header:
            tip = "" if numbered else "; where the first line has no names they are 1, 2, …"
            raise _missing(path, name, header, tip)
        if header.count(name) > 1:
            raise BadInput(f"{path}, line 1: two columns are called {shown(name)}")
    places = [header.index(name) for name in names]
    blank = 0
    rows: Rows = []
    for line, cells in _lines(path, text, mark):
        if not any(map(str.strip, cells)):
            blank += 1
            continue
        if len(cells) != len(header):
            raise BadInput(
                f"{path}, line {line}: the number of cells is {len(cells)}, in the first line "
                f"{len(header)}; a text with {_in_words(mark)} in it stands in quotes"
            )
        if rows and not numbered and [cell.strip() for cell in cells] == header:
            raise BadInput(f"{path}, line {line}: the names of the columns again; leave it out")
        rows.append((line, [cells[place] for place in places]))
    return blank, rows if numbered else rows[1:]


def _in_words(mark: str) -> str:
    return {"\t": "a tab", ",": "a comma"}.get(mark, f"a {mark}")


def _first_cells(line: str, mark: str) -> list[str]:
    """The names in the first line, without the spaces around them."""
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=mark), [""])]
    except csv.Error:
        return [cell.strip() for cell in line.split(mark)]


def _lines(path: str, text: str, mark: str) -> Iterator[tuple[int, list[str]]]:
    """The first line of each row, and its cells."""
    plain = mark == "\t" and not _quoted(text)
    style: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if plain else {"strict": True}
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, **style)
    line = 1
    try:
        for cells in reader:
            yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        what = (
            "a cell is too long, or its quotes are not closed" if "limit" in str(error) else error
        )
        raise BadInput(f"{path}, line {line}: {what}; is it a CSV file?") from None


def _quoted(text: str) -> bool:
    """Whether quotes in a file with tabs are those of CSV, and not part of its texts.

    They are if the names are quoted, if without them lines differ in the number of cells, or if a
    cell is quoted and has doubled quotes within.
    """
    rows = [line.removesuffix("\r").split("\t") for line in text.split("\n") if line.strip()]

    def whole(cell: str) -> bool:
        return len(cell) > 1 and cell[0] == cell[-1] == '"'

    return (
        any(map(whole, rows[0]))
        or len({*map(len, rows)}) > 1
        or any(
            whole(cell) and '""' in cell[1:-1] and '"' not in cell[1:-1].replace('""', "")
            for row in rows
            for cell in row
        )
    )


# JSON


def _of_json_lines(path: str, text: str, names: Sequence[str]) -> Iterator[tuple[int, list[Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"{path}, line {number}"
            yield number, _cells_of(_parsed(line, where), names, where)


def _of_list(path: str, text: str, names: Sequence[str]) -> Rows:
    return [
        (number, _cells_of(one, names, f"{path}, row {number}"))
        for number, one in enumerate(_parsed(text, path), 1)
    ]


def _parsed(text: str, where: str) -> Any:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    def row(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if (twice := first_twice([name for name, _ in pairs])) is not None:
            raise BadInput(f"{where}: the name {shown(twice)} is there twice in one object")
        return dict(pairs)

    try:
        return json.loads(text, parse_constant=refuse, object_pairs_hook=row)
    except BadInput:
        raise
    except json.JSONDecodeError as error:
        what = f"{error.msg} at column {error.colno}"
    except (ValueError, RecursionError) as error:
        what = str(error)
    raise BadInput(f"{where}: not JSON, {what}; give one object per line")


def _cells_of(row: Any, names: Sequence[str], where: str) -> list[Any]:
    if not isinstance(row, dict):
        raise BadInput(f'{where}: a row is an object such as {{"{names[0]}": …}}, got {shown(row)}')
    for name in names:
        if name not in row:
            raise _missing(where, name, [*row])
    return [row[name] for name in names]


def _of_parquet(path: str | Path, names: Sequence[str]) -> Rows:
    from .csv_file import read_table  # imported late because it imports NumPy's readers

    table = read_table(path, tuple(names))
    cells = [table.texts[table.check(name)].tolist() for name in names]
    return [(n, list(row)) for n, row in enumerate(zip(*cells, strict=True), 1)]


# What a cell says


def texts_in(cells: Sequence[Any], places: Sequence[str], path: str | Path, what: str) -> list[str]:
    """Cells that must be texts, and not empty."""
    for cell, place in zip(cells, places, strict=True):
        if not isinstance(cell, str) and cell is not None:
            raise BadInput(f"{path}, {place}: {what} must be in quotes, got {shown(cell)}")
        if cell is None or not cell.strip():
            raise BadInput(f"{path}, {place}: {what} is empty")
        _check_whole(cell, f"{path}, {place}")
    return [*cells]


def _check_whole(text: str, where: str) -> None:
    """Refuse what JSON can write and no text has: a zero, and half of a character."""
    if "\0" in text:
        raise BadInput(f"{where}: a zero byte; give a text in UTF-8")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = ord(text[error.start])
        raise BadInput(f"{where}: U+{half:04X} is half of a character") from None


def labels_in(
    cells: Sequence[Any], places: Sequence[str], path: str | Path, separator: str | None = None
) -> tuple[list[Any], list[str]]:
    """Labels as texts, or as lists of them, and what was done to them.

    Numbers and `true` of JSON are written as texts. All labels must be of one type.

    Args:
        cells: texts, or what JSON says.
        places: where each is, for messages.
        path: the file.
        separator: divides several labels of one cell; those in lists need none.

    Example:
        >>> labels_in(["new|big", ""], ["line 2", "line 3"], "films.csv", "|")
        ([['new', 'big'], []], [])
    """
    several = separator is not None or any(isinstance(cell, list) for cell in cells)
    labels, spaced, kinds = [], 0, dict[str, str]()
    for cell, place in zip(cells, places, strict=True):
        where = f"{path}, {place}"
        some = cell if isinstance(cell, list) else [] if several and cell is None else [cell]
        if separator is not None and isinstance(cell, str):
            some = cell.split(separator)
        plain = [_label(x, where, kinds) for x in some]
        spaced += sum(x != x.strip() for x in plain)
        plain = [x.strip() for x in plain if x.strip()]
        if not several and not plain:
            raise BadInput(f"{where}: the label is empty")
        labels.append(plain if several else plain[0])
    if len(kinds) > 1:
        (one, first), (two, second) = [*kinds.items()][:2]
        raise BadInput(
            f"{path}: a label is {one} in {first}, and {two} in {second}; write one type"
        )
    notes = [f"spaces around {counted(spaced, 'label')} were left out"] if spaced else []
    return labels, notes


def _label(value: Any, where: str, kinds: dict[str, str]) -> str:
    """A label as text; its type is added to those that are known, with the first place of each."""
    if isinstance(value, dict | list):
        raise BadInput(f"{where}: a label is a text or a number, got {shown(value)}")
    kind = "true or false" if isinstance(value, bool) else "a number"
    kinds.setdefault("a text" if isinstance(value, str) or value is None else kind, where)
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
    _check_whole(text, where)
    return text
