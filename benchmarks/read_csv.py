"""Seconds to read a CSV file of 300,000 rows, beside pandas, in the same run.

    pip install pandas
    python benchmarks/read_csv.py

Each file has a date, the name of a store and three numbers. Both readers read it in turns, and the
least of 7 readings counts: processor time, then time on the clock.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas

from ostinato.data import read_table

ROWS, STORES = 300_000, 300


def tables() -> dict[str, pandas.DataFrame]:
    draw, days = np.random.default_rng(0), ROWS // STORES
    frame = pandas.DataFrame(
        {
            "date": np.tile(
                pandas.date_range("2020-01-01", periods=days).strftime("%Y-%m-%d"), STORES
            ),
            "store": np.repeat([f"store {n}" for n in range(STORES)], days),
            "sales": draw.integers(0, 5000, ROWS),
            "price": np.round(draw.gamma(3, 5, ROWS), 2),
            "temperature": np.round(draw.normal(10, 8, ROWS), 1),
        }
    )
    whole = dict(zip(("sales", "price", "temperature"), draw.normal(size=(3, ROWS)), strict=True))
    minutes = pandas.date_range("2020-01-01", periods=ROWS, freq="min")
    return {
        "short numbers": frame,
        "17 digits": frame.assign(**whole),
        "17 digits, every minute": frame.assign(
            **whole, date=minutes.strftime("%Y-%m-%d %H:%M:%S")
        ),
    }


def seconds(read: Callable[[Path], object], path: Path) -> tuple[float, float]:
    clock, work = time.perf_counter(), time.process_time()
    read(path)
    return time.process_time() - work, time.perf_counter() - clock


def main() -> None:
    print("| file | Ostinato | pandas | ratio of processor times |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, frame in tables().items():
            path = Path(folder) / "table.csv"
            frame.to_csv(path, index=False)
            taken = [(seconds(read_table, path), seconds(pandas.read_csv, path)) for _ in range(7)]
            ours, theirs = (np.min([each[n] for each in taken], axis=0) for n in (0, 1))
            cells = [f"{work:.3f} s ({clock:.3f} s)" for work, clock in (ours, theirs)]
            print(f"| {name} | {' | '.join(cells)} | {ours[0] / theirs[0]:.1f} |")


if __name__ == "__main__":
    main()
