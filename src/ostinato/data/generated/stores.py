"""Daily sales of three stores, as such a table is in practice: to try forecasting, and to test it.

    date,store,size,price,promotion,weather,sales
    2022-01-03,market,80,2.49,no,sun,117
    2022-01-04,harbour,120,2.29,no,sun,155

A store sells more on Saturdays, in summer, at a low price, with a promotion and in the sun; its
size never changes. Days are missing (holidays, lost records), and so are some sales and some of the
weather. One store opened later. Prices and promotions are known for the two weeks after the last
sales, whose rows have no sales and no weather.
"""

import datetime

import numpy as np

STORES = {"harbour": (120, 1.0), "market": (80, 0.8), "station": (200, 1.5)}  # size, how busy
COLUMNS = ("date", "store", "size", "price", "promotion", "weather", "sales")
WEEK = (0.85, 0.8, 0.9, 1.0, 1.2, 1.45, 0.6)  # Monday to Sunday
WEATHER = {"sun": 1.1, "cloud": 1.0, "rain": 0.8, "snow": 0.6}
PROMOTIONS = {"no": 1.0, "flyer": 1.25, "radio": 1.45}
BEGIN = datetime.date(2022, 1, 3)
DAYS, AHEAD = 730, 14  # with sales, and after the last of them
LATE = ("station", 200)  # the store that opened later, and after how many days
PRICES = (2.29, 2.49, 2.69, 2.99)
LOST, UNKNOWN = 0.02, 0.03  # shares of days and of cells that are missing


def store_table(seed: int = 0) -> str:
    """The table as CSV, the same for the same seed.

    Example:
        >>> print(*store_table().splitlines()[:3], sep="\\n")
        date,store,size,price,promotion,weather,sales
        2022-01-03,market,80,2.49,no,sun,117
        2022-01-04,harbour,120,2.29,no,sun,155
    """
    rng = np.random.default_rng(seed)
    lines = [",".join(COLUMNS)]
    price = dict.fromkeys(STORES, PRICES[1])
    weather = "cloud"
    for day in range(DAYS + AHEAD):
        date = BEGIN + datetime.timedelta(day)
        weather = _weather(rng, weather, date.month)
        for name, (size, busy) in STORES.items():
            if rng.random() < 0.05:
                price[name] = PRICES[rng.integers(len(PRICES))]
            promotion = _drawn(rng, {"no": 0.85, "flyer": 0.1, "radio": 0.05})
            noise = rng.random(4).sum() - 2  # nearly normal, with a deviation of 0.58
            season = 1 + 0.25 * np.sin(2 * np.pi * (date.timetuple().tm_yday - 100) / 365.25)
            sales = 200 * busy * WEEK[date.weekday()] * season * (2.5 / price[name]) ** 1.5
            sales *= WEATHER[weather] * PROMOTIONS[promotion] * (1 + 0.12 * noise)
            gone = rng.random(2) < UNKNOWN
            seen, sold = "" if gone[0] else weather, "" if gone[1] else f"{sales:.0f}"
            closed = (date.month, date.day) in ((1, 1), (12, 25), (12, 26))
            if day >= DAYS:
                seen = sold = ""
            elif rng.random() < LOST or closed or (name == LATE[0] and day < LATE[1]):
                continue
            row = (date.isoformat(), name, str(size), f"{price[name]:.2f}", promotion, seen, sold)
            lines.append(",".join(row))
    return "\n".join(lines) + "\n"


def sales_table() -> str:
    """Date, sales and price of one store, on the days of which the sales are known: a plain table.

    Example:
        >>> sales_table().splitlines()[:2]
        ['date,sales,price', '2022-01-03,117,2.49']
    """
    days = [line.split(",") for line in store_table().splitlines()[1:]]
    rows = [f"{day[0]},{day[6]},{day[3]}" for day in days if day[1] == "market" and day[6]]
    return "\n".join(["date,sales,price", *rows]) + "\n"


def _weather(rng: np.random.Generator, before: str, month: int) -> str:
    """The weather of a day, which is often that of the day before; it snows in winter."""
    if rng.random() < 0.6 and (before != "snow" or month in (1, 2, 12)):
        return before
    cold = month in (1, 2, 12)
    return _drawn(
        rng, {"sun": 0.4, "cloud": 0.35, "rain": 0.15 if cold else 0.25, "snow": 0.1 * cold}
    )


def _drawn(rng: np.random.Generator, shares: dict[str, float]) -> str:
    """One of some words, with shares that need not be exactly 1 in all."""
    at = rng.random() * sum(shares.values())
    return [*shares][int(np.searchsorted(np.cumsum([*shares.values()]), at, side="right"))]
