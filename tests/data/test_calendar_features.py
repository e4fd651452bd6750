"""Features of the calendar against the fields of pandas' own timestamps."""

import numpy as np
import pytest

from ostinato.data.calendar_features import calendar_features
from ostinato.data.frequency import infer_frequency

pandas = pytest.importorskip("pandas")

MADE = {
    "15min": ["hour", "weekday", "day of year"],
    "6h": ["hour", "weekday", "day of year"],
    "D": ["weekday", "day of year"],
    "B": ["weekday", "day of year"],
    "W": ["day of year"],
    "MS": ["month"],
    "QE": ["month"],
    "YS": [],
}


@pytest.mark.parametrize("frequency", MADE)
@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "Asia/Kathmandu"])
def test_like_the_fields_of_pandas(frequency, zone):
    index = pandas.date_range(
        "2023-11-30", periods=700 if "i" in frequency else 90, freq=frequency, tz=zone
    )
    stamps = (index.tz_convert(None) if zone else index).to_numpy().astype("M8[us]")
    names, values = calendar_features(stamps, infer_frequency([stamps], zone), zone)
    meant = {
        "hour": (index.hour + index.minute / 60) / 24,
        "weekday": index.day_of_week / 7,
        "day of year": (index.day_of_year - 1) / np.where(index.is_leap_year, 366, 365),
        "month": (index.month - 1) / 12,
    }
    assert names == [f"{name} {wave}" for name in MADE[frequency] for wave in ("sin", "cos")]
    assert values.shape == (len(index), len(names))
    for n, name in enumerate(MADE[frequency]):
        angle = 2 * np.pi * np.asarray(meant[name], float)
        np.testing.assert_allclose(values[:, 2 * n], np.sin(angle), atol=1e-9)
        np.testing.assert_allclose(values[:, 2 * n + 1], np.cos(angle), atol=1e-9)


def test_rows_that_are_not_even_have_all():
    stamps = np.array(["2024-02-29T06:00", "2024-03-03T18:00"], "M8[us]")
    names, values = calendar_features(stamps, None)
    assert len(names) == 6 and values[:, 0] == pytest.approx([1, -1])
