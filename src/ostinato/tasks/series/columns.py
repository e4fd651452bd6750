"""What the columns of a series are for, and how a network reads them.

A series is a matrix `(T, columns)` of numbers, then the features of the calendar, then words as
numbers of their kinds. At step t the network reads

    x_t = [ numbers scaled, with indicators of missing ones | calendar | one-hot words ]

and, of the columns that are known ahead, their part of x_{t+1}, …, x_{t+horizon} too. A word that
the training part does not have is a vector of zeros, and so is a missing one.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...data.artefact_checks import kept_object, kept_texts, kept_whole
from ...data.scaling import DTYPE, Scaler, check_columns
from ...errors import BadInput
from ...settings import shown
from .series_data import SeriesData

MAX_WORDS = 1000  # different ones in a column
UNKNOWN = -1.0  # in place of the number of a word; a missing one is NaN


@dataclasses.dataclass(frozen=True)
class Columns:
    """The roles and encoders of columns, fitted on the training part; an artefact of a run.

    Attributes:
        names: of the columns of numbers.
        scaler: of these.
        calendar: the features of the calendar, which are read as they are.
        words: for each column of words the different ones of the training part.
        known: the columns that are known ahead, of numbers or words; the calendar always is.
        static: those that are constant within a series.
        horizon: how far ahead they are read; 0 if nothing is forecast.

    Example:
        >>> columns = Columns(("sold", "price"), Scaler.fit(np.eye(2), False), known=("price",),
        ...                   horizon=2)
        >>> columns(np.array([[5.0, 1.0], [6.0, 2.0]]), np.array([[7.0, 3.0], [8.0, 4.0]])).tolist()
        [[5.0, 1.0, 2.0, 3.0], [6.0, 2.0, 3.0, 4.0]]
    """

    names: tuple[str, ...]
    scaler: Scaler
    calendar: tuple[str, ...] = ()
    words: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    known: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    horizon: int = 0

    @property
    def inputs(self) -> int:
        """The size of what a network reads at a step."""
        return self._now + self.horizon * len(self._ahead)

    @property
    def _now(self) -> int:
        """The size of the part of a step that is of the step itself."""
        kinds = sum(map(len, self.words.values()))
        return self.scaler.columns + len(self.calendar) + kinds

    @property
    def width(self) -> int:
        """The number of columns of the matrix of a series."""
        return len(self.names) + len(self.calendar) + len(self.words)

    @cached_property
    def _ahead(self) -> list[int]:
        """The places in the encoded step of what is known ahead, in order."""
        place = self.scaler.columns
        known = {self.names.index(name) for name in self.known if name in self.names}
        gaps = [len(self.names) + k for k, n in enumerate(self.scaler.masked) if n in known]
        places = [*sorted(known), *gaps, *range(place, place + len(self.calendar))]
        place += len(self.calendar)
        for name, kinds in self.words.items():
            places += range(place, place + len(kinds)) if name in self.known else ()
            place += len(kinds)
        return places

    @property
    def word_places(self) -> list[tuple[int, int, int]]:
        """Where words are in what a network reads: the first number, their count, the column."""
        first, places = self.scaler.columns + len(self.calendar), []
        later = self._now
        for n, (name, kinds) in enumerate(self.words.items()):
            places.append((first, len(kinds), n))
            if name in self.known:
                at = later + self._ahead.index(first)
                steps = range(self.horizon)
                places += [(at + k * len(self._ahead), len(kinds), n) for k in steps]
            first += len(kinds)
        return places

    @cached_property
    def foreseen(self) -> np.ndarray:
        """`(columns of the matrix,)`: whether a column is known ahead."""
        numbers = [name in self.known for name in self.names]
        words = [name in self.known for name in self.words]
        return np.array([*numbers, *(True for _ in self.calendar), *words], bool)

    @property
    def looks_ahead(self) -> bool:
        return bool(self.horizon) and bool(self.foreseen.any())

    def __call__(self, x: np.ndarray, future: np.ndarray | None = None) -> np.ndarray:
        """What a network reads at each step of a series.

        Args:
            x: `(T, columns)`.
            future: the rows after them, of which only what is known ahead counts; at least
                `horizon`, if anything is.

        Returns:
            `(T, inputs)` in `DTYPE`.
        """
        if not self.looks_ahead:
            return self._encoded(x)
        assert future is not None
        every = self._encoded(np.concatenate([x, future[: self.horizon]]))
        later = [every[k : k + len(x), self._ahead] for k in range(1, self.horizon + 1)]
        return np.concatenate([every[: len(x)], *later], axis=1)

    def _encoded(self, x: np.ndarray) -> np.ndarray:
        """Each step by itself, `(T, size)`."""
        place = len(self.names)
        scaled = self.scaler(x[:, :place])
        if x.shape[1] == place:
            return scaled
        parts = [scaled, x[:, place : place + len(self.calendar)]]
        codes = x[:, place + len(self.calendar) :]
        for n, kinds in enumerate(self.words.values()):
            parts.append(codes[:, n, None] == np.arange(len(kinds)))
        return np.concatenate(parts, axis=1).astype(DTYPE.get())

    def matrix(self, numbers: np.ndarray, calendar: Any, cells: np.ndarray) -> np.ndarray:
        """The matrix of a series from its numbers, the calendar if there is one, and its words."""
        if not self.calendar and not self.words:
            return numbers
        days = np.zeros((len(numbers), 0)) if calendar is None else calendar
        return np.concatenate([numbers, days, self.coded(cells)], axis=1)

    def coded(self, cells: np.ndarray) -> np.ndarray:
        """Words `(T, columns of words)` as their numbers; `UNKNOWN`, or NaN where one is missing.

        Example:
            >>> Columns((), Scaler((), (), ()), words={"day": ("mon", "tue")}).coded(
            ...     np.array([["tue"], ["sun"], [""]], object)).ravel().tolist()
            [1.0, -1.0, nan]
        """
        codes = np.full(cells.shape, UNKNOWN)
        for n, kinds in enumerate(self.words.values()):
            numbers = {"": np.nan} | {word: float(k) for k, word in enumerate(kinds)}
            codes[:, n] = [numbers.get(cell, UNKNOWN) for cell in cells[:, n].tolist()]
        return codes

    def strange(self, cells: np.ndarray) -> list[str]:
        """Sentences about words `(T, columns of words)` that the training part does not have."""
        notes = []
        for n, (name, kinds) in enumerate(self.words.items()):
            new = sorted({*cells[:, n].tolist()} - {*kinds, ""})
            if new:
                more = f" and {len(new) - 3} more" if len(new) > 3 else ""
                notes.append(
                    f"column {shown(name)} has words that the training part does not have "
                    f"({', '.join(map(shown, new[:3]))}{more}); they count as none"
                )
        return notes

    def ahead(self, x: np.ndarray, future: np.ndarray | None, steps: int) -> np.ndarray:
        """The rows after a series, `(steps, columns)`, without what is to be forecast.

        What is known ahead is taken from `future`, as far as it goes; everything else, and what is
        after its end, stays at its last value.
        """
        rows = np.repeat(_last(x)[None], steps, axis=0)
        if future is not None and len(future):
            given = future[np.minimum(np.arange(steps), len(future) - 1)]
            rows[:, self.foreseen] = given[:, self.foreseen]
        return rows

    def as_json(self) -> dict[str, Any]:
        """The roles as plain JSON; empty if all columns are numbers, read at their own step."""
        if not (self.calendar or self.words or self.known or self.static):
            return {}
        words = {name: list(kinds) for name, kinds in self.words.items()}
        lists = {name: list(getattr(self, name)) for name in ("calendar", "known", "static")}
        return {"roles": {**lists, "words": words, "horizon": self.horizon}}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Columns":
        """The columns that a run keeps, with validation."""
        names, scaler = kept_texts(kept["columns"], "columns"), Scaler.from_json(kept["scaler"])
        if len(scaler.shift) != len(names):
            raise BadInput("its scaling is not of its columns")
        if "roles" not in kept:
            return cls(names, scaler)
        roles = kept_object(kept["roles"], "roles", ROLES)
        lists = {name: _texts(roles[name], name) for name in ("calendar", "known", "static")}
        if not isinstance(roles["words"], dict):
            raise BadInput("its words are not an object")
        words = {
            name: kept_texts(x, f"words of {name!r:.40}") for name, x in roles["words"].items()
        }
        every = [*names, *words]
        if not {*lists["known"], *lists["static"]} <= {*every} or len({*every}) < len(every):
            raise BadInput("its roles are not of its columns")
        horizon = kept_whole(roles["horizon"], "horizon", min=0)
        return cls(names, scaler, words=words, horizon=horizon, **lists)


ROLES = ("calendar", "known", "static", "words", "horizon")


def _texts(kept: Any, what: str) -> tuple[str, ...]:
    return () if kept == [] else kept_texts(kept, what)


def _last(x: np.ndarray) -> np.ndarray:
    """The last value of each column of `(T, columns)` that is not missing; NaN if there is none."""
    there = ~np.isnan(x)
    last = len(x) - 1 - np.argmax(there[::-1], axis=0)
    return np.where(there.any(axis=0), x[last, np.arange(x.shape[1])], np.nan)


def fit_columns(
    kept: Columns | None,
    data: SeriesData,
    train: list[slice],
    scale: bool,
    horizon: int,
    calendar: Sequence[str] = (),
) -> Columns:
    """The columns of a trained model, or else those that are fitted to the training part.

    Args:
        kept: those of a trained model, which must be as many.
        data: the series.
        train: the steps of the training part of each.
        scale: whether to scale the numbers.
        horizon: how far ahead is read what is known; 0 if nothing is forecast.
        calendar: the names of the features of the calendar.
    """
    if kept is not None:
        check_columns(kept.scaler, data.xs[0].shape[1], "this series has")
        return kept
    numbers, cells = (
        np.concatenate([x[some] for x, some in zip(rows, train, strict=True)])
        for rows in (data.xs, data.cells)
    )
    roles = data.roles
    scaler = Scaler.fit(numbers, scale, lambda n: f"column {roles.numbers[n]!r}")
    return Columns(
        tuple(roles.numbers),
        scaler,
        tuple(calendar),
        words={name: _kinds(cells[:, n], name) for n, name in enumerate(roles.words)},
        known=tuple(roles.known),
        static=tuple(roles.static),
        horizon=horizon,
    )


def _kinds(cells: np.ndarray, name: str) -> tuple[str, ...]:
    kinds = sorted({*cells.tolist()} - {""})
    if not kinds:
        raise BadInput(f"column {shown(name)} has no value in the training part; leave it out")
    if len(kinds) > MAX_WORDS:
        raise BadInput(
            f"column {shown(name)} has {len(kinds)} different words, more than {MAX_WORDS}; "
            "leave it out"
        )
    return tuple(kinds)
