"""Backtests with a rolling origin, and yardsticks that are fitted at each."""

import jax
import numpy as np
import pytest

from ostinato.cells import GRU
from ostinato.errors import BadInput
from ostinato.tasks import Series
from ostinato.tasks.series.backtest import backtest, origins_of
from ostinato.tasks.series.continuing import forecast_after, forecasts_at_each
from ostinato.tasks.series.statistical import checked_names, statistical
from ostinato.wiring import Network, Readout

RNG = np.random.default_rng(0)
T = np.arange(240)
VALUES = np.stack([10 * np.sin(2 * np.pi * T / 12) + RNG.normal(size=240), 100 + T / 9], axis=1)
LEVELS = (0.1, 0.5, 0.9)


def network_for(task):
    keys = jax.random.split(jax.random.key(0))
    return Network(GRU(task.inputs, 4, key=keys[0]), Readout(4, task.outputs, key=keys[1]))


def test_every_origin_is_a_forecast_from_what_was_known():
    task = Series(VALUES, horizon=4, targets=[0], season=12, quantiles=LEVELS, split="60/20/20")
    network = network_for(task)
    found = backtest(network, task, 3)
    assert found.first.tolist() == [192, 214, 236]
    alone = forecasts_at_each(network, task, VALUES[:214])[-1]  # nothing later is read
    np.testing.assert_allclose(found.made.forecasts[1], alone, rtol=1e-4)
    for n, first in enumerate(found.first):
        assert np.array_equal(found.made.came[n, :, 0], VALUES[first : first + 4, 0])
        naive = found.yardsticks["seasonal naive"].forecasts[n, :, 0]
        expected = VALUES[first - 12 : first - 8, 0]
        wrong = np.array(task.artefacts()["naive_errors"]["seasonal naive"])[:, 1]
        np.testing.assert_allclose(naive[:, 1], expected + wrong * task.scaler.factor[0], rtol=1e-6)
    numbers = found.as_json()
    assert len(numbers["origins"]) == 3 and "not trained anew" in numbers["note"]
    mean = np.mean([one["metrics"]["mean absolute error"] for one in numbers["origins"]])
    assert numbers["overall"]["mean absolute error"] == pytest.approx(mean)
    assert [*numbers["yardsticks"]] == ["persistence", "seasonal naive"]


def test_several_series_of_different_lengths():
    task = Series([VALUES, VALUES[:60], VALUES[:150]], horizon=5, split="60/20/20")
    found = backtest(network_for(task), task, 10)
    assert found.left_out == [1] and found.made.series.tolist() == [0] * 10 + [2] * 10
    first = found.as_json()["origins"][0]
    assert first["first"] == [192, 120] and first["series"] == ["0", "2"]
    assert {*origins_of(task, 8)} == {0, 1, 2}


def test_years_alone_are_years_in_every_answer():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"year": np.arange(1990, 2030), "y": np.arange(40) % 5})
    task = Series(table, targets=["y"], time="year", horizon=2, split="60/20/20")
    network = network_for(task)
    made = forecast_after(network, task)
    assert made.times == [["2030", "2031"]] and made.rows()[0]["year"] == "2030"
    assert str(made.to_pandas()["year"][0]) == "2030-01-01 00:00:00"
    assert [one["times"] for one in backtest(network, task, 2).as_json()["origins"]] == [
        ["2022"], ["2028"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    "count, words",
    [
        (0, "must be a whole number of at least 1, got 0"),
        (2.5, "must be a whole number"),
        ("ten", "must be a whole number"),
        (21, "has room for 20 origins with a horizon of 5, got 21"),
        (10**9, "at most 10000 origins"),
    ],
)
def test_refuses(count, words):
    task = Series(VALUES[:120], horizon=5, split="60/20/20")
    with pytest.raises(BadInput, match=words):
        origins_of(task, count)
    none = Series(VALUES[:120], horizon=5, split="80/20/0")
    with pytest.raises(BadInput, match=r"room for 0 origins .* a larger share"):
        origins_of(none, 1)


@pytest.mark.parametrize("words", ["", "ets,", "ets,ets", "arima", ["naive"], "ETS", 3, [None]])
def test_unknown_yardsticks(words):
    with pytest.raises(BadInput, match="yardsticks"):
        checked_names(words)


def test_too_many_fits_are_refused():
    task = Series([VALUES] * 9, horizon=2, split="10/10/80")
    with pytest.raises(BadInput, match="ets, theta would be fitted 3600 times, at most 2000"):
        backtest(network_for(task), task, 100, "ets,theta")


def test_ets_and_theta_are_those_of_statsmodels():
    pytest.importorskip("statsmodels")
    import pandas as pd
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel
    from statsmodels.tsa.forecasting.theta import ThetaModel

    task = Series(VALUES[:, 0], horizon=2, season=12, quantiles=LEVELS, split="60/20/20")
    found = backtest(network_for(task), task, 1, "ets,theta")
    known = pd.Series(VALUES[:192, 0])
    ets = ETSModel(
        known, error="add", trend="add", damped_trend=True, seasonal="add", seasonal_periods=12
    ).fit(disp=False, maxiter=200)
    theta = ThetaModel(known, period=12).fit()
    for name, mean, low in (
        ("ets", ets.forecast(2), ets.get_prediction(192, 193).pred_int(0.2).iloc[:, 0]),
        ("theta", theta.forecast(2), theta.prediction_intervals(2, alpha=0.2).iloc[:, 0]),
    ):
        made = found.yardsticks[name].forecasts[0, :, 0]
        np.testing.assert_allclose(made[:, 1], mean, rtol=1e-6)
        np.testing.assert_allclose(made[:, 0], low, rtol=1e-6)
    flat = statistical("ets", np.ones(20), 3, None, LEVELS)
    assert (flat == 1).all()
    with pytest.raises(BadInput, match="theta needs at least 10 known steps, got 4"):
        statistical("theta", np.arange(4.0), 3, None, LEVELS)
