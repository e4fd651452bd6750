"""Parquet files and data frames of pandas, Polars or Arrow as tables.

A frame is whatever gives its columns through the Arrow interface (`__arrow_c_stream__`) or, if it
has none, by the older interchange protocol (`__dataframe__`). So none of these packages is imported
here but pyarrow, and that only when there is something to read.
"""

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput, first_line, needing
from ..settings import shown
from .dates import looks_like_date
from .files import check_unpacked
from .table import MAX_WORDS, Fault, Table, first_twice, is_number, is_time

FLOAT64 = 8  # bytes
FIRST, END = np.datetime64("0001-01-01"), np.datetime64("10000-01-01")
LOOKED_AT = 100_000  # rows of a column of words
SOURCE = "the table"
UNREADABLE = (  # what packages raise for a column that they cannot hand over
    *(ArithmeticError, AttributeError, ImportError, LookupError),
    *(RuntimeError, TypeError, ValueError),
)
UNNAMED = "__index_level_"  # how an unnamed index of pandas is called in Arrow


def is_frame(x: Any) -> bool:
    """Whether something is a data frame: of pandas, Polars or Arrow, or one that is like them.

    Example:
        >>> import polars
        >>> is_frame(polars.DataFrame({"a": [1]})), is_frame([[1]])
        (True, False)
    """
    given = hasattr(x, "__arrow_c_stream__") or hasattr(x, "__dataframe__")
    return given and not isinstance(x, type)


def table_of_frame(frame: Any, text: tuple[str, ...] = ()) -> Table:
    """The columns of a data frame.

    An index of pandas that has a name is a column too, and so is one of dates without a name, which
    is then called date; row numbers are not.

    Args:
        frame: see `is_frame`. A single column, such as a pandas Series, is a table of one column.
        text: names of columns to keep as text too.

    Example:
        >>> import pandas
        >>> days = pandas.date_range("2024-01-01", periods=2)
        >>> table = table_of_frame(pandas.DataFrame({"sales": [3, 5]}, index=days))
        >>> table.names, table.numbers["sales"].tolist()
        (['sales', 'date'], [3.0, 5.0])
    """
    return _table(SOURCE, _with_index(arrow_of_frame(frame)), text, 0)


def arrow_of_frame(frame: Any) -> Any:
    """The Arrow table of a data frame, with the index of pandas among its columns."""
    with needing("reading a data frame", "pyarrow", "tables"):
        import pyarrow.interchange
    try:
        if not hasattr(frame, "__arrow_c_stream__"):
            return pyarrow.interchange.from_dataframe(frame)
        column = hasattr(frame, "to_frame") and not hasattr(frame, "columns")
        return pyarrow.table(frame.to_frame() if column else frame)
    except (*UNREADABLE, pyarrow.ArrowException) as error:
        words = "; ".join(map(str, error.args)).strip() or type(error).__name__
        raise BadInput(f"{SOURCE} cannot be read: {words.splitlines()[0]:.300}") from None


def bytes_of_frame(frame: Any) -> bytes:
    """A data frame as the bytes of an Arrow stream."""
    import pyarrow

    content, sink = arrow_of_frame(frame), pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, content.schema) as stream:
        stream.write_table(content)
    return sink.getvalue().to_pybytes()


def frame_of_bytes(raw: bytes) -> Any:
    """The inverse of `bytes_of_frame`: an Arrow table, which is a data frame too."""
    with needing("reading a data frame", "pyarrow", "tables"):
        import pyarrow
    try:
        return pyarrow.ipc.open_stream(raw).read_all()
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise BadInput(f"{SOURCE} cannot be read: {first_line(error)}") from None


def _with_index(content: Any) -> Any:
    """The columns, and of the unnamed indices of pandas those that are dates."""
    import pyarrow.types as types

    names, kept = content.column_names, []
    for name, column in zip(names, content.columns, strict=True):
        when = types.is_temporal(column.type) or _is_period(column.type)
        if not name.startswith(UNNAMED):
            kept.append((name, column))
        elif when:
            kept.append(("index" if "date" in names else "date", column))
    return type(content).from_arrays([column for _, column in kept], [name for name, _ in kept])


def read_parquet(path: Path, text: tuple[str, ...]) -> Table:
    """The columns of a Parquet file; see `read_table`."""
    with needing(f"reading {path}", "pyarrow", "parquet"):
        import pyarrow.parquet
    try:
        about = pyarrow.parquet.read_metadata(path)
        check_unpacked(path, about.num_rows * about.num_columns * FLOAT64)
        content = pyarrow.parquet.read_table(path)
    except BadInput:
        raise
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise BadInput(f"{path} cannot be read as Parquet: {first_line(error)}") from None
    return _table(path, content, text, 1)


def _table(path: Path | str, content: Any, text: tuple[str, ...], first: int) -> Table:
    """The columns of an Arrow table, whose first row has the given number."""
    names = [str(name) for name in content.column_names]
    if twice := first_twice(names):
        raise BadInput(f"{path}: two columns are called {shown(twice)}")
    if not content.num_rows:
        raise BadInput(f"{path} has no rows")
    table = Table(path, names, {}, {}, {}, np.arange(first, content.num_rows + first))
    for name, column in zip(names, content.columns, strict=True):
        _add(table, name, column, text)
    return table


def _add(table: Table, name: str, column: Any, text: tuple[str, ...]) -> None:
    """One column of an Arrow table."""
    import pyarrow.types as types

    if types.is_dictionary(column.type) and not _is_text(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if column.null_count == len(column):
        table.numbers[name] = np.full(len(column), np.nan)
    elif types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        _add_numbers(table, name, column.cast("int8") if types.is_boolean(kind) else column)
    elif types.is_decimal(kind):  # from its digits; Arrow's own cast is off by a last bit
        _add_numbers(table, name, column.cast("string"))
    elif types.is_timestamp(kind) or types.is_date(kind) or _is_period(kind):
        _add_times(table, name, column)
    else:
        first = int(np.argmax(column.is_valid().to_numpy()))
        cell, words = str(column[first].as_py()), MAX_WORDS + 1
        if _is_text(kind):
            if looks_like_date(cell):
                text = (*text, name)
            else:
                words = len({*column[:LOOKED_AT].to_pylist()} - {None})
        table.faults[name] = Fault.of_cell(table.place(first), cell, words=words)
        if _is_text(kind) and is_number(cell):
            what = f"{shown(cell)} is a text; make the column one of numbers"
            table.faults[name] = table.faults[name]._replace(what=what)
    if name not in table.texts and (name in text or is_time(name)):
        cells = column.to_pylist()
        table.texts[name] = np.array(["" if x is None else str(x) for x in cells], object)


def _add_numbers(table: Table, name: str, column: Any) -> None:
    # Not safe: whole numbers above 2**53 are rounded, as those of a CSV file are.
    values = np.array(column.cast("float64", safe=False).to_numpy(), float)
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        table.faults[name] = Fault.of_cell(table.place(int(infinite[0])), "inf", numbers=True)
    else:
        table.numbers[name] = values


def _add_times(table: Table, name: str, column: Any) -> None:
    """Times in UTC and without their zone, which Python may not know; nanoseconds are cut off."""
    import pyarrow
    import pyarrow.types as types

    if _is_period(column.type):
        column = pyarrow.chunked_array([pyarrow.array(column.to_pandas().dt.to_timestamp())])
    kind = column.type
    zone = kind.tz if types.is_timestamp(kind) else None
    fine = types.is_timestamp(kind) and kind.unit == "ns"
    try:
        stamps = column.cast(pyarrow.timestamp("us", zone), safe=not fine).to_numpy()
    except pyarrow.ArrowException:
        stamps = np.full(1, np.datetime64("10000", "Y"))
    stamps = stamps.astype("datetime64[us]")
    known = stamps[~np.isnat(stamps)]
    if known.min() < FIRST or known.max() >= END:
        raise table.wrong(name, "some years are not from 1 to 9999")
    words = _as_dates(stamps, "D" if types.is_date(kind) else "s")
    table.times[name], table.texts[name] = (stamps, zone), words
    first = int(np.argmax(words != ""))
    table.faults[name] = Fault.of_cell(table.place(first), words[first], words=MAX_WORDS + 1)


def _is_text(kind: Any) -> bool:
    """Whether a column holds words; kinds of something, as pandas calls them, are words too."""
    import pyarrow.types as types

    words = kind.value_type if types.is_dictionary(kind) else kind
    return any(is_(words) for is_ in (types.is_string, types.is_large_string, types.is_string_view))


def _is_period(kind: Any) -> bool:
    """Whether a column holds periods of pandas, such as the month 2024-01."""
    return str(kind).startswith("extension<pandas.period")


def _as_dates(stamps: np.ndarray, unit: Any) -> np.ndarray:
    """Times as they are shown: days or seconds where they are whole, empty where one is missing."""
    if (stamps.astype(f"datetime64[{unit}]") != stamps)[~np.isnat(stamps)].any():
        unit = "us"
    words = np.datetime_as_string(stamps, unit=unit).tolist()
    return np.array(["" if x == "NaT" else x.replace("T", " ") for x in words], object)
