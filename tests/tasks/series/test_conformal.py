"""Conformal calibration: coverage of exchangeable data, and what it sees."""

import json
import math

import jax
import numpy as np
import pytest

from ostinato.cells import GRU
from ostinato.errors import BadInput
from ostinato.runs import Config, evaluate, open_run, train
from ostinato.tasks import Series
from ostinato.tasks.series.conformal import Conformal, calibrated, interval_levels, rank_of
from ostinato.tasks.series.continuing import forecasts_at_each
from ostinato.tasks.series.forecast_scores import Hindcasts, hindcasts
from ostinato.wiring import Network, Readout
from untrained import untrained_run

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def made_of(came, forecasts, levels):
    count = len(came)
    return Hindcasts(levels, forecasts, came, np.zeros(count, int), np.ones((count, came.shape[2])))


def covers(values, came, pair=0):
    return (values[..., pair] <= came) & (came <= values[..., -1 - pair])


@pytest.mark.parametrize("count", [19, 50, 200])
@pytest.mark.parametrize("levels", [LEVELS, (None,)], ids=["quantiles", "mean"])
def test_exchangeable_data_are_covered_as_promised(levels, count):
    """Wrong forecasts, of two columns and two steps: on average at least the nominal share."""
    rng = np.random.default_rng(count)
    inside, trials, new = np.zeros(2), 300, 40
    for _ in range(trials):
        came = rng.gamma(1.5, size=(count + new, 2, 2)) * [1.0, 50.0]
        shape = (*came.shape, len(levels))
        forecasts = np.sort(np.abs(rng.normal(size=shape)), axis=-1) * 0.3
        known = made_of(came[:count], forecasts[:count], levels)
        wider = calibrated(known, 0.9)
        values = wider(forecasts[count:])
        assert (np.diff(values, axis=-1) >= 0).all()
        shares = [covers(values, came[count:]).mean(), covers(values, came[count:], 1).mean()]
        inside += shares
    for share, nominal in zip(inside / trials, (0.9, 0.5), strict=True):
        if nominal == 0.5 and levels == (None,):
            continue
        # Each trial is a draw from a Beta distribution, of the variance below.
        error = math.sqrt(nominal * (1 - nominal) * (1 / (count + 2) + 1 / new) / trials)
        assert nominal - 4 * error <= share <= nominal + 1 / (count + 1) + 4 * error


def test_the_quantile_is_the_one_of_a_finite_sample():
    assert rank_of(9, 0.8) == 8 and rank_of(10, 0.8) == 9 and rank_of(4, 0.9 - 0.1) == 4
    came = np.arange(10.0).reshape(10, 1, 1)
    found = calibrated(made_of(came, np.zeros((10, 1, 1, 1)), (None,)), 0.8)
    assert found.levels == (0.1, None, 0.9) and found.moved.item() == 8.0
    assert interval_levels((None,), 0.95) == (0.025, None, 0.975)


def test_an_interval_that_is_too_wide_becomes_narrower_but_keeps_its_middle():
    came = np.zeros((30, 1, 1))
    wide = np.tile([-9.0, -4.0, 0.5, 4.0, 9.0], (30, 1, 1, 1))
    values = calibrated(made_of(came, wide, LEVELS), 0.8)(wide)[0].ravel()
    assert values[2] == 0.5 and values[0] <= values[1] <= 0.5 <= values[3] <= values[4]
    assert (values[:2] <= 0).all() and values[4] < 1


# In a run

T = np.arange(400)
WAVE = np.sin(T / 7) + 0.3 * np.random.default_rng(1).normal(size=400)


def network_for(task):
    keys = jax.random.split(jax.random.key(0))
    return Network(GRU(task.inputs, 4, key=keys[0]), Readout(4, task.outputs, key=keys[1]))


@pytest.mark.parametrize("quantiles", [None, (0.1, 0.5, 0.9)])
def test_a_run_keeps_its_calibration_and_uses_it(tmp_path, quantiles):
    np.save(tmp_path / "x.npy", WAVE)
    words = {} if quantiles is None else {"quantiles": "0.1,0.5,0.9"}
    config = Config(
        file=str(tmp_path / "x.npy"), horizon=2, conformal=True, split="50/25/25", cell="gru",
        units=4, batch=4, length=10, steps=3, **words
    )  # fmt: skip
    run = train(config, tmp_path / "run")
    assert run.artefacts == open_run(run.path).artefacts and "conformal" in run.artefacts
    task = run.task()
    middle = 0.5 if quantiles else None
    assert task.levels == (0.1, middle, 0.9)
    raw = hindcasts(run.network(), task, "valid", calibrated=False)
    assert calibrated(raw, 0.8).as_json() == run.artefacts["conformal"]
    values = forecasts_at_each(run.network(), task, task.series[0])
    assert values.shape == (400, 2, 1, 3) and (values[..., 0] < values[..., 2]).all()
    found = task.scores(run.network(), "valid")
    assert 0.8 <= found["coverage of the calibrated 0.8 interval"] <= 0.82
    if quantiles is None:  # resumed, it is calibrated anew, on the new best network
        again = train(config.replace(steps=6), run.path, resume=True)
        raw = hindcasts(again.network(), task, "valid", calibrated=False)
        assert again.artefacts["conformal"] == calibrated(raw, 0.8).as_json()


def test_a_run_of_a_series_in_memory_uses_its_calibration(tmp_path):
    def waves():
        return Series(WAVE, horizon=2, conformal=True, split="50/25/25", length=10)

    run = untrained_run(Config(cell="gru", units=4), tmp_path / "run", waves())
    found, again = run.evaluate("test"), evaluate(run, "test", task=waves())
    assert "coverage of the calibrated 0.8 interval" in found and found == again
    assert "width of the calibrated 0.8 interval" in run.backtest(3)["overall"]


def test_calibration_sees_the_validation_part_alone():
    first = Series(WAVE, horizon=2, conformal=True, split="50/25/25")
    network, before = network_for(first), None
    for change in (None, "test", "train", "valid"):
        values = WAVE.copy()
        place = {"train": slice(10, 20), "valid": slice(210, 220), "test": slice(310, 320)}
        if change is not None:
            values[place[change]] += 5
        task = Series(
            values, horizon=2, conformal=True, split="50/25/25", artefacts=first.artefacts()
        )
        kept = json.dumps(task.after_training(lambda: network))
        if change is None:
            before = kept
        assert (kept == before) == (change != "valid")


@pytest.mark.parametrize(
    "options, words",
    [
        ({"split": "90/0/10"}, "conformal calibrates on the validation part, and there is none"),
        ({"quantiles": (0.5,)}, "one quantile is none; name two or more"),
        ({"coverage": 0.999}, "cover 0.999 need at least 999 validation targets, and there are 19"),
        ({"quantiles": (0.01, 0.99)}, "cover 0.98 need at least 49 validation targets"),
        ({"coverage": 0.9, "quantiles": (0.1, 0.9)}, "quantiles say it already"),
        ({"coverage": 0.9, "conformal": False}, "coverage is of conformal intervals .* add conf"),
        ({"coverage": 1.0}, "coverage must be at most 0.999, got 1"),
        ({"ys": (WAVE > 0).astype(int)}, "conformal is of forecasts"),
    ],
)
def test_refuses(options, words):
    with pytest.raises(BadInput, match=words) as refused:
        Series(WAVE, **{"conformal": True, **options})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "kept",
    [
        None,
        {},
        {"levels": [0.1, 0.5, 0.9], "moved": [[1.0]]},
        {"levels": [0.1, None, 0.9], "moved": [[1.0], [2.0]]},
        {"levels": [0.1, None, 0.9], "moved": [[float("nan")]]},
        {"levels": [0.9, None, 0.1], "moved": [[1.0]]},
        {"levels": [0.1, None, "a"], "moved": [[1.0]]},
        {"levels": [0.1, None, 0.9], "moved": [[1.0, 2.0]]},
        {"levels": [0.1, None, 0.9], "moved": 3},
        {"levels": 0.8, "moved": [[1.0]]},
    ],
    ids=str,
)
def test_what_a_folder_holds_is_checked(kept):
    with pytest.raises(ValueError):
        Conformal.from_json(kept, 1, 1, None)
    good = {"levels": [0.1, None, 0.9], "moved": [[1.0]]}
    assert Conformal.from_json(good, 1, 1, None).as_json() == good
