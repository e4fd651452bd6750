"""Dialogues: sources with history, files, and answers turn by turn."""

import json

import numpy as np
import pytest

from ostinato.errors import BadInput
from ostinato.runs import Config
from ostinato.runs.build import build_task
from ostinato.tasks.applying import ApplyOptions
from ostinato.tasks.pairs import dialogue
from ostinato.tasks.pairs.dialogue import draw_dialogues
from ostinato.tasks.pairs.write_answers import Answer, PairCode

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


@pytest.mark.parametrize("level", ["words", "characters", "subwords"])
def test_nothing_is_learned_from_held_out_dialogues(tmp_path, level):
    talks = [[f"q{n % 7}", f"r{n % 5}", f"s{n % 3}", f"t{n}"] for n in range(40)]

    def made():
        (tmp_path / "talk.txt").write_text("\n\n".join("\n".join(turns) for turns in talks))
        settings = {"file": str(tmp_path / "talk.txt"), "level": level, "split": "50/25/25"}
        return build_task(Config(task="dialogue", **settings))

    one = made()
    for turns in talks:
        if turns[-1] not in one.references("train"):
            turns[:] = ["zz", "x%", "zz", "%x"]
    two = made()
    assert {*two.references("valid"), *two.references("test")} == {"x%", "%x"}
    assert one.artefacts()["source"] == two.artefacts()["source"]
    assert one.artefacts()["target"] == two.artefacts()["target"]
    for x, y in zip(one.parts["train"], two.parts["train"], strict=True):
        assert [*map(list, x)] == [*map(list, y)]


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

    def written(code, network, sources, how):
        read.append(task.sources.decode(sources[0]))
        return iter([[Answer("bc"[len(read) % 2], -1.0, True, np.zeros(0, int))]])

    monkeypatch.setattr(PairCode, "written", written)
    (tmp_path / "in.txt").write_text("a\nc\na\n\nc\n")
    how = ApplyOptions(tmp_path / "in.txt", task.settings, task.artefacts())
    found = [*type(task).apply(None, how)]
    assert [answer["text"] for answer in found] == ["c", "b", "c", "", "b"]
    assert [answer["turn"] for answer in found] == [1, 3, 5, 0, 1]
    # The longest source in training has five words; "a c c b a" with its separators has nine.
    assert read == ["a", "a ␞ c ␞ c", "c ␞ b ␞ a", "c"]


def test_dialogues_in_lines_of_json_are_those_of_lines(tmp_path):
    (tmp_path / "talk.txt").write_text("a\nb\nc\n\nd\ne\n")
    chats = [
        ["a", "b", "c"],
        [{"role": "system", "content": "!"}, {"content": "d"}, {"value": "e "}],
    ]
    lines = [json.dumps({"messages": chat, "id": 1}) for chat in chats]
    (tmp_path / "talk.jsonl").write_text("\n\n".join(lines))
    read, notes = dialogue.dialogues_in(tmp_path / "talk.jsonl", "messages")
    assert read == dialogue.dialogues_in(tmp_path / "talk.txt", "messages")[0]
    assert notes == (
        "1 empty row was left out",
        "left out are turns of the system: 1",
        "left out are spaces around turns: 1",
    )


@pytest.mark.parametrize(
    "text, words",
    [
        ("3", "line 1: a row is an object such as"),
        ('{"a": []}', "line 1 has no column 'turns'; it has 'a'"),
        ('{"turns": "hello"}', "line 1: turns must be a list of turns, got 'hello'"),
        ('{"turns": ["hello"]}', "line 1: a dialogue needs at least 2 turns, got 1"),
        ('{"turns": ["a", ""]}', "line 1: a turn is empty"),
        ('{"turns": ["a", {"text": 3}]}', "line 1: a turn must be in quotes, got 3"),
        ('{"turns": ["a", {"who": "me"}]}', "line 1: a turn must be in quotes, got {'who'"),
        ('{"turns": ["a", ["b"]]}', "line 1: a turn must be in quotes"),
        ("{}", "line 1 has no column 'turns'"),
        ('{"turns": ["a"', "line 1: not JSON"),
    ],
)
def test_wrong_lines_of_json(tmp_path, text, words):
    (tmp_path / "talk.jsonl").write_text(text)
    with pytest.raises(BadInput, match=words):
        build_task(Config(task="dialogue", file=str(tmp_path / "talk.jsonl")))


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
