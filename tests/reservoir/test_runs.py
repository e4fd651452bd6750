"""Reservoirs from the command line: fit, stop, resume, evaluate, forecast."""

import json
from functools import cache

import numpy as np
import pytest

from ostinato.report import run_page
from ostinato.runs import Config, open_run, train
from ostinato.tasks import MackeyGlass
from ostinato.tasks.series import systems

MACKEY = {
    "task": "mackey-glass", "samples": 2000, "washout": 100, "length": 100, "cell": "reservoir",
    "units": 60, "radius": 1.1, "leak": 0.5, "input_scaling": 0.5, "bias_scaling": 0.2,
}  # fmt: skip


def options(**settings):
    return [
        word
        for name, value in settings.items()
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]


def test_fits_forecasts_and_reports(ostinato, tmp_path, monkeypatch):
    monkeypatch.setattr(systems, "mackey_glass", cache(systems.mackey_glass))  # for four commands
    monkeypatch.setattr(run_page, "write_picture", lambda *_: None)  # which takes most of the time
    code, out, err = ostinato("train", *options(**MACKEY, learner="ridge", run="one"))
    assert code == 0, err
    run = open_run(tmp_path / "one")
    assert run.events()[-1]["step"] == 10  # one epoch of windows
    network = run.network()
    assert network.readout.V.dtype == np.float64
    code, out, err = ostinato("evaluate", "one", "--part", "test", "--json")
    found = json.loads(out)
    assert found["metric"] == "NRMSE" and found["value"] < 0.01
    assert found["metrics"]["NRMSE84"] < 0.2
    code, out, err = ostinato("lens", "one")
    assert code == 0 and "No finding" in out, out + err
    page = (tmp_path / "one" / "report.html").read_text()
    assert 'data-chart="reservoir-spectrum"' in page and "All 60 eigenvalues" in page
    assert 'data-chart="rate"' not in page, "ridge has no learning rate"
    series = run.task().series[0]
    np.save(tmp_path / "x.npy", series[:500])
    code, out, err = ostinato("apply", "one", "x.npy", "--steps", "30", "--json")
    assert code == 0, err
    forecast = np.array(json.loads(out)["forecast"])
    np.testing.assert_allclose(forecast, series[500:530], atol=0.05)


@pytest.mark.parametrize("learner", ["ridge", pytest.param("rls", marks=pytest.mark.slow)])
def test_resumes_to_the_same_numbers(learner, tmp_path):
    config = Config(**MACKEY, learner=learner, checkpoint_every=1)
    whole = train(config, tmp_path / "whole").network("last")
    train(config.replace(steps=4), tmp_path / "parts")
    parts = train(config, tmp_path / "parts", resume=True).network("last")
    np.testing.assert_array_equal(whole.readout.V, parts.readout.V)


@pytest.mark.slow
def test_any_learner_trains_the_readout_alone(tmp_path):
    config = Config(**MACKEY, learner="adam", steps=30, batch=2, readout_units=8)
    run = train(config, tmp_path / "run")
    events = [event["value"] for event in run.events() if event["kind"] == "valid"]
    assert events[-1] < 0.9
    before = Config(**MACKEY, learner="adam", steps=2, batch=2, readout_units=8)
    other = train(before, tmp_path / "other")
    assert np.array_equal(run.network().cell.W, other.network().cell.W)


@pytest.mark.slow
def test_deep_with_an_expansion(tmp_path):
    config = Config(
        **{**MACKEY, "units": 30}, layers=2, skip=True, expand="quadratic", learner="ridge"
    )
    run = train(config, tmp_path / "run")
    assert run.network().readout.V.shape == (1 + 2 * 60, 1)
    assert run.events()[-1]["best"] < 0.02


def test_washout_does_not_count():
    task = MackeyGlass(samples=1000, washout=70, length=50)
    counted = [task.batch(n, 1).weights.sum() for n in range(3)]
    assert counted == [0, 30, 50]
    total = sum(batch.weights.sum() for batch in task.held_out("valid", 32))
    assert total == 200 - 1 - 70


def test_a_run_of_nothing_but_washout_is_refused(ostinato, tmp_path):
    """Its readout would stay as it was initialised."""
    words = options(**MACKEY, learner="ridge", steps=1, run="one")
    code, _, err = ostinato("train", *words)
    assert code != 0 and err.count("\n") == 1
    assert "no target counts in a single batch of 100 steps; give more --steps" in err
    assert not (tmp_path / "one").exists()


@pytest.mark.slow
def test_output_feedback_from_the_command_line(ostinato):
    words = {**MACKEY, "task": "narma10", "input_scaling": 0.1, "samples": 1500, "strength": 0.01}
    code, _, err = ostinato(
        "train", *options(**words, learner="ridge", run="one"), "--output-feedback"
    )
    assert code == 0, err
    code, out, err = ostinato("evaluate", "one", "--json")
    assert 0 < json.loads(out)["value"] < 1
    code, _, err = ostinato("apply", "one", "x.npy")
    assert code != 0 and "forecasts nothing" in err
