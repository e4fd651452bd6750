"""The text of an experiment: cut, reduced, and named."""

import pytest

from ostinato.errors import BadInput
from ostinato.experiments.recipes import Corpus, reduced

CORPUS = Corpus("an original", "tinyshakespeare", (80, 10, 10), symbols=4, quick=100)


def test_rare_symbols_become_one():
    assert reduced("aaabbc", 3) == "aaabbc"
    assert reduced("aaabbcd", 3) == "aaabb\ufffd\ufffd"
    assert len(set(reduced("abcdefgh" * 3 + "abcd", 5))) == 5


def test_the_users_text_is_cut_and_split_as_published(tmp_path):
    path = tmp_path / "own.txt"
    path.write_text("abcde" * 100)
    found = CORPUS.prepared(path, tmp_path, quick=False)
    assert (tmp_path / "corpus.txt").read_text() == "abc��" * 20
    assert found.settings == {"file": str(tmp_path / "corpus.txt"), "split": "80.0/10.0/10.0"}
    assert f"your text ({path}), 100 characters, 4 symbols" in found.words


@pytest.mark.parametrize(("text", "fewer"), [("abc", True), ("abcd", False), ("abcde", False)])
def test_a_text_of_too_few_symbols_is_said_to_give_smaller_networks(text, fewer, tmp_path):
    path = tmp_path / "own.txt"
    path.write_text(text * 40)
    words = CORPUS.prepared(path, tmp_path, quick=False).words
    assert ("fewer parameters than published" in words) == fewer


def test_bad_corpora_get_one_line(tmp_path):
    with pytest.raises(BadInput, match="there is no file"):
        CORPUS.prepared(tmp_path / "none.txt", tmp_path, quick=False)
    (tmp_path / "short.txt").write_text("too short")
    with pytest.raises(BadInput, match="has 9 characters"):
        CORPUS.prepared(tmp_path / "short.txt", tmp_path, quick=False)
