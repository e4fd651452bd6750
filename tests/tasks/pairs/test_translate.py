"""Translation: several translations of a line."""

import json

import numpy as np
import pytest

from ostinato.errors import BadInput
from ostinato.runs import Config
from ostinato.runs.build import build_task
from ostinato.tasks.applying import ApplyOptions
from ostinato.tasks.pairs.write_answers import Answer, PairCode

LINES = {
    "train.en": ["one", "two"] * 4,
    "train.fr": ["un\tune", "deux"] * 4,
    "test.en": ["two", "one"],
    "test.fr": ["deux", "une\tun"],
}


def test_several_translations_of_a_line(tmp_path, monkeypatch):
    for name, lines in LINES.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    named = {
        f"{part}{side}": str(tmp_path / f"{'test' if part else 'train'}.{language}")
        for part in ("", "valid_", "test_")
        for side, language in (("source", "en"), ("target", "fr"))
    }
    task = build_task(Config(task="translate", level="words", **named))
    sources, targets = task.parts["train"]
    learned = [
        (task.sources.decode(a), task.targets.decode(b))
        for a, b in zip(sources, targets, strict=True)
    ]
    assert learned == [("one", "un"), ("one", "une"), ("two", "deux")] * 4
    assert task.references("test") == ["deux", "une"]
    assert task.all_references("test") == [["deux"], ["une", "un"]]
    assert [task.targets.decode(x) for x in task.parts["test"][1]] == ["deux", "une"]
    answers = [[Answer(text, 0.0, True, np.zeros(0))] for text in ("deux", "un")]
    monkeypatch.setattr(PairCode, "written", lambda *_: iter(answers))
    assert task.scores(None, "test")["exact, beam of 5"] == 1
    (tmp_path / "all.tsv").write_text("one\tun\tune\ntwo\tdeux\n")
    other = type(task).on_file(tmp_path / "all.tsv", task.settings, task.artefacts())
    assert other.all_references("valid") == [["un", "une"], ["deux"]]


SOURCES = [f"cat {a} {b}" for a in "abcdef" for b in "uvwxyz"]
TARGETS = [f"chat {text[-1]} {text[-3]}" for text in SOURCES]


def write_table(path, sources=SOURCES, targets=TARGETS):
    rows = [*zip(sources, targets, strict=True)]
    if path.suffix == ".jsonl":
        lines = [json.dumps({"en": one, "fr": two, "n": 1}) for one, two in rows]
    else:
        lines = ["n\ten\tfr", *(f"1\t{one}\t{two}" for one, two in rows)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def made(file, **given):
    given = {"source": "en", "target": "fr", "level": "words", **given}
    return build_task(Config(file=file, **given))


def test_pairs_of_a_table_are_those_of_two_files(tmp_path):
    for name, lines in (("a.en", SOURCES), ("a.fr", TARGETS)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    files = {"source": str(tmp_path / "a.en"), "target": str(tmp_path / "a.fr")}
    kept = build_task(Config(task="translate", level="words", **files))
    one, two = made(write_table(tmp_path / "a.tsv")), made(write_table(tmp_path / "a.jsonl"))
    bare = tmp_path / "bare.tsv"
    bare.write_text("\n".join(f"{x}\t{y}" for x, y in zip(SOURCES, TARGETS, strict=True)))
    three = build_task(Config(task="translate", level="words", file=str(bare)))
    numbered = made(str(bare), source="1", target="2")
    for task in (one, two, three, numbered):
        assert task.name == "translate" and task.fingerprint() == kept.fingerprint()
        assert task.notes == () and task.references("test") == kept.references("test")
    other = type(one).on_file(tmp_path / "a.tsv", one.settings, one.artefacts())
    assert other.references("test") == TARGETS
    how = ApplyOptions(tmp_path / "a.tsv").of_column("en")
    assert how.given == SOURCES and ApplyOptions(bare).of_column(None).given == bare


def test_several_targets_spaces_and_pairs_seen_before_are_said(tmp_path):
    targets = [["un", " une "] if n % 2 else f"{x}" for n, x in enumerate(TARGETS)]
    task = made(write_table(tmp_path / "a.jsonl", SOURCES[:18] * 2, targets[:18] * 2))
    assert any(some == ["un", "une"] for some in task.all_references("valid"))
    assert task.notes[0] == "spaces around 18 texts were left out"
    assert task.notes[1].endswith("held-out pairs are in the training part too, word for word")


def test_nothing_is_learned_from_held_out_pairs(tmp_path):
    one = made(write_table(tmp_path / "a.tsv"), split="60/20/20")
    held_out = {*one.references("valid"), *one.references("test")}
    others = [
        ("q r s", "zut") if y in held_out else (x, y) for x, y in zip(SOURCES, TARGETS, strict=True)
    ]
    two = made(write_table(tmp_path / "a.tsv", *zip(*others, strict=True)), split="60/20/20")
    assert one.sources == two.sources and one.targets == two.targets
    assert {*two.references("test")} == {"zut"} and len(held_out) > 5
    for x, y in zip(one.parts["train"][0], two.parts["train"][0], strict=True):
        assert np.array_equal(x, y)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"target": None}, "source needs target: translation learns from pairs"),
        ({"target": "de"}, "has no column 'de'; it has 'n', 'en', 'fr'"),
        ({"target": "en"}, "the column 'en' is named twice"),
        ({"valid_source": "x", "valid_target": "y"}, "valid_source is a file; of a table, split"),
    ],
)
def test_wrong_columns_are_refused(tmp_path, given, words):
    with pytest.raises(BadInput, match=words):
        made(write_table(tmp_path / "a.tsv"), **given)
    path = write_table(tmp_path / "a.jsonl", ["a", "b"], ["x", []])
    with pytest.raises(BadInput, match=r"a\.jsonl, line 2: the target is empty"):
        made(path)
    with pytest.raises(BadInput, match="name the columns of the pairs with --source and --target"):
        build_task(Config(task="translate", file=path))
