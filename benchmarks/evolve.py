"""Does evolution find a gated cell, from a simple tanh cell, on adding and memorisation?

    python benchmarks/evolve.py --evaluations 60 --seeds 3 --folder runs/evolve

Each seed is a search of `ostinato evolve` with its default tasks. A folder that has one is resumed.
A cell is gated if a state is kept by addition and multiplied by a gate; see
`ostinato.evolve.memory_kind`. The best cell of each search must pass `check_cell`, as a graph and
as the source that was written.
"""

import argparse
import time
from pathlib import Path

import jax

from measure import machine, table
from ostinato.evolve import Entry, GraphCell, Plan, best_of, evolve, memory_kind
from ostinato.runs.config.members import find
from ostinato.testing import check_cell


def searched(seed: int, folder: Path, evaluations: int) -> tuple[list[Entry], float]:
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
    resume = (folder / "evolution.json").exists()
    entries, signal = evolve(Plan(seed=seed), folder, evaluations, resume=resume, listener=show)
    if signal is not None:
        raise SystemExit(128 + signal)
    return entries, time.perf_counter() - started


def row(seed: int, folder: Path, evaluations: int) -> list[str]:
    entries, seconds = searched(seed, folder, evaluations)
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
    "seed", "cells", "not rejected", "seconds", "score of the tanh cell", "best score",
    "its progress on adding, memorisation", "its memory", "gated in the lead from cell", "the cell",
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path("runs/evolve"))
    given = parser.parse_args()
    rows = []
    for seed in range(given.seeds):
        rows.append(row(seed, given.folder / f"seed-{seed}", given.evaluations))
        print(machine(), table(HEADER, rows), sep="\n\n", flush=True)


if __name__ == "__main__":
    main()
