"""`ostinato score`: texts of files against references of files."""

import json

import pytest
import sacrebleu

from ostinato.tasks.scores import meteor, synonym_sets

FOUND = ["the puss sat on the mat", "", "a dog"]
ONE, TWO = ["the cat sat on the mat", "it rains", "the dog"], ["a cat", "rain\tit pours", "a dog"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = {"found": FOUND, "one": ONE, "two": TWO, "synonyms": ["cat puss"], "few": ["x"]}
    for name, lines in words.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")


def test_scores_of_several_files(files, ostinato):
    code, out, _ = ostinato("score", "found.txt", "one.txt", "two.txt", "--json")
    found = json.loads(out)
    streams = [ONE, ["a cat", "rain", "a dog"], [None, "it pours", None]]
    assert code == 0 and found["texts"] == 3 and found["scores"]["exact"] == 1 / 3
    (bleu,) = [value for name, value in found["scores"].items() if name.startswith("BLEU (")]
    assert bleu == sacrebleu.corpus_bleu(FOUND, streams).score
    code, out, _ = ostinato(
        "score", "found.txt", "one.txt", "--synonyms", "synonyms.txt", "--alpha", "0.5"
    )
    known = synonym_sets([["cat", "puss"]])
    assert f"METEOR: {meteor(FOUND, ONE, alpha=0.5, synonyms=known):.4g}" in out


@pytest.mark.parametrize(
    "given, words",
    [
        (["few.txt"], "found.txt has 3 lines and few.txt 1"),
        (["none.txt"], "there is no file none.txt"),
        (["one.txt", "--alpha", "2"], "alpha must be at most 1, got 2.0"),
        (["one.txt", "--tokenize", "x"], "tokenize must be one of 13a, intl"),
        (["one.txt", "--synonyms", "few.txt"], "line 1 has one word"),
        (["found.txt"], "line 2 is empty"),
    ],
)
def test_what_cannot_be_scored(files, ostinato, given, words):
    code, _, errors = ostinato("score", "found.txt", *given)
    assert code == 2 and words in errors and len(errors.splitlines()) == 1
