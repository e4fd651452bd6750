"""Data frames of pandas, Polars and Arrow: the same table from each, and one line for the rest."""

import datetime
from decimal import Decimal

import numpy as np
import pytest

from ostinato.data.frames import is_frame, table_of_frame
from ostinato.errors import BadInput
from ostinato.tasks import Series

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

COLUMNS = {
    "n": [1, 2, None],
    "x": [0.5, None, 2.5],
    "open": [True, False, True],
    "store": ["u", "ü", "v"],
    "day": [datetime.date(2024, 1, 31), datetime.date(2024, 2, 29), None],
}
FRAMES = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "arrow": pyarrow.table,
    "a batch": pyarrow.RecordBatch.from_pydict,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_makes_the_same_table(kind):
    frame = FRAMES[kind](COLUMNS)
    assert is_frame(frame)
    table = table_of_frame(frame, ("store",))
    assert table.names == list(COLUMNS) and table.rows == 3
    np.testing.assert_array_equal(
        table.matrix(["n", "x", "open"]), [[1, 0.5, 1], [2, np.nan, 0], [np.nan, 2.5, 1]]
    )
    assert table.texts["store"].tolist() == ["u", "ü", "v"]
    stamps, zone = table.times["day"]
    assert zone is None and str(stamps[1]) == "2024-02-29T00:00:00.000000" and np.isnat(stamps[2])
    assert table.texts["day"].tolist() == ["2024-01-31", "2024-02-29", ""]
    with pytest.raises(BadInput, match="the table, row 0, column 'store': 'u' is not a number"):
        table.matrix(["n", "store"])


class Older:
    """A frame that has nothing but the interchange protocol."""

    def __init__(self, frame):
        self._frame = frame

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self._frame.__dataframe__(nan_as_null, allow_copy)


@pytest.mark.filterwarnings("ignore:The Dataframe Interchange Protocol is deprecated")
def test_a_frame_with_the_interchange_protocol_alone():
    days = pandas.date_range("2024-01-31", periods=3)
    columns = {**COLUMNS, "kind": pandas.Categorical(["b", "a", "b"]), "day": days}
    columns["said"] = [None, "ja", "nein"]
    frame = Older(pandas.DataFrame(columns))
    assert is_frame(frame) and not is_frame(Older)
    table = table_of_frame(frame, ("store", "kind", "said"))
    assert table.names == list(columns) and table.rows == 3
    np.testing.assert_array_equal(
        table.matrix(["n", "x", "open"]), [[1, 0.5, 1], [2, np.nan, 0], [np.nan, 2.5, 1]]
    )
    assert table.texts["store"].tolist() == ["u", "ü", "v"]
    assert table.texts["kind"].tolist() == ["b", "a", "b"]
    assert [x[:10] for x in table.texts["day"]] == ["2024-01-31", "2024-02-01", "2024-02-02"]
    assert table.texts["said"].tolist() == ["", "ja", "nein"]
    task = Series(
        frame, targets=["x"], missing="mask", ignore="kind,store,n,open,said", split="100/0/0"
    )
    assert task.names == ["x"] and task.rows.timelines is not None


@pytest.mark.filterwarnings("ignore:The Dataframe Interchange Protocol is deprecated")
def test_a_frame_that_cannot_be_handed_over_is_one_line():
    class Broken:
        def __dataframe__(self, **how):
            raise ImportError("cudf needs\na GPU")

    for frame in (Broken(), Older(pandas.DataFrame({"a": [1j]})), Older(None)):
        with pytest.raises(BadInput, match=r"^the table cannot be read: .") as refused:
            table_of_frame(frame)
        assert "\n" not in str(refused.value)


def test_an_index_of_dates_or_with_a_name_is_a_column():
    days = pandas.date_range("2024-01-01", periods=3, tz="Europe/Berlin")
    values = {"sales": [1, 2, 3]}
    table = table_of_frame(pandas.DataFrame(values, index=days))
    assert table.names == ["sales", "date"]
    assert table.times["date"][1] == "Europe/Berlin"
    assert str(table.times["date"][0][0])[:16] == "2023-12-31T23:00"
    table = table_of_frame(pandas.DataFrame(values | {"date": days}, index=days))
    assert table.names == ["sales", "date", "index"]
    assert table_of_frame(pandas.DataFrame(values, index=[5, 3, 4])).names == ["sales"]
    both = pandas.MultiIndex.from_product([["a"], days], names=["store", "when"])
    assert table_of_frame(pandas.DataFrame(values, index=both)).names == ["sales", "store", "when"]
    months = pandas.period_range("2024-01", periods=3, freq="M")
    table = table_of_frame(pandas.DataFrame(values, index=months))
    assert str(table.times["date"][0][2])[:10] == "2024-03-01"


def test_single_columns_and_other_types():
    days = pandas.date_range("2024-01-01", periods=2)
    assert table_of_frame(pandas.Series([1, 2], days, name="y")).names == ["y", "date"]
    assert table_of_frame(polars.Series("y", [1, 2])).names == ["y"]
    frame = pandas.DataFrame(
        {
            "kind": pandas.Categorical(["b", "a"]),
            "price": [Decimal("0.1"), Decimal("0.3")],
            "large": pandas.array([2**60, None], "Int64"),
            "none": [None, None],
            "levels": pandas.Categorical([3, 2]),
            "Datum": ["31.1.2024", "1.2.2024"],
            "nano": pandas.to_datetime(["2024-01-01 00:00:00.123456789", None]),
        }
    )
    table = table_of_frame(frame, ("kind",))
    assert table.texts["kind"].tolist() == ["b", "a"]
    assert table.numbers["price"].tolist() == [0.1, 0.3]
    assert table.numbers["large"][0] == 2.0**60 and np.isnan(table.numbers["none"]).all()
    assert table_of_frame(pandas.DataFrame([[1, 2]])).names == ["0", "1"]
    assert table.numbers["levels"].tolist() == [3, 2]
    assert table.texts["Datum"].tolist() == ["31.1.2024", "1.2.2024"]
    assert table.texts["nano"].tolist() == ["2024-01-01 00:00:00.123456", ""]
    assert table_of_frame(polars.DataFrame({"k": ["x"]}, {"k": polars.Categorical})).faults["k"]


WRONG = {
    "no rows": (pandas.DataFrame({"a": []}), "the table has no rows"),
    "no columns": (pandas.DataFrame(), "the table has no rows"),
    "mixed": (pandas.DataFrame({"a": [1, "x"]}), "the table cannot be read: Could not .*; .* a"),
    "complex numbers": (pandas.DataFrame({"a": [1j]}), "the table cannot be read: .*complex128"),
    "too large": (pandas.DataFrame({"a": [2**70]}), "the table cannot be read: .*too large"),
    "far years": (
        pyarrow.table({"a": np.array(["30000-01-01"], "M8[s]")}),
        "the table, column 'a': some years are not from 1 to 9999",
    ),
    "several": (
        pandas.DataFrame({"d": [b"x", b"y"], "k": ["u", "u"], "Tag": ["1.2.2024", "2.2.2024"]}),
        r'3 columns are not numbers.*; give ignore="d,Tag" words="k"',
    ),
    "names twice": (pandas.DataFrame([[1, 2]], columns=["a", "a"]), "cannot be read: .*uplicate"),
    "infinity": (polars.DataFrame({"a": [1.0, float("inf")]}), "row 1, column 'a': 'inf' is not"),
    "a duration": (pandas.DataFrame({"a": [pandas.Timedelta("1h")]}), "row 0, column 'a'"),
    "numbers as text": (
        pandas.DataFrame({"a": ["1192,07", "3"]}),
        "row 0, column 'a': '1192,07' is a text; make the column one of numbers",
    ),
    "lists": (pyarrow.table({"a": [[1, 2], [3]]}), "row 0, column 'a'"),
    "bytes": (pyarrow.table({"a": [None, b"x"]}), "row 1, column 'a': \"b'x'\" is not"),
    "records": (polars.DataFrame({"a": [{"b": 1}]}), "row 0, column 'a'"),
    "an array": (pyarrow.chunked_array([[1, 2]]), "the table cannot be read"),
}


@pytest.mark.parametrize("case", WRONG)
def test_refuses(case):
    frame, words = WRONG[case]
    with pytest.raises(BadInput, match=words) as refused:
        table = table_of_frame(frame)
        table.matrix(table.names, [], [])
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 300


def test_what_is_no_frame():
    for other in ([1], {"a": [1]}, np.zeros((3, 2)), "x.csv", None, pandas.DataFrame, pandas):
        assert not is_frame(other)


def test_without_pyarrow(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(BadInput, match=r"needs pyarrow: pip install '\.\[tables\]'"):
        table_of_frame(polars.DataFrame({"a": [1]}))
