"""The verb `reproduce`."""

import json

import jax
import pytest

from ostinato.experiments import RECIPES


@pytest.fixture(autouse=True)
def single_precision():
    with jax.enable_x64(False):
        yield


def test_lists_all_experiments(ostinato):
    code, out, _ = ostinato("reproduce", "--json")
    assert code == 0
    assert [one["name"] for one in json.loads(out)] == list(RECIPES)
    assert all(one["source"] and one["shows"] for one in json.loads(out))


def test_shows_published_numbers_beside_obtained_ones(ostinato, tmp_path):
    code, out, errors = ostinato("reproduce", "gradient-figures", "--rows", "sigmoid,relu")
    assert code == 0, errors
    assert "0.25" in out and "reproduce/gradient-figures/report.html" in out
    page = (tmp_path / "reproduce/gradient-figures/report.html").read_text()
    assert "sigmoid, figure 1.8" in page and "Published and obtained" in page


def test_one_row_for_a_limited_time_and_then_the_page_alone(ostinato, tmp_path):
    few = ["--rows", "simple-2", "--quick", "--folder", "here"]
    code, out, errors = ostinato(
        "reproduce", "temporal-xor", *few, "--minutes", 0, "--set", "units=3", "--json"
    )
    assert code == 0, errors
    (result,) = json.loads(out)["results"]
    assert result["steps"] == 1 and result["changes"] == {"units": 3, "minutes": 0}
    (tmp_path / "here/report.html").unlink()
    code, out, errors = ostinato("reproduce", "temporal-xor", "--page", "--folder", "here")
    assert code == 0, errors
    assert "units = 3" in (tmp_path / "here/report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["temporal-zor"], "did you mean temporal-xor?"),
        (["temporal-xor", "--rows", "lstm"], "has no row 'lstm'; there are simple-2, simple-8"),
        (["temporal-xor", "--set", "units"], "--set is name=value"),
        (["temporal-xor", "--set", "unit=3"], "unit"),
        (["temporal-xor", "--set", "units=3", "--set", "units=4"], "--set units is given twice"),
        (["temporal-xor", "--set", "task=adding"], "--set cannot change task"),
        (["temporal-xor", "--set", "seed=3"], "--set cannot change seed; give --seeds"),
        (["temporal-xor", "--rows", ","], "--rows is names separated by commas"),
        (["temporal-xor", "--corpus", "x.txt"], "reads no text"),
        (["toy-net", "--minutes", "1"], "trains nothing"),
        (["toy-net", "--page"], "has no results"),
        (["--quick"], "options need the name of an experiment"),
        (["krause-table", "--corpus", "none.txt"], "there is no file none.txt"),
    ],
)
def test_bad_input_gets_one_line(ostinato, arguments, words):
    code, _, errors = ostinato("reproduce", *arguments)
    assert code == 2 and words in errors and errors.count("\n") == 1


def test_the_folder_of_a_run_is_left_alone(ostinato, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/config.json").write_text("{}")
    code, _, errors = ostinato("reproduce", "temporal-xor", "--quick", "--folder", "run")
    assert code == 2 and errors.endswith("is the folder of a run; give another one\n")
