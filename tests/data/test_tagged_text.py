"""Tagged words in plain forms, beside a reading by hand, and what is refused."""

import gzip

import numpy as np
import pytest

from ostinato.data.tagged_text import as_text, form_of, in_columns, with_slashes
from ostinato.errors import BadInput
from ostinato.runs import Config
from ostinato.runs.build import build_task
from ostinato.tasks.text.tagged import TagCode, read_tagged, sentences_of

SENTENCES = [
    (["It", "rains", "1/2", "km"], ["PRP", "VBZ", "CD", "NN"]),
    (["Yes", "."], ["UH", "."]),
    (["New", "York", "#"], ["B-LOC", "I-LOC", "O"]),
]


def by_hand(text):
    """Columns as one would read them without a library, the tag in the last."""
    blocks = text.replace("\r\n", "\n").split("\n\n")
    rows = [[line.split() for line in block.split("\n") if line.split()] for block in blocks]
    rows = [[row for row in block if row[0] != "-DOCSTART-"] for block in rows]
    return [([r[0] for r in block], [r[-1] for r in block]) for block in rows if block]


def written(mark, more=""):
    return "\n".join(
        "".join(
            f"{mark.join([word, *more.split(), tag])}\n" for word, tag in zip(*one, strict=True)
        )
        for one in SENTENCES
    )


@pytest.mark.parametrize("mark", ["\t", " ", "   "])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("more", ["", "x y"])
def test_columns_are_read_as_by_hand(tmp_path, mark, ending, more):
    text = ("-DOCSTART- -X- O" + " O" * (len(more.split()) - 1) + "\n\n") * bool(more)
    text = (text + written(mark, more)).replace("\n", ending)
    (tmp_path / "a.conll.gz").write_bytes(gzip.compress(text.encode("utf-8-sig")))
    form, read = read_tagged(tmp_path / "a.conll.gz", "4" if more else "upos")
    assert form == "columns" and read.sentences == by_hand(text) == SENTENCES
    assert read.notes == (("1 line -DOCSTART- was left out",) if more else ())


def test_slashes_and_what_is_written_is_read_again():
    lines = ["It/PRP rains/VBZ 1/2/CD km/NN", "", "Yes/UH ./."]
    assert form_of(lines) == "slashes" and with_slashes(lines, "a").sentences == SENTENCES[:2]
    for form, read in (("slashes", with_slashes), ("columns", in_columns)):
        text = "\n".join(as_text(*one, form) for one in SENTENCES)
        assert read(text.split("\n"), "a").sentences == SENTENCES
        assert form_of(text.split("\n")) == form


def test_forms_are_told_apart():
    assert form_of(["# text = a/B"]) == form_of(["1\ta" + "\t_" * 8]) == "conllu"
    assert form_of(["and/or\tCC"]) == form_of(["and/or CC", "x Y"]) == "columns"
    assert form_of(["and/or/CC"]) == "slashes"


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", "upos", "is empty; give a file of tagged words"),
        ("\n \n", "upos", "has no sentences"),
        ("It PRP\nrains\n", "upos", "line 2: 'rains' is not a word and its tag"),
        ("It PRP\nrains VBZ x\n", "upos", "line 2: 3 columns, and 2 above"),
        ("It\t\n", "upos", "line 1: .* is not a word and its tag"),
        ("\tPRP\n", "upos", "line 1: .* is not a word and its tag"),
        ("It PRP x\n", "upos", "line 1: 3 columns; --column says which has the tags, 2 to 3"),
        ("It PRP\n", "3", "has 2 columns, the first of words; got --column 3"),
        ("It/PRP rains/VBZ\n" * 30 + "no\n", "upos", "line 31: 'no' is not word/TAG"),
        ("1\ta" + "\t_" * 8 + "\n", "3", "is CoNLL-U; --column is the name of a column, got 3"),
        ("It PRP\n-DOCSTART-\n\xff", "upos", "line 3: '.' is not a word and its tag"),
    ],
)
def test_wrong_files_are_refused(tmp_path, text, column, words):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(BadInput, match=words) as caught:
        read_tagged(tmp_path / "a.txt", column)
    assert "a.txt" in str(caught.value) and "\n" not in str(caught.value)


def test_a_run_writes_what_it_learned_from(tmp_path):
    (tmp_path / "a.conll").write_text(written(" ") + "\n" + written("\t"))
    task = build_task(Config(file=str(tmp_path / "a.conll"), split="100/0/0"))
    assert task.name == "tag" and task.code.form == "columns" and len(task.code.tags) == 9
    code = TagCode.from_json(task.artefacts())
    (sentence, other) = sentences_of(["It\tx\n", "rains\n", "\n", "Yes\tx\n"], "input", code.form)
    assert sentence.column("form") == ["It", "rains"] and other.column("form") == ["Yes"]
    (spaced, _) = sentences_of(["It PRP", "rains VBZ", "", "Yes UH"], "input", code.form)
    assert spaced.column("form") == ["It", "rains"]
    assert code.written(sentence.replaced("upos", ["A", "B"])) == "It\tA\nrains\tB\n\n"
    for column in ("1", "x", "0004", "²"):
        with pytest.raises(BadInput, match=r"column must be one of upos, .*, or a number"):
            Config(task="tag", column=column)


def test_nothing_is_learned_from_held_out_sentences(tmp_path):
    rng = np.random.default_rng(0)
    some = [[*rng.choice(["aa", "bb", "cc"], 4)] for _ in range(40)]

    def made():
        lines = (f"{' '.join(f'{word}/{word[0].upper()}' for word in words)}\n" for words in some)
        (tmp_path / "a.txt").write_text("".join(lines))
        return build_task(Config(task="tag", file=str(tmp_path / "a.txt")))

    one = made()
    begins = {x for part in ("valid", "test") for x in _sentences(one, part)}
    for words in some:
        if " ".join(words) in begins - _sentences(one, "train"):
            words[:] = ["axx", "bxx", "cxx", "axx"]
    two = made()
    assert one.artefacts() == two.artefacts()
    for x, y in zip(one.batch(3, 8).inputs, two.batch(3, 8).inputs, strict=True):
        assert np.array_equal(x, y)
    assert "axx" in str(_sentences(two, "test")) + str(_sentences(two, "valid"))


def _sentences(task, part):
    return {" ".join(words) for words in task.passage(part).sentences}
