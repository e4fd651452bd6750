"""Find the unit that follows a pattern of a text, and how well it does on text not used to find it.

The text is cut in two. On the first part every unit gets its own sign and threshold (for a
position: its own sign), and the units are ranked. What is reported is the score on the second part,
where nothing was chosen.

Among many units one follows any pattern a little. What chance would reach is measured on the same
units with the same search, after the pattern was rotated by a random offset: it keeps its density
and the lengths of its stretches, the units keep their own slowness, and only what joins the two is
gone. Units of white noise would be too weak a comparison, because slow units agree with slow
patterns by accident far more often than those.

Source: Karpathy, Johnson and Fei-Fei (2015) found such units by eye; Youden (1950) for the
threshold.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput

BINS = 1024  # values of a unit, of which each is a possible threshold
DRAWS = 20
LEAST = 20  # pieces of a text
TOGETHER = 64  # units whose numbers are made at a time


class FoundUnit(NamedTuple):
    """A unit, and how well it follows the pattern.

    Attributes:
        unit: its column.
        sign: 1, or -1 if it is low where the pattern is high.
        threshold: the pattern is taken to be there where `sign * value > sign * threshold`; `None`
            for a position.
        chosen: the score on the first part, by which it was chosen.
        score: the score on the second part: balanced accuracy, the mean of the shares of pieces
            inside and outside that are recognised (0.5 by guessing); for a position the squared
            correlation, 0 if it has the wrong sign.
        f1, area: on the second part, of what is inside: F1, and the area under the ROC curve; both
            `None` for a position.
    """

    unit: int
    sign: int
    threshold: float | None
    chosen: float
    score: float
    f1: float | None
    area: float | None


class Ranking(NamedTuple):
    """The units that follow a pattern best, and what chance would reach.

    Attributes:
        units: the best, in the order of their scores on the first part.
        chance: `(draws,)`, the score on the second part of the unit that is best on the first, for
            patterns rotated by random offsets.
        measure: what a score is, in words.
        split: the number of pieces in the first part.
        shares: of the pieces that are inside, in the first and in the second part; for a position
            its means.
    """

    units: list[FoundUnit]
    chance: np.ndarray
    measure: str
    split: int
    shares: tuple[float, float]


def find_unit(
    states: Any, values: Any, *, count: int = 10, draws: int = DRAWS, seed: int = 0
) -> Ranking:
    """Rank units by how well they follow a pattern.

    Args:
        states: `(T, units)`, every unit after each piece of a text.
        values: `(T,)`, the pattern: booleans, or numbers for a position.
        count: how many units to return.
        draws: how many rotated patterns to search for.
        seed: of their offsets.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> inside = np.sin(np.arange(2000) ** 1.2) > 0.3
        >>> states = rng.normal(size=(2000, 50))
        >>> states[:, 7] = -1.0 * inside
        >>> found = find_unit(states, inside)
        >>> found.units[0].unit, found.units[0].sign, found.units[0].score
        (7, -1, 1.0)
        >>> bool(found.chance.max() < 0.6)
        True
    """
    states, values = np.asarray(states), np.asarray(values)
    _check(states, values)
    split = len(values) // 2
    first, second = values[:split], values[split:]
    for part, where in ((first, "first"), (second, "second")):
        if np.all(part == part[0]):
            raise BadInput(
                f"the pattern does not change in the {where} half of the text, so no unit can be "
                "chosen and scored; give more text"
            )
    rng = np.random.default_rng(seed)
    near = len(values) // 20  # from there on a rotated pattern is another one
    offsets = rng.integers(near, len(values) - near, draws)
    patterns = np.stack([values, *(np.roll(values, offset) for offset in offsets)], axis=1)
    binary = values.dtype == bool
    search = _thresholds if binary else _correlations
    units, chance = search(states, patterns.astype(np.float32), split, count)
    measure = "balanced accuracy" if binary else "squared correlation"
    return Ranking(units, chance, measure, split, (float(first.mean()), float(second.mean())))


def _check(states: np.ndarray, values: np.ndarray) -> None:
    if states.ndim != 2 or values.shape != states.shape[:1] or not states.shape[1]:
        raise BadInput(
            f"states are (T, units) and the pattern is (T,), got {states.shape} and {values.shape}"
        )
    if len(values) < LEAST:
        raise BadInput(f"a text of at least {LEAST} pieces is needed, got {len(values)}")
    if not np.all(np.isfinite(states.sum(axis=0))):
        raise BadInput("the states are not finite numbers: the network's weights are damaged")


# A pattern that is there or not


def _thresholds(
    states: np.ndarray, patterns: np.ndarray, split: int, count: int
) -> tuple[list[FoundUnit], np.ndarray]:
    """The best units of the first pattern, and the score of the best unit of each other one."""
    bins, low, width = _binned(states, split)
    # Balanced accuracy is (1 + hits - false alarms) / 2, both as shares; Youden's J without the 1.
    totals = patterns[:split].sum(axis=0)
    gains = np.empty((states.shape[1], patterns.shape[1]), np.float32)
    places = np.empty(gains.shape, np.int32)

    def choose(unit: int) -> None:
        j = _youden(_counts(bins[unit, :split], patterns[:split]), totals, split)
        places[unit] = np.argmax(np.abs(j), axis=0)
        gains[unit] = np.take_along_axis(j, places[unit][None], axis=0)[0]

    _at_once(choose, range(states.shape[1]))
    scores = 0.5 + np.abs(gains) / 2
    # A rotated pattern that does not change in the first part has no score.
    changes = (totals > 0) & (totals < split)

    def unit_of(unit: int, n: int) -> FoundUnit:
        sign = 1 if gains[unit, n] >= 0 else -1
        place = int(places[unit, n])
        threshold = float(low[unit] + width[unit] * (place + 1))
        inside = patterns[split:, n] > 0
        score, f1, area = _scored(bins[unit, split:], inside, place, sign)
        return FoundUnit(unit, sign, threshold, float(scores[unit, n]), score, f1, area)

    best = np.argsort(-scores[:, 0], kind="stable")[:count]
    best_of = [unit_of(int(np.argmax(scores[:, n])), n).score for n in _rotated(changes)]
    return [unit_of(int(unit), 0) for unit in best], np.array(best_of)


def _binned(states: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The values by number `(units, T)`, from equal intervals between each unit's extremes."""
    low, high = states[:split].min(axis=0), states[:split].max(axis=0)
    width = np.where(high > low, (high - low) / BINS, 1)
    bins = np.empty(states.shape[::-1], np.int32)

    def fill(begin: int) -> None:
        some = slice(begin, begin + TOGETHER)
        scaled = (states[:, some] - low[some]) / width[some]
        bins[some] = np.clip(scaled, 0, BINS - 1).astype(np.int32).T

    _at_once(fill, range(0, states.shape[1], TOGETHER))
    return bins, low, width


def _at_once(work: Callable[[int], None], over: range) -> None:
    """`work(n)` for each n, in threads: nearly all of it is arithmetic on arrays."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(work, over))


def _counts(bins: np.ndarray, patterns: np.ndarray) -> np.ndarray:
    """How many pieces have each value and are inside, `(BINS, patterns)`; last column: in all."""
    from scipy.sparse import csc_matrix  # slow to import, and only needed here

    size = len(bins)
    where = csc_matrix((np.ones(size, np.float32), bins, np.arange(size + 1)), (BINS, size))
    every = np.bincount(bins, minlength=BINS).astype(np.float32)
    return np.concatenate([where @ patterns, every[:, None]], axis=1)


def _youden(counts: np.ndarray, totals: np.ndarray, size: int) -> np.ndarray:
    """Hits minus false alarms, as shares, for a threshold above each value."""
    above = counts.sum(axis=0) - np.cumsum(counts, axis=0)
    hits, every = above[:, :-1], above[:, -1:]
    inside, outside = np.maximum(totals, 1), np.maximum(size - totals, 1)
    return hits / inside - (every - hits) / outside


def _scored(
    bins: np.ndarray, inside: np.ndarray, place: int, sign: int
) -> tuple[float, float, float]:
    """Balanced accuracy, F1 and area under the ROC curve."""
    said = (bins > place) == (sign > 0)
    hits, alarms = np.sum(said & inside), np.sum(said & ~inside)
    true, false = max(int(inside.sum()), 1), max(int((~inside).sum()), 1)
    high = np.bincount(bins[inside], minlength=BINS)
    low = np.bincount(bins[~inside], minlength=BINS)
    area = float(np.sum(high * (np.cumsum(low) - low / 2)) / (true * false))
    return (
        float(hits / true + 1 - alarms / false) / 2,
        float(2 * hits / max(hits + alarms + int(inside.sum()), 1)),
        area if sign > 0 else 1 - area,
    )


# A position


def _correlations(
    states: np.ndarray, patterns: np.ndarray, split: int, count: int
) -> tuple[list[FoundUnit], np.ndarray]:
    """As `_thresholds`, for numbers."""
    first = _correlation(states[:split], patterns[:split])
    second = _correlation(states[split:], patterns[split:])
    scores = np.where(first * second > 0, second**2, 0)
    best = np.argsort(-np.abs(first[:, 0]), kind="stable")[:count]
    units = [
        FoundUnit(
            unit=int(unit),
            sign=1 if first[unit, 0] >= 0 else -1,
            threshold=None,
            chosen=float(first[unit, 0] ** 2),
            score=float(scores[unit, 0]),
            f1=None,
            area=None,
        )
        for unit in best
    ]
    changes = np.std(patterns[:split], axis=0) > 0
    best_of = [scores[np.argmax(np.abs(first[:, n])), n] for n in _rotated(changes)]
    return units, np.array(best_of, float)


def _correlation(states: np.ndarray, patterns: np.ndarray) -> np.ndarray:
    """`(units, patterns)`; zero for what does not change."""
    x = states - states.mean(axis=0)
    y = patterns - patterns.mean(axis=0)
    sizes = np.sqrt(np.sum(x * x, axis=0))[:, None] * np.sqrt(np.sum(y * y, axis=0))
    return (x.T @ y) / np.where(sizes > 0, sizes, np.inf)


def _rotated(changes: np.ndarray) -> np.ndarray:
    """The columns of the rotated patterns that change; the first column is the pattern itself."""
    return np.flatnonzero(changes[1:]) + 1
