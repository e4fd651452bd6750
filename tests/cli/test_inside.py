"""`ostinato inside` and `ostinato sample --alternatives` on runs of a few steps."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from ostinato.cli import app
from ostinato.errors import BadInput
from ostinato.runs import Config, look_inside, open_run, train
from ostinato.tasks import TASKS, PassageTask

TEXT = "the (cat sat) on [the] mat.\nthe 'rat' ran (to) the cat.\n" * 12


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inside")
    (folder / "text.txt").write_text(TEXT)
    settings = {
        "units": 8,
        "batch": 4,
        "length": 10,
        "steps": 5,
        "cell": "lstm",
        "split": "50/50/0",
    }
    train(Config(file=str(folder / "text.txt"), **settings), folder / "run")
    return folder / "run"


def ran(verb, *arguments) -> str:
    found = CliRunner().invoke(app, [verb, *map(str, arguments)], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


def test_everything_at_once_as_json(run):
    options = ("--find", "brackets", "--unit", "forget gate[2]", "--at", 40, "--similar", 40)
    found = json.loads(
        ran("inside", run, *options, "--top", 3, "--begin", 30, "--show", 20, "--json")
    )
    text = TEXT[len(TEXT) // 2 :]
    assert found["pieces_read"] == len(text) and found["text"] == "the validation part"
    assert found["step"] == open_run(run).saved().step
    assert "".join(piece["piece"] for piece in found["pieces"]) == text[30:50]
    assert all(piece["surprise"] > 0 for piece in found["pieces"])
    assert [len(piece["expected"]) for piece in found["pieces"]] == [3] * 20
    assert len(found["unit"]["values"]) == 20 and all(0 < x < 1 for x in found["unit"]["values"])
    ranking = found["find"]
    assert ranking["searched"] == 16 and len(ranking["units"]) == 3
    assert ranking["chance"]["draws"] == 20 and ranking["untrained"]["score"] > 0
    reach = found["at"]["reach"]
    assert [one["piece"] for one in reach["moved"]] == list(text[:40]) and reach["target"] == text[
        40
    ]
    assert reach["loss"] == pytest.approx(found["at"]["surprise"] * np.log(2), rel=1e-4)
    assert len(reach["by_lag"]["state"]) == 40
    assert len(found["similar"]) == 3 and found["similar"][0]["cosine"] > 0.9


def test_a_typed_text_in_words(run):
    shown = ran("inside", run, "the (cat)\n", "--at", 5, "--unit", "c[0]")
    assert "c[0]: red is positive" in shown and "the (cat)" in shown
    assert "character 5, 'c', surprise" in shown and "what moved the loss of 'c'" in shown
    found = ran("inside", run, "--find", "line", "--show", 0)
    assert "squared correlation on the second half" in found and "before training" in found
    surprise = ran("inside", run, "the cat")
    assert "surprise: the darker, the less expected" in surprise and "mean surprise" in surprise


def test_a_file_and_a_limit(run, tmp_path):
    (tmp_path / "other.txt").write_text("the mat (on) the cat " * 10)
    looked = look_inside(open_run(run), file=tmp_path / "other.txt", limit=50)
    assert len(looked.passage.pieces) == 50 and looked.units() == {"h": 8, "c": 8}
    assert looked.pieces(0, 1)[0] == {"at": 0, "piece": "t", "surprise": None, "expected": []}
    assert looked.where == str(tmp_path / "other.txt")


def test_the_name_of_a_file_is_read_as_a_text_and_said_to_be_one(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "--file" not in ran("inside", run, "the cat")
    (tmp_path / "the cat").write_text("the mat")
    note = "note: 'the cat' is read as a text; --file reads the file"
    assert note in ran("inside", run, "the cat")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--unit", "g[3]"), "there is no 'g' in this network; it has h, c, block input"),
        (("--unit", "h[8]"), "h has 8 units, from 0 on"),
        (("--find", "verbs"), "a pattern is brackets"),
        (("--at", "9999"), "--at is a piece from 0 to"),
        (("Ünknown",), "does not know the character 'Ü'"),
        (("",), "the text is empty"),
        (("text", "--file", "x.txt"), "either a text or a file"),
        (("--top", "0"), "--top must be at least 1"),
    ],
)
def test_one_line_for_bad_input(run, options, words):
    with pytest.raises(BadInput, match=r"^[^\n]*$") as raised:
        ran("inside", run, *options)
    assert words in str(raised.value)


def test_sample_with_alternatives(run):
    options = ("--length", 30, "--prompt", "the ", "--seed", 4)
    found = json.loads(ran("sample", run, *options, "--alternatives", 2, "--json"))
    assert found["text"] == json.loads(ran("sample", run, *options, "--json"))["text"]
    assert len(found["steps"]) == 30 and all(len(s["alternatives"]) == 2 for s in found["steps"])
    lines = ran("sample", run, *options, "--alternatives", 2).splitlines()
    assert len(lines) == 30 and lines[0].startswith(repr(found["text"][0]))
    with pytest.raises(BadInput, match="take no --beam"):
        ran("sample", run, "--alternatives", 2, "--beam", 3)


def test_a_task_without_text():
    task = TASKS["xor"](length=5)
    assert task.ability(PassageTask) is None
    with pytest.raises(BadInput, match="the task xor reads no text"):
        task.able(PassageTask)


@pytest.mark.slow
def test_a_run_that_tags(tmp_path):
    train(Config(task="tag", units=8, batch=8, steps=2, bidirectional=True), tmp_path / "run")
    found = json.loads(
        ran("inside", tmp_path / "run", "--find", "regex:\\w+s\\b", "--at", 3, "--json")
    )
    assert all(piece["surprise"] > 0 for piece in found["pieces"])
    assert found["find"]["units"][0]["unit"].split(",")[0] in ("forward", "backward")
    assert found["at"]["reach"]["target"].isupper()
    typed = json.loads(ran("inside", tmp_path / "run", "a word", "--json"))
    assert [piece["surprise"] for piece in typed["pieces"]] == [None, None]
    assert len(typed["pieces"][0]["expected"]) > 1
