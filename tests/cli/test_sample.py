"""`ostinato sample` on a run of a few steps."""

import json

import pytest
from typer.testing import CliRunner

from ostinato.cli import app
from ostinato.errors import BadInput
from ostinato.runs import Config, open_run, train

TEXT = "the cat sat on the mat.\nthe rat ran to the cat.\n" * 12


@pytest.fixture
def run(cat_run):
    return cat_run


@pytest.fixture(scope="module")
def of_bytes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "text.txt").write_text("äöü€ " * 60, encoding="utf-8")
    config = Config(
        file=str(folder / "text.txt"), level="bytes", units=8, batch=4, length=10, steps=2
    )
    train(config, folder / "run")
    return folder / "run"


def sampled(*arguments) -> str:
    found = CliRunner().invoke(app, ["sample", *map(str, arguments)], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


def document(*arguments) -> dict:
    """The one JSON document that is all of standard output."""
    return json.loads(sampled(*arguments, "--json"))


def test_text_of_that_length_from_the_training_characters(run):
    text = sampled(run, "--length", 120)
    assert text.endswith("\n") and len(text) in (120, 121)
    assert set(text) <= set(TEXT)


def test_seed_and_prompt(run):
    options = (run, "--length", 60, "--prompt", "the ")
    first = sampled(*options)
    assert first.startswith("the ") and len(first.rstrip("\n")) <= 64
    assert first == sampled(*options) == sampled(*options, "--seed", 0)
    assert first != sampled(*options, "--seed", 1)


def test_json_is_the_same_text(run):
    options = (run, "--length", 60, "--prompt", "the ", "--top-k", 5, "--top-p", 0.9)
    found = document(*options, "--temperature", 0.5, "--seed", 3)
    assert found["run"] == str(run) and found["prompt"] == "the "
    assert found["step"] == open_run(run).saved().step
    assert (found["temperature"], found["top_k"], found["top_p"]) == (0.5, 5, 0.9)
    assert found["seed"] == 3 and len(found["text"]) == 60
    plain = sampled(*options, "--temperature", 0.5, "--seed", 3)
    assert plain.removesuffix("\n") == ("the " + found["text"]).removesuffix("\n")


def test_stops_before_a_text(run):
    whole = document(run, "--length", 60)["text"]
    stop = whole[14:18]  # the first piece has 16
    ended = document(run, "--length", 60, "--stop", stop)["text"]
    assert ended == whole[: whole.index(stop)]


def test_beam(run):
    found = document(run, "--length", 20, "--beam", 3)
    assert len(found["text"]) == 20 and found["beam"] == 3 and found["bits"] > 0
    greedy = document(run, "--length", 20, "--beam", 1)
    assert greedy["text"] == document(run, "--length", 20, "--temperature", 0)["text"]
    assert found["bits"] <= greedy["bits"] + 1e-3  # here the wider beam is no worse


def test_bytes(of_bytes):
    found = document(of_bytes, "--length", 40, "--prompt", "ä")
    assert 10 <= len(found["text"]) <= 40
    assert sampled(of_bytes, "--length", 40, "--prompt", "ä").startswith("ä")


@pytest.mark.parametrize(
    "options, words",
    [
        (["--length", "0"], "length to generate must be at least 1, got 0"),
        (["--temperature", "-1"], "temperature must be at least 0, got -1.0"),
        (["--top-k", "0"], "top_k must be at least 1, got 0"),
        (["--top-p", "0"], "top_p must be above 0 and at most 1, got 0.0"),
        (["--top-p", "1.1"], "top_p must be above 0 and at most 1, got 1.1"),
        (["--beam", "0"], "the width of a beam must be at least 1, got 0"),
        (["--beam", "2", "--temperature", "1"], "takes no --temperature"),
        (["--beam", "2", "--top-p", "0.5"], "takes no --top-p"),
        (["--seed", "-1"], "--seed must be from 0 to 4294967295, got -1"),
        (["--stop", ""], "--stop needs a text to stop at"),
        (["--prompt", "Q"], "the model does not know the character 'Q'"),
    ],
)
def test_refuses(run, options, words):
    with pytest.raises(BadInput, match=words):
        CliRunner().invoke(app, ["sample", str(run), *options], catch_exceptions=False)


def test_refuses_what_is_no_run_or_no_text(adding_run, tmp_path):
    with pytest.raises(BadInput, match="no run folder"):
        sampled(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="was trained on the task adding; sample needs a text"):
        sampled(adding_run)
