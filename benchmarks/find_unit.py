"""How long it takes to find the unit that follows a pattern: reading the text, and the search.

    python benchmarks/find_unit.py [--units 512] [--characters 100000] [--run FOLDER [--file FILE]]

The network is an LSTM with new weights, and the text is the documentation that comes with Python:
the time depends on neither. All states are searched, h and c, so an LSTM of 512 units has 1,024.
The search includes 20 rotations of the pattern for the score of chance. With --run, the best units
of a trained network are printed as well, on its validation part or on --file.

Seconds are those of the clock and, because other programs may run beside it, of the processors.
"""

import argparse
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
from ostinato.lens import find_unit, pattern, read
from ostinato.runs import look_inside, open_run
from ostinato.tasks.passages import TextPassage
from ostinato.tasks.text import embedded_text
from ostinato.wiring import Network, OneHot, Readout

PATTERNS = ("brackets", "quotes", "line", "word", "regex:^ +", "regex:#.*")


def seconds(call: Callable, repeats: int = 3) -> tuple[Any, str, str]:
    """What it returns, and the shortest time by the clock and of all cores, of some calls."""
    clock, cores = [], []
    for _ in range(repeats):
        begun, used = time.perf_counter(), time.process_time()
        found = call()
        clock.append(time.perf_counter() - begun)
        cores.append(time.process_time() - used)
    return found, f"{min(clock):.1f}", f"{min(cores):.1f}"


def search(states: Any, name: str, pieces: list[str]) -> Any:
    return find_unit(states, pattern(name, pieces).values)


def speed(units: int, characters: int) -> None:
    text = embedded_text()[:characters]
    vocabulary = Vocabulary.of_text(text)
    one, two = jax.random.split(jax.random.key(0))
    size = len(vocabulary)
    network = Network(LSTM(size, units, key=one), Readout(units, size, key=two), OneHot(size))
    passage = TextPassage(vocabulary.encode(text), vocabulary)
    _, *first = seconds(lambda: read(network, passage), 1)
    found, *again = seconds(lambda: read(network, passage), 2)
    rows = [["reading, compiling included", "", *first], ["reading", "", *again]]
    for states in (found.states["h"], found.values):
        for name in ("brackets", "line"):
            _, *took = seconds(partial(search, states, name, passage.pieces))
            rows.append([f"finding {name}", str(states.shape[1]), *took])
    print(f"LSTM of {units} units, {len(text):,} characters, {machine()}\n")
    print(table(["", "states searched", "seconds", "seconds of all cores"], rows))


def best(run: Path, file: Path | None) -> None:
    inside = look_inside(open_run(run), file=file)
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
    speed(given.units, given.characters)
    if given.run is not None:
        best(given.run, given.file)
