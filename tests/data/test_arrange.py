"""Rows sorted by time, gaps and repeated times, against what pandas makes of the same rows."""

import numpy as np
import pytest

from ostinato.data import read_table
from ostinato.data.arrange import arrange
from ostinato.data.frames import table_of_frame
from ostinato.data.times import timeline_of
from ostinato.errors import BadInput

pandas = pytest.importorskip("pandas")


def groups_of(names):
    return [np.flatnonzero(names == name) for name in dict.fromkeys(names)]


def arranged(frame, **how):
    table = table_of_frame(frame, ("store", "weather"))
    groups = groups_of(frame["store"].to_numpy())
    return arrange(table, groups, timeline_of(table, groups), **how)


def stores(rng, frequency="D", zone=None):
    """Three stores whose rows have gaps, repeated times and no order."""
    parts = []
    for n, name in enumerate(("north", "south", "west")):
        days = pandas.date_range("2023-10-20", periods=40 + 3 * n, freq=frequency, tz=zone)
        kept = np.sort(rng.permutation(np.arange(1, len(days)))[:33])
        kept = np.sort(np.append(kept, [0, *kept[:3]]))
        values = rng.normal(size=len(kept)).round(3)
        weather = np.array(["sun", "rain"])[kept % 2]
        columns = {"store": name, "date": days[kept], "sales": values, "weather": weather}
        parts.append(pandas.DataFrame(columns))
    frame = pandas.concat(parts)
    frame.loc[frame.index % 11 == 5, "sales"] = np.nan
    return frame.sample(frac=1, random_state=int(rng.integers(1000)), ignore_index=True)


@pytest.mark.parametrize("gaps", ["mask", "fill"])
@pytest.mark.parametrize("duplicates", ["first", "last", "mean", "sum"])
def test_like_pandas(gaps, duplicates):
    rng = np.random.default_rng(len(gaps + duplicates))
    for frequency, zone in (
        ("D", None),
        ("D", "Europe/Berlin"),
        ("h", "UTC"),
        ("B", None),
        ("MS", None),
    ):
        frame = stores(rng, frequency, zone)
        found = arranged(frame, gaps=gaps, duplicates=duplicates, constant=["store"])
        assert len(found.groups) == 3 and found.put_in.sum() > 0
        for rows, name in zip(found.groups, dict.fromkeys(frame["store"]), strict=True):
            one = frame[frame["store"] == name].sort_values("date", kind="stable").set_index("date")
            pick = one.groupby(level=0)
            if duplicates in ("first", "last"):  # pandas' own first and last skip what is missing
                at = pick.cumcount(ascending=duplicates == "first") == 0
                one = one[at]
            else:
                with_sales = (
                    pick["sales"].sum(min_count=1) if duplicates == "sum" else pick["sales"].mean()
                )
                one = one[pick.cumcount() == 0].assign(sales=with_sales)
            grid = pandas.date_range(one.index[0], one.index[-1], freq=frequency)
            if gaps == "fill":
                before = one.index.searchsorted(grid, side="right") - 1
                meant = one.iloc[before].set_axis(grid)
            else:
                meant = one.reindex(grid)
            np.testing.assert_allclose(
                found.table.numbers["sales"][rows], meant["sales"], atol=1e-12
            )
            assert (
                found.table.texts["weather"][rows].tolist() == meant["weather"].fillna("").tolist()
            )
            assert {*found.table.texts["store"][rows]} == {name}
            utc = grid.tz_convert(None) if zone else grid
            assert (found.timeline.stamps[rows] == utc.to_numpy().astype("M8[us]")).all()


def test_what_is_in_order_stays():
    days = pandas.date_range("2024-01-01", periods=4)
    frame = pandas.DataFrame({"store": ["a"] * 4, "date": days, "sales": range(4)})
    table = table_of_frame(frame)
    groups = [np.arange(4)]
    timeline = timeline_of(table, groups)
    found = arrange(table, groups, timeline)
    assert found.table is table and found.timeline is timeline and not found.put_in.any()
    assert found.notes == ("the time is 'date': 2024-01-01 to 2024-01-04, rows 1 day apart",)


def test_what_was_done_is_said(tmp_path):
    frame = stores(np.random.default_rng(0))
    found = arranged(frame, gaps="mask", duplicates="first")
    each = (one["date"].to_numpy() for _, one in frame.groupby("store"))
    moved = sum((np.argsort(one, kind="stable") != np.arange(len(one))).sum() for one in each)
    assert found.notes == (
        "the time is 'date': 2023-10-20 to 2023-12-04, rows 1 day apart",
        f"{moved} rows were sorted by 'date'",
        "9 rows with a time that was there before were left out (first kept)",
        f"{(np.diff(np.flatnonzero(~found.put_in)) > 1).sum()} gaps were masked with "
        f"{found.put_in.sum()} rows of missing values",
    )
    kept = arranged(frame, gaps="keep", duplicates="sum")
    assert kept.notes[-1].endswith("gaps in time stayed") and not kept.put_in.any()


def test_hours_in_a_column_of_their_own_are_right_in_gaps(tmp_path):
    rows = [(d, h) for d in (1, 2) for h in range(24) if (d, h) not in ((1, 5), (1, 23), (2, 0))]
    text = "date,hour,y\n" + "".join(f"2024-02-0{d},{h},{h}\n" for d, h in rows)
    (tmp_path / "x.csv").write_text(text)
    table, groups = read_table(tmp_path / "x.csv"), [np.arange(45)]
    found = arrange(table, groups, timeline_of(table, groups), gaps="fill")
    assert found.table.numbers["hour"].tolist() == [*range(24)] * 2


def refused(tmp_path, text, **how):
    (tmp_path / "x.csv").write_text(text)
    table = read_table(tmp_path / "x.csv", ("what",))
    groups = [np.arange(table.rows)]
    with pytest.raises(BadInput) as error:
        arrange(table, groups, timeline_of(table, groups), **how)
    return str(error.value).removeprefix(f"{tmp_path / 'x.csv'}, ")


def test_gaps_and_repeated_times_are_refused(tmp_path):
    gap = "day,y\n2024-01-01,1\n2024-01-02,2\n2024-01-05,3\n"
    assert refused(tmp_path, gap) == (
        "lines 3 and 4, column 'day': 2024-01-05 comes after 2024-01-02, but rows are 1 day apart "
        "(1 gap, 2 rows missing); give --gaps mask (missing values there), --gaps fill (the values "
        "before) or --gaps keep (as it is)"
    )
    again = "day,what,y\n2024-01-02,a,1\n2024-01-01,b,2\n2024-01-02,c,3\n"
    assert refused(tmp_path, again) == (
        "lines 2 and 4, column 'day': 2024-01-02 is there twice (1 row with a time that was there "
        "before); name with sequence the column that says to which series a row belongs, or give "
        "--duplicates first (last, mean, sum)"
    )
    assert "column 'what': 'a' and 'c' at one time have no mean" in refused(
        tmp_path, again, duplicates="mean"
    )
    far = "day,y\n2024-01-01,1\n2024-01-02,2\n2924-01-05,3\n"
    assert "its gaps take 328,720 rows" in refused(tmp_path, far, gaps="fill")
    frame = stores(np.random.default_rng(0))
    table = table_of_frame(frame)
    with pytest.raises(BadInput, match=r"a row belongs: 'store' or 'weather'\?, or give"):
        arrange(table, [np.arange(table.rows)], timeline_of(table, [np.arange(table.rows)]))
    with pytest.raises(BadInput, match=r'the table, rows \d+ and \d+.*duplicates="first"'):
        arranged(frame)
    with pytest.raises(BadInput, match=r'gaps? in 3 of 3 series.*gaps="mask"'):
        arranged(frame, duplicates="last")


@pytest.mark.parametrize("gaps", ["mask", "fill", "keep"])
@pytest.mark.parametrize("duplicates", ["first", "last", "mean", "sum"])
def test_what_is_put_in_knows_nothing_of_later_rows(gaps, duplicates):
    """Other values and words after a day leave every row up to that day as it was, bit for bit."""
    frame = stores(np.random.default_rng(3))
    day = pandas.Timestamp("2023-11-15")
    later = frame["date"] > day
    other = frame.assign(
        sales=np.where(later, 1e6, frame["sales"]), weather=frame["weather"].mask(later, "fog")
    )
    one, two = (arranged(x, gaps=gaps, duplicates=duplicates) for x in (frame, other))
    early = one.timeline.stamps <= np.datetime64(day)
    assert (one.timeline.stamps == two.timeline.stamps).all() and one.notes == two.notes
    sales = [x.table.numbers["sales"][early].tobytes() for x in (one, two)]
    assert sales[0] == sales[1]
    assert (one.table.texts["weather"] == two.table.texts["weather"])[early].all()
