"""Charts as plain numbers, independent of the library that draws them.

    Lines   named series, with reference levels
    Heat    a heat map
    Bars    stacked horizontal bars whose parts add up to 1
    Plane   points in the complex plane, with the unit circle

A number that is not finite is `None`, as in a run's events.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

# Distinguishable with colour blindness, on white and on black (after Okabe and Ito).
COLOURS = ("#2a7fbf", "#d9601a", "#12966f", "#c2699b", "#d99a1c", "#8a6fc0", "#5bb0dc", "#8c8c5a")

# Colours of the parts of a bar: low, between, high.
SHARES = ("#2a7fbf", "#b8b8b8", "#d9601a")

# Styles of reference levels: a colour, a dash for plotly and one for matplotlib.
LEVELS = (
    ("#6b7280", "dash", "--"),
    ("#94703c", "dot", ":"),
    ("#7a4f8f", "dashdot", "-."),
    ("#3f7f78", "longdash", (0, (8, 4))),
)

# The range of a logarithmic heat map, in powers of ten.
DECADES = 8


@dataclasses.dataclass(frozen=True)
class Series:
    """Values y at positions x.

    Attributes:
        name: in the legend, and of a group where one points at the line.
        x, y: positions and values.
        dashed: for what does not come from the run, such as a bound.
        low, high: the lower and upper edge of a band around the line, if there is one.
        group: series of a group share a colour and an entry of the legend, which has its name.

    Example:
        >>> Series("training", x=[1, 2, 3], y=[4.6, 4.1, None]).dashed
        False
    """

    name: str
    x: Sequence[float]
    y: list[float | None]
    dashed: bool = False
    low: list[float | None] | None = None
    high: list[float | None] | None = None
    group: str | None = None

    def band(self) -> tuple[list[float], list[float], list[float]]:
        """Positions, lower and upper edge of the band, where all of them are numbers.

        Example:
            >>> Series("loss", x=[1, 2], y=[3.0, None], low=[2.5, None], high=[3.5, None]).band()
            ([1], [2.5], [3.5])
        """
        edges = zip(self.x, self.low or [], self.high or [], strict=False)
        known = [(x, a, b) for x, a, b in edges if a is not None and b is not None]
        return [x for x, _, _ in known], [a for _, a, _ in known], [b for _, _, b in known]


class Entry(NamedTuple):
    """How a series is shown: its name in the legend, its colour, whether it is the first so."""

    name: str
    colour: str
    first: bool


def entries(series: Sequence[Series]) -> list[Entry]:
    """How each of the series is shown.

    Example:
        >>> lines = [Series(f"GRU, seed {n}", x=[1], y=[2.0], group="GRU") for n in range(2)]
        >>> [(entry.name, entry.first) for entry in entries(lines)]
        [('GRU', True), ('GRU', False)]
    """
    colours: dict[object, str] = {}
    found = []
    for i, one in enumerate(series):
        key = i if one.group is None else one.group
        first = key not in colours
        colour = colours.setdefault(key, COLOURS[len(colours) % len(COLOURS)])
        found.append(Entry(one.name if one.group is None else one.group, colour, first))
    return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chart:
    """The fields that all charts share.

    Attributes:
        name: for file names and links: lower case, without spaces.
        title: the heading.
        caption: what the chart shows and how to read it, in a sentence or two.
    """

    name: str
    title: str
    caption: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lines(Chart):
    """A line chart.

    Attributes:
        series: the lines, in the order of the legend.
        x_title, y_title: titles of the axes.
        log_x, log_y: whether an axis is logarithmic; values that are not positive are left out.
        from_zero: whether a linear y axis starts at zero.
        levels: horizontal reference lines by name, such as chance. The legend shows their names
            and values, so that no line crosses a label.
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
    """A heat map: `values[i][j]` is drawn at row `y[i]`, counted upwards, and column `x[j]`.

    Attributes:
        x, y: labels of columns and rows, which are evenly spaced whatever their values.
        x_title, y_title, z_title: titles of the axes and of the colour bar.
        log: a logarithmic scale from dark to light; else blue to red with white at zero, or white
            to red if no value is negative.
    """

    x: Sequence[float]
    y: Sequence[float]
    values: list[list[float | None]]
    x_title: str
    y_title: str
    z_title: str
    log: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Weights(Chart):
    """A table of numbers from 0 to 1 with named columns and rows, the first row at the top."""

    columns: list[str]
    rows: list[str]
    values: list[list[float]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bars(Chart):
    """Stacked bars: `parts[part][i]` is a share of bar i; the parts of a bar add up to 1."""

    bars: list[str]
    parts: dict[str, list[float]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plane(Chart):
    """Named sets of points in the complex plane, drawn with the unit circle."""

    points: dict[str, list[complex]]


def level_lines(chart: Lines) -> list[tuple[str, float, tuple[str, str, Any]]]:
    """The reference levels from highest to lowest: label, height and style."""
    found = sorted(chart.levels.items(), key=lambda pair: -pair[1])
    return [
        (f"{name}: {level:.4g}", level, LEVELS[i % len(LEVELS)])
        for i, (name, level) in enumerate(found)
    ]


def ends(chart: Lines) -> tuple[float, float]:
    """The first and last x of all series, widened if they are the same."""
    places = [x for one in chart.series for x in one.x] or [0, 1]
    low, high = min(places), max(places)
    return (low, high) if low < high else (low - 1, high + 1)


def numbers(values: Iterable[Any]) -> list[float | None]:
    """Plain floats, with `None` for values that are not finite.

    Example:
        >>> numbers([1.0, float("nan")])
        [1.0, None]
    """
    found = (None if x is None else float(x) for x in values)
    return [x if x is not None and math.isfinite(x) else None for x in found]


def logarithms(heat: Heat) -> tuple[list[list[float | None]], float, float]:
    """The base-10 logarithms of a heat map, and the lower and upper end of its colour scale.

    Values that are not positive become `None`. The scale spans at most `DECADES` powers of ten.
    """
    found = [[_logarithm(x) for x in row] for row in heat.values]
    known = [x for row in found for x in row if x is not None] or [0.0]
    top = max(known)
    return found, max(min(known), top - DECADES), top


def _logarithm(x: float | None) -> float | None:
    return math.log10(x) if x is not None and x > 0 else None


def extent(heat: Heat) -> tuple[float, float]:
    """The lower and upper end of a linear colour scale.

    The upper end is the largest absolute value, or 1 if all are zero. The lower end is its
    negative, or 0 if no value is negative.

    Example:
        >>> words = {"name": "", "title": "", "caption": "", "x_title": "", "y_title": ""}
        >>> extent(Heat(**words, x=[0, 1], y=[0], values=[[0.5, 2.0]], z_title=""))
        (0.0, 2.0)
    """
    known = [x for row in heat.values for x in row if x is not None]
    most = max(map(abs, known), default=1.0) or 1.0
    return (-most if min(known, default=0.0) < 0 else 0.0), most


def positive(values: Iterable[float | None]) -> list[float | None]:
    """The values that a logarithmic axis can show; `None` for the others.

    Example:
        >>> positive([0.1, 0.0, None])
        [0.1, None, None]
    """
    return [x if x is not None and x > 0 else None for x in values]


def thinned(count: int, most: int = 12) -> list[int]:
    """Indices of every 1st, 2nd, 5th, 10th, … of `count` ticks, at most `most` of them.

    Example:
        >>> thinned(50, 5)
        [0, 10, 20, 30, 40]
    """
    steps = (k * 10**p for p in itertools.count() for k in (1, 2, 5))
    return list(range(0, count, next(step for step in steps if count <= step * most)))
