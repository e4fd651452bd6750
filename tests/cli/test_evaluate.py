"""`ostinato evaluate` on a run of a few steps."""

import json
import re
import shutil
import string

import numpy as np
import pytest
from typer.testing import CliRunner

from ostinato.cli import app
from ostinato.errors import BadInput
from ostinato.metrics import Bits
from ostinato.runs import open_run
from ostinato.runs.analysis.evaluation import dynamic_evaluate, measured
from ostinato.tasks.text.text import streams

TEXT = "the cat sat on the mat.\nthe rat ran to the cat.\n" * 12


@pytest.fixture
def run(cat_run):
    return cat_run


@pytest.fixture
def adding(adding_run):
    return adding_run


def printed(*arguments) -> str:
    found = CliRunner().invoke(app, ["evaluate", *map(str, arguments)], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


def document(*arguments) -> dict:
    """The one JSON document that is all of standard output."""
    return json.loads(printed(*arguments, "--json"))


@pytest.mark.parametrize("part", ["valid", "test"])
def test_bits_of_the_run_s_own_parts(run, part):
    found = document(run, "--part", part, "--samples", 0)
    opened = open_run(run)
    symbols = opened.task().parts[part]
    (expected,) = measured(opened.network(), streams(symbols, 1, 30), (Bits(),))
    assert found["value"] == pytest.approx(expected, rel=1e-5)
    assert found["metric"] == "bits per character" and found["step"] == opened.saved().step
    assert found["predicted"] == len(symbols) - 1
    assert found["metrics"] == {"perplexity per character": pytest.approx(2 ** found["value"])}
    assert found["chance"] == opened.task().chance
    assert "word_fail_rate" not in found and "dynamic" not in found


def test_another_file(run, tmp_path):
    (tmp_path / "other.txt").write_text("the dog sat. ")
    with pytest.raises(BadInput, match=r"other.txt: the model does not know the character"):
        document(run, tmp_path / "other.txt")
    (tmp_path / "other.txt").write_text("a rat can sat on a mat. " * 3)
    found = document(run, tmp_path / "other.txt", "--samples", 0)
    opened = open_run(run)
    symbols = opened.vocabulary.encode("a rat can sat on a mat. " * 3)
    (expected,) = measured(opened.network(), streams(symbols, 1, 30), (Bits(),))
    assert found["value"] == pytest.approx(expected, rel=1e-5) and found["chance"] is None


def test_dynamic(run):
    found = document(run, "--dynamic", "--rate", 0.2, "--samples", 0)
    opened = open_run(run)
    expected = dynamic_evaluate(opened.network(), opened.task().parts["valid"], rate=0.2)
    assert found["dynamic"]["value"] == pytest.approx(expected, rel=1e-6)
    assert found["dynamic"]["rate"] == 0.2
    assert found["dynamic"]["value"] != found["value"]


def test_word_fail_rate(run, tmp_path):
    own = document(run, "--samples", 400)
    assert own["known_words"] == 9 and own["generated_words"] > 0
    letters = tmp_path / "words"
    letters.write_text("Zzyzx\n")
    none = document(run, "--samples", 400, "--words", letters)
    assert none["word_fail_rate"] == 1.0 and none["known_words"] == 1
    assert own["generated_words"] == none["generated_words"]
    assert own["word_fail_rate"] <= 1.0


def test_word_fail_rates_of_several_texts_are_those_of_the_sampled_texts(run):
    found = document(run, "--texts", 3, "--samples", 150, "--seed", 4)
    known = set(re.split(r"[^a-z]+", TEXT[: round(0.8 * len(TEXT))]))
    counts = []
    for seed in (4, 5, 6):
        options = ["sample", str(run), "--length", "150", "--seed", str(seed), "--json"]
        text = json.loads(CliRunner().invoke(app, options).stdout)["text"]
        whole = text.lower() if text[-1] in " .\n" else text.lower().rstrip(string.ascii_lowercase)
        said = [word for word in re.split(r"[^a-z]+", whole) if word]
        counts.append((sum(word not in known for word in said), len(said)))
    assert found["text_fail_rates"] == [bad / number for bad, number in counts]
    bad, number = map(sum, zip(*counts, strict=True))
    assert found["word_fail_rate"] == bad / number and found["generated_words"] == number
    assert "word fail rate by text: median " in printed(run, "--texts", 3, "--samples", 150)


def test_in_words(run):
    text = printed(run, "--dynamic", "--samples", 200)
    for words in (
        "bits per character: ",
        "(chance ",
        "perplexity per character: ",
        "dynamic, with",
    ):
        assert words in text
    assert "word fail rate of generated text: " in text


def test_another_task_against_chance(adding):
    found = document(adding)
    task = open_run(adding).task()
    assert found["metric"] == task.metric.name and found["chance"] == task.chance
    assert np.isfinite(found["value"]) and found["on"] == "valid"
    assert f"{task.metric.name}: " in printed(adding, "--part", "test")


def test_the_training_text_may_be_gone_if_it_is_not_needed(run, tmp_path):
    moved = shutil.copytree(run, tmp_path / "run")
    settings = json.loads((moved / "config.json").read_text())
    settings["task"]["file"] = str(tmp_path / "gone.txt")
    (moved / "config.json").write_text(json.dumps(settings))
    (tmp_path / "other.txt").write_text("a cat ran")
    assert document(moved, tmp_path / "other.txt", "--samples", 0)["predicted"] == 8
    with pytest.raises(BadInput, match=r"gone.txt; give --words FILE or --samples 0"):
        document(moved, tmp_path / "other.txt")
    with pytest.raises(BadInput, match=r"gone\.txt"):
        document(moved, "--samples", 0)


@pytest.mark.parametrize(
    "options, words",
    [
        (["--part", "train"], "--part must be valid or test, got train"),
        (["--rate", "1"], "--rate is for dynamic evaluation; add --dynamic"),
        (["--dynamic", "--rate", "-1"], "the rate must be 0 or a positive number, got -1.0"),
        (["--dynamic", "--rate", "1e9"], "the dynamic evaluation diverged; try a smaller one"),
        (["--samples", "-1"], "--samples must be at least 0, got -1"),
        (["--samples", "0", "--words", "x"], "--words is for generated text"),
        (["--texts", "0"], "--texts must be from 1 to 10000, got 0"),
        (["--samples", "0", "--texts", "2"], "leave it out with --samples 0"),
        (["--samples", "5000", "--texts", "5000"], "--samples times --texts must be at most"),
        (["--texts", "2", "--seed", "4294967295"], "--seed must be from 0 to 4294967295"),
        (["--words", "nowhere.txt"], "there is no file nowhere.txt"),
        (["file.txt", "--part", "test"], "give either --part or a file"),
        (["nowhere.txt"], "there is no file nowhere.txt"),
        (["--devices", "0"], "--devices must be a whole number of at least 1, got 0"),
        (["--devices", "999"], "there are [0-9]+ devices here, got --devices 999"),
        (["--processes", "2"], "--coordinator, --processes and --process need --distributed"),
        (["--distributed", "--devices", "2"], "leave out --devices"),
        (["--distributed", "--process", "0"], "go together; give --coordinator"),
    ],
)
def test_refuses(run, options, words):
    with pytest.raises(BadInput, match=words):
        CliRunner().invoke(app, ["evaluate", str(run), *options], catch_exceptions=False)


def test_refuses_files_that_hold_nothing(run, tmp_path):
    (tmp_path / "one").write_text("a")
    with pytest.raises(BadInput, match="one has fewer than 2 symbols"):
        document(run, tmp_path / "one")
    (tmp_path / "numbers").write_text("1 2 3")
    with pytest.raises(BadInput, match="has no words; it should have one per line"):
        document(run, "--words", tmp_path / "numbers")
    (tmp_path / "latin").write_bytes("é".encode("latin-1"))
    with pytest.raises(BadInput, match="is not UTF-8 text"):
        document(run, "--words", tmp_path / "latin")


@pytest.mark.parametrize(
    "options, words",
    [
        (["x.txt"], "the task adding reads no files"),
        *(
            (options, r"is for texts; .* was trained on adding")
            for options in (["--dynamic"], ["--words", "x"], ["--samples", "9"], ["--texts", "2"])
        ),
    ],
)
def test_refuses_what_is_for_texts(adding, options, words):
    with pytest.raises(BadInput, match=words):
        CliRunner().invoke(app, ["evaluate", str(adding), *options], catch_exceptions=False)
