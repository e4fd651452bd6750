"""What a run says of its forecasts, and of data that are too few."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from ostinato.cli import app
from ostinato.errors import BadInput
from ostinato.runs import Config, backtest_run, examine, forecast_scores, open_run, train
from ostinato.runs.folder.events import opening

T = np.arange(300)
WAVES = np.stack([np.sin(T / 5), np.cos(T / 9)], axis=1)
WAVES += 0.2 * np.random.default_rng(0).normal(size=(300, 2))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forecasts")
    np.save(folder / "waves.npy", WAVES)
    config = Config(
        file=str(folder / "waves.npy"), target="2", horizon=3, season=57, conformal=True,
        quantiles="0.1,0.5,0.9", split="60/20/20", cell="gru", units=4, batch=4, length=10, steps=4
    )  # fmt: skip
    return train(config, folder / "run")


def told(*arguments):
    found = CliRunner().invoke(app, ["evaluate", *map(str, arguments)], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


def test_evaluate_says_by_step_by_series_and_from_origins(run):
    found = json.loads(told(run.path, "--backtest", 4, "--json"))
    scores = forecast_scores(run, "test")
    assert found["on"] == "test" and found["forecasts"]["by_step"] == scores["by_step"]
    assert len(scores["by_step"]) == 3 and [*scores["by_series"]] == ["0"]
    assert found["backtest"] == backtest_run(run, 4)
    assert found["metrics"]["MASE"] == pytest.approx(scores["overall"]["MASE"])
    assert "coverage of the 0.8 interval" in found["metrics"]
    assert "coverage of the calibrated 0.8 interval" in found["metrics"]
    lines = told(run.path, "--backtest", 4).split("\n")
    assert "steps ahead:" in lines and "all origins:" in lines
    (origins,) = [line for line in lines if line.startswith("forecast from step, the network is")]
    table = lines[lines.index(origins) + 1 :]
    assert table[0].split() == ["MAE", "MASE", "sMAPE", "CRPS", "coverage", "0.8", "width", "0.8"]
    assert [row.split()[0] for row in table[1:5]] == ["240", "259", "278", "297"]


@pytest.mark.parametrize(
    "options, words",
    [
        (["--yardsticks", "ets"], "--yardsticks are fitted at the origins of a backtest; add"),
        (["--backtest", "0"], "--backtest must be at least 1, got 0"),
        (["--backtest", "-3"], "--backtest must be at least 1, got -3"),
        (["--backtest", "99"], "room for 58 origins with a horizon of 3, got 99"),
        (["--backtest", "3", "--part", "valid"], "origins in the test part; leave out --part"),
        (["--backtest", "3", "--yardsticks", "arima"], "yardsticks are among ets, theta, got 'ar"),
        (["--backtest", "3", "--yardsticks", ""], "yardsticks are among ets, theta"),
    ],
)
def test_evaluate_refuses(run, options, words):
    with pytest.raises(BadInput, match=words) as refused:
        CliRunner().invoke(app, ["evaluate", str(run.path), *options], catch_exceptions=False)
    assert "\n" not in str(refused.value)


def test_a_run_that_forecasts_nothing_has_no_backtest(tmp_path):
    run = train(Config(task="adding", length=5, units=2, batch=4, steps=1), tmp_path / "run")
    with pytest.raises(BadInput, match="forecasts no series; it was trained on adding"):
        backtest_run(run)


def test_a_few_bytes_are_said_to_be_too_few(tmp_path):
    """Six bytes trained for a thousand steps without a word."""
    (tmp_path / "six.txt").write_text("abcabc")
    config = Config(file=str(tmp_path / "six.txt"), split="60/20/20", units=2, steps=1)
    run = train(config, tmp_path / "run")
    (note,) = opening(run.events())["notes"]
    assert note.startswith("the training part has 3 targets, fewer than one window of ")
    assert "too little data" in [finding.name for finding in examine(open_run(run.path))]
