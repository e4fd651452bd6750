"""A trained network from inside: what it expects and what its units do over a text.

Everything is plain numbers and words, as JSON: the command line and pages show the same.
"""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import BadInput
from ...lens.find_unit import DRAWS, Ranking, find_unit
from ...lens.gradient_by_lag import WINDOW, reach
from ...lens.part_names import Unit
from ...lens.patterns import Pattern, pattern
from ...lens.reading import APART, Reading, read, read_gates, similar_states
from ...progress import Report, silent
from ...settings import checked_int
from ...tasks import PassageTask
from ...tasks.applying import ApplyOptions
from ...tasks.text.passages import Passage
from ..build import build_network
from ..folder.run import RunFolder, checked_run

LIMIT = 100_000  # pieces of a text that are read
TOP = 5


class Inside:
    """The network of a run on one text, which is read when something is first asked of it.

    Attributes:
        run: the run.
        passage: the text in pieces: characters, bytes or words.
        step, network: of the best checkpoint.
        where: where the text is from, in words.
        whole: how many pieces the text had before it was cut to the passage.
        report: hears what is done now.

    Example:
        >>> inside = look_inside(open_run("runs/text-mlstm-1"), "The value is bound.")
        >>> inside.units()
        {'h': 8, 'c': 8}
        >>> inside.pieces(4, 6)[0]["piece"], len(inside.pieces(4, 6)[0]["expected"])
        ('v', 5)
        >>> len(inside.unit("h[3]"))
        19
    """

    def __init__(
        self,
        run: RunFolder,
        passage: Passage,
        where: str,
        top: int = TOP,
        whole: int | None = None,
        report: Report = silent,
    ):
        if top < 1:
            raise BadInput(f"top must be at least 1, got {top}")
        self.run, self.passage, self.where, self.top = run, passage, where, top
        self.whole = len(passage.pieces) if whole is None else whole
        self.report = report
        self.step, self.network = run.saved()

    @cached_property
    def reading(self) -> Reading:
        with self.run.precision():
            return read(self.network, self.passage, self.top, self.report)

    @cached_property
    def gates(self) -> dict[str, np.ndarray]:
        self.report(0, None, "reading the gates")
        with self.run.precision():
            return read_gates(self.network, self.passage)

    def notes(self) -> list[str]:
        """What to know about what is shown, in sentences."""
        return self.passage.notes(self.run.config.network.bidirectional)

    def units(self) -> dict[str, int]:
        """The number of units of each state, by name."""
        return {name: x.shape[1] for name, x in self.reading.states.items()}

    def gate_units(self) -> dict[str, int]:
        """The number of units of each gate, by name, from the first pieces of the text."""
        with self.run.precision():
            gates = read_gates(self.network, self.passage.first(1))
        return {name: x.shape[1] for name, x in gates.items()}

    def unit(self, name: str) -> list[float]:
        """A state, memory or gate after each piece: `h[12]`, `layer 2, c[3]`, `forget gate[3]`."""
        asked, states = Unit.read(name), self.reading.states
        every = states if asked.group in states else states | self.gates
        return [float(x) for x in asked.of(every)]

    def pieces(self, begin: int = 0, end: int | None = None) -> list[dict[str, Any]]:
        """Some pieces with their surprise in bits, and what was expected in their place.

        `surprise` is `None`, and `expected` empty, where nothing was expected or known.
        """
        reading, names = self.reading, self.passage.names
        return [
            {
                "at": at,
                "piece": self.passage.pieces[at],
                "surprise": None if np.isnan(reading.surprise[at]) else float(reading.surprise[at]),
                "expected": [
                    [names[n], float(p)]
                    for n, p in zip(reading.expected[at], reading.probabilities[at], strict=True)
                    if n >= 0
                ],
            }
            for at in range(len(self.passage.pieces))[begin:end]
        ]

    def find(
        self, name: str | Pattern, count: int = 10, draws: int = DRAWS, untrained: bool = True
    ) -> dict[str, Any]:
        """The units that follow a pattern best; see `lens.pattern` and `lens.find_unit`.

        Args:
            name: the pattern, or its name.
            count: how many units to return.
            draws: how many rotated patterns to search for.
            untrained: also give the best unit of the network before training, see `untrained`,
                which reads the text once more; otherwise `None`.
        """
        wanted = self._pattern(name)
        values = self.reading.values
        self.report(0, None, f"searching {values.shape[1]:,} units for the pattern")
        ranking = find_unit(values, wanted.values, count=count, draws=draws)
        chance = ranking.chance
        return {
            "pattern": wanted.name,
            "measure": ranking.measure,
            "pieces": len(wanted.values),
            "split": ranking.split,
            "shares": list(ranking.shares),
            "searched": self.reading.values.shape[1],
            "units": self._named(ranking, self.reading),
            "chance": {
                "draws": len(chance),
                "mean": float(chance.mean()) if len(chance) else None,
                "highest": float(chance.max()) if len(chance) else None,
                "scores": chance.tolist(),
            },
            "untrained": self.untrained(wanted) if untrained else None,
        }

    def untrained(self, name: str | Pattern) -> dict[str, Any] | None:
        """The unit of the network as it was before training that follows a pattern best.

        `None` if the run was given its network from Python.
        """
        if self._before is None:
            return None
        ranking = find_unit(self._before.values, self._pattern(name).values, count=1, draws=0)
        (best,) = self._named(ranking, self._before)
        return best

    def _pattern(self, name: str | Pattern) -> Pattern:
        return name if isinstance(name, Pattern) else pattern(name, self.passage.pieces, self.whole)

    def _named(self, ranking: Ranking, reading: Reading) -> list[dict[str, Any]]:
        return [one._asdict() | {"unit": str(reading.unit(one.unit))} for one in ranking.units]

    @cached_property
    def _before(self) -> Reading | None:
        run = self.run
        if {"network", "task"} & {*run.manifest.get("given", [])}:
            return None
        with run.precision():
            before = build_network(run.config, run.sizes, run.units)
            return read(before, self.passage, 0, self.report)

    def reach(self, at: int, window: int = WINDOW) -> dict[str, Any]:
        """How far back the loss of a piece reaches; see `lens.reach`."""
        with self.run.precision():
            reached = reach(self.network, self.passage, at, window=window)
        pieces = self.passage.pieces
        return {
            "at": at,
            "piece": pieces[at],
            "target": self.passage.names[reached.target],
            "loss": reached.loss,
            "by_lag": {name: profile.tolist() for name, profile in reached.by_lag.items()},
            "moved": [
                {"at": int(n), "piece": pieces[n], "norm": float(x)}
                for n, x in zip(reached.places, reached.moved, strict=True)
            ],
        }

    def similar(self, at: int, count: int = 5, apart: int = APART) -> list[dict[str, Any]]:
        """Where the network was in a similar state, by the cosine of all h."""
        states = self.reading.states
        own = [x for name, x in states.items() if name.rpartition(", ")[2] == "h"]
        places = similar_states(
            np.concatenate(own or [*states.values()], axis=1), at, count=count, apart=apart
        )
        return [
            {"at": n, "cosine": cosine, "piece": self.passage.pieces[n]} for n, cosine in places
        ]


def look_inside(
    run: RunFolder,
    text: str | None = None,
    *,
    file: Path | None = None,
    limit: int = LIMIT,
    top: int = TOP,
    report: Report = silent,
) -> Inside:
    """Look at a run's network from inside.

    Args:
        run: a run that reads texts, with a checkpoint: on a text, or one that tags, labels or
            translates.
        text: what the network reads; by default the validation part of its own data.
        file: a file to read instead.
        limit: how many pieces to read, at most.
        top: how many of the most probable outputs to keep.
        report: hears how far the reading is.
    """
    if text is not None and file is not None:
        raise BadInput("give either a text or a file, not both")
    checked_run(run)
    limit, top = checked_int("the limit", limit), checked_int("top", top)
    kind = run.config.task.kind.able(PassageTask)
    with run.precision():
        if text is not None:
            how = ApplyOptions(settings=run.config.task.settings, artefacts=run.artefacts)
            passage, where = kind.passage_of(text, run.network(), how), "the given text"
        else:
            task = (run.task() if file is None else run.task_on(file)).ability(PassageTask)
            assert task is not None
            passage = task.passage("valid")
            where = "the validation part" if file is None else str(file)
    whole = len(passage.pieces)
    if whole > limit:
        passage = passage.first(limit)
    return Inside(run, passage, where, top, whole, report)
