"""Forecasts: closed loop, quantiles, naive yardsticks."""

import dataclasses
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.cells import GRU, LSTM
from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.losses import Pinball
from ostinato.metrics import Coverage, PinballInUnits
from ostinato.settings import make
from ostinato.tasks import Series, closed_loop, drawn_paths
from ostinato.tasks.applying import ApplyOptions
from ostinato.tasks.series.continuing import _side_by_side, forecasts_at_each
from ostinato.tasks.series.naive_forecasts import filled, naive
from ostinato.tasks.series.quantiles import MedianError, levels_of, pinball, sorted_quantiles
from ostinato.testing import check_task
from ostinato.wiring import Bidirectional, Network, Readout, outputs_of

T, SEASON = 240, 12
TIME = np.arange(T)
RNG = np.random.default_rng(5)
VALUES = np.stack(
    [
        10 * np.sin(2 * np.pi * TIME / SEASON) + RNG.normal(size=T),
        100 + TIME + RNG.normal(size=T),
    ],
    axis=1,
)
LEVELS = (0.1, 0.5, 0.9)


def network_for(task, units=6, seed=0):
    keys = jax.random.split(jax.random.key(seed))
    return Network(GRU(task.inputs, units, key=keys[0]), Readout(units, task.outputs, key=keys[1]))


# Yardsticks


@pytest.mark.parametrize("season", [1, 3, 12])
def test_naive_forecasts_by_a_loop(season):
    horizon, found = 7, naive(VALUES, 7, season)
    assert found.shape == (T, horizon * 2)
    for t in (0, 2, 11, 12, 100, T - 1):
        for k in range(1, horizon + 1):
            earlier = t + k - season
            while earlier > t:
                earlier -= season
            expected = VALUES[earlier if earlier >= 0 else t]
            assert np.array_equal(found[t].reshape(horizon, 2)[k - 1], expected)


def test_gaps_are_filled_with_the_last_value():
    values = np.array([[np.nan, 1.0], [2.0, np.nan], [np.nan, np.nan], [4.0, 5.0]])
    expected = [[9.0, 1.0], [2.0, 1.0], [2.0, 1.0], [4.0, 5.0]]
    assert filled(values, np.array([9.0, 8.0])).tolist() == expected


@pytest.mark.parametrize("part, begin", [("valid", 192), ("test", 216)])
def test_seasonal_naive_looks_before_the_part(part, begin):
    task = Series(VALUES, targets=[0], horizon=2, season=SEASON, split=(0.8, 0.1, 0.1))
    now = np.arange(begin, begin + 22)
    errors = [VALUES[now + k, 0] - VALUES[now + k - SEASON, 0] for k in (1, 2)]
    found = task.yardsticks(part)
    assert found["seasonal naive"] == pytest.approx(np.mean(np.square(errors)), rel=1e-4)
    assert found["seasonal naive"] < found["persistence"] < task.chance * 3
    if part == "valid":
        assert task.baselines() == {"chance": task.chance, **found}


def test_yardsticks_of_several_series_and_of_another_file(tmp_path):
    several = Series([VALUES[:100, 0], VALUES[100:, 0]], season=SEASON)
    errors = [VALUES[t, 0] - VALUES[t - SEASON, 0] for t in (*range(91, 95), *range(227, 233))]
    assert len(several.parts["valid"].there) == len(errors)
    expected = np.mean(np.square(errors))
    assert several.yardsticks("valid")["seasonal naive"] == pytest.approx(expected, rel=1e-4)

    np.save(tmp_path / "x.npy", VALUES[:, 0])
    settings = make(Series.Settings, {"season": SEASON, "quantiles": "0.1,0.5,0.9"})
    trained = Series(VALUES[:150, 0], season=SEASON, quantiles=LEVELS)
    other = Series.on_file(tmp_path / "x.npy", settings, trained.artefacts())
    assert set(other.yardsticks("test")) == {"persistence", "seasonal naive"}
    assert other.artefacts()["naive_errors"] == trained.artefacts()["naive_errors"]
    assert other.answers == trained.answers
    np.save(tmp_path / "short.npy", VALUES[:8, 0])
    short = Series.on_file(tmp_path / "short.npy", settings, trained.artefacts())
    assert all(np.isfinite(list(short.yardsticks("test").values())))


def test_nothing_to_forecast_has_no_yardsticks():
    labels = Series(VALUES, (VALUES[:, 0] > 0).astype(int))
    assert labels.yardsticks("valid") == {} and set(labels.baselines()) == {"chance"}
    for quantiles in (None, LEVELS):
        empty = Series(VALUES, quantiles=quantiles, split=(1, 0, 0))
        assert empty.yardsticks("valid") == {}


# Quantiles


def test_the_pinball_loss_by_a_loop():
    rng = np.random.default_rng(0)
    outputs, targets = rng.normal(size=(4, 2, 6)), rng.normal(size=(4, 2, 2))
    expected = np.zeros((4, 2))
    for t, b, n, q in np.ndindex(4, 2, 2, 3):
        apart = targets[t, b, n] - outputs[t, b, n * 3 + q]
        expected[t, b] += LEVELS[q] * apart if apart > 0 else (LEVELS[q] - 1) * apart
    with jax.enable_x64(True):
        np.testing.assert_allclose(Pinball(LEVELS).at(outputs, targets), expected, rtol=1e-12)
        weights = rng.random((4, 2))
        batch = Batch(outputs, targets, weights)
        gradient = jax.grad(Pinball(LEVELS))(jnp.asarray(outputs), batch)
        for place in [(0, 0, 0), (3, 1, 5), (2, 0, 1)]:
            step = np.zeros_like(outputs)
            step[place] = 1e-6
            sides = [Pinball(LEVELS)(jnp.asarray(outputs + s * step), batch) for s in (1, -1)]
            slope = float(sides[0] - sides[1]) / 2e-6
            assert float(gradient[place]) == pytest.approx(slope, rel=1e-6)
        product = Pinball(LEVELS).hessian(outputs, batch)(rng.normal(size=outputs.shape))
        assert not np.any(product)


def test_the_loss_is_smallest_at_the_quantiles():
    targets = np.sort(np.random.default_rng(1).exponential(size=1001))[:, None]
    at_best = np.quantile(targets, LEVELS)

    def loss(outputs):
        return float(jnp.mean(pinball(jnp.broadcast_to(outputs, (1001, 3)), targets, LEVELS)))

    for n in range(3):
        for change in (-0.05, 0.05):
            assert loss(at_best + change * np.eye(3)[n]) > loss(at_best)


def test_quantile_metrics():
    targets = jnp.array([[[1.0, 2.0]], [[3.0, 10.0]]])
    outputs = jnp.tile(jnp.array([0.0, 2.0, 4.0]), 2) * jnp.ones((2, 1, 6))
    batch, factors = Batch(None, targets, jnp.ones((2, 1))), (10.0, 1.0)

    def value(metric):
        return metric.value(metric.counts(outputs, batch))

    assert value(Coverage(LEVELS)) == 0.75
    assert value(MedianError(LEVELS, factors)) == pytest.approx((10 + 0 + 10 + 8) / 4)
    apart = np.asarray(targets)[..., None] - np.array([0.0, 2.0, 4.0])
    losses = np.maximum(np.array(LEVELS) * apart, (np.array(LEVELS) - 1) * apart).mean(axis=-1)
    expected = (losses * factors).mean()
    assert value(PinballInUnits(LEVELS, factors)) == pytest.approx(expected, rel=1e-6)
    same = PinballInUnits(LEVELS, (7.0, 7.0))
    loss = float(Pinball(LEVELS)(outputs, batch))
    assert value(same) == pytest.approx(same.loss_factor * loss, rel=1e-6)
    assert PinballInUnits(LEVELS, factors).loss_factor is None


def test_a_series_of_quantiles():
    task = Series(VALUES, horizon=4, quantiles=LEVELS, season=SEASON, length=20)
    assert task.outputs == 4 * 2 * 3 and task.batch(0, 3).targets.shape == (20, 3, 8)
    names = [metric.name for metric in task.metrics]
    assert names == ["pinball loss", "coverage of the 0.8 interval", "mean absolute error"]
    later = np.concatenate([VALUES[k : 212 + k] for k in (1, 2, 3, 4)], axis=1)
    apart = later[:, :, None] - np.quantile(later, LEVELS, axis=0).T
    losses = np.maximum(np.array(LEVELS) * apart, (np.array(LEVELS) - 1) * apart)
    assert task.chance == pytest.approx(losses.mean(), rel=1e-6)
    assert task.baselines()["seasonal naive"] < task.baselines()["persistence"]
    again = json.loads(json.dumps(task.artefacts()))
    assert Series(VALUES, horizon=4, quantiles=LEVELS, artefacts=again).answers == task.answers


def test_yardsticks_of_quantiles_cover_what_they_should():
    """The errors of the training part, added to its own forecasts, cover 80 % of it."""
    task = Series(VALUES[:, 0], quantiles=LEVELS, season=SEASON)
    (cuts,) = task.rows.cuts
    task.parts, cuts["valid"] = {**task.parts, "valid": task.parts["train"]}, cuts["train"]
    task.metrics = (Coverage(LEVELS),)
    assert task.yardsticks("valid") == pytest.approx(
        {"persistence": 0.8, "seasonal naive": 0.8}, abs=0.01
    )


@pytest.mark.parametrize(
    "options", [{}, {"quantiles": (0.5,)}, {"missing": "mask"}, {"conformal": True}], ids=str
)
def test_conforms(options):
    values = VALUES.copy()
    if "missing" in options:
        values[[20, 225], 0] = np.nan
    check_task(
        Series(values, horizon=2, length=10, **{"quantiles": LEVELS, "season": SEASON, **options})
    )


def test_preview_shows_quantiles_and_the_season():
    task = Series(VALUES, quantiles=(0.25, 0.75), season=SEASON, length=9)
    lines = task.preview(network_for(task), jax.random.key(0)).split("\n")
    assert [line[:10].strip() for line in lines[1:]] == ["actual", "25 %", "75 %", "seasonal"]
    assert all(len(line) == 19 for line in lines[1:])


@pytest.mark.parametrize(
    "options, words",
    [
        ({"quantiles": ()}, "quantiles must rise between 0 and 1, got "),
        ({"quantiles": (0.5, 0.1)}, "quantiles must rise between 0 and 1, got 0.5, 0.1"),
        ({"quantiles": (0.0, 0.5)}, "must rise between 0 and 1"),
        ({"quantiles": (0.5, 0.5)}, "must rise between 0 and 1"),
        ({"quantiles": (float("nan"),)}, "must rise between 0 and 1"),
        ({"quantiles": "half"}, "quantiles must read like 0.1,0.5,0.9, got half"),
        ({"season": 0}, "season must be at least 1, got 0"),
        ({"season": T}, "a season of 240 steps does not fit into a series of 240"),
    ],
)
def test_refuses(options, words):
    with pytest.raises(BadInput, match=words):
        Series(VALUES, **options)


def test_settings(tmp_path):
    np.save(tmp_path / "x.npy", VALUES)
    given = {"file": str(tmp_path / "x.npy"), "quantiles": "0.05, 0.95", "season": 12}
    task = Series.from_settings(make(Series.Settings, given), seed=0)
    assert task.quantiles == (0.05, 0.95) and task.season == 12 and task.outputs == 4
    for words in ("a,b", "0.5,,0.9", "0.9,0.1", ""):
        with pytest.raises(BadInput, match="quantiles must"):
            make(Series.Settings, {"quantiles": words})
    for name in ("quantiles", "season"):
        labels = {"file": given["file"], name: given[name], "kind": "regression", "target": "1"}
        with pytest.raises(BadInput, match=f"{name} is of forecasts; leave it out with kind reg"):
            Series.from_settings(make(Series.Settings, labels), seed=0)
    assert levels_of("0.5") == (0.5,)


# Closed loop


def rolled(network, task, history, steps):
    """The same by reading everything again for each step."""
    series = np.array(history, float).reshape(len(history), -1)
    for _ in range(steps):
        inputs = task.scaler(series)[:, None]
        outputs, _ = outputs_of(network, Batch(inputs, None, np.ones(inputs.shape[:2])))
        scaled = np.asarray(task.answers.centre(outputs), float)[-1, 0, : len(task.names)]
        row = np.empty(len(task.names))
        row[task.targets] = scaled
        units = row * np.array(task.scaler.factor) + np.array(task.scaler.shift)
        series = np.concatenate([series, units[None]])
    return series[len(history) :]


@pytest.mark.parametrize(
    "options",
    [{}, {"horizon": 2, "quantiles": (0.2, 0.6), "targets": [1, 0]}],
    ids=str,
)
def test_closed_loop_equals_reading_everything_again(options):
    task = Series(VALUES, **options)
    network = network_for(task)
    found = closed_loop(network, task, VALUES[:40], 3)
    np.testing.assert_allclose(found, rolled(network, task, VALUES[:40], 3), rtol=1e-4)


def test_drawn_paths_are_of_the_distribution_that_is_forecast():
    """The first step has the network's quantiles; the next reads what was drawn, path by path."""
    levels = (0.2, 0.5, 0.9)
    task = Series(VALUES, horizon=2, quantiles=levels, targets=[1, 0])
    network = network_for(task)
    found = drawn_paths(network, task, VALUES[:40], 2, paths=4000, seed=3)
    again = drawn_paths(network, task, VALUES[:40], 2, paths=4000, seed=3)
    assert found.shape == (4000, 2, 2) and np.array_equal(found, again)
    expected = forecasts_at_each(network, task, VALUES[:40])[-1, 0]  # (targets, levels)
    made = np.quantile(found[:, 0, [1, 0]], levels, axis=0).T
    width = np.ptp(expected, axis=1, keepdims=True)
    np.testing.assert_allclose((made - expected) / width, 0, atol=0.06)
    read = np.concatenate([VALUES[:40], found[7, :1]])
    lowest, highest = np.moveaxis(forecasts_at_each(network, task, read)[-1, 0], 1, 0)[[0, -1]]
    spread = highest - lowest  # straight lines end less than that beyond the outer levels
    assert (lowest - spread < found[7, 1, [1, 0]]).all()
    assert (found[7, 1, [1, 0]] < highest + spread).all()
    outputs = jnp.asarray(np.random.default_rng(0).normal(size=(5, 12)), jnp.float32)
    for n, level in enumerate(levels):
        known = task.answers.drawn(outputs, jnp.full((5, 4), level))
        np.testing.assert_allclose(known, sorted_quantiles(outputs, levels)[..., n], rtol=1e-5)
    with pytest.raises(BadInput, match="drawn from quantiles"):
        drawn_paths(network_for(Series(VALUES)), Series(VALUES), VALUES[:40], 2)


def test_closed_loop_with_gaps():
    values = VALUES.copy()
    values[[20, 33], 0] = np.nan
    task = Series(values, missing="mask")
    network = network_for(task)
    found = closed_loop(network, task, values[:40], 2)
    np.testing.assert_allclose(found, rolled(network, task, values[:40], 2), rtol=1e-4)


def test_closed_loop_follows_a_rotation():
    """A linear network that turns (sin, cos) by an angle goes on for ever."""
    angle = 0.3
    wave = np.stack([np.sin(angle * TIME), np.cos(angle * TIME)], axis=1)
    task = Series(wave, scale=False)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    network = network_for(task, units=2)

    class Through(type(network.cell)):
        def inputs(self, x):
            return x

        def step(self, state, u):
            return state, u

    cell = Through(2, 2, key=jax.random.key(0))
    network = eqx.tree_at(lambda n: (n.cell, n.readout.V), network, (cell, jnp.asarray(turn)))
    found = closed_loop(network, task, wave[:5], 30)
    np.testing.assert_allclose(found, wave[5:35], atol=1e-4)


def test_closed_loop_refuses():
    task = Series(VALUES)
    network = network_for(task)
    for arguments, words in [
        ((network, Series(VALUES, VALUES[:, 0]), VALUES, 3), "needs forecasts"),
        ((network, task, VALUES[:, 0], 3), r"the history must be \(T, 2\), got \(240,\)"),
        ((network, task, VALUES[:0], 3), "must be"),
        ((network, task, np.array([["a", "b"]]), 3), "must be"),
        ((network, task, np.where(TIME[:, None] == 7, np.nan, VALUES), 3), "step 7, column '1' of"),
        ((network, task, VALUES, 0), "steps of a forecast must be"),
    ]:
        with pytest.raises(BadInput, match=words) as found:
            closed_loop(*arguments)
        assert "\n" not in str(found.value)
    both = Bidirectional(LSTM(2, 3, key=jax.random.key(0)), LSTM(2, 3, key=jax.random.key(1)))
    future = Network(both, Readout(6, 2, key=jax.random.key(2)))
    with pytest.raises(BadInput, match="a network with a step"):
        closed_loop(future, task, VALUES, 3)


# After the end of a file


def test_what_comes_after_a_file(tmp_path):
    np.save(tmp_path / "x.npy", VALUES)
    given = {"horizon": 3, "target": "2", "quantiles": "0.1,0.9"}
    settings = make(Series.Settings, {"file": str(tmp_path / "x.npy"), **given})
    task = Series.from_settings(settings, seed=0)
    network = network_for(task)
    how = ApplyOptions(tmp_path / "x.npy", settings, task.artefacts())
    (found,) = Series.apply(network, how)
    inputs = task.scaler(VALUES)[:, None]
    outputs, _ = outputs_of(network, Batch(inputs, None, np.ones(inputs.shape[:2])))
    expected = np.sort(np.asarray(outputs)[-1, 0].reshape(3, 2))  # the lower quantile first
    expected = expected * task.scaler.factor[1] + task.scaler.shift[1]
    np.testing.assert_allclose(found["forecast"], expected, rtol=1e-4)
    assert found["columns"] == ["2 0.1", "2 0.9"]
    assert found["text"].split("\n")[0] == "step,2 0.1,2 0.9" and found["text"].count("\n") == 3
    labels = make(Series.Settings, {"kind": "regression", "target": "1"})
    for other, words in [
        ({"given": None}, "it is not read from standard input"),
        ({"settings": labels}, "it forecasts nothing"),
    ]:
        with pytest.raises(BadInput, match=words):
            next(Series.apply(network, dataclasses.replace(how, **other)))


def test_growing_series_are_forecast_by_few_compiled_programs():
    """They are lengthened, which changes nothing."""
    steps = {len(_side_by_side([np.zeros((n, 1))]).inputs) for n in range(1, 1001)}
    assert len(steps) == 20 and max(steps) == 1024
    assert len(_side_by_side([np.zeros((20_001, 1))]).inputs) == 20_001
    task = Series(VALUES, targets=[0], horizon=2)
    network, x = network_for(task), task.series[0]
    every = forecasts_at_each(network, task, x[:24])
    for n in (13, 17, 23):
        np.testing.assert_allclose(forecasts_at_each(network, task, x[:n]), every[:n], rtol=1e-6)
        loop = closed_loop(network, task, x[:n], 3)
        np.testing.assert_allclose(loop[0, 0], every[n - 1, 0, 0, 0], rtol=1e-6)
