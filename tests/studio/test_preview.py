"""The form of settings, and the beginnings of data files that it shows, without a browser."""

import gzip
import io
import json

import numpy as np
import pyarrow.parquet
import pytest

from ostinato.errors import BadInput
from ostinato.studio import worker
from ostinato.studio.preview import COLUMNS, LONGEST, preview


def shown(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    found = preview(path)
    assert len(json.dumps(found)) < 200_000 and "\n" not in found.get("words", "")
    assert str(tmp_path) not in found["text"]
    return found


def kinds(found):
    return {one["name"]: one["kind"] for one in found["columns"]}


SALES = "date,store,sales\n2024-01-01,Ulm,1.5\n2024-01-02,Ulm,\n2024-01-03,Berlin,2\n"


def test_a_table_is_shown_with_the_kinds_of_its_columns(tmp_path):
    found = shown(tmp_path, "sales.csv", SALES)
    assert kinds(found) == {"date": "dates", "store": "words", "sales": "numbers"}
    assert found["rows"][1] == ["2024-01-02", "Ulm", ""] and found["task"] == "series"
    assert found["columns"][1]["values"] == ["Ulm", "Berlin"]
    assert found["columns"][2]["values"] == ["1.5", "2"]


def test_other_files_are_shown_as_what_they_are(tmp_path):
    assert shown(tmp_path, "book.txt", "one\ntwo\n")["text"] == "one\ntwo"
    packed = gzip.compress(b"one\ntwo\n")
    assert shown(tmp_path, "book.txt.gz", packed)["text"] == "one\ntwo"
    found = shown(tmp_path, "sales.csv.gz", gzip.compress(SALES.encode()))
    assert kinds(found)["sales"] == "numbers" and found["task"] == "series"
    lines = '{"text": "fine", "stars": 3}\n{"text": "bad", "stars": 1}\n'
    found = shown(tmp_path, "reviews.jsonl", lines)
    assert kinds(found) == {"text": "words", "stars": "numbers"}
    assert found["task"] == "classify" and found["rows"][1] == ["bad", "1"]
    assert shown(tmp_path, "reviews.csv", "text,label\nfine,pos\nbad,neg\n")["task"] == "classify"
    numbered = "id,text,label\n1,it is very fine,pos\n2,it is so bad,neg\n"
    assert shown(tmp_path, "numbered.csv", numbered)["task"] == "classify"
    array = io.BytesIO()
    np.save(array, np.arange(10.0).reshape(5, 2))
    found = shown(tmp_path, "waves.npy", array.getvalue())
    assert kinds(found) == {"1": "numbers", "2": "numbers"} and found["rows"][1] == ["2", "3"]


def test_only_the_beginning_of_a_large_file_is_read(tmp_path):
    with open(tmp_path / "large.csv", "w") as file:
        file.write("a,b\n" + "1,2\n" * 100_000)
        file.truncate(1 << 34)  # 16 GB of zero bytes, which take no room
    assert kinds(preview(tmp_path / "large.csv")) == {"a": "numbers", "b": "numbers"}
    table = pyarrow.table({"a": range(100_000), "b": ["x", "y"] * 50_000})
    pyarrow.parquet.write_table(table, tmp_path / "large.parquet")
    found = preview(tmp_path / "large.parquet")
    assert kinds(found) == {"a": "numbers", "b": "words"} and found["rows"][1] == ["1", "y"]


def test_quoted_cells_with_many_lines(tmp_path):
    cell = '"' + "line, of many\n" * 15 + '"'
    rows = "".join(f"{cell},{'ab'[n % 2]}\n" for n in range(3000))
    found = shown(tmp_path, "long.csv", f"text,label\n{rows}")
    assert kinds(found) == {"text": "words", "label": "words"}
    assert all(len(x) <= LONGEST for row in found["rows"] for x in row)


def test_very_many_columns_are_cut(tmp_path):
    names = ",".join(f"c{n}" for n in range(3000))
    values = ",".join(["1"] * 3000)
    found = shown(tmp_path, "wide.csv", f"{names}\n{values}\n")
    assert len(found["columns"]) == COLUMNS and "2800 more columns" in found["words"]


WRONG = {
    "empty.csv": b"",
    "header.csv": b"a,b\n",
    "zero.csv": b"a\0b\n1,2\n",
    "bytes.csv": b"\xff\xfe\n1\n",
    "twice.csv": b"a,a\n1,2\n",
    "ragged.csv": b"a,b\n1\n1,2,3\n",
    "quote.csv": b'a,b\n"1,2\n',
    "values.csv": b"2020-01-01,5\n2020-01-02,6\n",
    "no.parquet": b"PAR1 nothing",
    "empty.parquet": b"",
    "no.npy": b"\x93NUMPY nothing",
    "empty.npy": b"",
    "no.npz": b"PK nothing",
    "list.jsonl": b"[1, 2]\n",
    "broken.jsonl": b'{"a": 1\n',
    "deep.jsonl": b"[" * 100_000,
    "nan.jsonl": b"NaN\n",
    "cut.txt.gz": gzip.compress(b"one\ntwo\n" * 100)[:30],
    "empty.txt": b"",
    "zero.txt": b"\0\0",
    "line.txt": b"x" * 300_000,
    "latin.txt": "Gr\u00f6\u00dfe\n".encode("latin-1"),
    "picture.png": b"\x89PNG\r\n\x1a\n\0\0",
    "unknown": b"words",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_a_sentence_or_its_text(tmp_path, name):
    try:
        found = shown(tmp_path, name, WRONG[name])
    except BadInput as error:
        assert "\n" not in str(error) and len(str(error)) < 300
    else:
        assert not found["columns"] and found["task"] in ("text", "series", "arrays", "classify")
        assert "allow_pickle" not in found["words"]
        if name == "quote.csv":
            assert found["text"] == 'a,b\n"1,2' and "has a header and no rows" not in found["words"]


def test_no_array_runs_code(tmp_path):
    array = io.BytesIO()
    np.save(array, np.array([{}], object), allow_pickle=True)
    assert "cannot be read" in shown(tmp_path, "x.npy", array.getvalue())["words"]


def test_the_form_offers_every_setting_that_names_columns_beside_them():
    """A new one appears by itself: its help begins with what it names."""
    form = worker.form({})
    tasks = form["roles"][0]["members"]
    named = {one["name"]: one["columns"] for one in tasks["series"]["fields"] if one["columns"]}
    several = dict.fromkeys(("target", "ignore", "known", "static", "words"), "columns")
    assert {"sequence": "column", "time": "column", **several}.items() <= named.items()
    named = {one["name"]: one["columns"] for one in tasks["classify"]["fields"] if one["columns"]}
    assert named == {"text": "column", "label": "column"}
    assert not any(one["columns"] for one in tasks["text"]["fields"])
    assert all(one["words"].endswith((".", ":")) for one in tasks.values())
    often = [one["name"] for one in tasks["series"]["fields"] if one["often"]]
    assert {"file", "target", "horizon", "quantiles"} <= {*often} and "washout" not in often
    assert tasks["ntm-copy"]["recipe"]["turing"] == "128x20"
    pair = {one["name"]: one for one in tasks["translate"]["fields"]}
    assert pair["source"]["path"] and pair["target"]["path"] and pair["source"]["columns"]
    json.dumps(form)
