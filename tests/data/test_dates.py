"""Dates as people write them, against the same dates written by Python and read by pandas."""

import datetime

import numpy as np
import pytest

from ostinato.data.dates import NoDate, date_readings, looks_like_date

FORMATS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d. %B %Y",
    "%b %d, %Y", "%B %d %Y", "%A, %d %B %Y", "%a, %d %b %Y", "%d.%m.%Y", "%m/%d/%Y", "%d-%m-%Y",
    "%d/%m/%y", "%m/%d/%y",
)  # fmt: skip
CLOCKS = ("", " %H:%M", "T%H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S%p", ", %H:%M")
ZONES = ("", "Z", " UTC", "+02:00", " -0330", "+05")


@pytest.mark.parametrize("written", FORMATS)
def test_reads_what_python_writes(written):
    rng = np.random.default_rng(len(written))
    begin = datetime.datetime(1975, 1, 1)
    for clock in CLOCKS:
        for zone in ZONES if clock else ("",):
            days = [
                begin + datetime.timedelta(seconds=int(rng.integers(2**31 // 2))) for _ in range(12)
            ] + [datetime.datetime(2024, 2, 29, 12, 30), datetime.datetime(2023, 12, 31, 0, 5)]
            cells = [day.strftime(written + clock) + zone for day in days]
            meant = [
                datetime.datetime.strptime(x[: len(x) - len(zone)], written + clock) for x in cells
            ]
            read = [list(one.local) for one in date_readings(cells)]
            assert list(np.array(meant, "M8[us]")) in read, (cells[0], read)
            assert len(read) == 1
            (dates,) = date_readings(cells)
            assert dates.clock == bool(clock)
            assert (dates.offsets is None) == (not zone)
            if "+02" in zone:
                assert (dates.offsets == np.timedelta64(2, "h")).all()


def test_reads_weeks_quarters_and_months():
    for cells, first in (
        (["2024-W01", "2024-W02"], "2024-01-01"),
        (["2024-W01-3"], "2024-01-03"),
        (["2024Q2", "2024 Q3"], "2024-04-01"),
        (["Q4-2023"], "2023-10-01"),
        (["2024-02"], "2024-02-01"),
        (["02/2024"], "2024-02-01"),
        (["Sept. 2024"], "2024-09-01"),
        (["2024 December"], "2024-12-01"),
        (["the 3rd"], None),
        (["1st Mar 2024"], "2024-03-01"),
        (["12/31/68", "12/31/69"], "2068-12-31"),
    ):
        if first is None:
            assert not looks_like_date(cells[0])
        else:
            (dates,) = date_readings(cells)
            assert str(dates.local[0])[:10] == first


def test_two_readings_where_day_and_month_may_be_either():
    forms = [one.form for one in date_readings(["1/2/2024", "3/2/2024"])]
    assert forms == ["day/month/year", "month/day/year"]
    (only,) = date_readings(["1/2/2024", "13/2/2024"])
    assert only.form == "day/month/year"
    (asked,) = date_readings(["1/2/2024"], ["month/day/year"])
    assert str(asked.local[0])[:10] == "2024-01-02"


WRONG = {
    "2023-02-29": "no day",
    "2024-13-01": "no day",
    "2024-01-01 25:00": "no day or time",
    "31/31/2024": "no date",
    "32 Jan 2024": "no date",
    "2024-01-01 10:00+99:00": "no date",
    "2024-01-01 13:00 PM": "no date",
    "2024-01-01 0:10 am": "no date",
    "2024-W60": "no date",
    "2024-Q5": "no date",
    "Jan-24": "no date",
    "yesterday": "no date",
    "now": "no date",
    "2024": "no date",
    "1.5": "no date",
    "2024-01-01 10:00 CET": "no date",
    "2024-01/02": "no date",
    "٢٠٢٤-٠١-٠١": "no date",
    "0000-01-01": "no day",
    "": "no date",
    " 2024-01-01": "no date",
}


@pytest.mark.parametrize("cell", WRONG)
def test_refuses(cell):
    with pytest.raises(NoDate, match=WRONG[cell]) as refused:
        list(date_readings([cell]))
    assert refused.value.cell == cell and not looks_like_date(cell)


def test_refuses_two_ways_of_writing_in_a_column():
    for cells, words in (
        (["2024-01-01", "1/2/2024"], "in another way than '2024-01-01'"),
        (["1 Jan 2024", "Jan 2, 2024"], "in another way"),
        (["2024-01-01T00:00Z", "2024-01-02T00:00"], "no time zone, but '2024"),
        (
            ["2024-01-01T00:00", "2024-01-02T00:00Z"],
            "a time zone, but '2024-01-01T00:00' above has none",
        ),
        (["13/1/2024", "1/13/2024"], "no date"),
    ):
        with pytest.raises(NoDate, match=words) as refused:
            list(date_readings(cells))
        assert refused.value.cell == cells[1]
