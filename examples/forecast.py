"""Forecast with intervals, compare with naive forecasts, and go on in a closed loop.

python examples/forecast.py

The series is the yearly number of sunspots since 1700 if `OSTINATO_DATA` has it, and otherwise a
generated series like it.
"""

import os
import tempfile
from pathlib import Path

import numpy as np

from ostinato import Config, evaluate, train
from ostinato.data import read_table
from ostinato.tasks import Series, closed_loop

SEASON = 11  # years

path = Path(os.environ.get("OSTINATO_DATA", "")) / "timeseries" / "sunspots.csv"
if path.is_file():
    values = read_table(path).numbers["SUNACTIVITY"]
else:
    rng = np.random.default_rng(0)
    cycles = []
    for _ in range(28):  # of different lengths and heights
        time = np.arange(years := rng.integers(9, 14)) / years
        cycles.append(rng.uniform(60, 160) * (1 - np.cos(2 * np.pi * time)) / 2)
    values = np.concatenate(cycles)
    values = np.maximum(0, values + rng.normal(scale=5, size=len(values)))

with tempfile.TemporaryDirectory() as folder:
    config = Config(cell="gru", units=16, batch=16, steps=200, rate=0.01)

    # The quantiles 0.1, 0.5 and 0.9 of the next three years.
    task = Series(
        values,
        names=["sunspots"],
        horizon=3,
        quantiles=(0.1, 0.5, 0.9),
        season=SEASON,
        length=40,
        split=(0.8, 0.1, 0.1),
        carry=False,
    )
    run = train(config, f"{folder}/intervals", task=task)
    for name, value in evaluate(run, "test", task=task).items():
        print(f"{name}: {value:.3g}")
    for name, value in task.yardsticks("test").items():
        print(f"{task.metric.name} of {name}: {value:.3g}")

    # Eleven more years, each forecast from the forecasts before it.
    path_of_years = closed_loop(run.network(), task, values, SEASON)
    print("the years after:", " ".join(f"{value:.0f}" for value in path_of_years[:, 0]))
