"""Charts as PNG files, drawn by matplotlib."""

import dataclasses
import io
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from ..files import write_whole
from .charts import Chart
from .drawing import OPACITY, Axis, Cells, Line, Ticks

SIZE = 7.5, 4.2
DASHES: dict[str, Any] = {
    "solid": "-",
    "dot": ":",
    "dash": "--",
    "dashdot": "-.",
    "longdash": (0, (8, 4)),
}
POINT = 0.75  # points per pixel
MARK = 3.5  # points: the size of a mark
WIDE = 100  # letters in a row of the legend
DAY = 86_400_000  # milliseconds


def write_picture(chart: Chart, path: Path) -> None:
    """Draw a chart into a PNG file.

    Example:
        >>> from ostinato.report.charts import Lines, Series
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
    axes, drawing = figure.subplots(), chart.drawing()
    unit = DAY if drawing.x.dates else 1  # matplotlib counts the days since 1970
    for band in drawing.bands:
        places = [x / unit for x in band.x]
        look: dict[str, Any] = {"color": band.colour, "alpha": OPACITY, "linewidth": 0}
        axes.fill_between(places, band.low, band.high, **look)
    for line in drawing.lines:
        _line(axes, dataclasses.replace(line, x=[x / unit for x in line.x]))
    for points in drawing.points:
        x, y = [z.real for z in points.at], [z.imag for z in points.at]
        axes.plot(x, y, "o", markersize=MARK, color=points.colour, label=points.name, alpha=0.8)
    for bar in drawing.bars:
        axes.barh(bar.bars, bar.shares, left=bar.left, label=bar.name, color=bar.colour)
    for cells in drawing.cells:
        _cells(figure, axes, cells)
    if not drawing.cells:
        axes.grid(alpha=0.25, axis="x" if drawing.bars else "both")
    if drawing.square:
        axes.set_aspect("equal", adjustable="box" if drawing.cells else "datalim")
    _axis(axes, "x", drawing.x)
    _axis(axes, "y", drawing.y)
    names = axes.get_legend_handles_labels()[1]
    if drawing.legend and names:
        columns = max(1, min(len(names), 4, WIDE // max(map(len, names))))
        figure.legend(loc="outside lower center", ncols=columns, fontsize=8, frameon=False)
    axes.set_title(chart.title, fontsize=11, loc="left")
    return figure


def _line(axes: Any, line: Line) -> None:
    axes.plot(
        line.x,
        [math.nan if y is None else y for y in line.y],
        linestyle=DASHES[line.dash],
        linewidth=POINT * line.width,
        marker="o" if line.marks else "",
        markersize=MARK,
        color=line.colour,
        label=line.name if line.entry else "_",  # the legend leaves out what begins so
    )


def _cells(figure: Any, axes: Any, cells: Cells) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    shown = axes.imshow(
        np.array([[math.nan if x is None else x for x in row] for row in cells.z]),
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        cmap=LinearSegmentedColormap.from_list("scale", cells.scale),
        vmin=cells.low,
        vmax=cells.high,
    )
    if cells.title is not None:
        bar = figure.colorbar(shown, ax=axes, label=cells.title)
        _ticks(bar.ax.yaxis, cells.ticks)


def _axis(axes: Any, which: str, axis: Axis) -> None:
    """Label and scale the `"x"` or the `"y"` axis; what lies on it has been drawn."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    drawn = {"x": axes.xaxis, "y": axes.yaxis}[which]
    drawn.set_label_text(axis.title)
    if axis.log:
        axes.set(**{f"{which}scale": "log"})
        drawn.minorticks_off()
    if axis.dates:
        drawn.set_major_locator(AutoDateLocator())
        drawn.set_major_formatter(ConciseDateFormatter(drawn.get_major_locator()))
    if axis.whole:
        drawn.set_major_locator(MaxNLocator(integer=True))
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    if axis.from_zero:
        low = 0
    if axis.percent:
        low, high = 0, 1
        drawn.set_major_formatter(PercentFormatter(1, decimals=0))
    _ticks(drawn, axis.ticks)
    if axis.tilted:
        drawn.set_tick_params(rotation=45)
        for label in drawn.get_ticklabels():
            label.set_horizontalalignment("right")
    if axis.include is None:  # what must be reached is drawn, and has a margin
        axes.set(**{f"{which}lim": (high, low) if axis.down else (low, high)})


def _ticks(drawn: Any, ticks: Ticks | None) -> None:
    if ticks is not None:
        places, words = ticks
        raised = [re.sub(r"^10\^(-?\d+)$", r"$10^{\1}$", word) for word in words]
        drawn.set_ticks(places, raised, fontsize=8 if len(places) > 20 else 10)
