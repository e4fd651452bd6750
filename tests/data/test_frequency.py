"""Frequencies against those of pandas: found, followed across changes of clocks, with gaps."""

import numpy as np
import pytest

from ostinato.data.frequency import (
    Frequency,
    infer_frequency,
    local_times,
    utc_times,
    zone_named,
)
from ostinato.errors import BadInput

pandas = pytest.importorskip("pandas")

WORDS = {
    "D": "1 day",
    "2D": "2 days",
    "W-WED": "1 week",
    "2W": "2 weeks",
    "h": "1 hour",
    "6h": "6 hours",
    "15min": "15 minutes",
    "s": "1 second",
    "250ms": "250 milliseconds",
    "us": "1 microsecond",
    "B": "1 business day",
    "MS": "1 month",
    "ME": "1 month",
    "2MS": "2 months",
    "QS-FEB": "1 quarter",
    "QE": "1 quarter",
    "YS-MAR": "1 year",
    "YE": "1 year",
    "BMS": "1 month",
    "BME": "1 month",
    "BQE": "1 quarter",
}
ZONES = (None, "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu")


def stamps_of(index):
    naive = index.tz_convert("UTC").tz_localize(None) if index.tz else index
    return naive.to_numpy().astype("datetime64[us]")


@pytest.mark.parametrize("name", WORDS)
def test_found_and_followed_like_pandas(name):
    rng = np.random.default_rng(sum(map(ord, name)))
    for zone in ZONES:
        begin = pandas.Timestamp("1999-12-27") + pandas.Timedelta(days=int(rng.integers(9000)))
        index = pandas.date_range(begin, periods=60, freq=name, tz=zone)
        every = stamps_of(index)
        known, later = every[:40], every[40:]
        frequency = infer_frequency([known], zone)
        assert frequency is not None and frequency.words == WORDS[name]
        assert (frequency.next(known[-1], np.arange(1, 21), zone) == later).all()
        assert (frequency.steps(known[0], every, zone) == np.arange(60)).all()
        with_gaps = np.delete(known, rng.permutation(np.arange(1, 39))[:8])
        assert infer_frequency([with_gaps], zone) == frequency
        assert infer_frequency([known[:15], known[20:]], zone) == frequency
        assert Frequency.from_json(frequency.as_json()) == frequency
        where = zone or "UTC"
        local = index.tz_localize(None) if zone else index
        assert (local_times(every, where) == local.to_numpy().astype("M8[us]")).all()


def test_rows_that_are_not_even_have_no_frequency():
    days = np.datetime64("2024-01-01", "us") + np.arange(20) * np.timedelta64(1, "D")
    moved = days.copy()
    moved[7] += np.timedelta64(3, "h")
    other = np.datetime64("2024-01-01", "us") + np.cumsum([0, 2, 2, 3, 2, 2, 3, 2, 2, 3]) * (
        np.timedelta64(1, "D")
    )
    assert infer_frequency([moved]) is None
    assert infer_frequency([days, moved]) is None
    assert infer_frequency([days[:1], days[3:4]]) is None
    assert infer_frequency([other]) is None


def test_days_of_the_month_that_shorter_months_cut_off():
    days = np.array(["2023-12-30", "2024-01-30", "2024-02-29", "2024-03-30"], "M8[us]")
    frequency = infer_frequency([days])
    assert frequency == Frequency("month", 1, 30)
    assert str(frequency.next(days[-1], 11))[:10] == "2025-02-28"
    assert infer_frequency([days[:1], days[2:]]) is not None


def test_a_clock_that_skips_an_hour_or_shows_one_twice():
    zone, hour = "Europe/Berlin", np.timedelta64(1, "h")
    midnights = utc_times(np.array(["2024-03-31", "2024-04-01"], "M8[us]"), zone)
    assert midnights[1] - midnights[0] == 23 * hour
    assert infer_frequency([midnights[0] + np.arange(60) * hour], zone).words == "1 hour"
    twice = utc_times(np.array(["2024-10-27T02:30"], "M8[us]"), zone)
    assert str(twice[0])[:16] == "2024-10-27T00:30"
    assert zone_named("-03:30").utcoffset(None).total_seconds() == -3.5 * 3600
    for name in ("Mars/Olympus", "", "../etc", "+2"):
        with pytest.raises(BadInput, match="there is no time zone"):
            zone_named(name)


def test_the_ends_of_the_calendar():
    late = np.array(["9999-12-30", "9999-12-31"], "M8[us]")
    frequency = infer_frequency([late], "Europe/Berlin")
    assert str(frequency.next(late[-1], 2, "Europe/Berlin"))[:11] == "10000-01-02"
    early = np.array(["0001-01-01", "0001-01-02"], "M8[us]")
    assert infer_frequency([early], "America/New_York").words == "1 day"


def test_a_series_of_one_row_must_fit_too():
    months = np.array(["2024-01-31", "2024-02-29", "2024-03-31"], "M8[us]")
    assert infer_frequency([months, months[:1]]) == Frequency("month", 1, "last")
    assert infer_frequency([months, months[:1] - np.timedelta64(3, "D")]) is None


def test_what_is_kept_of_a_frequency_is_checked():
    good = {"unit": "day", "count": 1, "day": 1}
    for wrong in (
        {"unit": "fortnight"},
        {"count": 0},
        {"count": True},
        {"day": 32},
        {"count": 1.5},
    ):
        with pytest.raises(ValueError, match="frequency"):
            Frequency.from_json(good | wrong)
