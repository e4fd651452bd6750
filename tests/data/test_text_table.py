"""Columns of texts: what the readers give beside those of Python, and what they refuse."""

import csv
import gzip
import io
import json

import numpy as np
import pytest

from ostinato.data.text_table import labels_in, read_text_table, texts_in
from ostinato.errors import BadInput

CELLS = [
    "plain",
    "a, b",
    'say "hi"',
    '"whole"',
    "two\nlines",
    "tab\there",
    "é 中 😀",
    " spaced ",
    "x;y|z",
]


def write(folder, content, name="a.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_cells_are_those_of_the_csv_module(tmp_path, mark, quoting, ending):
    rows = [[str(n), cell, f"label{n % 2}"] for n, cell in enumerate(CELLS)]
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=mark, quoting=quoting, lineterminator=ending)
    writer.writerows([["id", "text", "label"], *rows])
    for name, content in (("a.csv", text.getvalue()), ("b.csv.gz", text.getvalue())):
        raw = content.encode("utf-8-sig")
        path = write(tmp_path, gzip.compress(raw) if name.endswith("gz") else raw, name)
        table = read_text_table(path, ["text", "label"])
        independent = csv.DictReader(io.StringIO(content, newline=""), delimiter=mark)
        assert table.columns[0] == [row["text"] for row in independent] == CELLS
        assert table.columns[1] == [f"label{n % 2}" for n in range(len(CELLS))]
        assert table.notes == ()
    assert table.places[5] == "line 8"  # after the cell of two lines


def test_json_is_what_the_json_module_reads(tmp_path):
    rows = [{"text": cell, "stars": n, "more": [n]} for n, cell in enumerate(CELLS)]
    lines = "\n".join(json.dumps(row, ensure_ascii=n % 2 == 0) for n, row in enumerate(rows))
    one = read_text_table(write(tmp_path, f"{lines}\n\n", "a.jsonl"), ["text", "stars"])
    two = read_text_table(write(tmp_path, json.dumps(rows), "a.json"), ["text", "stars"])
    assert one.columns == two.columns == [CELLS, [*range(len(CELLS))]]
    assert one.places[1] == "line 2" and two.places[1] == "row 2"
    assert one.notes == ("1 empty row was left out",) and two.notes == ()


def test_parquet_and_files_without_names(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"text": CELLS, "n": range(len(CELLS))}), path)
    assert read_text_table(path, ["n", "text"]).columns == [[*map(str, range(len(CELLS)))], CELLS]
    path = write(tmp_path, "Go.\tVa !\tCC-BY\nHi.\tSalut.\tCC-BY\n", "fra.txt")
    assert read_text_table(path, ["2", "1"]).columns == [["Va !", "Salut."], ["Go.", "Hi."]]


def test_quotes_in_a_file_with_tabs_are_part_of_the_text(tmp_path):
    path = write(tmp_path, 'text\tlabel\n"Yes" he said\ta\n"open\tb\nclose"\tc\n"whole"\td\n')
    texts = ['"Yes" he said', '"open', 'close"', '"whole"']
    assert read_text_table(path, ["text"]).columns == [texts]


def test_what_is_left_out_is_said(tmp_path):
    table = read_text_table(write(tmp_path, "t,l\na,1\n\n,\nb,2\n \n"), ["t", "l"])
    assert table.columns == [["a", "b"], ["1", "2"]]
    assert table.places == ["line 2", "line 5"] and table.notes == ("3 empty rows were left out",)
    labels, notes = labels_in([" good", "good", "bad "], ["line 1"] * 3, "a.csv")
    assert labels == ["good", "good", "bad"]
    assert notes == ["spaces around 2 labels were left out"]
    assert labels_in([[1, 2], []], ["line 1"] * 2, "a")[0] == [["1", "2"], []]
    assert labels_in([True, False], ["line 1"] * 2, "a")[0] == ["true", "false"]
    mixed = ["science fiction", ["drama"], None]
    assert labels_in(mixed, ["line 1"] * 3, "a")[0] == [["science fiction"], ["drama"], []]


WRONG = {
    "a.csv": {
        ",".join(
            f"a name of a column {n}" for n in range(99)
        ): r"it has 'a name of .* 3', …; where",
        "": "is empty; give a table",
        "\n\n": "has no column 't'",
        "\n\nt,l\na,\n": "line 4: the label is empty",
        "t,l\n": "has no rows with 't', 'l'",
        "a,b\n1,2\n": "has no column 't'; it has 'a', 'b'; where the first line has no names",
        "t,l,l\na,b,c\n": "line 1: two columns are called 'l'",
        "t,l\na,b,c\n": "line 2: the number of cells is 3, in the first line 2; a text with",
        't,l\n"a,b\n': "line 2: unexpected end of data",
        't,l\n"a"b,c\n': "line 2: ',' expected after",
        "t,l\na,\n": "line 2: the label is empty",
        "t,l\n ,x\n": "line 2: the text is empty",
        b"t,l\nna\xefve,x\n": "line 2: not UTF-8, byte 0xef",
        "t,l\na,x\n".encode("utf-16"): "line 1: a zero byte; give a text in UTF-8",
        "t,l\na,x\n t,l\n": "line 3: the names of the columns again; leave it out",
        b"t,l\na\0,x\n": "line 2: a zero byte",
        b"\x1f\x8bnot gzip": "cannot read",
        "t,l\n" + "a" * 200_000 + ",x\n": "line 2: a cell is too long",
    },
    "a.jsonl": {
        '{"t": "a"}\n': "line 1 has no column 'l'; it has 't'",
        '["a", "b"]\n': "line 1: a row is an object",
        '{"t": "a", "l": "x"}\n{"t": "b" "l": 1}\n': "line 2: not JSON",
        '{"t": 5, "l": "x"}\n': "line 1: the text must be in quotes, got 5",
        '{"t": null, "l": "x"}\n': "line 1: the text is empty",
        '{"t": "a", "l": null}\n': "line 1: the label is empty",
        '{"t": "a", "l": {"x": 1}}\n': "line 1: a label is a text or a number",
        '{"t": "a", "l": NaN}\n': "line 1: not JSON, NaN is no JSON",
        '{"t": "a\\u0000", "l": "x"}\n': "line 1: a zero byte",
        '{"t": "\\ud800", "l": "x"}\n': "line 1: U\\+D800 is half of a character",
        '{"t": "a", "l": 1}\n{"t": "b", "l": "1"}\n': "a label is a number in .*line 1, and a",
        "[" * 100_000: "not JSON",
        '{"t": "a", "l": "x", "t": "b"}\n': "line 1: the name 't' is there twice in one object",
    },
    "a.json": {'{"t": "a",\n"l": "x"}': "line 1: not JSON", "[1]": "row 1: a row is an object"},
    "a.parquet": {"no parquet": "cannot be read as Parquet"},
}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [(name, *one) for name, some in WRONG.items() for one in some.items()],
    ids=lambda x: repr(x)[:30],
)
def test_wrong_tables_are_refused_in_one_line(tmp_path, name, content, words):
    path = write(tmp_path, content, name)
    with pytest.raises(BadInput, match=words) as caught:
        (texts, labels), places, _ = read_text_table(path, ["t", "l"])
        texts_in(texts, places, path, "the text")
        labels_in(labels, places, path)
    assert name in str(caught.value) and "\n" not in str(caught.value)
    assert len(str(caught.value).replace(str(path), "")) < 200


def test_a_column_is_named_once(tmp_path):
    with pytest.raises(BadInput, match="the column 't' is named twice"):
        read_text_table(write(tmp_path, "t,l\na,b\n"), ["t", "t"])


def test_broken_tables_never_raise_anything_else(tmp_path):
    """Bytes of a good file, changed at random, are read or refused in one line."""
    rng = np.random.default_rng(0)
    good = {
        "a.csv": b't,l\n"one, two",x\nthree,y\n\n"a\nb",x\n',
        "a.tsv": b't\tl\n"one" two\tx\nthree\ty\n',
        "a.jsonl": b'{"t": "one", "l": ["x"]}\n{"t": "two", "l": ["y", "x"]}\n',
        "a.json": b'[{"t": "one", "l": 1}, {"t": "two", "l": 2}]',
    }
    for name, content in good.items():
        for _ in range(60):
            raw = bytearray(content)
            for place in rng.integers(0, len(raw), rng.integers(1, 4)):
                raw[place : place + rng.integers(0, 3)] = rng.integers(
                    0, 256, rng.integers(0, 3), np.uint8
                ).tobytes()
            path = write(tmp_path, bytes(raw), name)
            try:
                (texts, labels), places, _ = read_text_table(path, ["t", "l"])
                texts_in(texts, places, path, "the text")
                labels_in(labels, places, path)
            except BadInput as error:
                assert "\n" not in str(error)
