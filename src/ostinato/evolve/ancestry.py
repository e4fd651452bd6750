"""The ancestry of a search: every cell that was tried, where it came from and how it did."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from ..files import append_line, read_regular, write_whole
from .graph import Graph, memory_kind

FILE = "ancestry.jsonl"
SIZE_COST = 0.002  # per node, so that of two cells with the same score the smaller one wins


@dataclasses.dataclass(frozen=True)
class Entry:
    """A cell that was tried.

    Attributes:
        number: its place in the search, from 0.
        graph: the cell, in canonical form.
        parents: the numbers of its parents: none, one, or two after crossover.
        changes: the mutations that led to it, `crossover` among them.
        rungs: its progress on each task after each rung; see `trial`.
        finished: false if it was rejected before the last rung.
    """

    number: int
    graph: Graph
    parents: tuple[int, ...]
    changes: tuple[str, ...]
    rungs: tuple[tuple[float, ...], ...]
    finished: bool

    @property
    def scores(self) -> list[float]:
        """The mean over tasks after each rung; a rung that was not finished has none."""
        return [float(np.mean(rung)) for rung in self.rungs if len(rung) == len(self.rungs[0])]

    @property
    def score(self) -> float:
        """The mean over rungs, so that of two cells that solve a task the faster one wins."""
        return float(np.mean(self.scores))

    @property
    def fitness(self) -> float:
        """The score less a small cost of its size; what selection goes by."""
        return self.score - SIZE_COST * len(self.graph.nodes)

    def as_json(self) -> dict[str, Any]:
        plain = {
            "number": self.number,
            "parents": list(self.parents),
            "changes": list(self.changes),
            "rungs": [list(rung) for rung in self.rungs],
            "finished": self.finished,
            "graph": self.graph.as_json(),
        }
        if self.finished:
            plain |= {"score": self.score, "memory": memory_kind(self.graph)}
        return plain


def add_entry(folder: Path, entry: Entry) -> None:
    """Append an entry to the ancestry of a folder."""
    append_line(folder / FILE, json.dumps(entry.as_json(), allow_nan=False).encode())


def read_ancestry(folder: Path, repair: bool = False) -> list[Entry]:
    """The ancestry of a folder.

    Args:
        folder: where a search keeps its files.
        repair: remove a last line that a crash left incomplete.
    """
    path = folder / FILE
    if not path.exists():
        return []
    lines = read_regular(path).split(b"\n")
    whole, rest = lines[:-1], lines[-1]
    entries = [_entry(path, number, line) for number, line in enumerate(whole)]
    if rest and repair:
        write_whole(path, b"".join(line + b"\n" for line in whole))
    return entries


def _entry(path: Path, number: int, line: bytes) -> Entry:
    try:
        given = json.loads(line)
        entry = Entry(
            given["number"],
            Graph.from_json(given["graph"]),
            tuple(given["parents"]),
            tuple(given["changes"]),
            tuple(tuple(float(x) for x in rung) for rung in given["rungs"]),
            bool(given["finished"]),
        )
        if entry.number != number or not all(0 <= parent < number for parent in entry.parents):
            raise ValueError
        if not all(isinstance(change, str) for change in entry.changes):
            raise ValueError
        if not (entry.rungs and entry.rungs[0] and np.isfinite(np.concatenate(entry.rungs)).all()):
            raise ValueError
    except (ValueError, TypeError, KeyError):
        raise BadInput(f"{path}, line {number + 1}, is not an entry of an ancestry") from None
    return entry


def best_of(entries: Sequence[Entry], count: int = 1) -> list[Entry]:
    """The fittest of those that were not rejected, the best first; of equals the oldest."""
    finished = [entry for entry in entries if entry.finished]
    return sorted(finished, key=lambda entry: (-entry.fitness, entry.number))[:count]


def line_of(entries: Sequence[Entry], entry: Entry) -> list[Entry]:
    """An entry and its ancestors, the oldest first."""
    line, waiting = set(), [entry.number]
    while waiting:
        number = waiting.pop()
        if number not in line:
            line.add(number)
            waiting += entries[number].parents
    return [entries[number] for number in sorted(line)]
