"""CoNLL-U, in and out."""

import gzip
import io

import pytest

from conllu_files import write_conllu
from ostinato.data import find_data
from ostinato.data.conllu import Sentence, read_conllu, sentences
from ostinato.errors import BadInput


def row(*columns):
    return "\t".join([*columns, *["_"] * (10 - len(columns))]) + "\n"


SPANISH = (
    "# sent_id = 1\n# text = vámonos al mar\n"
    + row("1-2", "vámonos")
    + row("1", "vamos", "ir", "VERB")
    + row("2", "nos", "nosotros", "PRON")
    + row("2.1", "pronto", "pronto", "ADV")
    + row("3-4", "al")
    + row("3", "a", "a", "ADP")
    + row("4", "el", "el", "DET")
    + row(
        "5", "mar", "mar", "NOUN", "_", "Gender=Masc|Number=Sing", "1", "obl", "1:obl:a", "x\x85y"
    )
    + "\n"
)
ELLIPSIS = row("0.1", "Ella") + row("1", "Yes") + row("1.1", "a") + row("1.2", "b") + "\n"


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_is_written_as_it_was_read(tmp_path, end, packed):
    text = (SPANISH + ELLIPSIS).rstrip("\n") + end
    raw = text.encode()
    (tmp_path / "a.conllu").write_bytes(gzip.compress(raw) if packed else raw)
    found = read_conllu(tmp_path / "a.conllu")
    assert [x.line for x in found] == [1, 12]
    name = "b.conllu.gz" if packed else "b.conllu"
    write_conllu(tmp_path / name, found)
    written = (tmp_path / name).read_bytes()
    assert (gzip.decompress(written) if packed else written) == raw


def test_columns_are_those_of_words_alone(tmp_path):
    (found,) = sentences(io.StringIO(SPANISH, newline="\n"), "here")
    assert found.column("form") == ["vamos", "nos", "a", "el", "mar"]
    changed = found.replaced("upos", ["A", "B", "C", "D", "E"])
    assert changed.column("upos") == ["A", "B", "C", "D", "E"]
    assert str(changed.replaced("upos", found.column("upos"))) == SPANISH
    assert [*sentences(io.StringIO(str(changed), newline="\n"), "here")] == [changed]
    with pytest.raises(BadInput, match=r"a value of upos is not empty and has no tabs, got ''"):
        found.replaced("upos", [""] * 5)


def test_a_sentence_of_words_is_valid():
    sentence = Sentence.of(["It", "rains", "."])
    assert [*sentences(str(sentence).splitlines(keepends=True), "here")] == [sentence]


BROKEN = {
    "nine columns": (row("1", "a") + "2\tb" + "\t_" * 7 + "\n\n", "line 2: 10 columns .*, got 9"),
    "spaces": ("1 a b c d e f g h i\n\n", "line 1: 10 columns separated by tabs are needed, got 1"),
    "an empty column": ("1\ta\t\t_\t_\t_\t_\t_\t_\t_\n\n", "line 1: the column lemma is empty"),
    "a gap": (row("1", "a") + row("3", "b") + "\n", "line 2: ids out of order, got 3 where 2 is"),
    "twice": (row("1", "a") + row("1", "b") + "\n", "line 2: ids out of order, got 1 where 2 is"),
    "from 2": ("# x\n" + row("2", "a") + "\n", "line 2: ids out of order, got 2 where 1 is due"),
    "a late range": (row("1", "a") + row("1-2", "ab") + "\n", "line 2: .* got 1-2 where 2-2 is"),
    "a range backwards": (row("2-1", "a") + "\n", "line 1: .* got 2-1 where 1-1 is due"),
    "ranges overlap": (
        row("1-3", "a") + row("1", "a") + row("2-3", "b") + "\n",
        "line 3: .* got 2-3 where 4-4",
    ),
    "a range too far": (row("1-3", "a") + row("1", "a") + "\n", "token ends at 3, but the last"),
    "empty nodes": (row("1", "a") + row("1.2", "b") + "\n", "line 2: .* got 1.2 where 1.1 is due"),
    "no id": (row("x", "a") + "\n", "line 1: an id is like 4, 4-5 or 4.1, got 'x'"),
    "id 0": (row("0", "a") + "\n", "line 1: an id is like 4, 4-5 or 4.1, got '0'"),
    "two blank lines": (row("1", "a") + "\n\n", "line 3: an empty sentence"),
    "comments alone": (row("1", "a") + "\n# nothing\n\n", "line 3: an empty sentence, comments"),
    "a late comment": (row("1", "a") + "# b\n\n", "line 2: a comment after the first word"),
    "windows": (row("1", "a").replace("\n", "\r\n") + "\r\n", "line 1: ends with CR LF"),
    "latin-1": ((row("1", "a") + row("2", "é")).encode("latin-1"), "line 2: not UTF-8, byte 0xe9"),
    "nothing": ("", "is empty; give a CoNLL-U file"),
    "half a gz": (gzip.compress(b"1" * 1000)[:20], "cannot read"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_are_refused_with_their_line(case, tmp_path):
    text, words = BROKEN[case]
    path = tmp_path / "broken.conllu"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadInput, match=words) as found:
        read_conllu(path)
    assert "\n" not in str(found.value) and "broken.conllu" in str(found.value)


@pytest.mark.data("ud_ewt/en_ewt-ud-dev.conllu")
def test_ewt_is_written_as_it_was_read(tmp_path):
    path = find_data("ud_ewt/en_ewt-ud-dev.conllu")
    found = read_conllu(path)
    assert len(found) == 2001 and sum(len(x.words) for x in found) == 25147
    assert "".join(map(str, found)).encode() == path.read_bytes()
