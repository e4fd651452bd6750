"""CSV, Parquet and NumPy files: what is read, and one line for what cannot be."""

import dataclasses
import gzip
import zipfile
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from ostinato.data import read_npy, read_npz, read_table
from ostinato.data.csv_file import with_texts
from ostinato.data.table import Table, first_twice
from ostinato.errors import BadInput
from ostinato.tasks.series.from_files import task_name_for
from ostinato.tasks.series.series_data import column_numbers

NAN = np.nan

READ = {
    "commas": ("a,b\n1,2\n3,4\n", {"a": [1, 3], "b": [2, 4]}),
    "semicolons and decimal commas": ("a;b\n1,5;2\n-3,0;4e1\n", {"a": [1.5, -3], "b": [2, 40]}),
    "tabs": ("a\tb\n1\t2,5\n", {"a": [1], "b": [2.5]}),
    "bars": ("a|b\n1|2,5\n", {"a": [1], "b": [2.5]}),
    "no header": ("1,2\n3,4\n", {"1": [1, 3], "2": [2, 4]}),
    "byte-order mark": ("\ufeffa,b\n1,2\n", {"a": [1], "b": [2]}),
    "quotes": ('"a, x","b ""y"""\n"1",2\n', {"a, x": [1], 'b "y"': [2]}),
    "a quoted line break": ('"a\nx",b\n1,2\n', {"a\nx": [1], "b": [2]}),
    "a delimiter at the end": ("a,b,\n1,2,\n3,4,\n", {"a": [1, 3], "b": [2, 4]}),
    "row numbers": (",a\n0,5\n1,6\n", {"a": [5, 6]}),
    "missing": ("a,b\n,2\nNA,3\nnull,?\n", {"a": [NAN] * 3, "b": [2, 3, NAN]}),
    "one column": ("y\n1\n\n3\n\n", {"y": [1, NAN, 3]}),
    "blank lines": ("\na,b\n1,2\n\n3,4\n", {"a": [1, 3], "b": [2, 4]}),
    "spaces": (" a , b \n 1 , 2 \n", {"a": [1], "b": [2]}),
    "Windows": ("a,b\r\n1,2\r\n", {"a": [1], "b": [2]}),
    "no end of line": ("a,b\n1,2", {"a": [1], "b": [2]}),
    "commas that are sure": ("a;b\n0,123;1,234\n5,678;9\n", {"a": [0.123, 5.678], "b": [1.234, 9]}),
    "large whole numbers": ("a;b\n1,234;1\n5678;1\n", {"a": [1.234, 5678], "b": [1, 1]}),
    "points with semicolons": ("a;b\n1.234;1\n2.345;0.5\n", {"a": [1.234, 2.345], "b": [1, 0.5]}),
    "points alone": ("a;b\n1.234;1\n2.345;2\n", {"a": [1.234, 2.345], "b": [1, 2]}),
    "points with commas": ("a,b\n1.234,999\n999,1\n", {"a": [1.234, 999], "b": [999, 1]}),
    "names like years": ("where,2019,2020\n1,2,3\n", {"where": [1], "2019": [2], "2020": [3]}),
    "an unnamed array of pandas": (",0,1\n0,5,6\n1,7,8\n", {"0": [5, 7], "1": [6, 8]}),
    "spellings of missing": ("a,b\n#N/A,1\n<NA>,2\n", {"a": [NAN] * 2, "b": [1, 2]}),
}


@pytest.mark.parametrize("case", READ)
def test_reads(case, tmp_path):
    text, expected = READ[case]
    (tmp_path / "x.csv").write_text(text, encoding="utf-8", newline="")
    table = read_table(tmp_path / "x.csv")
    assert table.names == list(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(table.numbers[name], values)


def test_a_table_may_be_packed(tmp_path):
    packed_tables = {"a.csv.gz": "n,x\n1,0.5\n2,\n", "a.TSV.gz": "\ufeffn\tx\n1\t0,5\n2\t\n"}
    for name, text in packed_tables.items():
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
        table = read_table(tmp_path / name)
        np.testing.assert_array_equal(table.matrix(["n", "x"]), [[1, 0.5], [2, np.nan]])
        assert task_name_for(name) == "series" and task_name_for(name, "n") == "arrays"
    packed = gzip.compress(b"n\n" + bytes(range(48, 58)) * 99)
    for content, words in {
        packed[:-9]: "Compressed file ended before",
        packed[:12] + b"\xff" * 9 + packed[21:]: "CRC check failed",
        b"\x1f\x8bnot gzip": "Unknown compression method",
        gzip.compress(b""): "has no rows",
        gzip.compress(b"n\n1\n\xff\n"): "not UTF-8 text .byte 0xff",
        gzip.compress(b"n\n1\n\0\n"): "line 3: a zero byte",
    }.items():
        (tmp_path / "a.csv.gz").write_bytes(content)
        with pytest.raises(BadInput, match=words) as refused:
            read_table(tmp_path / "a.csv.gz")
        assert "a.csv.gz" in str(refused.value) and "\n" not in str(refused.value)


def test_reads_many_rows_in_pieces(tmp_path):
    values = np.round(np.random.default_rng(0).normal(size=(10_000, 3)), 6)
    np.savetxt(tmp_path / "x.csv", values, delimiter=",", fmt="%.6f")
    table = read_table(tmp_path / "x.csv")
    assert np.array_equal(table.matrix(["1", "2", "3"]), values)


def test_a_fault_far_down_has_its_line(tmp_path):
    rows = ["a,b"] + ["1,2"] * 5000 + ["1,x"] + ["1,2"] * 5000
    (tmp_path / "x.csv").write_text("\n".join(rows))
    with pytest.raises(BadInput, match="line 5002, column 'b': 'x' is not a number"):
        read_table(tmp_path / "x.csv").matrix(["a", "b"])


def test_text_columns_are_kept_if_asked_for(tmp_path):
    (tmp_path / "x.csv").write_text("id,label,n,v\nu1,up,1,0.5\nu2, down ,,0.25\n")
    table = read_table(tmp_path / "x.csv", ("id", "label", "n"))
    assert table.labels("label").tolist() == ["up", "down"]
    np.testing.assert_array_equal(table.labels("n", "mask"), [1, NAN])
    assert table.chosen(None, ["n"], ["id", "label"]) == ["v"]
    assert table.chosen(["v", "n"], [], []) == ["v", "n"]


WRONG = {
    "a date": ("date,a\n2020-01-01,5\n", r"line 2, column 'date': '2020-01-01' is not a number"),
    "a word": ("a,b\n1,2\n3,four\n", r"line 3, column 'b': 'four' is not a number; leave"),
    "thousands": (
        "a;b\n1.234,5;2\n",
        "'1.234,5' is not a number; write thousands without a separator; leave .* or mend it$",
    ),
    "a short row": ("a,b\n1,2\n3\n", "line 3: the number of cells is 1, in the first line 2"),
    "a long row": ("a,b\n1,2\n3,4,5\n", "line 3: the number of cells is 3"),
    "twice a name": ("a,a\n1,2\n", "line 1: two columns are called 'a'"),
    "an open quote": ('a,b\n"1,2\n', "line 2: unexpected end of data; is it a CSV file"),
    "only a header": ("a,b\n", "has a header and no rows"),
    "nothing": ("", "is empty"),
    "blank": ("\n\n \n", "has no rows"),
    "infinity": ("a\ninf\n", "'inf' is not a number"),
    "underscores": ("a\n1_000\n", "'1_000' is not a number"),
    "a percentage": ("a\n5%\n", "'5%' is not a number"),
    "hexadecimal": ("a\n0x10\n", "'0x10' is not a number"),
    "a zero byte": ("a,b\n1,\0\n", "line 2: a zero byte"),
    "a zero byte after a number": ("a,b\n1\0,2\n", "line 2: a zero byte"),
    "true": ("a\ntrue\n", "'true' is not a number"),
    "a minus sign of typography": ("a\n−5\n", "'−5' is not a number"),
    "a space in a number": ("a;b\n1 234;2\n", "'1 234' is not a number"),
    "thousands twice": ("a;b\n1,234,567;2\n", "'1,234,567' is not a number"),
    "a comma or thousands": (
        "a;b\n1,234;2\n999;3\n",
        "lines 2 and 3, column 'a': '1,234' beside '999' may be 1.234 or 1234; write decimals",
    ),
    "a comma or thousands, by tabs": ("a\tb\n1,234\t2\n999\t3\n", "'1,234' beside '999' may be"),
    "commas or thousands alone": (
        "a;b\n1,234;2\n-2,345;3\n",
        "line 2, column 'a': '1,234' may be 1.234 or 1234",
    ),
    "thousands beside a decimal comma": (
        "a;b\n999,5;2\n1.234;3\n",
        "lines 2 and 3, column 'a': '999,5' and '1.234' are written in two ways; write decimals",
    ),
    "a point and a comma": ("a;b\n1.5;2\n2,5;3\n", "'1.5' and '2,5' are written in two ways"),
    "points beside a decimal comma": ("a;b\n1.234;2,5\n", "'1.234' may be 1.234 or 1234"),
    "a point or thousands": ("a;b\n1.234;2\n999;3\n", "'1.234' beside '999' may be 1.234 or"),
    "commas beside a decimal point": ("a;b\n1,234;2.5\n", "'1,234' may be 1.234 or 1234"),
    "two forms far apart": (
        "a;b\n" + "0.5;1\n" * 5000 + "1,5;2\n",
        "lines 2 and 5002, column 'a': '0.5' and '1,5'",
    ),
    "a first row with a date": ("2020-01-01,5\n2020-01-02,6\n", "line 1: '2020-01-01' is not a nu"),
    "a first row with infinity": ("inf,2\n1,2\n", "line 1: 'inf' is not a number, and the line"),
    "a first row with a sign": ("−5\n1\n", "line 1: '−5' is not a number, and the line does not"),
    "a first row with a label": (
        "u,1.5,up\nv,2.5,up\n",
        "line 1: 'up' is not a number, and the line",
    ),
    "a first row with an invisible sign": ("1\u200b,2\n3,4\n", "line 1: '1.u200b' is not a number"),
    "a header twice": ("a,b\n1,2\na,b\n3,4\n", "line 1: 'a' is not a number, and the line does"),
    "a first row with thousands": ("1.234,5;2\n3;4\n", "line 1: '1.234,5' is not a number"),
}


@pytest.mark.parametrize("case", WRONG)
def test_refuses(case, tmp_path):
    text, words = WRONG[case]
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(BadInput, match=words) as found:
        table = read_table(tmp_path / "x.csv")
        table.matrix(table.names)
    assert "\n" not in str(found.value) and "x.csv" in str(found.value)


SHOP = (
    "date,store,weather,price,comment,sales\n"
    "2024-01-01,a,sun,1,Opened late,3\n2024-01-02,a,rain,2,Nobody came,\n"
    "2024-01-03,b,sun,n/k,A fair outside,5\n2024-01-04,b,,4,Rain at noon,4\n"
)


def test_all_columns_that_cannot_be_used_are_in_one_message(tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text(SHOP)
    table = read_table(path)
    names = table.names

    def said(names, *how):
        with pytest.raises(BadInput) as refused:
            table.matrix(names, *how)
        return str(refused.value).removeprefix(str(path))

    every = (
        ": 5 columns are not numbers: 'date' (line 2: '2024-01-01'), 'store' (line 2: 'a'), "
        "'weather' (line 2: 'sun'), 'price' (line 4: 'n/k'), 'comment' (line 2: 'Opened late'); "
        "give "
    )
    assert said(names, (), []) == (
        f"{every}--ignore date,comment --words store,weather, and mend 'price'"
    )
    assert said(["store", "weather"], ["date"], []).endswith(
        "; give --words store,weather, or leave them out with --ignore date,store,weather"
    )
    assert said(names) == f"{every}--ignore date,store,weather,comment, and mend 'price'"
    assert said(["date", "weather"], ["comment"], ["store"]) == (
        ": 2 columns are not numbers: 'date' (line 2: '2024-01-01'), 'weather' (line 2: 'sun'); "
        "give --ignore comment,date --words store,weather"
    )
    one = ", line 2, column 'weather': 'sun' is not a number; leave the column out with "
    assert said(["weather"]) == f"{one}--ignore weather"
    assert said(["sales", "weather"], ["date"], ["store"]) == (
        f"{one}--ignore date,weather, or learn its words with --words store,weather"
    )
    assert said(["price"]).endswith("leave the column out with --ignore price, or mend it")
    assert said(["price"], (), [], ["price"]).endswith("; mend it, because numbers are forecast")
    assert said(["weather"], (), [], ["weather"]).endswith(
        "are forecast; or to learn labels from the other columns, --kind classification"
    )
    assert said(["weather", "price", "date"], (), [], ["price"]).endswith(
        "; give --ignore date --words weather, and mend 'price'"
    )
    path.write_text("a;b\n1.234,5;sun\n2.345,6;sun\n3.456,7;rain\n4.567,8;rain\n")
    table = read_table(path)
    assert said(["a", "b"], (), []).endswith(
        "; give --words b, and mend 'a' (write thousands without a separator)"
    )


def test_dates_are_not_proposed_as_texts_to_label(tmp_path):
    rows = [f"2024-01-{n % 28 + 1:02},{'ab'[n % 2]},word {n}\n" for n in range(120)]
    (tmp_path / "x.csv").write_text("date,kind,comment\n" + "".join(rows))
    with pytest.raises(BadInput, match=r"; to label texts, --text comment --label kind$"):
        (table := read_table(tmp_path / "x.csv")).matrix(table.names)


def test_refuses_what_is_no_text(tmp_path):
    for raw, words in ((b"a,b\n\xff,1\n", "not UTF-8"), (bytes(range(128, 256)), "not UTF-8")):
        (tmp_path / "x.csv").write_bytes(raw)
        with pytest.raises(BadInput, match=words):
            read_table(tmp_path / "x.csv")
    with pytest.raises(BadInput, match="there is no file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(BadInput, match="is a folder"):
        read_table(tmp_path)


def test_parquet(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    columns = {
        "n": arrow.array([1, 2, None]),
        "x": arrow.array([0.5, None, 2.5]),
        "b": arrow.array([True, False, True]),
        "id": arrow.array(["u", "u", "v"]),
        "day": arrow.array([1, 2, 3], arrow.timestamp("s")),
    }
    pyarrow.parquet.write_table(arrow.table(columns), tmp_path / "x.parquet")
    table = read_table(tmp_path / "x.parquet", ("id",))
    np.testing.assert_array_equal(table.matrix(["n", "x", "b"])[:, 0], [1, 2, NAN])
    np.testing.assert_array_equal(table.numbers["x"], [0.5, NAN, 2.5])
    assert table.labels("id").tolist() == ["u", "u", "v"]
    with pytest.raises(BadInput, match=r"column 'day'.*is not a number"):
        table.matrix(["n", "day"])
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(BadInput, match="cannot be read as Parquet"):
        read_table(tmp_path / "broken.parquet")


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    with pytest.raises(BadInput, match=r"needs pyarrow: pip install '\.\[parquet\]'"):
        read_table(tmp_path / "x.parquet")


def test_npz(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, inputs=np.zeros((4, 3, 2)), labels=np.array(list("abab")), lengths=[3, 2, 1, 3])
    xs, ys, lengths = read_npz(path)
    assert (
        xs.shape == (4, 3, 2) and ys.tolist() == list("abab") and lengths.tolist() == [3, 2, 1, 3]
    )
    np.savez(path, mine=np.zeros((4, 3)), other=np.zeros(4))
    assert read_npz(path, "mine", "other")[0].shape == (4, 3)


NPZ = {
    "other names": ({"a": np.zeros(3), "b": np.zeros(3)}, "none is called x, xs, inputs, X: name"),
    "no targets": ({"x": np.zeros(3)}, "name the targets with target"),
    "two inputs": ({"x": np.zeros(3), "xs": np.zeros(3), "y": np.zeros(3)}, "has x and xs"),
    "complex": ({"x": np.zeros(3, complex), "y": np.zeros(3)}, "x holds complex128"),
    "dates": ({"x": np.zeros(3, "M8[s]"), "y": np.zeros(3)}, "x holds datetime64"),
    "none": ({}, "the arrays none"),
    "lengths by another name": (
        {"x": np.zeros((2, 3)), "y": np.zeros(2), "Length": np.ones(2)},
        "has an array Length, which is not read; give the number of valid steps",
    ),
}


@pytest.mark.parametrize("case", NPZ)
def test_npz_refuses(case, tmp_path):
    arrays, words = NPZ[case]
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(BadInput, match=words) as found:
        read_npz(tmp_path / "x.npz")
    assert "\n" not in str(found.value)


def test_numpy_files_are_never_unpickled(tmp_path):
    ragged = np.empty(2, object)
    ragged[:] = [np.zeros(3), np.zeros(4)]
    np.savez(tmp_path / "x.npz", x=ragged, y=np.zeros(2))
    with pytest.raises(BadInput, match="unpickled; pad the sequences"):
        read_npz(tmp_path / "x.npz")
    np.save(tmp_path / "x.npy", ragged)
    with pytest.raises(BadInput, match="is not a NumPy array"):
        read_npy(tmp_path / "x.npy")


def test_numpy_files_that_are_none(tmp_path):
    for raw in (b"", b"hello", b"PK\x03\x04broken", b"\x93NUMPY"):
        for name, read in (("x.npz", read_npz), ("x.npy", read_npy)):
            (tmp_path / name).write_bytes(raw)
            with pytest.raises(BadInput) as found:
                read(tmp_path / name)
            assert "\n" not in str(found.value) and name in str(found.value)
    np.savez(tmp_path / "x.npz", x=np.zeros(100), y=np.zeros(3))
    raw = (tmp_path / "x.npz").read_bytes()
    (tmp_path / "x.npz").write_bytes(raw[: len(raw) // 2])
    with pytest.raises(BadInput, match="not a file of NumPy arrays"):
        read_npz(tmp_path / "x.npz")
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as file:
        file.writestr("x.txt", "hello")
    with pytest.raises(BadInput):
        read_npz(tmp_path / "x.npz")
    np.save(tmp_path / "words.npy", np.array(["a"]))
    with pytest.raises(BadInput, match="not numbers"):
        read_npy(tmp_path / "words.npy")


class Counted(str):
    """A name that counts how often it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Counted.compared += 1
        return str.__eq__(self, other)


def test_names_are_compared_few_times():
    """With 40,000 columns a check that compares all pairs would take a minute."""
    names = [Counted(f"c{n}") for n in range(1000)]
    assert first_twice(names) is None and first_twice([*names, "c7"]) == "c7"
    rows = {name: np.zeros(1) for name in names}
    table = Table(Path("x.csv"), names, rows, {}, {}, np.ones(1))
    assert table.matrix([Counted(name) for name in table.chosen(None, [], [])]).shape == (1, 1000)
    assert column_numbers([Counted(name) for name in names], names) == list(range(1000))
    assert Counted.compared < 20 * len(names)


def test_parquet_with_whole_numbers_above_2_to_the_53(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    ids = [2**53 + 1, 2**53 + 2]
    columns = {"id": arrow.array(ids), "u": arrow.array([2**64 - 1, 0], "uint64"), "x": [0.5, 1.5]}
    pyarrow.parquet.write_table(arrow.table(columns), tmp_path / "x.parquet")
    table = read_table(tmp_path / "x.parquet", ("id",))
    assert table.matrix(table.chosen(None, ["id", "u"], [])).tolist() == [[0.5], [1.5]]
    assert table.texts["id"].tolist() == [*map(str, ids)]
    assert table.numbers["u"].tolist() == [2.0**64, 0]


def test_parquet_decimals_are_read_to_the_last_bit(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    words = ["-0.249233", "0.1", "123456.789012"]
    column = arrow.array([*map(Decimal, words), None], arrow.decimal128(30, 6))
    pyarrow.parquet.write_table(arrow.table({"a": column}), tmp_path / "x.parquet")
    found = read_table(tmp_path / "x.parquet").numbers["a"].tolist()
    assert found[:3] == [*map(float, words)] and np.isnan(found[3])


def test_texts_that_were_not_kept_are_found_in_the_file_unless_it_changed(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("id,kind,v\n01,a,5\n1,b,6\n\n2,a,7\n")
    table = read_table(path)
    whole = with_texts(table, ["id", "kind"])
    assert whole.texts["id"].tolist() == ["01", "1", "2"]
    assert whole.texts["kind"].tolist() == ["a", "b", "a"]
    assert with_texts(whole, ["id"]) is whole
    some = dataclasses.replace(table, lines=table.lines[[2, 0]])
    assert with_texts(some, ["id"]).texts["id"].tolist() == ["2", "01"]
    with pytest.raises(BadInput, match="has no column 'name'"):
        with_texts(table, ["name"])
    path.write_text("id,kind,v\n01,a,5\n1,b,6\n2,a,70\n")
    with pytest.raises(BadInput, match=r"x\.csv changed after its table was read; read it again$"):
        with_texts(table, ["id"])
