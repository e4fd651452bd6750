"""Charts as plotly.js figures: plain dictionaries. The page's script adds the common style."""

import re
from typing import Any

from .charts import Chart
from .drawing import OPACITY, Axis, Band, Bar, Cells, Drawing, Line, Points, Ticks


def figure(chart: Chart) -> dict[str, Any]:
    """A chart as `{"data": [...], "layout": {...}}`.

    Example:
        >>> from ostinato.report.charts import Lines, Series
        >>> loss = Series("training", x=[1, 2, 3], y=[4.6, 4.1, 3.9])
        >>> words = {"name": "loss", "title": "Loss", "caption": "", "x_title": "step"}
        >>> drawn = figure(Lines(**words, y_title="nats", series=[loss]))
        >>> drawn["layout"]["xaxis"]["title"]["text"]
        'step'
    """
    drawing = chart.drawing()
    data = [
        *map(_band, drawing.bands),
        *(_line(line, drawing.x.title) for line in drawing.lines),
        *map(_points, drawing.points),
        *map(_bar, drawing.bars),
        *map(_cells, drawing.cells),
    ]
    return {"data": data, "layout": _layout(drawing)}


def _layout(drawing: Drawing) -> dict[str, Any]:
    layout: dict[str, Any] = {
        "xaxis": _axis(drawing.x),
        "yaxis": _axis(drawing.y),
        "showlegend": drawing.legend,
        "hovermode": "closest",
    }
    if drawing.cells:
        layout["xaxis"]["showgrid"] = layout["yaxis"]["showgrid"] = False
    if drawing.bars:
        layout["barmode"] = "stack"
    if drawing.square:
        layout["yaxis"] |= {"scaleanchor": "x", "scaleratio": 1}
        if drawing.cells:  # the axes end where the picture does
            layout["xaxis"] |= {"constrain": "domain", "constraintoward": "left"}
            layout["yaxis"] |= {"constrain": "domain", "constraintoward": "top"}
    if drawing.height:
        layout["height"] = drawing.height
    return layout


def _axis(axis: Axis) -> dict[str, Any]:
    words = {"text": axis.title, "font": {"size": 13}}
    drawn: dict[str, Any] = {"title": words, "automargin": True, "zeroline": False}
    drawn |= _ticks(axis.ticks)
    if axis.log:
        drawn["type"] = "log"
    if axis.dates:
        drawn["type"] = "date"
    if axis.whole:
        drawn["dtick"] = 1
    if axis.from_zero:
        drawn["rangemode"] = "tozero"
    if axis.percent:
        drawn |= {"range": [0, 1], "tickformat": ".0%"}
    if axis.include is not None:
        drawn["autorangeoptions"] = {"include": list(axis.include)}
    if axis.down:
        drawn["autorange"] = "reversed"
    if axis.tilted:
        drawn["tickangle"] = -45
    return drawn


def _ticks(ticks: Ticks | None) -> dict[str, Any]:
    if ticks is None:
        return {}
    places, words = ticks
    raised = [re.sub(r"\^(-?\d+)$", r"<sup>\1</sup>", word) for word in words]
    return {"tickvals": places, "ticktext": raised}


def _line(line: Line, x_title: str) -> dict[str, Any]:
    trace: dict[str, Any] = {
        "type": "scatter",
        "name": line.name,
        "legendgroup": line.name,
        "showlegend": line.entry,
        "x": line.x,
        "y": line.y,
        "mode": "lines+markers" if line.marks else "lines",
        "line": {"color": line.colour, "width": line.width, "dash": line.dash},
        "marker": {"size": 6},
    }
    if not line.measured:
        return trace | {"hoverinfo": "skip"}
    which = "" if line.told is None else f"<extra>{line.told}</extra>"
    return trace | {"hovertemplate": f"{x_title} %{{x}}: %{{y:.4g}}{which}"}


def _band(band: Band) -> dict[str, Any]:
    """A band as one outline, which the entry of its line in the legend hides too."""
    red, green, blue = (int(band.colour[k : k + 2], 16) for k in (1, 3, 5))
    return {
        "type": "scatter",
        "name": f"{band.name}, band",
        "legendgroup": band.name,
        "x": [*band.x, *reversed(band.x)],
        "y": [*band.high, *reversed(band.low)],
        "mode": "lines",
        "line": {"width": 0},
        "fill": "toself",
        "fillcolor": f"rgba({red},{green},{blue},{OPACITY})",
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _points(points: Points) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": points.name,
        "x": [z.real for z in points.at],
        "y": [z.imag for z in points.at],
        "marker": {"color": points.colour, "size": 6, "opacity": 0.8},
        "customdata": [abs(z) for z in points.at],
        "hovertemplate": "%{x:.3f}, %{y:.3f}i, size %{customdata:.3f}",
    }


def _bar(bar: Bar) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": bar.name,
        "x": bar.shares,
        "y": bar.bars,
        "marker": {"color": bar.colour},
        "hovertemplate": "%{y}: %{x:.1%}",
    }


def _cells(cells: Cells) -> dict[str, Any]:
    last = len(cells.scale) - 1
    trace: dict[str, Any] = {
        "type": "heatmap",
        "x": list(range(len(cells.z[0]) if cells.z else 0)),
        "y": list(range(len(cells.z))),
        "z": cells.z,
        "zmin": cells.low,
        "zmax": cells.high,
        "colorscale": [[k / last, colour] for k, colour in enumerate(cells.scale)],
        "customdata": cells.values,
        "text": cells.words,
        "hovertemplate": f"%{{text}}: %{{customdata:{cells.digits}}}<extra></extra>",
    }
    if cells.apart:
        trace |= {"xgap": 1, "ygap": 1}
    if cells.title is None:
        return trace | {"showscale": False}
    title = {"text": cells.title, "font": {"size": 13}, "side": "right"}
    bar = {"title": title, "thickness": 14, "outlinewidth": 0}
    return trace | {"colorbar": bar | _ticks(cells.ticks)}
