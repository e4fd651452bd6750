"""Microseconds a step of a stream takes, from a value that a user has to an answer.

    python benchmarks/streaming.py [--publish]

One thread of one CPU, 64 units. Counted is the time of the processor over blocks of 20 steps, and
of these the fastest and the median: another program that runs at the same time makes none faster.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from measure import publish, table
from ostinato import Config, train
from ostinato.tasks import Series, Text

STEPS, BLOCK, UNITS, MANY = 1000, 20, 64, 32
CELLS = ("lstm", "gru", "mlstm", "delay")


def microseconds(step, values):
    for value in values[:100]:
        step(value)
    times = []
    for n in range(0, len(values) - BLOCK + 1, BLOCK):
        begin = time.process_time()
        for value in values[n : n + BLOCK]:
            step(value)
        times.append(time.process_time() - begin)
    return [f"{x / BLOCK * 1e6:.0f}" for x in (min(times), np.median(times))]


def both(name, run, values):
    """A row of the table: one sequence, and many at once."""
    many = [[value] * MANY for value in values]
    alone, together = run.stream(), run.stream(sequences=MANY)
    return [name, *microseconds(alone.step, values), *microseconds(together.step, many)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--publish", action="store_true", help="into RESULTS.md")
    given = parser.parse_args()
    text = "the quick brown fox jumps over the lazy dog. " * 100
    waves = np.sin(np.arange(STEPS + 200)[:, None] / np.array([5.0, 9.0]))
    frame = pd.DataFrame(waves, columns=["sold", "price"])
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        how = {"units": UNITS, "batch": 2, "length": 20, "steps": 1}
        for cell in CELLS:
            run = train(Config(cell=cell, **how), folder / cell, task=Text.of(text))
            rows.append(both(f"text, {cell}", run, list(text[:STEPS])))
        series = Series(frame, horizon=3)
        run = train(Config(cell="lstm", **how), folder / "series", task=series)
        known = frame[:STEPS]
        for kind, values in {
            "lists": known.to_numpy().tolist(),
            "dictionaries": known.to_dict("records"),
            "rows of pandas": [row for _, row in known.iterrows()],
        }.items():
            rows.append(both(f"series, lstm, {kind}", run, values))
    load = ", ".join(f"{x:.0f}" for x in os.getloadavg())
    head = ["", "one, fastest", "median", f"{MANY} at once, fastest", "median"]
    words = (
        f"Microseconds of the processor from a value to the answer, {UNITS} units, blocks of "
        f"{BLOCK} steps. Load of the machine over 1, 5 and 15 minutes: {load}."
    )
    whole = f"{words}\n\n{table(head, rows)}"
    publish("One step of a stream", whole) if given.publish else print(whole)


if __name__ == "__main__":
    main()
