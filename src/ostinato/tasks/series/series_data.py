"""What `Series` is given, checked: one or several series, and what goes with their steps."""

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...data.scaling import check_complete
from ...data.splits import PARTS, divided
from ...data.table import first_twice
from ...data.times import Timeline
from ...errors import BadInput
from ...settings import shown
from ..given_answers import checked_answers, labels_of
from ..target_codec import TargetCodec, fit_answers
from ..windows import Stream
from .sequences import as_array


class Roles(NamedTuple):
    """What the columns of a series are for.

    Attributes:
        numbers: the columns of numbers.
        targets: those to forecast, by name or number; `None` for all.
        words: the columns of words.
        known: the columns, of numbers or words, whose future is known.
        static: those that are constant within a series.
    """

    numbers: list[str]
    targets: Sequence[int | str] | None = None
    words: Sequence[str] = ()
    known: Sequence[str] = ()
    static: Sequence[str] = ()

    def checked(self) -> "Roles":
        """The roles, with all targets by name if any column has another role; refused if two."""
        for name in self.words:
            if self.targets is not None and name in self.targets:
                raise BadInput(f"column {shown(name)} is a target; it cannot be of words")
        other = [*self.known, *self.static]
        if not other:
            return self
        for name in other:
            if name not in {*self.numbers, *self.words}:
                some = ", ".join([*self.numbers, *self.words][:20])
                raise BadInput(f"there is no column {name!r:.40}; there are {some}")
        if twice := first_twice(other):
            raise BadInput(f"column {shown(twice)} cannot be both known ahead and static")
        targets = [name for name in self.numbers if name not in other]
        if self.targets is not None:
            targets = [self.numbers[n] for n in column_numbers(self.targets, self.numbers)]
        for name in targets:
            if name in other:
                role = "known ahead" if name in self.known else "static"
                raise BadInput(f"column {shown(name)} is a target; it cannot be {role}")
        if not targets:
            raise BadInput("all columns are known ahead or static; there is none to forecast")
        return self._replace(targets=targets)


@dataclasses.dataclass(frozen=True)
class SeriesData:
    """One or several series, in the units of the data.

    Attributes:
        xs: the numbers of each series, `(rows, columns)` in float64, NaN where one is missing.
        cells: the words of each series, `(rows, columns of words)`, empty where one is missing.
        roles: what the columns are for.
        ids: the name of each series, or its number.
        ends: the steps of each series. The rows after them are the future, in which only what is
            known ahead counts.
        ys: what goes with each step, or `None` to forecast.
        timelines: when the rows of each series were; `None` if nothing says so.
        notes: what was done to the data, in sentences.
    """

    xs: list[np.ndarray]
    cells: list[np.ndarray]
    roles: Roles
    ids: tuple[str | int, ...]
    ends: list[int]
    ys: Any = None
    timelines: list[Timeline] | None = None
    notes: tuple[str, ...] = ()


def data_of_arrays(
    xs: Any, ys: Any, names: Sequence[str] | None, roles: Roles, missing: str
) -> SeriesData:
    """Series that are given as arrays, whose columns are called 1, 2, 3 unless they have names."""
    xs = as_series(xs)
    width = xs[0].shape[1]
    named = [str(n) for n in range(1, width + 1)] if names is None else [*map(str, names)]
    if len(named) != width:
        raise BadInput(f"{width} columns need {width} names, got {len(named)}")
    if twice := first_twice(named):
        raise BadInput(f"two columns are called {twice!r:.60}")
    roles = roles._replace(numbers=named).checked()
    for n, x in enumerate(xs):
        for name in roles.static:
            where = partial("series {}, step {}".format, n)
            check_constant(x[:, named.index(name)], where, name)
    cells = [np.zeros((len(x), 0), object) for x in xs]
    data = SeriesData(xs, cells, roles, tuple(range(len(xs))), ends_of(xs, roles), ys)
    check_values(data, missing)
    return data


def ends_of(xs: list[np.ndarray], roles: Roles) -> list[int]:
    """The steps of each series `(rows, numbers)`: if something is known ahead, up to the last row
    that has a target; else all of them.

    Example:
        >>> x = np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, 7.0], [np.nan, 8.0]])
        >>> ends_of([x], Roles(["sold", "price"], ["sold"], known=["price"]))
        [3]
    """
    if not roles.known or roles.targets is None:
        return [len(x) for x in xs]
    targets = column_numbers(roles.targets, roles.numbers)
    there = [np.flatnonzero(~np.isnan(x[:, targets]).all(axis=1)) for x in xs]
    return [int(rows[-1]) + 1 if len(rows) else 0 for rows in there]


def check_constant(values: np.ndarray, where: Callable[[int], str], name: str) -> None:
    """Refuse a static column `(rows,)` of a series that changes; `where` says in words where."""
    there = np.flatnonzero((values == values) & (values != ""))
    changed = there[values[there] != values[there[:1]]]
    if len(changed):
        raise BadInput(
            f"{where(int(changed[0]))}, column {shown(name)} is {values[changed[0]]} after "
            f"{values[there[0]]}; what is static is the same in all rows of a series: leave it out "
            "of static"
        )


def as_series(xs: Any) -> list[np.ndarray]:
    """One or several series, each `(T, columns)` in float64."""
    if isinstance(xs, list | tuple) and len(xs) > 1 and all(map(_is_row, xs)):
        raise BadInput(
            "a list of lists may be the rows of one series or several series; give "
            "np.array(rows), or a list of arrays"
        )
    if not isinstance(xs, list | tuple) or not any(np.ndim(x) for x in xs):
        array = as_array(xs, "a series")
        if array.ndim not in (1, 2, 3):
            raise BadInput(f"a series is (T, columns) or (T,), got shape {array.shape}")
        xs = list(array) if array.ndim == 3 else [array]
    series: list[np.ndarray] = []
    for n, x in enumerate(xs):
        x = as_array(x, f"series {n}")
        if x.dtype.kind not in "biuf" or x.ndim not in (1, 2) or not x.size:
            raise BadInput(f"series {n} must be (T, columns) numbers, got {x.dtype} of {x.shape}")
        x = x[:, None] if x.ndim == 1 else x
        if series and x.shape[1] != series[0].shape[1]:
            raise BadInput(f"series {n} has {x.shape[1]} columns, series 0 {series[0].shape[1]}")
        series.append(x.astype(float))
    if not series:
        raise BadInput("there is no series")
    return series


def _is_row(x: Any) -> bool:
    return isinstance(x, list | tuple) and not any(np.ndim(value) for value in x)


def column_numbers(targets: Sequence[int | str] | None, names: list[str]) -> list[int]:
    """The numbers of the target columns."""
    if targets is None:
        return list(range(len(names)))
    chosen, numbers = [], {name: n for n, name in reversed([*enumerate(names)])}
    for target in [targets] if isinstance(targets, str | int) else targets:
        inside = (
            isinstance(target, int | np.integer)
            and not isinstance(target, bool)
            and 0 <= target < len(names)
        )
        if not inside and not (isinstance(target, str) and target in numbers):
            raise BadInput(f"there is no column {target!r:.40}; there are {', '.join(names[:20])}")
        chosen.append(numbers[target] if isinstance(target, str) else int(target))
    if not chosen:
        raise BadInput("targets is empty; name a column to predict, or leave targets out")
    return chosen


def answers_of(
    ys: Any, xs: list[np.ndarray], kind: str | None, missing: str
) -> list[np.ndarray] | None:
    """What goes with each step: for every series `(T,)` labels or `(T, outputs)` numbers."""
    if ys is None:
        return None
    listed = isinstance(ys, list | tuple) and len(ys) == 1 and np.ndim(ys[0]) > 0
    given = list(ys) if listed or len(xs) > 1 else [ys]
    parts = [as_array(y, f"the targets of series {n}") for n, y in enumerate(given)]
    if len(parts) != len(xs):
        raise BadInput(f"ys must have an entry for each of {len(xs)} series, got {len(parts)}")
    for n, (x, y) in enumerate(zip(xs, parts, strict=True)):
        if y.ndim not in (1, 2) or len(y) != len(x):
            raise BadInput(f"series {n} has {len(x)} steps, its targets have shape {y.shape}")
        if (y.dtype.kind in "USO") != (parts[0].dtype.kind in "USO"):
            raise BadInput(f"the targets of series {n} are {y.dtype}, of series 0 {parts[0].dtype}")
    rows = checked_answers(
        np.concatenate(parts), kind, missing, lambda at: f"the target of step {at[0]}"
    )
    numbers = rows.dtype.kind == "f" and kind != "classification"
    if numbers and rows.ndim == 1:
        rows = rows[:, None]
    if not numbers and rows.ndim == 2:
        raise BadInput(f"a class is one label per step, got shape {rows.shape}")
    return np.split(rows, np.cumsum([len(x) for x in xs])[:-1])


def fit_rows(
    rows: list[np.ndarray], train: list[slice], scale: bool, kind: str | None
) -> TargetCodec:
    """How what goes with each step is learned; see `fit_answers`."""
    marks = [
        np.isin(np.arange(len(y)), np.arange(len(y))[some])
        for y, some in zip(rows, train, strict=True)
    ]
    every, training = np.concatenate(rows), np.flatnonzero(np.concatenate(marks))
    return fit_answers(every, training, scale, labels=labels_of(every, kind))


def check_values(data: SeriesData, missing: str) -> None:
    """Refuse infinite numbers, and missing ones unless they are to be masked.

    After the end of a series only what is known ahead counts.
    """
    names = data.roles.numbers
    unknown = np.array([name not in data.roles.known for name in names])
    for n, x in enumerate(data.xs):

        def where(at: tuple[int, ...], n: int = n) -> str:
            of = f" of series {n}" if len(data.xs) > 1 else ""
            return f"step {at[0]}{of}, column {names[at[1]]!r}"

        later = np.arange(len(x)) >= data.ends[n]
        check_complete(np.where(later[:, None] & unknown, 0.0, x), missing, where)


def check_parts(
    parts: Mapping[str, Stream],
    split: Sequence[float],
    source: str,
    xs: list[np.ndarray],
    horizon: int,
    washout: int = 0,
) -> None:
    """Refuse a part that has a share but no target; `horizon` is 0 if nothing is forecast.

    Where some of several series have no target in such a part, a warning says how many.
    """
    needs = f" and a horizon of {horizon}" if horizon else ""
    needs += f" and a washout of {washout}" if washout else ""
    room = horizon + washout + 1
    for (part, stream), share in zip(parts.items(), split, strict=True):
        if share and not stream.there.any():
            raise BadInput(
                f"{source} has {sum(map(len, xs))} steps, too few for the part {part} with a share "
                f"of {share:.0%}{needs}: it has no target{_split_with_room(xs, split, room)}"
            )
        begins = np.flatnonzero(stream.starts)
        seen = int(np.logical_or.reduceat(stream.there, begins).sum()) if len(begins) else 0
        if share and seen < len(xs):
            warnings.warn(
                f"{source}: {len(xs) - seen} of {len(xs)} series do not count in the part {part}, "
                f"because with a share of {share:.0%}{needs} they have no target there",
                RuntimeWarning,
                stacklevel=3,
            )


def _split_with_room(xs: list[np.ndarray], split: Sequence[float], room: int) -> str:
    """Advice: the split nearest to the given one whose parts have `room` for a target each."""
    longest, wanted = max(map(len, xs)), [share > 0 for share in split]
    for percent in range(1, 50):
        held_out = [max(percent, round(100 * x)) if x else 0 for x in split[1:]]
        shares = [100 - sum(held_out), *held_out]
        if shares[0] <= 0:
            break
        cuts = divided(longest, (shares[0] / 100, shares[1] / 100, shares[2] / 100))
        sizes = [len(range(longest)[cuts[part]]) for part in PARTS]
        if all(size >= room for size, asked in zip(sizes, wanted, strict=True) if asked):
            return f"; the split {'/'.join(map(str, shares))} has room for one in each part"
    return "; give more steps, or a smaller horizon" if room > 2 else "; give more steps"


def checked_season(season: int | None, xs: list[np.ndarray], other_data: bool) -> int | None:
    """The steps of a season, which must fit into the series; into other data it need not."""
    longest = max(map(len, xs))
    if season is not None and season >= longest and not other_data:
        raise BadInput(f"a season of {season} steps does not fit into a series of {longest}")
    return season
