"""What a user gives at one step, as what a network reads: one reader for each kind of input.

A reader is made from the JSON of an `Interface` alone.
"""

import abc
import datetime
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from ...data import Table, Vocabulary
from ...data.calendar_features import calendar_features
from ...data.scaling import DTYPE, MAX, Scaler, check_complete
from ...data.times import timeline_of
from ...data.vocabulary import checked_symbols
from ...data.words import Words
from ...errors import BadInput
from ...settings import shown
from ...tasks.interface import scaler_of
from ...tasks.series.columns import Columns
from ...tasks.series.series_times import calendar_after

SHORT = 64  # columns; a row with fewer is scaled sooner in Python than by NumPy
_NO_NUMBER = (TypeError, ValueError, OverflowError)


class Reader(abc.ABC):
    """How the values of one step become numbers."""

    @abc.abstractmethod
    def __call__(self, values: Sequence[Any]) -> np.ndarray:
        """What is given to N sequences, as symbols `(N,)` or vectors `(N, inputs)`."""

    def parts(self, whole: Any) -> Any:
        """The values of many steps: those of a text, or what is given as it is."""
        return whole


class CharacterReader(Reader):
    """A character, or a byte: `b"a"`, 97, or an ASCII character.

    Attributes:
        vocabulary: of characters or bytes.
        symbols: what each symbol stands for.
        opening: what stands before a text.
    """

    def __init__(self, about: Mapping[str, Any]) -> None:
        texts = about["characters"]
        if texts is None:
            self.vocabulary = Vocabulary.of_bytes()
            self.symbols: tuple[Any, ...] = tuple(bytes([n]) for n in range(256))
        else:
            self.vocabulary = Vocabulary(tuple(map(ord, texts)))
            self.symbols = tuple(texts)
        self.opening = self.symbols[about["opening"]]
        self._numbers = {one: n for n, one in enumerate(self.symbols)}

    def __call__(self, values: Sequence[Any]) -> np.ndarray:
        try:
            return np.array([self._numbers[one] for one in values], np.int32)
        except (KeyError, TypeError):
            return np.array([self._one(one) for one in values], np.int32)

    def _one(self, value: Any) -> int:
        if self.vocabulary.level == "bytes" and type(value) is int:
            return int(checked_symbols(value, 256))
        symbols = self.vocabulary.encode(value)
        if len(symbols) != 1:
            unit = self.vocabulary.level.removesuffix("s")
            raise BadInput(f"a step takes one {unit}, got {shown(value)}; read takes a whole text")
        return int(symbols[0])

    def parts(self, whole: Any) -> Any:
        return [self.symbols[n] for n in self.vocabulary.encode(whole)]


class WordReader(Reader):
    """A word or a character of a text; those that the training part does not have are unknown."""

    def __init__(self, about: Mapping[str, Any]) -> None:
        self.words, self.level = Words.from_json(about["words"]), about["level"]

    def __call__(self, values: Sequence[Any]) -> np.ndarray:
        for value in values:
            if not isinstance(value, str) or len(self.parts(value)) != 1:
                unit = self.level.removesuffix("s")
                raise BadInput(
                    f"a step takes one {unit}, got {shown(value)}; read takes a whole text"
                )
        return self.words.encode(self.parts(value)[0] for value in values)

    def parts(self, whole: Any) -> Any:
        if not isinstance(whole, str):
            return whole
        return whole.split() if self.level == "words" else list(whole)


class SymbolReader(Reader):
    """A whole number from 0."""

    def __init__(self, about: Mapping[str, Any]) -> None:
        self.count = about["symbols"]

    def __call__(self, values: Sequence[Any]) -> np.ndarray:
        symbols = [checked_symbols(value, self.count) for value in values]
        if any(symbol.ndim for symbol in symbols):
            raise BadInput(f"a step takes one symbol, got {shown([*values])}")
        return np.array(symbols, np.int32)


class RowReader(Reader):
    """A row of a table: its numbers in order, a dictionary by column, or a row of pandas.

    Columns that the network does not read are left out. A missing number is `None` or NaN. A column
    that is known ahead is a list, of the row itself and the rows after it, and a row of a network
    that reads the calendar says its time, in its column or, in pandas, in the index.
    """

    def __init__(self, about: Mapping[str, Any]) -> None:
        self.scaler: Scaler = scaler_of(about)
        self.names = about["columns"]
        self.columns: Any = None  # `Columns`, if they have names
        self.time = about.get("time") or {}
        self.words: tuple[str, ...] = ()
        if self.names is not None:
            roles = about.get("roles")
            kept = {"columns": self.names, "scaler": self.scaler.as_json()}
            self.columns = Columns.from_json(kept if roles is None else {**kept, "roles": roles})
            self.words = tuple(self.columns.words)
        self._policy = "mask" if self.scaler.masked else "refuse"
        self._scales = [*zip(self.scaler.shift, self.scaler.factor, strict=True)]
        self._present = [0.0] * len(self.scaler.masked)
        self._keys: Any = None  # of the last row of pandas, and where the columns are among them
        self._places: list[int] | None = None

    def __call__(self, values: Sequence[Any]) -> np.ndarray:
        if self.columns is not None and (self.columns.known or self.columns.calendar):
            return np.concatenate([self._with_later(value) for value in values])
        if not self.words:
            values = [self._cells(value) for value in values]
            scaled = self._scaled(values) if len(self._scales) < SHORT else None
            if scaled is not None:
                return scaled
        return (self.scaler if self.columns is None else self.columns)(self._matrix(values))

    def _scaled(self, rows: Sequence[Sequence[Any]]) -> np.ndarray | None:
        """Scaled rows, if every cell is a number and none is missing or too large."""
        scaled = []
        for row in rows:
            try:
                numbers = [
                    (float(cell) - shift) / factor
                    for cell, (shift, factor) in zip(row, self._scales, strict=True)
                ]
            except _NO_NUMBER:
                return None
            if not all(-MAX <= x <= MAX for x in numbers):  # nor for NaN
                return None
            scaled.append(numbers + self._present)
        return np.array(scaled, DTYPE.get())

    def _matrix(self, values: Sequence[Any], calendar: np.ndarray | None = None) -> np.ndarray:
        rows = np.array([self._numbers(value) for value in values])
        if not np.isfinite(rows).all():
            check_complete(rows, self._policy, lambda at: self._column(at[1]), mask="")
        if not self.words and calendar is None:
            return rows
        cells = np.array([[self._word(x, name) for name in self.words] for x in values], object)
        return self.columns.matrix(rows, calendar, cells)

    def _with_later(self, value: Any) -> np.ndarray:
        """A row with what is known of those after it, `(1, inputs)`."""
        if not _has_names(value):
            raise BadInput(f"a row is {self._wanted}; got {shown(value)}")
        columns, count = self.columns, self.columns.horizon + 1
        given = {name: self._cell(value, name) for name in (*self.names, *self.words)}
        for name in columns.known:
            cells = np.array(given[name], object)
            if cells.shape != (count,):
                raise BadInput(
                    f"{shown(name)} is known ahead, so it is a list of {count}: of the row itself "
                    f"and of the {count - 1} after it; got {shown(given[name])}"
                )
            given[name] = cells
        rows = [
            {name: x[k] if name in columns.known else x for name, x in given.items()}
            for k in range(count)
        ]
        matrix = self._matrix(rows, self._calendar(value, count) if columns.calendar else None)
        return columns(matrix[:1], matrix[1:])

    def _calendar(self, value: Any, count: int) -> np.ndarray:
        """The features of the calendar of a row and of those after it, `(count, features)`."""
        table = Table("the row", [], {}, {}, {}, np.arange(1))
        for name in (self.time["column"], *self.time["parts"]):
            cell = self._cell(value, name)
            table.names.append(name)
            if isinstance(cell, int | float):
                table.numbers[name] = np.array([cell], float)
            else:
                table.texts[name] = np.array([str(cell)], object)
        timeline = timeline_of(table, [np.arange(1)], known=self.time)
        assert timeline is not None
        _, now = calendar_features(timeline.stamps, timeline.frequency, timeline.zone)
        return np.concatenate([now, calendar_after(timeline, 1, count - 1)])

    def _column(self, n: int) -> str:
        return f"number {n + 1} of the row" if self.names is None else f"column {self.names[n]!r}"

    def _numbers(self, value: Any) -> list[float]:
        return [self._number(n, cell) for n, cell in enumerate(self._cells(value))]

    def _number(self, n: int, cell: Any) -> float:
        try:
            return np.nan if _is_missing(cell) else float(cell)
        except _NO_NUMBER:
            raise BadInput(f"{self._column(n)} must be a number, got {shown(cell)}") from None

    def _cells(self, value: Any) -> list[Any]:
        if _has_names(value):
            if self.names is None:
                raise BadInput(f"the columns of this run have no names; a row is {self._wanted}")
            places = self._places_in(value) if hasattr(value, "iloc") else None
            if places is None:
                return [self._cell(value, name) for name in self.names]
            cells = value.tolist()
            return [cells[n] for n in places]
        try:
            cells = [] if isinstance(value, str | bytes | Set) else [*value]
        except TypeError:
            cells = [value]
        if self.words or len(cells) != len(self.scaler.shift):
            raise BadInput(f"a row is {self._wanted}; got {shown(value)}")
        return cells

    def _places_in(self, row: Any) -> list[int] | None:
        """Where the columns are in a row of pandas, whose index is that of the row before."""
        if row.index is not self._keys:
            self._keys, self._places = row.index, None
        elif self._places is None:
            places = {name: n for n, name in enumerate(self._keys)}
            if len(places) == len(self._keys) and places.keys() >= {*self.names}:
                self._places = [places[name] for name in self.names]
        return self._places

    def _cell(self, value: Any, name: str) -> Any:
        try:
            return value[name]
        except KeyError:
            when = getattr(value, "name", None)  # of a row of pandas, its place in the index
            if name == self.time.get("column") and isinstance(when, str | datetime.date):
                return when
            raise BadInput(f"the row has no {shown(name)}; a row is {self._wanted}") from None

    def _word(self, value: Any, name: str) -> str:
        word = self._cell(value, name)
        if _is_missing(word):
            return ""
        if not isinstance(word, str):
            raise BadInput(f"column {name!r} must be a word, got {shown(word)}")
        return word

    @property
    def _wanted(self) -> str:
        if self.names is None:
            count = len(self.scaler.shift)
            return "one number" if count == 1 else f"{count} numbers"
        times = [self.time["column"], *self.time["parts"]] if self.columns.calendar else []
        names = ", ".join([*times, *self.names, *self.words][:20])
        by_name = times or self.words or self.columns.known
        return f"a dictionary of {names}" if by_name else f"the numbers {names}"


def _has_names(value: Any) -> bool:
    """Whether a row has its values by name, as a mapping or a `Series` of pandas has."""
    return isinstance(value, Mapping) or hasattr(value, "keys")


def _is_missing(cell: Any) -> bool:
    """Whether a cell is `None`, or one that equals nothing: NaN, and the NA and NaT of pandas."""
    try:
        return cell is None or bool(cell != cell)
    except TypeError:  # NA cannot even say so
        return True
    except ValueError:  # an array
        return False


def answer_reader(about: Mapping[str, Any]) -> Reader:
    """The reader of an interface of the kind `answers`."""
    kinds = {"words": WordReader, "symbols": SymbolReader, "columns": RowReader}
    return next(kind(about) for name, kind in kinds.items() if name in about)  # type: ignore[abstract]
