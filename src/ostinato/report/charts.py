"""Charts as plain numbers, made once and drawn by any library.

    Lines   named series against one axis, with levels to compare them with
    Heat    a table of numbers as colours
    Bars    shares of a whole, one bar a name
    Plane   complex numbers, with the unit circle

A number that is not finite is `None`, as in a run's events.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

# Told apart by most eyes, on white and on black (after Okabe and Ito).
COLOURS = ("#2a7fbf", "#d9601a", "#12966f", "#c2699b", "#d99a1c", "#8a6fc0", "#5bb0dc", "#8c8c5a")

# The parts of a bar: low, between, high.
SHARES = ("#2a7fbf", "#b8b8b8", "#d9601a")

# Levels to compare with: a colour, a dash for the page and one for the pictures.
LEVELS = (
    ("#6b7280", "dash", "--"),
    ("#94703c", "dot", ":"),
    ("#7a4f8f", "dashdot", "-."),
    ("#3f7f78", "longdash", (0, (8, 4))),
)

# How many powers of ten the colours of a map tell apart.
DECADES = 8


@dataclasses.dataclass(frozen=True)
class Series:
    """Numbers y at places x; `dashed` for what is computed without the run, such as a bound.

    Example:
        >>> Series("training", x=[1, 2, 3], y=[4.6, 4.1, None]).dashed
        False
    """

    name: str
    x: Sequence[float]
    y: list[float | None]
    dashed: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chart:
    """What all charts have.

    Attributes:
        name: for files and links: lower case, without spaces.
        title: what it is.
        caption: what is seen, and how to read it, in a sentence or two.
    """

    name: str
    title: str
    caption: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lines(Chart):
    """Series against one axis.

    Attributes:
        series: what is drawn, in the order of the legend.
        x_title, y_title: of the axes.
        log_x, log_y: whether an axis is logarithmic; what is not positive is then left out.
        from_zero: whether a linear y axis begins at zero.
        levels: horizontal lines to compare with, by name, such as chance. Their names and values
            stand in the legend, where nothing crosses them.
    """

    series: list[Series]
    x_title: str
    y_title: str
    log_x: bool = False
    log_y: bool = False
    from_zero: bool = False
    levels: dict[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Heat(Chart):
    """A table of numbers as colours: `values[i][j]` stands at `y[i]`, upwards, and `x[j]`.

    Attributes:
        x, y: what the columns and rows are called; all have the same size, whatever their numbers.
        x_title, y_title, z_title: of the axes and of the colours.
        log: colours by the logarithm, from dark to light; else from blue by white, zero, to red.
    """

    x: Sequence[float]
    y: Sequence[float]
    values: list[list[float | None]]
    x_title: str
    y_title: str
    z_title: str
    log: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bars(Chart):
    """Shares of a whole: `parts[part][i]` is that of bar i, and all parts of a bar add up to 1."""

    bars: list[str]
    parts: dict[str, list[float]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plane(Chart):
    """Points of the complex plane by the name of their set, with the unit circle."""

    points: dict[str, list[complex]]


def level_lines(chart: Lines) -> list[tuple[str, float, tuple[str, str, Any]]]:
    """The levels from the highest down: what the legend says, the height, and the style."""
    found = sorted(chart.levels.items(), key=lambda pair: -pair[1])
    return [
        (f"{name}: {level:.4g}", level, LEVELS[i % len(LEVELS)])
        for i, (name, level) in enumerate(found)
    ]


def ends(chart: Lines) -> tuple[float, float]:
    """From where to where the series go; a little to both sides of one place alone."""
    places = [x for one in chart.series for x in one.x] or [0, 1]
    low, high = min(places), max(places)
    return (low, high) if low < high else (low - 1, high + 1)


def numbers(values: Iterable[Any]) -> list[float | None]:
    """Plain floats, with `None` for what is not finite.

    Example:
        >>> numbers([1.0, float("nan")])
        [1.0, None]
    """
    found = (None if x is None else float(x) for x in values)
    return [x if x is not None and math.isfinite(x) else None for x in found]


def logarithms(heat: Heat) -> tuple[list[list[float | None]], float, float]:
    """The base-10 logarithms of a table, the least and the largest to tell apart by colour.

    A number of zero or below has none; one far below the largest is as dark as can be.
    """
    found = [[_logarithm(x) for x in row] for row in heat.values]
    known = [x for row in found for x in row if x is not None] or [0.0]
    top = max(known)
    return found, max(min(known), top - DECADES), top


def _logarithm(x: float | None) -> float | None:
    return math.log10(x) if x is not None and x > 0 else None


def extent(heat: Heat) -> float:
    """The largest absolute number of a table, or 1 where all are zero."""
    return max((abs(x) for row in heat.values for x in row if x is not None), default=1.0) or 1.0


def thinned(count: int, most: int = 12) -> list[int]:
    """Every, every second, fifth, tenth, … of `count` places, so that there are at most so many.

    Example:
        >>> thinned(50, 5)
        [0, 10, 20, 30, 40]
    """
    steps = (k * 10**p for p in itertools.count() for k in (1, 2, 5))
    return list(range(0, count, next(step for step in steps if count <= step * most)))
