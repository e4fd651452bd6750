"""What a run says of its forecasts, and of data that are too few."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from ostinato.cli import app
from ostinato.cli.evaluate import numbers_alike, origin_in_words
from ostinato.errors import BadInput
from ostinato.runs import Config, Run, backtest_run, examine, forecast_scores, open_run, train
from ostinato.runs.folder.events import opening
from untrained import untrained_run

DAYS = np.datetime64("2023-11-16") + np.arange(60)
T = np.arange(300)
WAVES = np.stack([np.sin(T / 5), np.cos(T / 9)], axis=1)
WAVES += 0.2 * np.random.default_rng(0).normal(size=(300, 2))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forecasts")
    np.save(folder / "waves.npy", WAVES)
    config = Config(
        file=str(folder / "waves.npy"), target="2", horizon=3, season=57, conformal=True,
        quantiles="0.1,0.5,0.9", split="60/20/20", cell="gru", units=4, batch=4, length=10
    )  # fmt: skip
    return untrained_run(config, folder / "run")


def told(*arguments):
    found = CliRunner().invoke(app, ["evaluate", *map(str, arguments)], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


def test_evaluate_says_by_step_by_series_and_from_origins(run):
    found = json.loads(told(run.path, "--backtest", 4, "--json"))
    scores = forecast_scores(run, "test")
    assert found["on"] == "test" and found["forecasts"]["by_step"] == scores["by_step"]
    assert len(scores["by_step"]) == 3 and [*scores["by_series"]] == ["0"]
    assert found["backtest"] == backtest_run(run, 4) == run.backtest(4)
    assert found["metrics"]["MASE"] == pytest.approx(scores["overall"]["MASE"])
    assert "coverage of the 0.8 interval" in found["metrics"]
    assert "coverage of the calibrated 0.8 interval" in found["metrics"]
    lines = told(run.path, "--backtest", 4).split("\n")
    assert "steps ahead:" in lines and "all origins:" in lines
    (origins,) = [line for line in lines if line.startswith("forecasts from these steps; the net")]
    table = lines[lines.index(origins) + 1 :]
    assert table[0].split() == ["MAE", "MASE", "sMAPE", "CRPS", "coverage", "0.8", "width", "0.8"]
    assert [row.split()[0] for row in table[1:5]] == ["240", "259", "278", "297"]


def test_origins_of_dated_series_are_dates(tmp_path):
    (tmp_path / "shops.csv").write_text(
        "day,shop,sold\n"
        + "".join(f"{DAYS[n]},north,{n * n % 7}\n" for n in range(60))
        + "".join(f"{DAYS[n]},south,{900 + n % 5}\n" for n in range(8, 60))
    )
    config = Config(
        file=str(tmp_path / "shops.csv"), sequence="shop", target="sold", horizon=2, season=7,
        quantiles="0.1,0.5,0.9", split="60/20/20", cell="gru", units=2, batch=4, length=10
    )  # fmt: skip
    run = untrained_run(config, tmp_path / "run")
    first = json.loads(told(run.path, "--backtest", 3, "--json"))["backtest"]["origins"][0]
    assert first["series"] == ["north", "south"] and first["first"] == [48, 42]
    assert first["times"] == ["2024-01-03", "2024-01-05"]  # 48 days after the first, and 8 + 42
    lines = told(run.path, "--backtest", 3).split("\n")
    table = (tmp_path / "shops.csv").read_text().replace("2023-12-01,south,900\n", "")
    (tmp_path / "shops.csv").write_text(table)
    forecast = run.forecast(tmp_path / "shops.csv")
    assert len(forecast.notes) == 2 and "gap" in forecast.notes[1]
    first, second, rest = str(forecast).split("\n", 2)
    assert (first, second) == tuple(f"# {note}" for note in forecast.notes)
    assert rest == forecast.csv and rest.startswith("shop,day,sold 0.1")
    assert forecast.to_pandas().attrs["notes"] == [*forecast.notes]
    (begin,) = [n for n, line in enumerate(lines) if line.startswith("forecasts from these dates")]
    names = [line.strip().split("  ")[0] for line in lines[begin + 2 : begin + 5]]
    assert names == ["2024-01-03 to 01-05", "2024-01-08 to 01-09", "2024-01-13"]
    assert max(map(len, lines[1:])) <= 80  # the first has the path of the run


@pytest.mark.parametrize(
    "times, words",
    [
        (["2024-01-05", "2024-01-03"], "2024-01-03 to 01-05"),
        (["2023-12-30", "2024-01-02"], "2023-12-30 to 2024-01-02"),
        (["2024-01-05 14:00"] * 2, "2024-01-05 14:00"),
    ],
)
def test_where_an_origin_is(times, words):
    assert origin_in_words({"first": [1, 2], "times": times}) == words


def test_a_column_of_numbers_has_as_many_decimals_each():
    assert numbers_alike([25.9, 101.71, None, 0.0]) == ["25.9", "101.7", "–", "0.0"]
    assert numbers_alike([0.8, 0.95238]) == ["0.8000", "0.9524"]
    assert numbers_alike([1e-6, 1234.5]) == ["1e-06", "1234"], "a small one is not lost"
    assert numbers_alike([None]) == ["–"]


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
    run = untrained_run(Config(task="adding", length=5, units=2, batch=4), tmp_path / "run")
    for way in (backtest_run, Run.backtest):
        with pytest.raises(BadInput, match="forecasts no series; it was trained on adding"):
            way(run)


def test_a_few_bytes_are_said_to_be_too_few(tmp_path):
    """Six bytes trained for a thousand steps without a word."""
    (tmp_path / "six.txt").write_text("abcabc")
    small = {"cell": "simple", "units": 2, "steps": 1, "batch": 2, "length": 10}
    config = Config(file=str(tmp_path / "six.txt"), split="60/20/20", **small)
    run = train(config, tmp_path / "run")
    (note,) = opening(run.events())["notes"]
    assert note.startswith("the training part has 3 targets, fewer than one window of ")
    assert "too little data" in [finding.name for finding in examine(open_run(run.path))]
