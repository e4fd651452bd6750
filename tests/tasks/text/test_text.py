"""Texts in streams, and files of all kinds."""

import gzip
import os

import numpy as np
import pytest

from ostinato.data import Vocabulary, read_symbols, reading
from ostinato.data.generated.everyday import book_text
from ostinato.data.splits import PARTS
from ostinato.errors import BadInput
from ostinato.runs import Config
from ostinato.runs.build import build_task
from ostinato.tasks import AnsweringTask, Pairs, Text
from ostinato.tasks.text.text import streams
from ostinato.tasks.windows import windows_of

# Every symbol once and in the order of its number, so that a symbol says where it stands.
COUNTING = "".join(chr(0x4E00 + n) for n in range(1000))


@pytest.mark.parametrize(("size", "length"), [(4, 20), (7, 13), (1, 899), (50, 5)])
def test_streams_go_on_from_batch_to_batch(size, length):
    task = Text.of(COUNTING, length=length)
    windows = windows_of(899, size, length)
    seen = []
    for index in range(windows):
        batch, after = task.batch(index, size), task.batch(index + 1, size)
        assert batch.inputs.shape == (length, size)
        assert np.array_equal(batch.targets, batch.inputs + 1)
        assert batch.first == (index == 0)
        assert after.first == (index + 1 == windows)
        if not after.first:
            assert np.array_equal(after.inputs[0], batch.targets[-1])
        seen.extend(batch.targets.ravel())
    assert len(seen) == len(set(seen)), "a pass takes nothing twice"
    assert len(seen) > 899 - (size + 1) * length, "and leaves less than a batch and a window"
    assert max(seen) < 900, "and nothing of what is held out"


def test_nothing_is_learned_from_held_out_characters():
    text = "the quick brown fox jumps over the lazy dog. " * 20
    one, two = Text.of(text, length=20), Text.of(text[:810] + text[:89:-1][:90], length=20)
    assert not np.array_equal(one.parts["test"], two.parts["test"])
    assert one.artefacts() == two.artefacts() and one.chance == two.chance
    assert one.notes == two.notes == ()
    for index in range(3):
        assert np.array_equal(one.batch(index, 4).inputs, two.batch(index, 4).inputs)


def test_characters_of_held_out_parts_alone_are_said(tmp_path):
    """The vocabulary has them, so that the whole text can be scored."""
    text = "abcab" * 30 + "ü\n!"
    (tmp_path / "a.txt").write_text(text)
    config = Config(file=str(tmp_path / "a.txt"), split="80/10/10")
    (note,) = build_task(config).notes
    words = "3 characters occur only in held-out parts: '\\n', '!', 'ü'; the vocabulary is that of"
    assert note.startswith(words) and Text.of(text, split="80/10/10").notes == (note,)
    (many,) = Text.of("ab" * 90 + "cdefghijklmnop", split="80/10/10").notes
    assert many.startswith("14 characters occur") and "'l', …; the" in many
    assert build_task(Config(file=str(tmp_path / "a.txt"), level="bytes")).notes == ()


def test_passes_start_at_different_offsets():
    task = Text.of(COUNTING, length=30)
    windows = windows_of(899, 8, 30)
    offsets = {int(task.batch(epoch * windows, 8).inputs[0, 0]) for epoch in range(20)}
    assert len(offsets) > 10
    assert max(offsets) <= 899 - 8 * windows * 30


def test_without_carrying_sequences_begin_anywhere():
    task = Text.of(COUNTING, length=10, carry=False)
    batches = [task.batch(index, 100) for index in range(100)]
    assert all(batch.first for batch in batches)
    assert all(np.array_equal(batch.targets, batch.inputs + 1) for batch in batches)
    starts = np.concatenate([batch.inputs[0] for batch in batches])
    assert starts.min() == 0 and starts.max() == 889
    assert max(batch.targets.max() for batch in batches) == 899


@pytest.mark.parametrize("part", ["valid", "test"])
@pytest.mark.parametrize(("size", "length"), [(1, 10), (4, 10), (3, 7), (7, 7), (64, 7), (4, 200)])
def test_held_out_counts_every_symbol_once(part, size, length):
    task = Text.of(COUNTING, length=length, split=(0.9, 0.06, 0.04))
    begin, end = {"valid": (900, 960), "test": (960, 1000)}[part]
    counted, before = [], None
    for n, batch in enumerate(task.held_out(part, size)):
        there = batch.weights == 1
        assert np.array_equal(batch.targets[there], batch.inputs[there] + 1)
        assert batch.first == (n == 0)
        if before is not None:
            goes_on = there[0]
            assert np.array_equal(batch.inputs[0, goes_on], before.targets[-1, goes_on])
        counted.extend(batch.targets[there])
        before = batch
    assert sorted(counted) == list(range(begin + 1, end))


def test_batches_are_as_large_as_the_text_allows():
    task = Text.of("abcabcabca", length=100, split=(1, 0, 0))
    assert task.batch(0, 32).inputs.shape == (9, 1)
    assert list(task.held_out("valid", 32)) == []


@pytest.mark.parametrize("start", ["a", ""])
def test_nothing_to_learn_from(start):
    with pytest.raises(BadInput, match="too few to learn from"):
        Text.of(start)


def test_one_character_over_and_over():
    with pytest.raises(BadInput, match="one character only, repeated"):
        Text.of("a" * 100)


@pytest.mark.parametrize("found", ["abba", "", "naïve 𝄞 clef 😀\n", "\x7f\u0080\uffff\U0010ffff"])
def test_vocabulary_round_trips(found):
    vocabulary = Vocabulary.of_text(found)
    assert len(vocabulary) == len(set(found))
    assert vocabulary.decode(vocabulary.encode(found)) == found
    again = Vocabulary.from_json(vocabulary.as_json())
    assert again == vocabulary


def test_vocabulary_of_bytes_round_trips():
    vocabulary = Vocabulary.of_bytes()
    assert vocabulary.encode("é").tolist() == [0xC3, 0xA9]
    assert vocabulary.decode(vocabulary.encode("naïve 😀")) == "naïve 😀"
    assert vocabulary.decode([0x61, 0xFF]) == "a\ufffd"


@pytest.mark.parametrize("strange", ["~", "!", "😀"])
def test_vocabulary_names_what_it_does_not_know(strange):
    with pytest.raises(BadInput, match=rf"'{strange}' \(at position 2\); it knows the 2"):
        Vocabulary.of_text("ab").encode(f"ab{strange}b")


def test_book_text_is_prose_and_code():
    found = book_text()
    assert len(found) > 300_000
    assert "def " in found and " the " in found and "\0" not in found


def write(tmp_path, content: bytes):
    path = tmp_path / "text"
    path.write_bytes(content)
    return path


def refused(path, **options) -> str:
    with pytest.raises(BadInput) as found:
        read_symbols(path, **options)
    message = str(found.value)
    assert "\n" not in message
    return message


def test_reads_characters(tmp_path):
    symbols, vocabulary = read_symbols(write(tmp_path, "naïve 😀\r\n".encode()))
    assert vocabulary.decode(symbols) == "naïve 😀\r\n"


def test_reads_bytes(tmp_path):
    content = bytes(range(256))[::-1] + b"\0"
    symbols, vocabulary = read_symbols(write(tmp_path, content), level="bytes")
    assert symbols.tobytes() == content
    assert vocabulary == Vocabulary.of_bytes()


def test_reads_other_encodings(tmp_path):
    for encoding in ("latin-1", "utf-16"):
        path = write(tmp_path, "café".encode(encoding))
        symbols, vocabulary = read_symbols(path, encoding=encoding)
        assert vocabulary.decode(symbols) == "café"


@pytest.mark.parametrize("piece", [1, 2, 3, 4, 5, 100])
def test_reads_piece_by_piece(tmp_path, monkeypatch, piece):
    """With characters of one to four bytes, every border falls into each of them."""
    monkeypatch.setattr(reading, "PIECE", piece)
    content = "aé€😀" * 5
    symbols, vocabulary = read_symbols(write(tmp_path, content.encode()))
    assert vocabulary.decode(symbols) == content
    assert len(vocabulary) == 4


def test_takes_the_vocabulary_of_a_model(tmp_path):
    known = Vocabulary.of_text("abc")
    symbols, vocabulary = read_symbols(write(tmp_path, b"cb"), vocabulary=known)
    assert vocabulary is known
    assert symbols.tolist() == [2, 1]
    path = write(tmp_path, b"cbx")
    message = refused(path, vocabulary=known)
    assert str(path) in message and "'x' (at position 2)" in message


def test_missing_empty_and_folder(tmp_path):
    assert refused(tmp_path / "none") == f"there is no file {tmp_path / 'none'}"
    assert "is empty" in refused(write(tmp_path, b""))
    assert "has no text files; they are called .txt" in refused(tmp_path)


def test_a_folder_is_one_text(tmp_path):
    inner = tmp_path / "books" / "b"
    inner.mkdir(parents=True)
    files = {"a.txt": b"one", "b/c.md": b"# two\r\n", "d.txt.gz": gzip.compress("drei é".encode())}
    for name, raw in {**files, "e.pdf": b"\xff", ".hidden.txt": b"no"}.items():
        (tmp_path / "books" / name).write_bytes(raw)
    text = "one\n# two\r\ndrei é"
    for level, content in (("characters", text), ("bytes", text.encode())):
        task = Text.from_settings(Text.Settings(file=str(tmp_path / "books"), level=level), 0)
        symbols = np.concatenate([task.stream(part) for part in PARTS])
        assert task.vocabulary.level == level
        points = np.array(task.vocabulary.points)[symbols]
        assert points.tolist() == [ord(x) if isinstance(x, str) else x for x in content]
    assert task.notes == (
        f"3 files of {tmp_path / 'books'} are read one after the other, by name",
        "2 other files there are left out",
    )
    one = Text.from_settings(Text.Settings(file=str(inner / "c.md")), 0)
    assert one.notes == (
        r"1 character occurs only in held-out parts: '\n'; the vocabulary is that of the whole "
        "text",
        "a carriage return (CR) is read as a character",
    )


def test_a_packed_text_is_unpacked(tmp_path):
    content = "naïve 😀\n" * 50
    plain = read_symbols(write(tmp_path, content.encode()))
    packed = read_symbols(write(tmp_path, gzip.compress(content.encode())))
    assert np.array_equal(plain[0], packed[0]) and plain[1] == packed[1]
    assert "cannot read" in refused(write(tmp_path, gzip.compress(content.encode())[:-9]))


def test_what_a_run_on_a_text_is_applied_with():
    with pytest.raises(BadInput, match="`ostinato sample` writes more text"):
        Text.able(AnsweringTask)


def test_unknown_encoding(tmp_path):
    assert "no encoding 'utf-99'" in refused(write(tmp_path, b"x"), encoding="utf-99")


@pytest.mark.parametrize("piece", [1, 2, 3, 4, 7, 100])
@pytest.mark.parametrize(
    ("content", "byte", "position"),
    [
        ("un café noir".encode("latin-1"), "e9", 6),
        ("€é😀".encode() + b"ab\xff", "ff", 11),
        ("abé".encode()[:-1], "c3", 2),
        ("a😀b".encode()[:4] + b"b", "f0", 1),
        (b"\x89PNG\r\n\x1a\n", "89", 0),
    ],
    ids=["latin-1", "late", "cut short", "broken off", "binary"],
)
def test_says_where_it_is_not_text(tmp_path, monkeypatch, piece, content, byte, position):
    monkeypatch.setattr(reading, "PIECE", piece)
    path = write(tmp_path, content)
    message = refused(path)
    assert f"{path} is not utf-8 text: byte 0x{byte} at position {position};" in message
    assert "--encoding" in message and "--level bytes" in message


def test_zero_bytes_are_no_text(tmp_path):
    assert "zero bytes" in refused(write(tmp_path, b"ab\0cd"))


@pytest.mark.parametrize("name", ["undefined", "mbcs", "zlib", "rot13", "\0", "\udcff", "", "idna"])
def test_what_is_no_encoding_of_texts(tmp_path, name):
    assert "encoding" in refused(write(tmp_path, b"xn--a"), encoding=name)
    assert "punycode is for domain names" in refused(tmp_path / "text", encoding="punycode")


def test_says_that_a_byte_order_mark_is_missing(tmp_path):
    message = refused(write(tmp_path, b"abcdefgh"), encoding="utf-16")
    assert "is not utf-16 text: UTF-16 stream does not start with BOM" in message
    assert "is not utf-32 text: " in refused(tmp_path / "text", encoding="utf-32")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("unicode_escape", rb"a \ud800 b"),
        ("raw_unicode_escape", rb"a \udfff b"),
        ("utf-7", b"a +2AA- b"),
    ],
)
def test_halves_of_characters_are_no_text(tmp_path, name, content):
    assert "half of a character" in refused(write(tmp_path, content), encoding=name)


def test_reads_hz_and_utf_7(tmp_path):
    for name in ("hz", "utf-7"):
        symbols, vocabulary = read_symbols(write(tmp_path, "中a文".encode(name)), encoding=name)
        assert vocabulary.decode(symbols) == "中a文"


def test_what_is_no_regular_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    assert "is not a regular file" in refused(tmp_path / "pipe")
    assert "is not a regular file" in refused("/dev/zero")
    assert "Too many levels of symbolic links" in refused(tmp_path / "loop")
    assert "File name too long" in refused("n" * 5000)
    assert "null byte" in refused("a\0b")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", denied)
    assert refused(__file__) == f"cannot read {__file__}: Permission denied"


@pytest.mark.parametrize("after", [b"abcx", b"ab", b""])
def test_a_text_that_changes_while_it_is_read(tmp_path, monkeypatch, after):
    path = write(tmp_path, b"abc")
    found = reading._pieces

    def pieces(*arguments, **options):
        yield from found(*arguments, **options)
        path.write_bytes(after)

    monkeypatch.setattr(reading, "_pieces", pieces)
    assert "changed while it was being read" in refused(path)


def test_bytes_of_a_command_line_are_taken_as_they_are():
    assert Vocabulary.of_bytes().encode("a\udcff").tolist() == [0x61, 0xFF]
    with pytest.raises(BadInput, match=r"U\+D800 \(at position 1\) is half of a character"):
        Vocabulary.of_bytes().encode("a\ud800")


def test_a_window_is_no_longer_than_the_text():
    (batch,) = streams(np.arange(5), 1, 10**12)
    assert batch.inputs[:, 0].tolist() == [0, 1, 2, 3]
    assert batch.targets[:, 0].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("split", [(0.5, 0.2, 0.2), (90, 5, 5), (0.9, 0.1), (0, 0.5, 0.5)])
def test_shares_that_are_not_all_of_a_text_are_refused(split):
    for make in (
        lambda: Text.of("some text " * 20, split=split),
        lambda: Pairs.of_texts(["a b"] * 20, ["c d"] * 20, split=split),
    ):
        with pytest.raises(BadInput, match="split"):
            make()
