"""When rows were: the column found, dates read, and one line where that is not clear."""

import numpy as np
import pytest

from ostinato.data import read_table
from ostinato.data.frames import table_of_frame
from ostinato.data.times import Timeline, shown_time, timeline_of
from ostinato.errors import BadInput


def table_with(tmp_path, text):
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    return read_table(tmp_path / "x.csv")


def read(tmp_path, text, **options):
    table = table_with(tmp_path, text)
    return timeline_of(table, [np.arange(table.rows)], **options)


def rows(name, *cells, more=""):
    return f"{name},y\n" + "".join(f'"{cell}",{n}{more}\n' for n, cell in enumerate(cells))


FOUND = {
    "ISO": (rows("date", "2024-02-28", "2024-02-29", "2024-03-01"), "date", "1 day", "2024-03-01"),
    "by what is in it": (rows("Datum", "31.1.2024", "1.2.2024"), "Datum", "1 day", "2024-02-01"),
    "with gaps": (
        rows("ds", *(f"2024-01-{n:02}" for n in (1, 2, 3, 7, 8))),
        *("ds", "1 day", "2024-01-08"),
    ),
    "business days": (
        rows("day", "Fri, 5 Jan 2024", "Mon, 8 Jan 2024", "Tue, 9 Jan 2024"),
        *("day", "1 business day", "2024-01-09"),
    ),
    "months": (rows("month", "Jan 2024", "Feb 2024"), "month", "1 month", "2024-02-01"),
    "month ends": (
        rows("date", "31/01/2024", "29/02/2024", "31/03/2024"),
        *("date", "1 month", "2024-03-31"),
    ),
    "quarters": (rows("quarter", "2023Q4", "2024Q1"), "quarter", "1 quarter", "2024-01-01"),
    "hours": (
        rows("Date Time", "1/31/2024 11:00 PM", "2/1/2024 12:00 AM"),
        *("Date Time", "1 hour", "2024-02-01"),
    ),
    "a zone": (
        rows("time", "2024-01-01T00:00+02:00", "2024-01-01T00:15+02:00"),
        *("time", "15 minutes", "2024-01-01 00:15"),
    ),
    "a change of clocks, by the hour": (
        rows("t", "2024-03-31 00:00+01:00", "2024-03-31 01:00+01:00", "2024-03-31 03:00+02:00"),
        *("t", "1 hour", "2024-03-31 01:00"),
    ),
    "a change of clocks, by the day": (
        rows("t", "2024-03-30 00:00+01:00", "2024-03-31 00:00+01:00", "2024-04-01 00:00+02:00"),
        *("t", "1 day", "2024-04-01"),
    ),
    "only one order is whole": (
        rows("date", *(f"1/{n}/2024" for n in range(1, 13)), "1/1/2025", "1/2/2025"),
        *("date", "1 month", "2025-02-01"),
    ),
    "a row out of order": (
        rows("date", "2024-01-03", "2024-01-01", "2024-01-02"),
        *("date", "1 day", "2024-01-03"),
    ),
    "not even": (
        rows("date", "2024-01-01", "2024-01-02", "2024-01-03 07:00"),
        *("date", None, "2024-01-03 07:00"),
    ),
}


@pytest.mark.parametrize("case", FOUND)
def test_found(case, tmp_path):
    text, column, words, last = FOUND[case]
    timeline = read(tmp_path, text)
    assert isinstance(timeline, Timeline) and timeline.column == column
    assert (timeline.frequency and timeline.frequency.words) == words
    assert shown_time(timeline.stamps.max(), timeline.zone) == last


def test_the_zone_of_offsets(tmp_path):
    assert read(tmp_path, FOUND["a zone"][0]).zone == "+02:00"
    assert read(tmp_path, FOUND["a change of clocks, by the hour"][0]).zone == "UTC"
    assert read(tmp_path, FOUND["a change of clocks, by the day"][0]).zone is None
    assert read(tmp_path, rows("t", "2024-01-01Z")) is None


def test_numbers_say_the_time_only_if_asked(tmp_path):
    assert read(tmp_path, "year,y\n2020,1\n2021,2\n") is None
    for text, column, words, form in (
        ("year,y\n2020,1\n2021,2\n", "year", "1 year", "years"),
        ("when,y\n20240229,1\n20240301,2\n", "when", "1 day", "20240131"),
        ("t,y\n1700000000,1\n1700000060,2\n", "t", "1 minute", "seconds since 1970"),
        ("t,y\n1700000000250,1\n1700000000500,2\n", "t", "250 milliseconds", "milliseconds since"),
        ("year,month,y\n2020,12,1\n2021,1,2\n", "year,month", "1 month", "years"),
        (
            "year,month,day,hour,y\n2020,2,29,23,1\n2020,3,1,0,2\n",
            "year,month,day,hour",
            "1 hour",
            "",
        ),
        ("year,qtr,y\n2020,4,1\n2021,1,2\n", "year, qtr", "1 quarter", ""),
    ):
        timeline = read(tmp_path, text, column=column)
        assert timeline.frequency.words == words and form in timeline.form


def test_years_alone_are_shown_as_years(tmp_path):
    yearly = read(tmp_path, "year,y\n2020,1\n2021,2\n", column="year")
    assert yearly.words == "the time is 'year': 2020 to 2021, rows 1 year apart"
    assert yearly.shown(yearly.next(yearly.stamps[-1], 1)) == "2022"
    monthly = read(tmp_path, "year,month,y\n2020,12,1\n2021,1,2\n", column="year,month")
    assert monthly.shown(monthly.stamps[1]) == "2021-01-01"
    dated = read(tmp_path, "day,y\n2020-01-01,1\n2021-01-01,2\n", column="day")
    assert dated.shown(dated.stamps[1]) == "2021-01-01"


def test_columns_that_tell_rows_of_a_date_apart(tmp_path):
    hours = "date,hour,y\n" + "".join(
        f"2024-01-{d},{h},0\n" for d in ("01", "02") for h in range(24)
    )
    timeline = read(tmp_path, hours)
    assert timeline.parts == ("hour",) and timeline.frequency.words == "1 hour"
    clocks = "Date,Time,y\n" + "".join(f"1/31/2024,{h:02}:30,0\n" for h in range(3))
    timeline = read(tmp_path, clocks)
    assert timeline.parts == ("Time",) and str(timeline.stamps[2])[:16] == "2024-01-31T02:30"
    days = "date,hour,y\n2024-01-01,5,1\n2024-01-02,6,1\n"
    assert read(tmp_path, days).parts == ()


def test_several_series_have_one_frequency(tmp_path):
    text = "store,date,y\n" + "".join(
        f"{store},2024-0{n}-1{store},1\n" for store in (1, 2) for n in range(1, 6)
    )
    table = table_with(tmp_path, text)
    groups = [np.arange(5), np.arange(5, 10)]
    assert timeline_of(table, groups).frequency is None  # the days of the month differ
    weeks = "store,date,y\n" + "".join(
        f"{store},2024-01-{1 + store + 7 * n:02},1\n" for store in (1, 2) for n in range(4)
    )
    assert (
        timeline_of(table_with(tmp_path, weeks), [np.arange(4), np.arange(4, 8)]).frequency.words
        == "1 week"
    )


def test_frames_keep_zones():
    pandas = pytest.importorskip("pandas")
    days = pandas.date_range("2024-03-29", periods=5, tz="Europe/Berlin")
    table = table_of_frame(pandas.DataFrame({"y": range(5)}, index=days))
    timeline = timeline_of(table, [np.arange(5)])
    assert timeline.frequency.words == "1 day" and timeline.zone == "Europe/Berlin"
    later = timeline.next(timeline.stamps[-1], [1, 2])
    assert later.tolist() == [
        x.tz_convert(None) for x in days[-1:].shift(1).append(days[-1:].shift(2))
    ]
    assert timeline.words == (
        "the time is 'date': 2024-03-29 to 2024-04-02 (Europe/Berlin), rows 1 day apart"
    )


WRONG = {
    "either order": (
        rows("date", "1/1/2024", "2/1/2024"),
        {},
        "line 2, column 'date': '1/1/2024' may",
    ),
    "no day": (
        rows("date", "2024-02-28", "2024-02-30"),
        {},
        "line 3.*'2024-02-30' is no day",
    ),
    "a word": (
        rows("date", "2024-02-28", "later"),
        {},
        "line 3, column 'date': 'later' is no date",
    ),
    "two forms": (
        rows("date", "2024-02-28", "29.2.2024"),
        {},
        "line 3.*in another way than '2024-",
    ),
    "missing": (
        rows("date", "2024-02-28", "NA", ""),
        {},
        "lines 3 and 4, column 'date': the time is",
    ),
    "two columns": ("a,b\n2024-01-01,2024-01-02\n", {}, "columns 'a', 'b' are dates.*--time a"),
    "another name": ("a\n1\n", {"column": "b"}, "no column 'b'"),
    "no times": ("t\n1\n2\n", {"column": "t"}, "column 't': its numbers are no times"),
    "no part": ("year,size\n2024,1\n", {"column": "year,size"}, "'size': it is no part of a time"),
    "no month": ("year,month\n2024,13\n", {"column": "year,month"}, "13 is no month"),
    "half an hour": ("date,hour\n2024-01-01,1.5\n", {"column": "date,hour"}, "1.5 is no hour"),
    "words": ("what\nrain\n", {"column": "what"}, "column 'what': 'rain' is no date"),
}


@pytest.mark.parametrize("case", WRONG)
def test_refuses(case, tmp_path):
    text, options, words = WRONG[case]
    with pytest.raises(BadInput, match=words) as refused:
        read(tmp_path, text, **options)
    assert "\n" not in str(refused.value) and "x.csv" in str(refused.value)


def test_other_data_must_fit_a_trained_model(tmp_path):
    text = rows("date", "28.2.2024", "29.2.2024", "1.3.2024")
    known = read(tmp_path, text).as_json()
    assert known["form"] == "day/month/year"
    one = read(tmp_path, rows("date", "1.2.2024"), known=known)
    assert shown_time(one.next(one.stamps[-1], 1)) == "2024-02-02"
    with pytest.raises(BadInput, match=r"are 1 day apart, and the time is 'date'.*1 hour apart"):
        read(tmp_path, rows("date", "1.2.2024 00:00", "1.2.2024 01:00"), known=known)
    with pytest.raises(BadInput, match="a time zone, and not that of the run"):
        read(tmp_path, rows("date", "1.2.2024 00:00Z"), known=known)
    with pytest.raises(BadInput, match="no column 'date'"):
        read(tmp_path, rows("day", "1.2.2024"), known=known)


def test_ignored_columns_are_not_looked_at(tmp_path):
    assert read(tmp_path, rows("date", "1/1/2024", "2/1/2024"), without=["date"]) is None
