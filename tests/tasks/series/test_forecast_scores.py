"""Errors of forecasts: by formulas in plain NumPy, by numerical integration, by step and series."""

import jax
import numpy as np
import pytest

from ostinato.cells import GRU
from ostinato.runs.analysis.evaluation import measured
from ostinato.tasks import Series
from ostinato.tasks.series.forecast_scores import Hindcasts, hindcasts, naive_scales
from ostinato.wiring import Network, Readout

RNG = np.random.default_rng(0)
VALUES = np.cumsum(RNG.normal(size=(300, 2)), axis=0) + 20
LEVELS = (0.1, 0.5, 0.9)


def network_for(task, units=4):
    keys = jax.random.split(jax.random.key(0))
    return Network(GRU(task.inputs, units, key=keys[0]), Readout(units, task.outputs, key=keys[1]))


def mase(came, point, training, season):
    """As sktime's `MeanAbsoluteScaledError(sp=season)` has it."""
    naive = np.mean(np.abs(training[season:] - training[:-season]))
    return np.mean(np.abs(came - point)) / naive


def smape(came, point):
    """As Darts' `smape` has it."""
    return 200 * np.mean(np.abs(came - point) / (np.abs(came) + np.abs(point)))


@pytest.mark.parametrize("season", [None, 7])
def test_mase_and_smape_by_the_formulas_of_others(season):
    task = Series(VALUES[:, 0], horizon=3, season=season, split="60/20/20")
    made = hindcasts(network_for(task), task, "test")
    now = np.arange(240, 297)
    came = np.stack([VALUES[now + k, 0] for k in (1, 2, 3)], axis=1)
    np.testing.assert_allclose(made.came[..., 0], came, rtol=1e-5)
    point = made.forecasts[..., 0, 0]
    found = made.metrics()
    assert found["MASE"] == pytest.approx(mase(came, point, VALUES[:180, 0], season or 1), rel=1e-4)
    assert found["sMAPE"] == pytest.approx(smape(came, point), rel=1e-4)
    assert found["CRPS"] == found["mean absolute error"]  # of a point
    for k, ahead in enumerate(made.by_step()):
        assert ahead["sMAPE"] == pytest.approx(smape(came[:, k], point[:, k]), rel=1e-4)


def test_crps_by_numerical_integration():
    """With many levels it is the integral of the squared difference of two distributions."""
    levels = tuple((np.arange(400) + 0.5) / 400)
    sample = np.sort(RNG.gamma(2.0, size=400))
    for y in (0.2, 1.5, 6.0):
        made = Hindcasts(
            levels,
            sample.reshape(1, 1, 1, -1),
            np.full((1, 1, 1), y),
            np.zeros(1, int),
            np.ones((1, 1)),
        )
        grid = np.linspace(0, 15, 300_001)
        below = np.searchsorted(sample, grid, side="right") / 400
        expected = np.trapezoid((below - (y <= grid)) ** 2, grid)
        assert made.metrics()["CRPS"] == pytest.approx(expected, rel=2e-3)


def test_details_add_up_to_the_metrics_of_an_evaluation():
    several = [VALUES[:90], VALUES[90:200], VALUES[200:]]
    task = Series(several, horizon=4, quantiles=LEVELS, targets=[1], split="60/20/20", length=9)
    network = network_for(task)
    made = hindcasts(network, task, "valid")
    values = dict(
        zip(
            [m.name for m in task.metrics],
            measured(network, task.evaluated("valid"), task.metrics),
            strict=True,
        )
    )
    found = made.metrics()
    for name in ("coverage of the 0.8 interval", "mean absolute error"):
        assert found[name] == pytest.approx(values[name], rel=1e-5)
        parts = [one[name] for one in made.by_step()]
        assert np.mean(parts) == pytest.approx(found[name], rel=1e-6)
        counts = np.bincount(made.series)
        parts = [one[name] for one in made.by_series().values()]
        assert np.average(parts, weights=counts) == pytest.approx(found[name], rel=1e-6)
    assert found["CRPS"] < 2 * values["pinball loss"]  # its quantiles do not cross
    extra = task.scores(network, "valid")
    assert [*extra] == ["MASE", "sMAPE", "CRPS", "width of the 0.8 interval"]
    counts = np.array([len(x) // 5 for x in several]) - 4
    assert np.bincount(made.series).tolist() == counts.tolist()


def test_missing_values_do_not_count():
    values = VALUES.copy()
    values[[250, 270], 0] = np.nan
    task = Series(values, horizon=2, targets=[0], missing="mask", split="60/20/20")
    made = hindcasts(network_for(task), task, "test")
    assert made.count == 2 * (60 - 2 - 4) and all(x is not None for x in made.metrics().values())


def test_scales_are_of_the_training_part_alone_and_nothing_is_divided_by_zero():
    x = np.concatenate([np.ones((50, 1)), RNG.normal(size=(50, 1))])
    assert np.isnan(naive_scales([x], [slice(0, 50)], [0], 1)).all()
    flat = Series(x, split="50/25/25")
    assert hindcasts(network_for(flat), flat, "valid").metrics()["MASE"] is None
    zero = np.zeros((3, 1, 1))
    made = Hindcasts((None,), zero[..., None], zero, np.zeros(3, int), np.full((3, 1), np.nan))
    assert made.metrics() == {"mean absolute error": 0, "MASE": None, "sMAPE": 0, "CRPS": 0}
    changed = VALUES.copy()
    changed[180:] = 0
    one, two = (naive_scales([x], [slice(0, 180)], [0, 1], 7) for x in (VALUES, changed))
    assert np.array_equal(one, two)


def test_another_file_has_no_training_part_to_compare_with(tmp_path):
    np.save(tmp_path / "x.npy", VALUES)
    task = Series(VALUES, horizon=2)
    other = Series.on_file(tmp_path / "x.npy", task.settings, task.artefacts())
    found = other.scores(network_for(task), "test")
    assert found["MASE"] is None and found["sMAPE"] > 0
