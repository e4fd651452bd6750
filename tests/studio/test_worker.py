"""What the pages Inside and Play ask of a network, without a browser."""

import asyncio
import json

import jax
import pytest

from doctest_names import RUN, run_folder
from ostinato.errors import BadInput
from ostinato.runs import Config
from ostinato.studio import worker
from ostinato.studio.app import Studio
from ostinato.studio.views import READ_TEXT
from ostinato.tasks import TASKS, PassageTask
from studio.pages import a_log, write_run
from untrained import untrained_run


def test_the_tasks_that_can_be_looked_into_are_those_with_a_passage():
    """The server knows them by name, because it does not import JAX."""
    having = {name for name, kind in TASKS.items() if issubclass(kind, PassageTask)}
    assert having == {*READ_TEXT}


TEXT = "The name is bound. The value is a name."
LABELS = "\n".join("yes" if c in "aeiou" else "no" for c in TEXT)


@pytest.fixture(autouse=True)
def default_precision():
    """As in the process that answers, and in the examples that share the run."""
    with jax.enable_x64(False):
        yield


def find(**more):
    path = str(run_folder() / RUN)
    return worker.inside({"path": path, "what": "find", "text": TEXT, **more})


def test_labels_are_a_pattern_like_the_others():
    found = find(pattern="labels", labels=LABELS)
    as_regex = find(pattern="regex:[aeiou]")
    assert found["units"] == as_regex["units"] and found["pattern"] == "labels:the pasted list"


@pytest.mark.parametrize(
    "asked, words",
    [
        ({"pattern": "labels", "labels": " \n"}, "there are no labels; give one per line"),
        ({"pattern": "labels", "labels": 7}, "there are no labels"),
        ({"pattern": "labels", "labels": "a\nb"}, "the pasted list has 2 labels for a text of 39"),
        ({"pattern": "labels", "labels": LABELS, "label": "x"}, "no label 'x'; it has no, yes"),
        ({"pattern": "labels:/etc/passwd"}, "labels are pasted, or in a file below the folder"),
    ],
)
def test_bad_labels_are_one_clear_line(asked, words):
    with pytest.raises(BadInput, match=words):
        find(**asked)


@pytest.mark.parametrize(
    "asked, words",
    [
        ({"temperature": "hot"}, "temperature must be a number, got 'hot'"),
        ({"seed": "x"}, "seed must be a whole number, got 'x'"),
        ({"length": [1]}, "length must be a whole number"),
        ({"length": 0}, "at least 1, got 0"),
        ({"beam": 1e999}, "beam must be a whole number"),
    ],
)
def test_wrong_numbers_are_one_clear_line(asked, words):
    with pytest.raises(BadInput, match=words):
        list(worker.play({"path": str(run_folder() / RUN), **asked}))


def test_labels_of_a_file_below_the_folder_only(tmp_path, monkeypatch):
    folder = tmp_path / "runs"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text(LABELS)
    (folder / "labels.txt").write_text(LABELS)
    (folder / "bytes.txt").write_bytes(b"yes\n\xff\n")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    write_run(folder / "run", a_log())
    studio, asked = Studio(folder), []

    async def ask(seconds, **request):
        asked.append(request)

    monkeypatch.setattr(studio.looking, "ask", ask)

    def find(file):
        sent = {"name": "run", "what": "find", "pattern": "labels", "text": TEXT, "file": file}
        asyncio.run(studio.inside(sent))

    outside = ("../secret.txt", str(tmp_path / "secret.txt"), "link.txt", "run/../labels.txt")
    for file in (*outside, "run", "none.txt", "./labels.txt", "x" * 2000):
        with pytest.raises(BadInput, match="below the folder of the studio"):
            find(file)
    with pytest.raises(BadInput, match=r"^bytes\.txt is not UTF-8: byte 4 is wrong$"):
        find("bytes.txt")
    assert asked == []
    find("labels.txt")
    assert asked[0]["labels"] == LABELS and asked[0]["source"] == "labels.txt"


def test_a_series_is_drawn_on(tmp_path):
    settings = {"task": "mackey-glass", "samples": 400, "washout": 10, "length": 20}
    untrained_run(Config(**settings, cell="gru", units=4, steps=2), tmp_path / "run")
    found = worker.forecast({"path": str(tmp_path / "run")})
    json.dumps(found)
    assert found["place"] == {"series": 0, "begin": 240, "steps": 100}
    assert (found["order"], found["length"], found["valid"]) == ([], 400, 240)
    assert [one["name"] for one in found["charts"]] == ["forecast-1"]
    again = worker.forecast({"path": str(tmp_path / "run"), "begin": 400, "steps": 3})
    assert len(again["charts"][0]["figure"]["data"][1]["y"]) == 3
    assert worker.forecast({"path": str(run_folder() / RUN)}) == {"charts": []}
