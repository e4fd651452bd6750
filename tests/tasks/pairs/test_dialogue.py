"""Dialogues: sources with history, files, and answers turn by turn."""

import numpy as np
import pytest

from ostinato.data.generated.dialogues import draw_dialogues
from ostinato.errors import BadInput
from ostinato.runs import Config
from ostinato.runs.build import build_task
from ostinato.tasks.applying import ApplyOptions
from ostinato.tasks.pairs import dialogue
from ostinato.tasks.pairs.write_answers import Answer

TALK = "a\nb\nc\nd\n\n\ne\nf\ng\n\n" * 5


def pairs_of(task, part="train"):
    sources, targets = task.parts[part]
    return [
        (task.sources.decode(x), task.targets.decode(y))
        for x, y in zip(sources, targets, strict=True)
    ]


@pytest.mark.parametrize(
    "settings, expected",
    [
        ({}, [("a", "b"), ("a ␞ b ␞ c", "d"), ("e", "f")]),
        ({"history": 0}, [("a", "b"), ("c", "d"), ("e", "f")]),
        ({"history": 1}, [("a", "b"), ("b ␞ c", "d"), ("e", "f")]),
        (
            {"speaker": "every", "history": 1},
            [("a", "b"), ("a ␞ b", "c"), ("b ␞ c", "d"), ("e", "f"), ("e ␞ f", "g")],
        ),
    ],
)
def test_sources_have_their_history(tmp_path, settings, expected):
    (tmp_path / "talk.txt").write_text(TALK)
    file = str(tmp_path / "talk.txt")
    config = Config(task="dialogue", file=file, level="words", split="100/0/0", **settings)
    task = build_task(config)
    assert pairs_of(task) == expected * 5
    other = type(task).on_file(tmp_path / "talk.txt", task.settings, task.artefacts())
    assert other.references("test") == [answer for _, answer in expected * 5]


def test_dialogues_are_held_out_as_a_whole(tmp_path):
    lines = [f"q{n}\nr{n}\ns{n}\nt{n}\n" for n in range(40)]
    (tmp_path / "talk.txt").write_text("\n".join(lines))
    config = Config(
        task="dialogue", file=str(tmp_path / "talk.txt"), level="words", split="50/25/25"
    )
    task = build_task(config)
    answers = {part: {*task.references(part)} for part in ("train", "valid", "test")}
    assert {part: len(some) for part, some in answers.items()} == {
        "train": 40, "valid": 20, "test": 20,
    }  # fmt: skip
    for part in answers.values():
        assert {x[1:] for x in part if x[0] == "r"} == {x[1:] for x in part if x[0] == "t"}


def test_generated_answers_follow_from_what_was_said():
    names = {}
    for part in ("train", "valid", "test"):
        made = draw_dialogues(np.random.default_rng(1), 200, part)
        names[part] = {(turns[1].split()[-1], turns[2].split()[-1]) for turns in made}
        for turns in made:
            name, thing = turns[1].split()[-1], turns[2].split()[-1]
            assert name in turns[0]
            assert all(name in answer or thing in answer for answer in turns[1::2])
    assert not names["train"] & names["valid"] and not names["valid"] & names["test"]


def test_answers_turn_by_turn(tmp_path, monkeypatch):
    """What is read are all turns so far, with the network's own answers; the oldest go first."""
    (tmp_path / "talk.txt").write_text(TALK)
    settings = {"task": "dialogue", "file": str(tmp_path / "talk.txt"), "level": "words"}
    task = build_task(Config(split="100/0/0", **settings))
    read = []

    def written(network, sources, target, how, longest):
        read.append(task.sources.decode(sources[0]))
        return iter([[Answer("bc"[len(read) % 2], -1.0, True, np.zeros(0, int))]])

    monkeypatch.setattr(dialogue, "written", written)
    (tmp_path / "in.txt").write_text("a\nc\na\n\nc\n")
    how = ApplyOptions(tmp_path / "in.txt", task.settings, task.artefacts())
    found = [*type(task).apply(None, how)]
    assert [answer["text"] for answer in found] == ["c", "b", "c", "", "b"]
    assert [answer["turn"] for answer in found] == [1, 3, 5, 0, 1]
    # The longest source in training has five words; "a c c b a" with its separators has nine.
    assert read == ["a", "a ␞ c ␞ c", "c ␞ b ␞ a", "c"]


@pytest.mark.parametrize(
    "text, words",
    [
        ("a\n\nb\nc\n", "line 1: a dialogue needs at least 2 turns, got 1"),
        ("a\nb\n\nc\n", "the last dialogue needs at least 2 turns, got 1"),
        ("\n\n", "has no dialogues; give a turn per line"),
        (b"a\nb\xff\n", "line 2: not UTF-8"),
    ],
)
def test_wrong_files(tmp_path, text, words):
    path = tmp_path / "talk.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadInput, match=words):
        build_task(Config(task="dialogue", file=str(path)))


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"history": -1}, "history must be at least 0, got -1"),
        ({"speaker": "first"}, "speaker must be one of second, every; got first"),
        ({"file": ""}, "file must be a path"),
    ],
)
def test_wrong_settings(settings, words):
    with pytest.raises(BadInput, match=words):
        Config(task="dialogue", **settings)
