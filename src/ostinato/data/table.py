"""Tables: columns with names, from a file or a data frame; what is wrong in them, in one line."""

import dataclasses
import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput
from ..names import typed
from ..settings import shown

MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "?")
TIMES = (  # names of columns that say when a row was, from the coarse to the fine
    *("year", "quarter", "qtr", "month", "week", "day", "date", "ds", "datetime", "timestamp"),
    *("time", "hour", "hr", "minute", "second", "sec"),
)

# What the two columns of texts with a label are called.
LABELS = ("label", "labels", "class", "category", "target", "sentiment", "tag", "y")
TEXTS = ("text", "texts", "sentence", "review", "document", "content", "message", "title", "x")


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


NO_NUMBER = " is not a number"
GROUPED = re.compile(r"[-+−]?\d{1,3}(?:([.,' \xa0\u202f])\d{3})(?:\1\d{3})*(?:[.,]\d+)?")
# A day, the name of a month in any language, a year: such as 31 janvier 2024.
NAMED_DATE = re.compile(r"\d{1,2}\.?(?:\s|-)(?:de\s)?[^\W\d_]+\.?,?(?:\s|-)(?:de\s)?\d{4}\b.*")
THOUSANDS = "write thousands without a separator"
ISO_DATES = "write dates in numbers, such as 2024-01-31"
SHOWN, LISTED = 5, 12  # rows and columns that a message names
MAX_WORDS = 50  # more different words than these are not kinds of something, but a text


class Fault(NamedTuple):
    """Why a column cannot be read as numbers.

    Attributes:
        where: `line 3`, or `lines 3 and 4`.
        what: what is wrong there.
        numbers: whether the column is one of numbers all the same, and so not one of labels.
        words: how many different words it has; 0 if most of its cells are numbers.
    """

    where: str
    what: str
    numbers: bool = False
    words: int = 0

    @classmethod
    def of_cell(cls, where: str, cell: str, numbers: bool = False, words: int = 0) -> "Fault":
        how = f"; {THOUSANDS}" if GROUPED.fullmatch(cell) else ""
        how = f"; {ISO_DATES}" if NAMED_DATE.fullmatch(cell) else how
        return cls(where, f"{shown(cell)}{NO_NUMBER}{how}", numbers, words)

    @property
    def brief(self) -> str:
        """What is wrong, where others have the same fault."""
        return self.what.partition("; ")[0].removesuffix(NO_NUMBER)


@dataclasses.dataclass(frozen=True)
class Table:
    """The columns of a file or of a data frame.

    Attributes:
        path: the file, for messages; words for what is no file.
        names: of the columns, in the file's order.
        numbers: `(rows,)` in float64 for every column of numbers, NaN where one is missing.
        texts: the cells of the columns that were asked for as text, and of times.
        faults: for every column that cannot be read as numbers, why.
        lines: the line of each row in the file, or its number in a frame, for messages.
        times: the columns that are kept as times, which a CSV file has none of: datetime64 in
            microseconds, NaT where one is missing, and the zone, with which they are in UTC.
        version: size and time of change of the file when it was read; `None` for what is no file.
    """

    path: Path | str
    names: list[str]
    numbers: dict[str, np.ndarray]
    texts: dict[str, np.ndarray]
    faults: dict[str, Fault]
    lines: np.ndarray
    times: dict[str, tuple[np.ndarray, str | None]] = dataclasses.field(default_factory=dict)
    version: tuple[int, int] | None = None

    @property
    def rows(self) -> int:
        return len(self.lines)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.names)

    @property
    def of_file(self) -> bool:
        """Whether it is from a file, whose rows are lines and whose options begin with dashes."""
        return not isinstance(self.path, str)

    def where(self, rows: Any) -> str:
        """The table and some of its rows, for messages: `x.csv, lines 3 and 4`."""
        return f"{self.path}, {self.place(rows)}"

    def place(self, rows: Any) -> str:
        """Some rows, for messages: `line 3`, or `rows 2 and 3` of a frame."""
        lines = [str(line) for line in self.lines[np.atleast_1d(rows)[:SHOWN]]]
        more = f" (and {np.size(rows) - SHOWN} more)" if np.size(rows) > SHOWN else ""
        unit = ("line" if self.of_file else "row") + ("s" if len(lines) > 1 else "")
        last = f" and {lines[-1]}" if len(lines) > 1 else ""
        return f"{unit} {', '.join(lines[:-1] or lines)}{last}{more}"

    def wrong(self, column: str, what: str, rows: Any = None) -> BadInput:
        """An error: what is wrong in a column, and in which rows or, of a `Fault`, at which place.

        Example:
            >>> table = Table(Path("x.csv"), ["a"], {}, {}, {}, np.array([2, 3]))
            >>> table.wrong("a", "the time is missing", [1])
            BadInput("x.csv, line 3, column 'a': the time is missing")
        """
        place = rows if rows is None or isinstance(rows, str) else self.place(rows)
        where = f"{self.path}, {place}" if place else f"{self.path}"
        return BadInput(f"{where}, column {shown(column)}: {what}")

    def option(self, name: str, *values: str) -> str:
        """An option to paste: `--ignore a,b` for a file, `ignore="a,b"` in Python."""
        return typed(name, ",".join(values), self.of_file)

    def check(self, name: str) -> str:
        """The name, if the table has such a column."""
        if name not in self._known:
            known = ", ".join(self.names[:20]) + (", …" if len(self.names) > 20 else "")
            raise BadInput(f"{self.path} has no column {shown(name)}; it has {known}")
        return name

    def matrix(
        self,
        names: list[str],
        ignored: Sequence[str] = (),
        words: Sequence[str] | None = None,
        targets: Sequence[str] = (),
    ) -> np.ndarray:
        """Some columns side by side, `(rows, columns)`; refused where some are not numbers.

        Args:
            names: the columns.
            ignored, words: the columns that are left out or read as words already, for the options
                that a message proposes; `None` if words cannot be read.
            targets: the columns that are to be forecast, which can only be mended.
        """
        wrong = [name for name in names if self.check(name) in self.faults]
        if wrong:
            raise self._unusable(wrong, [*ignored], words, targets)
        if not names:
            raise BadInput(f"{self.path}: no column is left to read")
        return np.stack([self.numbers[name] for name in names], axis=1)

    def _unusable(
        self,
        names: list[str],
        ignored: list[str],
        words: Sequence[str] | None,
        targets: Sequence[str],
    ) -> BadInput:
        """What is wrong with some columns, and the options with which the others can be read."""
        faults = {name: self.faults[name] for name in names}
        damaged = [name for name in names if faults[name].words == 0 or name in targets]
        labels = [name for name in self.columns_of_words() if name in faults]
        kinds = [name for name in labels if words is not None and name not in targets]
        rest = [name for name in names if name not in {*damaged, *kinds}]
        as_words = self.option("words", *(words or ()), *kinds)
        if len(names) == 1:
            fault, ignore = faults[names[0]], self.option("ignore", *ignored, *names)
            other = f", or learn its words with {as_words}" if kinds else ""
            other = ", or mend it" if damaged else other
            advice = f"leave the column out with {ignore}{other}"
            if ISO_DATES in fault.what:
                advice = f"or leave the column out with {ignore}"
            if names[0] in targets:
                advice = f"mend it, because numbers are forecast{self._as_labels(names)}"
            return self.wrong(names[0], f"{fault.what}; {advice}", fault.where)
        each = [f"{shown(n)} ({faults[n].where}: {faults[n].brief})" for n in names[:LISTED]]
        more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
        options = [self.option("ignore", *ignored, *rest)] if rest else []
        options += [as_words] if kinds else []
        advice = f"give {' '.join(options)}" if options else ""
        if len(kinds) == len(names):
            advice += f", or leave them out with {self.option('ignore', *ignored, *kinds)}"
        if damaged:
            mend = f"mend {', '.join(map(shown, damaged[:LISTED]))}"
            alone = mend if {*damaged} & {*targets} else f"{mend}, or leave them out with ignore"
            advice += f", and {mend}" if options else alone
            if any(THOUSANDS in faults[name].what for name in damaged):
                advice += f" ({THOUSANDS})"
            advice += self._as_labels([name for name in names if name in targets])
        texts = [n for n in names if faults[n].words > MAX_WORDS and n not in self.texts]
        called = [[n for n in names if n.lower() in some] for some in (TEXTS, LABELS)]
        if self.of_file and all(called) and all(faults[n].words for (n, *_) in called):
            columns = f"{self.option('text', called[0][0])} {self.option('label', called[1][0])}"
            what = f"{len(names)} columns are not numbers: {', '.join(each)}{more}"
            return BadInput(f"{self.path}: {what}; to learn labels of texts, give {columns}")
        if self.of_file and texts and labels:
            columns = f"{self.option('text', texts[0])} {self.option('label', labels[0])}"
            advice += f"; to label texts, {columns}"
        what = f"{len(names)} columns are not numbers: {', '.join(each)}{more}"
        return BadInput(f"{self.path}: {what}; {advice}")

    def _as_labels(self, targets: list[str]) -> str:
        """What else can be done with columns that are to be forecast, if all are words."""
        if not targets or not {*targets} <= {*self.columns_of_words()}:
            return ""
        return (
            f"; or to learn labels from the other columns, {self.option('kind', 'classification')}"
        )

    def columns_of_words(self) -> list[str]:
        """The columns with few different words, each of them in more than one row on average."""
        most = min(MAX_WORDS, self.rows // 2)
        return [n for n in self.names if n in self.faults and 0 < self.faults[n].words <= most]

    def labels(self, name: str, missing: str = "refuse") -> np.ndarray:
        """A column that was read as text: numbers if it has nothing else, else text.

        Where a label is missing it is NaN or empty; with `"refuse"` there must be none.
        """
        cells = self.texts[self.check(name)]
        gaps = missing_cells(cells)
        if gaps.any() and missing == "refuse":
            line = self.lines[int(np.argmax(gaps))]
            raise BadInput(
                f"{self.path}, line {line}, column {shown(name)} is missing; fill it in, or train "
                f"with {self.option('missing', 'mask')}"
            )
        if name in self.faults:
            return np.where(gaps, "", cells)
        if alike := written_twice(np.where(gaps, "", cells).tolist()):
            labels = " and ".join(map(shown, cells[[*alike]]))
            what = f"the labels {labels} are the same number; write one class in one way"
            raise self.wrong(name, what, alike)
        return self.numbers[name]

    def check_labels(self, name: str) -> None:
        """Refuse a column that was read as text but has numbers too: they are no labels."""
        fault = self.faults[self.check(name)]
        cells = self.texts[name][~missing_cells(self.texts[name])].tolist()
        if fault.numbers or 0 < sum(map(is_number, cells)) < len(cells):
            others = "" if fault.numbers else ", but others there are"
            what = f"{fault.what}{others}; mend it, or say kind=classification if they are labels"
            raise self.wrong(name, what, fault.where)

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


def is_number(cell: Any) -> bool:
    """Whether a cell of text is a number, with a point or a comma."""
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
