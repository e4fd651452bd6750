"""Charts of forecasts say what the network forecast, and what really came."""

import jax
import numpy as np
import pandas
import pytest
from matplotlib.dates import num2date

from ostinato.cells import GRU
from ostinato.errors import BadInput
from ostinato.report.figures import figure
from ostinato.report.pictures import picture
from ostinato.report.series_charts import (
    Place,
    all_forecasts,
    can_forecast,
    forecasts,
    place_of,
    worst_first,
)
from ostinato.runs import Saved
from ostinato.tasks import Series, closed_loop
from ostinato.tasks.applying import ApplyOptions
from ostinato.tasks.series.continuing import forecasts_at_each
from ostinato.tasks.series.forecast_scores import hindcasts
from ostinato.wiring import Network, Readout

TIME = np.arange(200)
VALUES = np.stack([np.sin(TIME / 5), 3 + np.cos(TIME / 5)], axis=1)
LEVELS = (0.1, 0.5, 0.9)


def network_for(task, units=4):
    keys = jax.random.split(jax.random.key(0))
    return Network(GRU(task.inputs, units, key=keys[0]), Readout(units, task.outputs, key=keys[1]))


def test_the_closed_loop_beside_what_came():
    task = Series(VALUES, names=["a", "2"])
    network = network_for(task)
    first, second = forecasts(Saved(7, network), task, Place(0, 150, 20))
    came, loop = first.series
    assert first.title == "Forecast of a from step 150" and second.y_title == "column 2"
    assert came.x == list(range(130, 170)) and came.y == VALUES[130:170, 0].tolist()
    found = closed_loop(network, task, VALUES[:150], 20)
    assert loop.x == list(range(150, 170))
    np.testing.assert_allclose(loop.y, found[:, 0])
    np.testing.assert_allclose(second.series[1].y, found[:, 1])
    error = np.abs(found[:, 0] - VALUES[150:170, 0]).mean()
    assert f"mean absolute error of {error:.3g}" in first.caption
    assert first.caption.endswith("Made with the weights of step 7.")


def test_after_the_end_it_is_what_apply_prints(tmp_path):
    np.save(tmp_path / "x.npy", VALUES)
    task = Series(VALUES, horizon=3, quantiles=LEVELS)
    network = network_for(task)
    # Nothing came: there is no second pair.
    chart, other = forecasts(Saved(7, network), task, Place(0, 200, 5))
    how = {"settings": Series.Settings(horizon=3, quantiles="0.1,0.5,0.9")}
    how |= {"artefacts": task.artefacts(), "given": tmp_path / "x.npy"}
    (loop,) = Series.apply(network, ApplyOptions(**how, steps=5))
    np.testing.assert_allclose(chart.series[1].y, np.array(loop["forecast"])[:, 0], rtol=1e-5)
    (ahead,) = Series.apply(network, ApplyOptions(**how))
    rows, line = np.array(ahead["forecast"]), other.series[2]
    assert ahead["columns"][3:] == ["2 0.1", "2 0.5", "2 0.9"] and line.x == [200, 201, 202]
    for column, found in zip((3, 4, 5), (line.low, line.y, line.high), strict=True):
        np.testing.assert_allclose(found, rows[:, column], rtol=1e-5)
    assert "error" not in chart.caption and chart.series[0].x[-1] == 199


def test_quantiles_at_every_step():
    task = Series(VALUES[:, :1], horizon=2, quantiles=LEVELS)
    network = network_for(task)
    _, chart = forecasts(Saved(7, network), task, Place(0, 100, 30))
    came, band = chart.series
    made = forecasts_at_each(network, task, VALUES[:130, :1])[:, 1, 0]  # the second step
    assert came.x == band.x == list(range(100, 130))
    for t, low, y, high in zip(band.x, band.low, band.y, band.high, strict=True):
        np.testing.assert_allclose([low, y, high], made[t - 2], rtol=1e-5)
    values = VALUES[100:130, 0]
    inside = (np.array(band.low) <= values) & (values <= np.array(band.high))
    assert f"{inside.mean():.0%} of what came lies between them; 80% should" in chart.caption


def test_a_few_targets_go_on_while_the_others_stay():
    task = Series(VALUES, targets=[1], horizon=2)
    network = network_for(task)
    (chart,) = forecasts(Saved(7, network), task, Place(0, 100, 10))
    assert [one.name for one in chart.series] == ["what came", "closed loop", "forecast, 2 steps"]
    assert chart.series[1].x == list(range(100, 110)) and chart.series[2].x == [100, 101]
    path = closed_loop(network, task, VALUES[:100], 10)
    np.testing.assert_allclose(chart.series[1].y, path[:, 1])
    np.testing.assert_allclose(path[:, 0], VALUES[99, 0], rtol=1e-5)


def test_places():
    task = Series([VALUES, VALUES[:60]])
    assert place_of(task) == Place(0, 180, 100) and place_of(task, 1).begin == 54
    assert place_of(task, 1, 60, 7) == Place(1, 60, 7)
    for wrong, words in {
        (2, None, None): "from 0 to 1, got 2",
        (1, 61, None): "from 1 to 60, got 61",
        (0, 0, None): "from 1 to 200, got 0",
        (0, None, 2001): "from 1 to 2000 steps",
    }.items():
        with pytest.raises(BadInput, match=words):
            place_of(task, *wrong)
    assert place_of(Series(VALUES, split=(1, 0, 0))).begin == 200
    assert not can_forecast(Series(VALUES, VALUES[:, 0]))


def dated_stores():
    """Two stores with a price that is known ahead, the second much harder to forecast."""
    random, days = np.random.default_rng(0), pandas.date_range("2024-01-30", periods=80)
    frames = []
    for name, noise in (("calm", 0.1), ("wild", 3.0)):
        sold = 5 + np.sin(TIME[:80] / 5) + noise * random.normal(size=80)
        frames.append(
            pandas.DataFrame({"store": name, "day": days, "price": TIME[:80] % 7.0, "sold": sold})
        )
        frames[-1].loc[75:, "sold"] = np.nan
    return pandas.concat(frames, ignore_index=True)


def test_of_several_series_the_worst_comes_first_with_its_dates():
    asked = {"targets": ["sold"], "sequence": "store", "known": ["price"], "split": "60/20/20"}
    task = Series(dated_stores(), **asked, horizon=3, quantiles=LEVELS)
    network = network_for(task)
    order, errors, measure = worst_first(network, task)
    made = hindcasts(network, task, "valid").by_series()
    assert measure == "MASE" and errors == {n: one["MASE"] for n, one in made.items()}
    assert order == sorted(errors, key=errors.get, reverse=True)
    overview, *charts = all_forecasts(Saved(7, network), task)
    names = [task.series_names[n] for n in order]
    assert overview.places == names and overview.series[0].y == [errors[n] for n in order]
    assert figure(overview)["layout"]["xaxis"]["ticktext"] == names
    assert len({one.name for one in charts}) == len(charts) == 4
    first = charts[0]
    assert first.title == f"Forecast of sold, {names[0]} from 2024-03-15" and first.dates
    assert first.x_title == "day" and "nothing after it but what is known ahead" in first.caption
    path = next(one for one in first.series if one.name == "closed loop")
    expected = np.arange("2024-03-15", "2024-04-19", dtype="datetime64[D]")  # as far as the price
    assert np.array(path.x, "datetime64[ms]").astype(expected.dtype).tolist() == expected.tolist()
    assert figure(first)["layout"]["xaxis"]["type"] == "date"
    axes = picture(first).axes[0]
    low, high = (num2date(x).date().isoformat() for x in axes.get_xlim())
    assert low < "2024-03-15" < "2024-04-18" < high < "2024-05-01"
    assert place_of(task, "wild") == place_of(task, 1)
    with pytest.raises(BadInput, match="there is no series 'none'; there are calm, wild"):
        place_of(task, "none")
