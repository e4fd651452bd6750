"""Charts of made-up numbers, drawn both ways."""

import dataclasses
import itertools
import json
import math
import sys

import numpy as np
import pytest

from ostinato.report.charts import (
    Bars,
    Heat,
    Lines,
    Plane,
    Series,
    Weights,
    numbers,
)
from ostinato.report.drawing import thinned
from ostinato.report.figures import figure
from ostinato.report.pictures import picture, write_picture

WORDS = {"title": "A title", "caption": "What is seen."}
LINES = Lines(
    name="lines",
    **WORDS,
    series=[
        Series("one", [1, 2, 3], [0.5, None, 2e-7]),
        Series("two", [1, 2], [0.0, 1.0], dashed=True),
    ],
    x_title="step",
    y_title="loss",
    log_y=True,
    levels={"chance": 0.1667},
)
MAP = Heat(
    name="map",
    **WORDS,
    x=[10, 20],
    y=[0, 1, 3],
    values=[[1.0, 0.1], [None, 0.0], [1e-3, 1e-30]],
    x_title="step",
    y_title="lag",
    z_title="gradient",
    log=True,
)
UNITS = Heat(
    name="units",
    **WORDS,
    x=[0, 1],
    y=[0],
    values=[[-0.5, 0.2]],
    x_title="step",
    y_title="unit",
    z_title="h",
)
BARS = Bars(
    name="bars", **WORDS, bars=["i", "f"], parts={"low": [0, 1], "mid": [0.4, 0], "high": [0.6, 0]}
)
PLANE = Plane(name="plane", **WORDS, points={"R": [1 + 1j, 1 - 1j, -0.5 + 0j]})
EMPTY = Lines(name="empty", **WORDS, series=[Series("none", [], [])], x_title="x", y_title="y")
LOOKS = Weights(name="looks", **WORDS, columns=["a", "b"], rows=["c"], values=[[0.2, 0.8]])
CHARTS = [LINES, MAP, UNITS, BARS, PLANE, LOOKS, EMPTY]


def test_a_picture_is_not_written_through_a_link(tmp_path):
    outside, place = tmp_path / "precious", tmp_path / "chart.png"
    outside.write_text("precious")
    place.symlink_to(outside)
    write_picture(EMPTY, place)
    assert outside.read_text() == "precious" and not place.is_symlink()


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_is_a_picture_and_plain_json(chart, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    write_picture(chart, tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "matplotlib.pyplot" not in sys.modules, "the user's backend is to be left alone"
    found = json.loads(json.dumps(figure(chart), allow_nan=False))
    assert found["data"] and found["layout"]


def test_lines():
    found = figure(LINES)
    one, two, chance = found["data"]
    assert (one["name"], one["x"], one["y"]) == ("one", [1, 2, 3], [0.5, None, 2e-7])
    assert two["line"]["dash"] == "dot" and one["line"]["dash"] == "solid"
    assert chance["y"] == [0.1667, 0.1667] and chance["name"] == "chance: 0.1667"
    assert found["layout"]["showlegend"]
    axis = found["layout"]["yaxis"]
    assert axis["type"] == "log" and axis["tickvals"][0] == 1e-7
    assert found["layout"]["xaxis"]["title"]["text"] == "step"


CLOSE = dataclasses.replace(
    LINES, levels={"chance": 4.69, "bigram": 4.68, "order 5": 4.67, "solved": 4.66}, log_y=False
)


def test_levels_are_told_apart_and_have_no_words_in_the_chart():
    """However close they are: their names stand in the legend, from the highest down."""
    levels = figure(CLOSE)["data"][2:]
    assert [one["name"].split(":")[0] for one in levels] == [
        "chance",
        "bigram",
        "order 5",
        "solved",
    ]
    assert all("text" not in one and one["mode"] == "lines" for one in levels)
    styles = {(one["line"]["color"], one["line"]["dash"]) for one in levels}
    assert len(styles) == len(levels)


def test_no_words_of_a_picture_lie_on_others_or_on_the_lines():
    drawn = picture(CLOSE)
    drawn.canvas.draw()
    (axes,), (legend,) = drawn.axes, drawn.legends
    words = [text.get_window_extent() for text in legend.get_texts()]
    assert len(words) == 6 and not axes.texts
    assert not any(a.overlaps(b) for a, b in itertools.combinations(words, 2))
    assert not any(axes.bbox.overlaps(one) for one in words)
    assert all(drawn.bbox.x0 <= one.x0 and one.x1 <= drawn.bbox.x1 for one in words)
    plane = picture(PLANE)
    plane.canvas.draw()
    label = plane.axes[0].yaxis.label.get_window_extent()
    assert label.x0 >= 0, "the label of the axis is cut off"


@pytest.mark.parametrize("values", [[0.12, 0.16], [3.0, 3.0], [1.0, 30.0], [1e-9, 1.0]])
def test_a_logarithmic_axis_has_ticks_where_the_numbers_are(values):
    chart = dataclasses.replace(LINES, series=[Series("one", [1, 2], values)], levels={})
    axis = figure(chart)["layout"]["yaxis"]
    inside = [x for x in axis["tickvals"] if 0.99 * min(values) <= x <= 1.01 * max(values)]
    assert len(inside) >= 2 and len(axis["ticktext"]) == len(axis["tickvals"])


def test_a_logarithmic_axis_leaves_out_what_is_not_positive():
    """A zero is no line down to the bottom of the chart."""
    chart = dataclasses.replace(
        LINES, series=[Series("one", [1, 2, 3], [0.0, 2.0, -1.0])], levels={}, log_y=True
    )
    assert figure(chart)["data"][0]["y"] == [None, 2.0, None]
    drawn = picture(chart).axes[0]
    np.testing.assert_array_equal(drawn.lines[0].get_ydata(), [math.nan, 2.0, math.nan])
    zeros = dataclasses.replace(chart, series=[Series("one", [1, 2], [0.0, 0.0])])
    assert picture(zeros).axes[0].lines[0].get_ydata().tolist() == [0, 0]


def test_a_level_is_seen_beside_a_single_point():
    chart = dataclasses.replace(LINES, series=[Series("one", [7], [2.0])])
    level = figure(chart)["data"][-1]
    assert level["x"] == [6, 8]


def test_maps():
    values, low, high = MAP.logarithms()
    assert values[0] == [0.0, -1.0] and values[1] == [None, None]
    assert values[2] == pytest.approx([-3, -30]) and (low, high) == (-8, 0)
    (trace,) = figure(MAP)["data"]
    assert trace["z"] == values and trace["customdata"] == MAP.values
    assert trace["text"][2][1] == "step 20, lag 3"
    (trace,) = figure(UNITS)["data"]
    assert (trace["zmin"], trace["zmax"]) == (-0.5, 0.5) and UNITS.extent() == (-0.5, 0.5)
    weights = dataclasses.replace(UNITS, values=[[0.5, None]])
    (trace,) = figure(weights)["data"]
    assert (trace["zmin"], trace["zmax"]) == (0, 0.5) and trace["colorscale"][0][1] == "#f7f7f7"
    assert picture(weights).axes[0].images[0].get_clim() == (0, 0.5)
    assert dataclasses.replace(UNITS, values=[[0.0, None]]).extent() == (0, 1)


def test_bars_and_plane():
    assert [(one["name"], one["x"]) for one in figure(BARS)["data"]] == [*BARS.parts.items()]
    circle, points = figure(PLANE)["data"]
    sizes = [math.hypot(x, y) for x, y in zip(circle["x"], circle["y"], strict=True)]
    assert sizes == pytest.approx([1.0] * len(sizes))
    assert points["x"] == [1, 1, -0.5] and points["y"] == [1, -1, 0]


def test_what_is_not_finite_is_nothing():
    assert numbers([1, None, math.nan, math.inf, -2.5]) == [1.0, None, None, None, -2.5]


@pytest.mark.parametrize("count, most, step", [(0, 5, 1), (5, 5, 1), (6, 5, 2), (51, 5, 20)])
def test_ticks_are_few(count, most, step):
    assert thinned(count, most) == [*range(0, count, step)]
