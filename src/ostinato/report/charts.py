"""Charts as plain numbers and words, independent of the library that draws them.

    Lines   named series, with reference levels
    Heat    a heat map
    Bars    stacked horizontal bars whose parts add up to 1
    Plane   points in the complex plane, with the unit circle

A number that is not finite is `None`, as in a run's events.
"""

import abc
import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .drawing import (
    BLUE_RED,
    BLUES,
    DECADES,
    GREY,
    GREYS,
    LEVELS,
    MARKED,
    SHARES,
    VIRIDIS,
    WHITE_RED,
    Axis,
    Band,
    Bar,
    Cells,
    Drawing,
    Line,
    Points,
    Ticks,
    bar_ticks,
    colour,
    log_ticks,
    middle_ticks,
    named_ticks,
    positive,
)

NAMED = 60  # rows or columns that can all be named


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chart(abc.ABC):
    """The fields that all charts share.

    Attributes:
        name: for file names and links: lower case, without spaces.
        title: the heading.
        caption: what the chart shows and how to read it, in a sentence or two.
        zooms: whether a part of it can be drawn with more detail.
    """

    name: str
    title: str
    caption: str
    zooms: ClassVar[bool] = False

    @abc.abstractmethod
    def drawing(self) -> Drawing:
        """What is drawn of it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lines(Chart):
    """A line chart.

    Attributes:
        series: the lines, in the order of the legend.
        x_title, y_title: titles of the axes.
        log_x, log_y: whether an axis is logarithmic; values that are not positive are left out.
        from_zero: whether a linear y axis starts at zero.
        dates: whether positions are dates, in milliseconds since 1970.
        places: the names of the positions 0, 1, 2 and so on, if they have any.
        levels: horizontal reference lines by name, such as chance. The legend shows their names
            and values, so that no line crosses a label.
    """

    series: list[Series]
    x_title: str
    y_title: str
    log_x: bool = False
    log_y: bool = False
    from_zero: bool = False
    dates: bool = False
    places: list[str] | None = None
    levels: dict[str, float] = dataclasses.field(default_factory=dict)
    zooms: ClassVar[bool] = True

    def drawing(self) -> Drawing:
        heights = [y for one in self.series for y in one.y] + [*self.levels.values()]
        log_y = self.log_y and any(positive(heights))
        first, last = self.ends()
        other = self.log_x or self.dates or self.places is not None
        whole = not other and last - first <= 10  # steps and lags are integers
        places = [x for one in self.series for x in one.x]
        colours: dict[object, str] = {}
        lines, bands = [], []
        for i, one in enumerate(self.series):
            name = one.name if one.group is None else one.group
            key = i if one.group is None else one.group
            entry = key not in colours
            shade = colours.setdefault(key, colour(len(colours)))
            x, low, high = one.band()
            if x:
                bands.append(Band(name=one.name, x=x, low=low, high=high, colour=shade))
            lines.append(
                Line(
                    name=name,
                    x=list(one.x),
                    y=positive(one.y) if log_y else one.y,
                    colour=shade,
                    entry=entry,
                    dash="dot" if one.dashed else "solid",
                    marks=self.places is not None or (len(one.x) <= MARKED and not one.dashed),
                    width=Line.width if self.places is None else 0,
                    told=None if one.group is None else one.name,
                )
            )
        levels = sorted(self.levels.items(), key=lambda pair: -pair[1])
        for (name, level), (shade, dash) in zip(levels, itertools.cycle(LEVELS), strict=False):
            label, ends, y = f"{name}: {level:.4g}", [first, last], [level, level]
            style: dict[str, Any] = {"colour": shade, "dash": dash, "width": 1.5}
            lines.append(Line(name=label, x=ends, y=[*y], measured=False, **style))
        return Drawing(
            x=Axis(
                title=self.x_title,
                log=self.log_x,
                ticks=self._ticks(places),
                whole=whole,
                dates=self.dates,
                tilted=self.places is not None,
            ),
            y=Axis(
                title=self.y_title,
                log=log_y,
                ticks=log_ticks(heights) if log_y else None,
                from_zero=self.from_zero,
            ),
            lines=lines,
            bands=bands,
            legend=sum(line.entry for line in lines) > 1,
        )

    def _ticks(self, places: list[float]) -> Ticks | None:
        if self.places is not None:
            return named_ticks(self.places, max=NAMED)
        return log_ticks(places) if self.log_x else None

    def ends(self) -> tuple[float, float]:
        """The first and last x of all series, widened if they are the same."""
        places = [x for one in self.series for x in one.x] or [0, 1]
        low, high = min(places), max(places)
        return (low, high) if low < high else (low - 1, high + 1)


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

    @classmethod
    def of(cls, matrix: np.ndarray, **words: Any) -> "Heat":
        """A heat map of a matrix whose rows and columns are numbered from 0."""
        rows, columns = matrix.shape
        values = [numbers(row) for row in matrix]
        return cls(x=range(columns), y=range(rows), values=values, **words)

    def drawing(self) -> Drawing:
        z, (low, high) = self.values, self.extent()
        scale, ticks = BLUE_RED if low < 0 else WHITE_RED, None
        if self.log:
            z, low, high = self.logarithms()
            scale, ticks = VIRIDIS, bar_ticks(low, high)
        names = [[f"{x:g}" for x in self.x], [f"{y:g}" for y in self.y]]
        cells = Cells(
            z=z,
            low=low,
            high=high,
            scale=scale,
            values=self.values,
            digits=".3g",
            words=[[f"{self.x_title} {x}, {self.y_title} {y}" for x in names[0]] for y in names[1]],
            title=self.z_title,
            ticks=ticks,
        )
        return Drawing(
            x=Axis(title=self.x_title, ticks=named_ticks(names[0])),
            y=Axis(title=self.y_title, ticks=named_ticks(names[1])),
            cells=[cells],
        )

    def logarithms(self) -> tuple[list[list[float | None]], float, float]:
        """The base-10 logarithms, and the lower and upper end of their colour scale.

        Values that are not positive become `None`. The scale spans at most `DECADES` powers of ten.
        """
        logs = [
            [None if x is None else math.log10(x) for x in positive(row)] for row in self.values
        ]
        known = [x for row in logs for x in row if x is not None] or [0.0]
        top = max(known)
        return logs, max(min(known), top - DECADES), top

    def extent(self) -> tuple[float, float]:
        """The lower and upper end of a linear colour scale.

        The upper end is the largest absolute value, or 1 if all are zero. The lower end is its
        negative, or 0 if no value is negative.

        Example:
            >>> words = {"name": "", "title": "", "caption": "", "x_title": "", "y_title": ""}
            >>> Heat(**words, x=[0, 1], y=[0], values=[[0.5, 2.0]], z_title="").extent()
            (0.0, 2.0)
        """
        known = [x for row in self.values for x in row if x is not None]
        largest = max(map(abs, known), default=1.0) or 1.0
        return (-largest if min(known, default=0.0) < 0 else 0.0), largest


@dataclasses.dataclass(frozen=True, kw_only=True)
class Weights(Chart):
    """A table of numbers from 0 to 1 with named columns and rows, the first row at the top.

    Attributes:
        pixels: whether it is a picture from black to white, in which `None` is a gap and
            neighbours have the same name.
        x_title, y_title: what columns and rows are.
    """

    columns: list[str]
    rows: list[str]
    values: list[list[Any]]
    pixels: bool = False
    x_title: str = ""
    y_title: str = ""

    def drawing(self) -> Drawing:
        values: list[list[float | None]] = [[*row] for row in self.values]
        cells = Cells(
            z=values,
            low=0,
            high=1,
            scale=GREYS if self.pixels else BLUES,
            values=values,
            digits=".2f",
            words=[[f"{row} ← {column}" for column in self.columns] for row in self.rows],
            apart=not self.pixels,
        )
        height = max(360, 150 + 18 * min(len(self.rows), NAMED))
        if self.pixels:
            height = 110 + 480 * len(self.rows) // len(self.columns)
        ticks = middle_ticks if self.pixels else partial(named_ticks, max=NAMED)
        return Drawing(
            x=Axis(title=self.x_title, ticks=ticks(self.columns), tilted=not self.pixels),
            y=Axis(title=self.y_title, ticks=ticks(self.rows), down=True),
            cells=[cells],
            square=self.pixels,
            height=height,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bars(Chart):
    """Stacked bars: `parts[part][i]` is a share of bar i; the parts of a bar add up to 1."""

    bars: list[str]
    parts: dict[str, list[float]]

    def drawing(self) -> Drawing:
        left, bars = [0.0] * len(self.bars), []
        for (part, shares), shade in zip(self.parts.items(), SHARES, strict=True):
            bars.append(Bar(name=part, bars=self.bars, shares=shares, left=left, colour=shade))
            left = [a + b for a, b in zip(left, shares, strict=True)]
        return Drawing(
            x=Axis(title="share", percent=True),
            y=Axis(title="", down=True),
            bars=bars,
            legend=True,
            height=130 + 36 * len(self.bars),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plane(Chart):
    """Named sets of points in the complex plane, drawn with the unit circle."""

    points: dict[str, list[complex]]

    def drawing(self) -> Drawing:
        turns = [2 * math.pi * k / 120 for k in range(121)]
        circle = Line(
            name="unit circle",
            x=[math.cos(turn) for turn in turns],
            y=[math.sin(turn) for turn in turns],
            colour=GREY,
            width=1.5,
            entry=False,
            measured=False,
        )
        return Drawing(
            x=Axis(title="real part", include=(-1.1, 1.1)),
            y=Axis(title="imaginary part", include=(-1.1, 1.1)),
            lines=[circle],
            points=[
                Points(name=name, at=points, colour=colour(n))
                for n, (name, points) in enumerate(self.points.items())
            ],
            legend=True,
            square=True,
            height=440 + 22 * len(self.points),
        )


def spans_decades(values: Sequence[float]) -> bool:
    """Whether a logarithmic axis shows values better: they are positive and span a factor of 20.

    Example:
        >>> spans_decades([0.1, 3.0]), spans_decades([0.0, 3.0])
        (True, False)
    """
    return bool(values) and min(values) > 0 and max(values) > 20 * min(values)


def numbers(values: Iterable[Any]) -> list[float | None]:
    """Plain floats, with `None` for values that are not finite.

    Example:
        >>> numbers([1.0, float("nan")])
        [1.0, None]
    """
    plain = (None if x is None else float(x) for x in values)
    return [x if x is not None and math.isfinite(x) else None for x in plain]
