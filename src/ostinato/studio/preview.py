"""The beginning of a data file, as a page shows it before a run is started."""

import contextlib
import gzip
import itertools
import json
import re
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..data import read_table
from ..data.frames import table_of_frame
from ..data.npz import problem
from ..data.table import Table, is_time
from ..data.text_table import suffix_of
from ..errors import BadInput, needing
from ..files import open_regular
from ..tasks.series.from_files import task_name_for

LINES = 200  # of a file that are read
ROWS, COLUMNS = 6, 200  # that are shown
LONGEST = 160  # characters of a cell, and of a line
BYTES = 1 << 18  # of a text
TABLES, PARQUET = (".csv", ".tsv"), (".parquet", ".pq")
JSON_LINES = (".jsonl", ".ndjson")


def preview(path: Path) -> dict[str, Any]:
    """What a file begins with: columns with their kinds and rows, or lines of text.

    Returns:
        `task`, for which the file seems to be, `columns` (empty if it is no table), `rows`, `text`
        and `words`, a sentence where there is something to say.
    """
    shown: dict[str, Any] = {"task": task_name_for(path), "columns": [], "rows": [], "text": ""}
    suffix, words = suffix_of(path), ""
    if suffix in (".npy", ".npz"):
        return shown | _of_arrays(path)
    if suffix in PARQUET:
        return shown | _of_table(lambda text: table_of_frame(_first_rows(path), text))
    text = _beginning(path)
    try:
        if "\ufffd" in text:
            raise BadInput("not all of it is UTF-8")
        if suffix in TABLES:
            return shown | _of_text(path, text)
        if suffix in JSON_LINES:
            return shown | {"task": "classify"} | _of_objects(text)
    except BadInput as error:
        words = str(error)
    lines = [_short(line) for line in text.splitlines()[:30]]
    return shown | {"text": "\n".join(lines), "words": words}


def _of_text(path: Path, text: str) -> dict[str, Any]:
    """The columns of a table in text, of which only the beginning is read, as from a small file."""
    with tempfile.NamedTemporaryFile("w", suffix=path.suffix, encoding="utf-8", newline="") as part:
        part.write(text)
        part.flush()
        try:
            return _of_table(lambda names: read_table(part.name, names))
        except BadInput as error:
            raise BadInput(str(error).replace(part.name, path.name)) from None


def _first_rows(path: Path) -> Any:
    """The first rows of a Parquet file, as a table of Arrow."""
    with needing(f"reading {path.name}", "pyarrow", "parquet"):
        import pyarrow.parquet
    try:
        file = pyarrow.parquet.ParquetFile(path)
        rows = [*itertools.islice(file.iter_batches(LINES), 1)]
        return pyarrow.Table.from_batches(rows, file.schema_arrow)
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise BadInput(f"it cannot be read as Parquet: {_short(str(error))}") from None


def _of_table(read: Callable[[tuple[str, ...]], Table]) -> dict[str, Any]:
    """The columns of a table: numbers, dates or words; `read` is given those to read as text."""
    table = read(())
    names = table.names[:COLUMNS]
    cells = read(tuple(names)).texts
    kinds = {name: _kind(table, name) for name in names}
    columns = [
        {"name": name, "kind": kinds[name], "values": _different(cells[name].tolist())}
        for name in names
    ]
    rows = [[_short(cells[name][row]) for name in names] for row in range(min(ROWS, table.rows))]
    left_out = len(table.names) - len(names)
    words = f"{left_out} more columns are not shown" if left_out else ""
    sentences = any(kinds[name] == "words" and _sentences(cells[name]) for name in names)
    task = {"task": "classify"} if sentences or "numbers" not in kinds.values() else {}
    return {"columns": columns, "rows": rows, "words": words, **task}


def _sentences(cells: Any) -> bool:
    """Whether most cells of a column have several words, as texts to classify have."""
    return 2 * sum(len(cell.split()) > 3 for cell in cells.tolist()) > len(cells)


def _kind(table: Table, name: str) -> str:
    if name in table.times or (name in table.faults and (name in table.texts or is_time(name))):
        return "dates"
    return "words" if name in table.faults else "numbers"


def _of_objects(text: str) -> dict[str, Any]:
    """The keys of lines of JSON as columns."""
    rows = []
    for number, line in enumerate(text.splitlines()[:LINES], 1):
        if line.strip():
            with contextlib.suppress(ValueError, RecursionError):
                rows.append(json.loads(line))
                if isinstance(rows[-1], dict):
                    continue
            raise BadInput(f"line {number} is not one JSON object")
    names = list(dict.fromkeys(str(name) for row in rows for name in row))[:COLUMNS]
    cells = [[_short(row.get(name, "")) for name in names] for row in rows]
    columns = [
        {
            "name": name,
            "kind": "numbers" if _all_numbers([row.get(name) for row in rows]) else "words",
            "values": _different([row[at] for row in cells]),
        }
        for at, name in enumerate(names)
    ]
    return {"columns": columns, "rows": cells[:ROWS], "words": ""}


def _all_numbers(values: list[Any]) -> bool:
    return all(type(value) in (int, float) for value in values)


def _of_arrays(path: Path) -> dict[str, Any]:
    """The columns of an array; of several arrays their names."""
    try:
        arrays = np.load(path, mmap_mode="r", allow_pickle=False)
        if path.suffix.lower() == ".npz":
            with arrays:
                return {"words": f"arrays: {_short(', '.join(arrays.files))}"}
        size, some = arrays.shape, np.array(arrays[:ROWS])
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        return {"words": f"it cannot be read: {_short(problem(error))}"}
    words = f"an array of shape {size}"
    if some.ndim not in (1, 2) or some.dtype.kind not in "fiub":
        return {"words": words}
    cells = some.reshape(len(some), -1)[:, :COLUMNS].astype(float)
    rows = [[f"{x:.6g}" for x in row] for row in cells.tolist()]
    columns = [
        {"name": str(n + 1), "kind": "numbers", "values": _different([row[n] for row in rows])}
        for n in range(len(rows[0]) if rows else 0)
    ]
    return {"columns": columns, "rows": rows, "words": words}


def _beginning(path: Path) -> str:
    """The first lines of a text, which may be compressed."""
    try:
        with open_regular(path) as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            if packed:
                with gzip.GzipFile(fileobj=file) as content:
                    data = content.read(BYTES)
            else:
                data = file.read(BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"it cannot be read: {error}") from None
    if b"\0" in data:
        raise BadInput("it is not a text")
    if len(data) < BYTES:
        return data.decode("utf-8-sig", errors="replace")
    end = data.rfind(b"\n") + 1
    for _ in range(LINES):  # not within a quoted cell
        if data.count(b'"', 0, end) % 2 == 0:
            break
        end = data.rfind(b"\n", 0, max(0, end - 1)) + 1
    return data[: end or len(data)].decode("utf-8-sig", errors="replace")


def _different(cells: list[str]) -> list[str]:
    """The first different values of a column, to recognise it by."""
    return [_short(cell) for cell in list(dict.fromkeys(filter(None, cells)))[:3]]


def _short(value: Any) -> str:
    """A value on one line, cut where it is long."""
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    words = re.sub(r"\s+", " ", words)
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"
