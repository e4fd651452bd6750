"""Does evolution find a gated cell, from a simple tanh cell, on its default tasks?

    python benchmarks/evolve.py --evaluations 100 --seeds 10 11 12 --side-by-side

Each seed is a search of `ostinato evolve` with its default tasks. A folder that has one is resumed,
so a search that was cut off by a time limit goes on with the same command. `--side-by-side` gives
every seed a process of its own. A cell is gated if a state is kept by addition and multiplied by a
gate; see `ostinato.evolve.memory_kind`. The best cell of each search must pass `check_cell`, as a
graph and as the source that was written.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import jax

from measure import machine, table
from ostinato.evolve import Entry, GraphCell, Plan, best_of, evolve, memory_kind
from ostinato.runs.config.members import find
from ostinato.testing import check_cell


def searched(seed: int, folder: Path, evaluations: int, start: str) -> tuple[list[Entry], float]:
    """The entries of a search, and its seconds."""

    def show(entries: list[Entry]) -> None:
        last, best = entries[-1], best_of(entries)[0]
        print(
            f"seed {seed}: {len(entries)} cells, {time.perf_counter() - started:.0f} s; last "
            f"{last.scores} {' '.join(last.changes)}; best {best.number}, {best.score:.3f}, "
            f"{memory_kind(best.graph)}",
            flush=True,
        )

    started = time.perf_counter()
    resume, plan = (folder / "evolution.json").exists(), Plan(seed=seed, start=start)
    entries, signal = evolve(plan, folder, evaluations, resume=resume, listener=show)
    if signal is not None:
        raise SystemExit(128 + signal)
    return entries, time.perf_counter() - started


def row(seed: int, folder: Path, evaluations: int, start: str) -> list[str]:
    entries, seconds = searched(seed, folder, evaluations, start)
    (best,) = best_of(entries)
    check_cell(GraphCell(3, 4, key=jax.random.key(0), graph=best.graph))
    check_cell(find("cell", f"{folder / 'best.py'}:Evolved")[1](3, 4, key=jax.random.key(0)))
    leaders = [best_of(entries[: n + 1])[0] for n in range(len(entries))]
    first = next((n for n, e in enumerate(leaders) if memory_kind(e.graph) == "gated"), None)
    return [
        str(seed),
        str(len(entries)),
        str(sum(entry.finished for entry in entries)),
        f"{seconds:.0f}",
        f"{entries[0].score:.3f}",
        f"{best.score:.3f}",
        ", ".join(f"{x:.3f}" for x in best.rungs[-1]),
        memory_kind(best.graph),
        "never" if first is None else str(first),
        "<br>".join(f"`{line}`" for line in str(best.graph).splitlines()),
    ]


HEADER = [
    "seed", "cells", "not rejected", "seconds", "score of the first cell", "best score",
    "its progress by task", "its memory", "gated in the lead from cell", "the cell",
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--evaluations", type=int, default=100)
    parser.add_argument("--seeds", type=int, nargs="+", default=[10, 11, 12])
    parser.add_argument("--start", default="simple", help="the first cell")
    parser.add_argument("--folder", type=Path, default=Path("runs/evolve"))
    parser.add_argument("--side-by-side", action="store_true", help="a process per seed")
    given = parser.parse_args()
    if given.side_by_side:
        own = [sys.executable, __file__, "--start", given.start, "--folder", str(given.folder)]
        own += ["--evaluations", str(given.evaluations)]
        started = [subprocess.Popen([*own, "--seeds", str(seed)]) for seed in given.seeds]
        for process in started:
            process.wait()
        return
    rows = []
    for seed in given.seeds:
        folder = given.folder / f"seed-{seed}"
        rows.append(row(seed, folder, given.evaluations, given.start))
        print(machine(), table(HEADER, rows), sep="\n\n", flush=True)


if __name__ == "__main__":
    main()
