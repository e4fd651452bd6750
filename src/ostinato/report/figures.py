"""Charts as plotly.js figures: plain dictionaries. The page's script adds the common style."""

import math
from collections.abc import Sequence
from functools import singledispatch

from .charts import (
    COLOURS,
    SHARES,
    Bars,
    Chart,
    Heat,
    Lines,
    Plane,
    Series,
    Weights,
    ends,
    entries,
    extent,
    level_lines,
    logarithms,
    positive,
    thinned,
)

GREY = "#888888"
NAMED = 60  # rows or columns that can all be named
BLUE_RED = [[0, "#2166ac"], [0.25, "#92c5de"], [0.5, "#f7f7f7"], [0.75, "#f4a582"], [1, "#b2182b"]]
WHITE_RED = [[0, "#f7f7f7"], [0.5, "#f4a582"], [1, "#b2182b"]]


@singledispatch
def figure(chart: Chart) -> dict:
    """A chart as `{"data": [...], "layout": {...}}`.

    Example:
        >>> from ostinato.report.charts import Series
        >>> loss = Series("training", x=[1, 2, 3], y=[4.6, 4.1, 3.9])
        >>> words = {"name": "loss", "title": "Loss", "caption": "", "x_title": "step"}
        >>> drawn = figure(Lines(**words, y_title="nats", series=[loss]))
        >>> drawn["layout"]["xaxis"]["title"]["text"]
        'step'
    """
    raise NotImplementedError(f"cannot draw a chart of type {type(chart).__name__}")


@figure.register
def _lines(chart: Lines) -> dict:
    data: list[dict] = []
    shown = entries(chart.series)
    for one, entry in zip(chart.series, shown, strict=True):
        which = f"<extra>{one.name}</extra>" if one.group is not None else ""
        data += _band(one, entry.colour)
        data.append(
            {
                "type": "scatter",
                "name": entry.name,
                "legendgroup": entry.name,
                "showlegend": entry.first,
                "x": list(one.x),
                "y": positive(one.y) if chart.log_y else one.y,
                "mode": "lines+markers" if len(one.x) <= 30 and not one.dashed else "lines",
                "line": {
                    "color": entry.colour,
                    "width": 2,
                    "dash": "dot" if one.dashed else "solid",
                },
                "marker": {"size": 6},
                "hovertemplate": f"{chart.x_title} %{{x}}: %{{y:.4g}}{which}",
            }
        )
    places = [x for one in chart.series for x in one.x]
    heights = [y for one in chart.series for y in one.y if y is not None] + [*chart.levels.values()]
    first, last = ends(chart)
    for name, level, (colour, dash, _) in level_lines(chart):
        data.append(
            {
                "type": "scatter",
                "name": name,
                "x": [first, last],
                "y": [level, level],
                "mode": "lines",
                "line": {"color": colour, "width": 1.5, "dash": dash},
                "hoverinfo": "skip",
            }
        )
    layout: dict = {
        "xaxis": _axis(chart.x_title) | (_powers(places) if chart.log_x else {}),
        "yaxis": _axis(chart.y_title) | (_powers(heights) if chart.log_y else {}),
        "showlegend": sum(entry.first for entry in shown) + len(chart.levels) > 1,
        "hovermode": "closest",
    }
    if not chart.log_x and last - first <= 10:  # steps and lags are integers
        layout["xaxis"]["dtick"] = 1
    if chart.from_zero:
        layout["yaxis"]["rangemode"] = "tozero"
    return {"data": data, "layout": layout}


def _band(series: Series, colour: str) -> list[dict]:
    """The filled band of a series as one outline, which its entry in the legend hides too."""
    x, low, high = series.band()
    if not x:
        return []
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    outline: dict = {
        "type": "scatter",
        "name": f"{series.name}, band",
        "legendgroup": series.name,
        "x": [*x, *reversed(x)],
        "y": [*high, *reversed(low)],
        "mode": "lines",
        "line": {"width": 0},
        "fill": "toself",
        "fillcolor": f"rgba({red},{green},{blue},0.16)",
        "showlegend": False,
        "hoverinfo": "skip",
    }
    return [outline]


@figure.register
def _heat(chart: Heat) -> dict:
    trace: dict = {
        "type": "heatmap",
        "x": list(range(len(chart.x))),
        "y": list(range(len(chart.y))),
        "customdata": chart.values,
        "text": [
            [f"{chart.x_title} {x:g}, {chart.y_title} {y:g}" for x in chart.x] for y in chart.y
        ],
        "hovertemplate": "%{text}: %{customdata:.3g}<extra></extra>",
    }
    bar: dict = {
        "title": {"text": chart.z_title, "font": {"size": 13}, "side": "right"},
        "thickness": 14,
        "outlinewidth": 0,
    }
    if chart.log:
        values, low, high = logarithms(chart)
        every = range(math.ceil(low), math.floor(high) + 1)
        if len(every) > 1:
            powers = [every[i] for i in thinned(len(every), 5)]
            bar |= {"tickvals": powers, "ticktext": [f"10<sup>{p}</sup>" for p in powers]}
        else:  # the values span less than a power of ten
            places = [low + (high - low) * k / 4 for k in range(5)]
            bar |= {"tickvals": places, "ticktext": [f"{10**p:.2g}" for p in places]}
        trace |= {"z": values, "zmin": low, "zmax": high, "colorscale": "Viridis"}
    else:
        low, high = extent(chart)
        colours = BLUE_RED if low < 0 else WHITE_RED
        trace |= {"z": chart.values, "zmin": low, "zmax": high, "colorscale": colours}
    layout = {
        "xaxis": _axis(chart.x_title) | _named(chart.x),
        "yaxis": _axis(chart.y_title) | _named(chart.y),
    }
    return {"data": [trace | {"colorbar": bar}], "layout": layout}


@figure.register
def _weights(chart: Weights) -> dict:
    places = list(range(len(chart.columns))), list(range(len(chart.rows)))
    trace = {
        "type": "heatmap",
        "x": places[0],
        "y": places[1],
        "z": chart.values,
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[0, "#f7fbff"], [0.5, "#6baed6"], [1, "#08306b"]],
        "text": [[f"{row} ← {column}" for column in chart.columns] for row in chart.rows],
        "hovertemplate": "%{text}: %{z:.2f}<extra></extra>",
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
    }
    across = _names(chart.columns) | {"tickangle": -45}
    down = _names(chart.rows) | {"autorange": "reversed"}
    return {
        "data": [trace],
        "layout": {
            "xaxis": _axis("") | across | {"automargin": True},
            "yaxis": _axis("") | down | {"automargin": True},
            "height": max(360, 150 + 18 * min(len(chart.rows), NAMED)),
        },
    }


def _names(names: list[str]) -> dict:
    """Ticks with names, or with every second or third name if there are too many."""
    every = -(-len(names) // NAMED)
    return {"tickvals": list(range(0, len(names), every)), "ticktext": names[::every]}


@figure.register
def _bars(chart: Bars) -> dict:
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": part,
            "x": shares,
            "y": chart.bars,
            "marker": {"color": colour},
            "hovertemplate": "%{y}: %{x:.1%}",
        }
        for (part, shares), colour in zip(chart.parts.items(), SHARES, strict=True)
    ]
    layout = {
        "barmode": "stack",
        "xaxis": _axis("share") | {"range": [0, 1], "tickformat": ".0%"},
        "yaxis": {"autorange": "reversed", "automargin": True},
        "showlegend": True,
        "height": 130 + 36 * len(chart.bars),
    }
    return {"data": data, "layout": layout}


@figure.register
def _plane(chart: Plane) -> dict:
    turns = [2 * math.pi * k / 120 for k in range(121)]
    circle = {
        "type": "scatter",
        "mode": "lines",
        "x": [math.cos(turn) for turn in turns],
        "y": [math.sin(turn) for turn in turns],
        "line": {"color": GREY, "width": 1.5},
        "showlegend": False,
        "hoverinfo": "skip",
    }
    sets = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": [z.real for z in points],
            "y": [z.imag for z in points],
            "marker": {"color": colour, "size": 6, "opacity": 0.8},
            "customdata": [abs(z) for z in points],
            "hovertemplate": "%{x:.3f}, %{y:.3f}i, size %{customdata:.3f}",
        }
        for (name, points), colour in zip(
            chart.points.items(), _colours(len(chart.points)), strict=True
        )
    ]
    layout = {
        "xaxis": _axis("real part") | {"autorangeoptions": {"include": [-1.1, 1.1]}},
        "yaxis": _axis("imaginary part") | {"scaleanchor": "x", "scaleratio": 1},
        "showlegend": True,
        "height": 440 + 22 * len(sets),
        "hovermode": "closest",
    }
    return {"data": [circle, *sets], "layout": layout}


def _colours(count: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(count)]


def _axis(title: str) -> dict:
    words = {"text": title, "font": {"size": 13}}
    return {"title": words, "automargin": True, "zeroline": False}


def _powers(values: list[float]) -> dict:
    """A logarithmic axis, with ticks at powers of ten, or at 1, 2 and 5 times powers of ten.

    If fewer than two of these fall into the range of the values, the ticks divide the range evenly.
    """
    logs = [math.log10(x) for x in values if x > 0] or [0.0]
    low, high = math.floor(min(logs)), math.ceil(max(logs))
    if high - low > 3:
        powers = range(low, high + 1, max(1, (high - low) // 8))
        ticks = [(10.0**p, f"10<sup>{p}</sup>") for p in powers]
    else:
        ticks = [(k * 10.0**p, f"{k * 10.0**p:g}") for p in range(low, high + 1) for k in (1, 2, 5)]
    if sum(min(logs) <= math.log10(value) <= max(logs) for value, _ in ticks) < 2:
        places = [10 ** (min(logs) + (max(logs) - min(logs)) * k / 4) for k in range(5)]
        ticks = [(value, f"{value:.2g}") for value in places]
    return {
        "type": "log",
        "tickvals": [value for value, _ in ticks],
        "ticktext": [words for _, words in ticks],
    }


def _named(labels: Sequence[float]) -> dict:
    """Ticks of an axis with one position per label."""
    places = thinned(len(labels))
    return {"tickvals": places, "ticktext": [f"{labels[i]:g}" for i in places], "showgrid": False}
