"""What is drawn of a chart, whatever draws it: lines, bands, points, bars, cells and two axes.

A chart becomes a `Drawing` here, with every colour, tick, label and range; `figures` and `pictures`
only say the same to plotly.js and to matplotlib.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence

# Distinguishable with colour blindness, on white and on black (after Okabe and Ito).
COLOURS = ("#2a7fbf", "#d9601a", "#12966f", "#c2699b", "#d99a1c", "#8a6fc0", "#5bb0dc", "#8c8c5a")
GREY = "#888888"

# Colours of the parts of a bar: low, between, high.
SHARES = ("#2a7fbf", "#b8b8b8", "#d9601a")

# Styles of reference levels: a colour and a dash.
LEVELS = (
    ("#6b7280", "dash"),
    ("#94703c", "dot"),
    ("#9063a8", "dashdot"),
    ("#3f7f78", "longdash"),
)

# Scales of maps: colours at even distances.
Scale = tuple[str, ...]
VIRIDIS: Scale = (
    *("#440154", "#48186a", "#472d7b", "#424086", "#3b528b", "#33638d", "#2c728e", "#26828e"),
    *("#21918c", "#1fa088", "#28ae80", "#3fbc73", "#5ec962", "#84d44b", "#addc30", "#d8e219"),
    "#fde725",
)
BLUE_RED: Scale = ("#2166ac", "#92c5de", "#f7f7f7", "#f4a582", "#b2182b")
WHITE_RED: Scale = ("#f7f7f7", "#f4a582", "#b2182b")
BLUES: Scale = ("#f7fbff", "#6baed6", "#08306b")
GREYS: Scale = ("#000000", "#ffffff")

DECADES = 8  # the range of a logarithmic map, in powers of ten
MARKED = 30  # points of a line up to which each has a mark
OPACITY = 0.16  # of a band

Ticks = tuple[list[float], list[str]]
"""Where the ticks are, and their words; a power of ten is written `10^-3`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis.

    Attributes:
        title: its title.
        ticks: its ticks; `None` leaves them to what draws it.
        log: whether it is logarithmic.
        whole: whether its ticks are whole numbers, one after the other.
        from_zero: whether it starts at zero.
        percent: whether it goes from 0 to 100 %.
        include: numbers that it must reach.
        down: whether it counts from the top.
        tilted: whether its words are tilted.
        dates: whether its numbers are dates, in milliseconds since 1970.
    """

    title: str
    ticks: Ticks | None = None
    log: bool = False
    whole: bool = False
    from_zero: bool = False
    percent: bool = False
    include: tuple[float, float] | None = None
    down: bool = False
    tilted: bool = False
    dates: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Line:
    """A line; `name` is its entry in the legend, if `entry` says that it has one.

    Attributes:
        told: its own name, where one points at it; `None` if that is the entry in the legend.
        measured: whether it has numbers of its own, unlike a reference level or a circle.
    """

    name: str
    x: Sequence[float]
    y: list[float | None]
    colour: str
    entry: bool = True
    dash: str = "solid"
    width: float = 2
    marks: bool = False
    told: str | None = None
    measured: bool = True


@dataclasses.dataclass(frozen=True, kw_only=True)
class Band:
    """The area between two lines, which belongs to the line with this name."""

    name: str
    x: list[float]
    low: list[float]
    high: list[float]
    colour: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Points:
    """Points in the complex plane."""

    name: str
    at: list[complex]
    colour: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bar:
    """One part of every bar: its share, which begins at `left`."""

    name: str
    bars: list[str]
    shares: list[float]
    left: list[float]
    colour: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cells:
    """A map of coloured cells, `colours[i][j]` in row i and column j.

    Attributes:
        z: what the colours stand for, such as a logarithm.
        low, high: the ends of the scale.
        scale: its colours, at even distances.
        values: the numbers that are told where one points.
        digits: how they are told.
        words: before the number, for each cell.
        title, ticks: of the colour bar; without a title there is none.
        apart: whether there is a gap between the cells.
    """

    z: list[list[float | None]]
    low: float
    high: float
    scale: Scale
    values: list[list[float | None]]
    digits: str
    words: list[list[str]]
    title: str | None = None
    ticks: Ticks | None = None
    apart: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Drawing:
    """Two axes and what lies on them.

    Attributes:
        legend: whether there is a legend.
        square: whether a unit is as long on both axes.
        height: in pixels; 0 for the usual one.
    """

    x: Axis
    y: Axis
    bands: Sequence[Band] = ()
    lines: Sequence[Line] = ()
    points: Sequence[Points] = ()
    bars: Sequence[Bar] = ()
    cells: Sequence[Cells] = ()
    legend: bool = False
    square: bool = False
    height: int = 0


def colour(number: int) -> str:
    """The colour of the line or set of points with this number."""
    return COLOURS[number % len(COLOURS)]


def positive(values: Iterable[float | None]) -> list[float | None]:
    """The values that a logarithmic axis can show; `None` for the others.

    Example:
        >>> positive([0.1, 0.0, None])
        [0.1, None, None]
    """
    return [x if x is not None and x > 0 else None for x in values]


def thinned(count: int, max: int = 12) -> list[int]:
    """Indices of every 1st, 2nd, 5th, 10th, … of `count` ticks, at most `max` of them.

    Example:
        >>> thinned(50, 5)
        [0, 10, 20, 30, 40]
    """
    steps = (k * 10**p for p in itertools.count() for k in (1, 2, 5))
    return list(range(0, count, next(step for step in steps if count <= step * max)))


def named_ticks(names: Sequence[str], max: int = 12) -> Ticks:
    """The ticks of an axis with one position per name, of which at most `max` are shown."""
    places = thinned(len(names), max)
    return [float(i) for i in places], [names[i] for i in places]


def middle_ticks(names: Sequence[str]) -> Ticks:
    """A tick in the middle of the positions that have a name, for each; none without a name.

    Example:
        >>> middle_ticks(["one", "one", "", "two", "two", "two"])
        ([0.5, 4.0], ['one', 'two'])
    """
    places = {name: [n for n, x in enumerate(names) if x == name] for name in names if name}
    return [sum(at) / len(at) for at in places.values()], [*places]


def log_ticks(values: Iterable[float | None]) -> Ticks:
    """Ticks of a logarithmic axis: powers of ten, or 1, 2 and 5 times powers of ten.

    If fewer than two of these fall into the range of the values, the ticks divide the range evenly.

    Example:
        >>> log_ticks([1e-2, 1e3])[1]
        ['10^-2', '10^-1', '10^0', '10^1', '10^2', '10^3']
    """
    logs = [math.log10(x) for x in values if x is not None and x > 0] or [0.0]
    low, high = min(logs), max(logs)
    first, last = math.floor(low), math.ceil(high)
    if last - first > 3:
        powers = range(first, last + 1, max(1, (last - first) // 8))
        ticks = [(10.0**p, f"10^{p}") for p in powers]
    else:
        places = [k * 10.0**p for p in range(first, last + 1) for k in (1, 2, 5)]
        ticks = [(place, f"{place:g}") for place in places]
    if sum(low <= math.log10(place) <= high for place, _ in ticks) < 2:
        ticks = [(10**x, f"{10**x:.2g}") for x in _quarters(low, high)]
    return [place for place, _ in ticks], [words for _, words in ticks]


def bar_ticks(low: float, high: float) -> Ticks:
    """Ticks of a colour bar between two powers of ten, given as logarithms."""
    every = range(math.ceil(low), math.floor(high) + 1)
    if len(every) > 1:
        powers = [every[i] for i in thinned(len(every), 5)]
        return [float(p) for p in powers], [f"10^{p}" for p in powers]
    places = _quarters(low, high)  # the values span less than a power of ten
    return places, [f"{10**p:.2g}" for p in places]


def _quarters(low: float, high: float) -> list[float]:
    return [low + (high - low) * k / 4 for k in range(5)]
