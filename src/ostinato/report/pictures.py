"""Charts as PNG files, drawn by matplotlib."""

import io
import math
from functools import singledispatch
from pathlib import Path
from typing import Any

from ..files import write_whole
from .charts import (
    COLOURS,
    SHARES,
    Bars,
    Chart,
    Heat,
    Lines,
    Plane,
    Weights,
    ends,
    entries,
    extent,
    level_lines,
    logarithms,
    positive,
    thinned,
)

SIZE = 7.5, 4.2
GREY = "0.5"


def write_picture(chart: Chart, path: Path) -> None:
    """Draw a chart into a PNG file.

    Example:
        >>> from ostinato.report.charts import Series
        >>> loss = Series("training", x=[1, 2, 3], y=[4.6, 4.1, 3.9])
        >>> words = {"name": "loss", "title": "Loss", "caption": "", "x_title": "step"}
        >>> write_picture(Lines(**words, y_title="nats", series=[loss]), Path("loss.png"))
        >>> Path("loss.png").exists()
        True
    """
    drawn = io.BytesIO()
    picture(chart).savefig(drawn, format="png")
    write_whole(path, drawn.getvalue())


def picture(chart: Chart) -> Any:
    """A chart as a matplotlib figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    _draw(chart, axes, figure)
    axes.set_title(chart.title, fontsize=11, loc="left")
    return figure


@singledispatch
def _draw(chart: Chart, axes: Any, figure: Any) -> None:
    raise NotImplementedError(f"cannot draw a chart of type {type(chart).__name__}")


@_draw.register
def _lines(chart: Lines, axes: Any, figure: Any) -> None:
    log_y = chart.log_y and any(y for one in chart.series for y in positive(one.y))
    of_legend = entries(chart.series)
    for one, entry in zip(chart.series, of_legend, strict=True):
        shown = positive(one.y) if log_y else one.y
        y = [math.nan if value is None else value for value in shown]
        mark = "o" if len(one.x) <= 30 and not one.dashed else ""
        line = ":" if one.dashed else "-"
        label = entry.name if entry.first else "_"  # the legend leaves out what begins so
        axes.fill_between(*one.band(), color=entry.colour, alpha=0.16, linewidth=0)
        axes.plot(one.x, y, line, marker=mark, markersize=3.5, color=entry.colour, label=label)
    for name, level, (colour, _, dash) in level_lines(chart):
        style = {"linestyle": dash, "color": colour, "linewidth": 1.2}
        axes.plot(ends(chart), (level, level), label=name, **style)
    if chart.log_x:
        axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
    if chart.from_zero:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(chart.x_title)
    axes.set_ylabel(chart.y_title)
    axes.grid(alpha=0.25)
    count = sum(entry.first for entry in of_legend) + len(chart.levels)
    if count > 1:
        figure.legend(loc="outside lower center", ncols=min(count, 4), fontsize=8, frameon=False)


@_draw.register
def _heat(chart: Heat, axes: Any, figure: Any) -> None:
    import numpy as np

    if chart.log:
        values, low, high = logarithms(chart)
        colours = {"cmap": "viridis", "vmin": low, "vmax": high}
    else:
        low, high = extent(chart)
        reds = "RdBu_r" if low < 0 else "Reds"
        values, colours = chart.values, {"cmap": reds, "vmin": low, "vmax": high}
    table = np.array([[math.nan if x is None else x for x in row] for row in values])
    shown = axes.imshow(table, aspect="auto", origin="lower", interpolation="nearest", **colours)
    bar = figure.colorbar(shown, ax=axes)
    bar.set_label(f"log₁₀ {chart.z_title}" if chart.log else chart.z_title)
    for ticks, labels in ((axes.set_xticks, chart.x), (axes.set_yticks, chart.y)):
        places = thinned(len(labels))
        ticks(places, [f"{labels[i]:g}" for i in places])
    axes.set_xlabel(chart.x_title)
    axes.set_ylabel(chart.y_title)


@_draw.register
def _weights(chart: Weights, axes: Any, figure: Any) -> None:
    axes.imshow(chart.values, aspect="auto", cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    axes.set_xticks(range(len(chart.columns)), chart.columns, rotation=45, ha="right")
    axes.set_yticks(range(len(chart.rows)), chart.rows)
    axes.tick_params(labelsize=8 if max(len(chart.rows), len(chart.columns)) > 20 else 10)


@_draw.register
def _bars(chart: Bars, axes: Any, figure: Any) -> None:
    left = [0.0] * len(chart.bars)
    for (part, shares), colour in zip(chart.parts.items(), SHARES, strict=True):
        axes.barh(chart.bars, shares, left=left, label=part, color=colour)
        left = [a + b for a, b in zip(left, shares, strict=True)]
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("share")
    figure.legend(loc="outside lower center", ncols=len(chart.parts), fontsize=8, frameon=False)


@_draw.register
def _plane(chart: Plane, axes: Any, figure: Any) -> None:
    turns = [2 * math.pi * k / 200 for k in range(201)]
    axes.plot([math.cos(t) for t in turns], [math.sin(t) for t in turns], color=GREY, linewidth=1)
    for i, (name, points) in enumerate(chart.points.items()):
        x, y = [z.real for z in points], [z.imag for z in points]
        axes.scatter(x, y, s=9, color=COLOURS[i % len(COLOURS)], label=name, alpha=0.8)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("real part")
    axes.set_ylabel("imaginary part")
    axes.grid(alpha=0.25)
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
