"""From a table and from labelled sequences to a report, without writing code."""

import json

import numpy as np
import pytest

SMALL = ("--cell", "gru", "--units", "4", "--batch", "4", "--steps", "6", "--json")


@pytest.fixture
def series(tmp_path):
    t = np.arange(300)
    columns = np.stack([np.sin(t / 5), np.cos(t / 9), t / 300], axis=1)
    rows = [",".join(f"{x:.4f}" for x in row) for row in columns]
    (tmp_path / "data.csv").write_text("\n".join(["x,y,z", *rows]))


@pytest.fixture
def sequences(tmp_path):
    random = np.random.default_rng(0)
    lengths, labels = random.integers(3, 9, 40), random.integers(0, 2, 40)
    xs = random.normal(size=(40, 9, 2)) + labels[:, None, None]
    np.savez(tmp_path / "walks.npz", x=xs, y=labels, lengths=lengths)


def document(ostinato, *arguments):
    code, out, err = ostinato(*arguments)
    assert code == 0, err
    return json.loads(out)


@pytest.mark.slow
def test_a_table(ostinato, series, tmp_path):
    options = ("--target", "y", "--horizon", "2", "--length", "10", "--season", "57")
    document(ostinato, "train", "data.csv", *options, *SMALL, "--run", "run")
    kept = json.loads((tmp_path / "run" / "config.json").read_text())
    assert kept["task"]["name"] == "series" and kept["task"]["target"] == "y"
    found = document(ostinato, "evaluate", "run", "--part", "test", "--json")
    assert found["metric"] == "mean squared error" and "R²" in found["metrics"]
    assert found["yardsticks"]["seasonal naive"] < found["yardsticks"]["persistence"]
    other = document(ostinato, "evaluate", "run", "data.csv", "--json")
    assert other["predicted"] == 298 and other["chance"] is None
    assert document(ostinato, "lens", "run", "--json")["report"] == "run/report.html"
    page = (tmp_path / "run" / "report.html").read_text()
    assert "persistence" in page and "actual" in page
    assert "seasonal naive baseline" in page and "one season earlier" in page


@pytest.mark.slow
def test_quantiles_of_a_table(ostinato, series):
    options = ("--quantiles", "0.1,0.5,0.9", "--season", "57", "--length", "10")
    document(ostinato, "train", "data.csv", *options, *SMALL, "--run", "run")
    more = ("--resume", "--run", "run", "--steps", "8", "--json")
    assert document(ostinato, "train", *more)["step"] == 8
    code, out, _ = ostinato("evaluate", "run", "data.csv")
    assert code == 0 and "coverage of the 0.8 interval" in out
    assert "pinball loss" in out and "(persistence " in out and ", seasonal naive " in out
    ahead = document(ostinato, "apply", "run", "data.csv", "--json")
    assert ahead["columns"][:4] == ["x 0.1", "x 0.5", "x 0.9", "y 0.1"]
    assert np.shape(ahead["forecast"]) == (1, 9)
    code, out, _ = ostinato("apply", "run", "data.csv", "--steps", "3")
    assert code == 0 and out.startswith("step,x,y,z\n1,") and out.count("\n") == 4
    first = [float(value) for value in out.split("\n")[1].split(",")]
    np.testing.assert_allclose(first[1:], np.array(ahead["forecast"][0])[1::3], rtol=1e-3)
    code, _, err = ostinato("apply", "run", "-")
    assert code == 2 and "it is not read from standard input" in err and err.count("\n") == 1


@pytest.mark.slow
def test_labelled_sequences_of_different_lengths(ostinato, sequences):
    document(ostinato, "train", "walks.npz", "--bidirectional", *SMALL, "--run", "run")
    found = document(ostinato, "evaluate", "run", "--json")
    assert found["metric"] == "accuracy" and 0 <= found["metrics"]["F1"] <= 1
    assert document(ostinato, "lens", "run", "--json")["report"] == "run/report.html"
    more = ("--resume", "--run", "run", "--steps", "8", "--json")
    assert document(ostinato, "train", *more)["step"] == 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["data.csv", "--target", "q"], "has no column 'q'; it has x, y, z"),
        (["data.csv", "--target", "y", "--bidirectional"], "bidirectional"),
        (["data.csv", "--level", "bytes"], "level is a setting of the tasks text, "),
        (["none.csv", "--target", "y"], "there is no file"),
        (["data.csv", "--target", "y", "--split", "99/1"], "split must read like 90/5/5"),
        (["data.csv", "--columns", "x,y,x"], "the column 'x' is named twice in x,y,x"),
        (["data.csv", "--target", "y", "--horizon", "0"], "horizon must be at least 1"),
        (["data.csv", "--task", "arrays", "--target", "y"], "need sequence and target"),
        (
            ["data.csv", "--quantiles", "0.9,0.1"],
            "quantiles must rise between 0 and 1, got 0.9, 0.1",
        ),
        (
            ["data.csv", "--season", "400"],
            "a season of 400 steps does not fit into a series of 300",
        ),
        (["data.csv", "--missing", "guess"], "missing must be one of refuse, mask"),
    ],
)
def test_mistakes_get_one_line(ostinato, series, tmp_path, arguments, words):
    code, _, err = ostinato("train", *arguments)
    assert code == 2 and err.count("\n") == 1 and words in err
    assert not (tmp_path / "runs").exists()
