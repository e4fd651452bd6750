"""Where a time is in its day, its week and its year, as sines and cosines.

A time that is the share φ of the way through a day, a week or a year has the features

    sin 2πφ,  cos 2πφ

so that the end of each is beside its beginning. They are known for the future, as the time is.
"""

import numpy as np

from .frequency import DAY, STAMP, Frequency, local_times

DAY_SECONDS, WEEK_SECONDS, YEAR_SECONDS = 86400, 7 * 86400, 360 * 86400


def calendar_features(
    stamps: np.ndarray, frequency: Frequency | None, zone: str | None = None
) -> tuple[list[str], np.ndarray]:
    """The features that change between rows so far apart.

    Rows that are less than a day apart have the hour, with its minutes; less than a week, the
    weekday; less than a year, the day of the year, or the month if rows are months apart.

    Args:
        stamps: `(T,)` datetime64, in UTC if there is a zone.
        frequency: how far apart rows are; `None` for all features.
        zone: of the clock by which hours and days are counted.

    Returns:
        Names and values `(T, features)`, from -1 to 1; no features if rows are years apart.

    Example:
        >>> noons = np.datetime64("2024-01-01T12:00") + np.arange(3) * np.timedelta64(7, "D")
        >>> calendar_features(noons, Frequency("day", 7))[0]
        ['day of year sin', 'day of year cos']
    """
    local = local_times(np.asarray(stamps, STAMP), zone)
    days = local.astype("datetime64[D]")
    years = local.astype("datetime64[Y]")
    apart = 0.0 if frequency is None else frequency.seconds
    shares: dict[str, np.ndarray] = {}
    if apart < DAY_SECONDS:
        shares["hour"] = (local - days) / DAY
    if apart < WEEK_SECONDS:
        shares["weekday"] = (days.astype(int) + 3) % 7 / 7  # 1970-01-01 was a Thursday
    if frequency is not None and frequency.unit == "month":
        if apart < YEAR_SECONDS:
            shares["month"] = local.astype("datetime64[M]").astype(int) % 12 / 12
    elif apart < YEAR_SECONDS:
        first, end = (x.astype("datetime64[D]") for x in (years, years + np.timedelta64(1, "Y")))
        shares["day of year"] = (days - first) / (end - first)
    names = [f"{name} {wave}" for name in shares for wave in ("sin", "cos")]
    waves = [wave(2 * np.pi * share) for share in shares.values() for wave in (np.sin, np.cos)]
    return names, np.stack(waves, axis=1) if waves else np.zeros((len(local), 0))
