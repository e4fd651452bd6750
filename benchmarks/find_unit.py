"""How long it takes to find the unit that follows a pattern: reading the text, and the search.

    python benchmarks/find_unit.py [--units 512] [--characters 100000] [--run FOLDER [--file FILE]]

The network is an LSTM with new weights, and the text is the documentation that comes with Python.
With --run it is a trained network, on its validation part or on --file, and its best units are
printed as well: it remembers for longer, so that the streams in which a text is read overlap more.
All states are searched, h and c, so an LSTM of 512 units has 1,024. The search includes 20
rotations of the pattern for the score of chance, but not the network before training, which reads
the text once more.

Seconds are those of the clock and, because other programs may run beside it, of the processors.
"""

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from measure import machine, table
from ostinato.cells import LSTM
from ostinato.data import Vocabulary
from ostinato.data.generated.everyday import book_text
from ostinato.lens import find_unit, pattern, read
from ostinato.runs import Inside, look_inside, open_run
from ostinato.tasks.text.passages import TextPassage
from ostinato.wiring import Network, OneHot, Readout

PATTERNS = ("brackets", "quotes", "line", "word", "regex:^ +", "regex:#.*")


def seconds(call: Callable, repeats: int = 3) -> tuple[Any, float, float]:
    """What it returns, and the shortest time by the clock and of all cores, of some calls."""
    clock, cores = [], []
    for _ in range(repeats):
        begun, used = time.perf_counter(), time.process_time()
        found = call()
        clock.append(time.perf_counter() - begun)
        cores.append(time.process_time() - used)
    return found, min(clock), min(cores)


def search(states: Any, name: str, pieces: list[str]) -> Any:
    return find_unit(states, pattern(name, pieces).values)


def new(units: int, characters: int) -> tuple[Network, TextPassage]:
    """A network with new weights, and a text."""
    text = book_text()[:characters]
    vocabulary = Vocabulary.of_text(text)
    one, two = jax.random.split(jax.random.key(0))
    size = len(vocabulary)
    network = Network(LSTM(size, units, key=one), Readout(units, size, key=two), OneHot(size))
    return network, TextPassage(vocabulary.encode(text), vocabulary)


def speed(network: Any, passage: Any) -> None:
    _, *first = seconds(lambda: read(network, passage), 1)
    found, *again = seconds(lambda: read(network, passage))
    rows = [["reading, compiling included", "", *first], ["reading", "", *again]]
    for states in (found.states["h"], found.values):
        for name in ("brackets", "line"):
            _, *took = seconds(partial(search, states, name, passage.pieces))
            rows.append([f"finding {name}", str(states.shape[1]), *took])
            whole = [a + b for a, b in zip(again, took, strict=True)]
            rows.append([f"reading, then finding {name}", str(states.shape[1]), *whole])
    units, size = found.states["h"].shape[1], len(passage.pieces)
    print(f"{units} units, {size:,} characters, {machine()}; load {os.getloadavg()[0]:.1f}\n")
    rows = [[*words, f"{clock:.2f}", f"{cores:.2f}"] for *words, clock, cores in rows]
    print(table(["", "states searched", "seconds", "seconds of all cores"], rows))


def best(inside: Inside) -> None:
    rows = []
    for name in PATTERNS:
        found = inside.find(name, 1)
        (unit,), chance, before = found["units"], found["chance"], found["untrained"]
        f1 = "" if unit["f1"] is None else f"{unit['f1']:.3f}"
        rows.append(
            [
                f"`{name}`",
                unit["unit"],
                f"{unit['score']:.3f}",
                f1,
                f"{chance['mean']:.3f}, {chance['highest']:.3f}",
                f"{before['score']:.3f}",
            ]
        )
    bits = float(np.nanmean(inside.reading.surprise))
    print(f"\n{len(inside.passage.pieces):,} characters of {inside.where}, {bits:.3f} bits each\n")
    titles = ["pattern", "unit", "score", "F1", "chance: mean, highest of 20", "before training"]
    print(table(titles, rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--units", type=int, default=512)
    parser.add_argument("--characters", type=int, default=100_000)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--file", type=Path)
    given = parser.parse_args()
    if given.run is None:
        speed(*new(given.units, given.characters))
    else:
        inside = look_inside(open_run(given.run), file=given.file, limit=given.characters)
        speed(inside.network, inside.passage)
        best(inside)
