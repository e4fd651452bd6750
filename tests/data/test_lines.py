"""Lines of text files: what is read, and what is refused."""

import gzip

import pytest

from ostinato.data.lines import given_lines, read_lines, read_utf8
from ostinato.data.tokens import Tokens
from ostinato.errors import BadInput


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes(b"\xef\xbb\xbfgood\tfine\nbad\tpoor\n")
    assert read_utf8(path, "text file").startswith("good")
    assert read_lines(path)[0] == next(given_lines(path)) == "good\tfine"


def test_given_lines_keep_everything_but_the_newline(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b" one \r\ntwo")
    assert [*given_lines(path)] == [" one \r", "two"]
    packed = gzip.compress(path.read_bytes())
    path.write_bytes(packed)
    assert [*given_lines(path)] == [" one \r", "two"]
    path.write_bytes(packed[:-9])
    with pytest.raises(BadInput, match=r"cannot read .*a\.txt: Compressed file ended"):
        [*given_lines(path)]


@pytest.mark.parametrize("read", [read_lines, lambda path: [*given_lines(path)]])
@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"one\nt\0wo\n", "a.txt, line 2: a zero byte"),
        ("one\n".encode("utf-16-le"), "a.txt, line 1: a zero byte"),
        (b"one\n\xff\n", "a.txt, line 2: not UTF-8, byte 0xff"),
    ],
)
def test_what_is_not_a_text_is_refused(tmp_path, read, raw, words):
    (tmp_path / "a.txt").write_bytes(raw)
    with pytest.raises(BadInput, match=words):
        read(tmp_path / "a.txt")


def test_a_vocabulary_without_words_is_refused():
    with pytest.raises(BadInput, match="none of the 2 words occurs 3 times"):
        Tokens.of(["a b"], "words", min_count=3)
