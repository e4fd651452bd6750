"""The search for a cell: evolution with early rejection.

The first cell is a simple tanh cell, or any other (`traced`). Each later one is a child: of the
fittest of three, drawn from the best `population` cells so far, by mutation; or of two such by
crossover. No graph is tried twice. A child is trained rung by rung (`trial`), and rejected after a
rung at which it is below the median of all that have reached it, so about half go on (asynchronous
successive halving, Li et al., 2020); a task is not even tried if full marks in it could not save
the child.

Cell number k depends on the seed, on k and on the entries before it alone, so a search that was
interrupted continues from its ancestry as if nothing had happened.

Sources: Jozefowicz, Zaremba and Sutskever (2015), An empirical exploration of recurrent network
architectures, evolve cells from LSTM and GRU in this way; Real et al. (2019), Regularized evolution
for image classifier architecture search, for tournaments.
"""

import dataclasses
import functools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from ..files import is_unused, locked, read_json, remove_leftovers, write_whole
from ..runs.build import build_task
from ..runs.config import Config
from ..runs.config.members import allow_members
from ..runs.config.sections import from_text
from ..runs.loop.signals import Interrupted, Stop, stop_signals
from ..runs.many import connected
from ..runs.many.cluster import Call, Cluster
from ..settings import settings_of
from ..tasks import Task
from .ancestry import Entry, add_entry, best_of, read_ancestry
from .graph import Graph
from .mutation import crossed, mutated
from .source import source_of
from .traced import graph_of
from .trial import Budget, Problem, check_counts

SETTINGS, BEST = "evolution.json", "best.py"
TASKS = ("adding:length=30", "memorisation:length=20:bits=3", "xor")
LARGEST = 16 << 20  # bytes of the settings
TOURNAMENT = 3
CROSSOVER = 0.15
SHARE = 0.25  # of a GPU of a cluster that a cell needs: few units, in some networks at once
MORE = 0.3  # probability of another mutation after each
TRIES = 100

Outcome = tuple[tuple[tuple[float, ...], ...], bool]


@dataclasses.dataclass(frozen=True)
class Plan:
    """The settings of a search.

    Attributes:
        tasks: names of tasks, each perhaps with settings: `adding:length=30`.
        population: how many of the best cells can be parents.
        seed: random seed of mutations and selection.
        budget: how each cell is trained.
        start: the first cell, as for `ostinato train --cell`.
        evaluations: how many cells to try in all. A search may continue with more.
    """

    tasks: tuple[str, ...] = TASKS
    population: int = 12
    seed: int = 0
    budget: Budget = dataclasses.field(default_factory=Budget)
    start: str = "simple"
    evaluations: int = dataclasses.field(default=100, compare=False)

    def __post_init__(self) -> None:
        if not self.tasks:
            raise BadInput("evolution needs at least one task")
        if strange := [words for words in self.tasks if not isinstance(words, str)]:
            raise BadInput(f"a task is given by its name, got {strange[0]!r:.40}")
        if not isinstance(self.start, str):
            raise BadInput(f"the first cell is given by its name, got {self.start!r:.40}")
        check_counts(population=self.population, evaluations=self.evaluations)
        Config(seed=self.seed)

    def as_json(self) -> dict[str, Any]:
        return json.loads(json.dumps(dataclasses.asdict(self)))

    @classmethod
    def from_json(cls, given: Any) -> "Plan":
        try:
            budget = dict(given["budget"], rates=tuple(given["budget"]["rates"]))
            return cls(**{**given, "tasks": tuple(given["tasks"]), "budget": Budget(**budget)})
        except (TypeError, KeyError, AttributeError):
            raise BadInput("these are not the settings of a search") from None


def task_of(words: str, *, named: bool = True) -> Task:
    """A task from its name and settings; `named` as in `runs.members.find`.

    Example:
        >>> task_of("memorisation:length=16:bits=3").bits
        3
    """
    parts = words.split(":")
    given = [part for part in parts if "=" in part]
    name = ":".join(parts[: len(parts) - len(given)])
    values: dict[str, Any] = {}
    for part in given:
        setting, _, value = part.partition("=")
        values[setting] = from_text(setting, value)
    try:
        flat = {"task": name, **values}
        config = Config(**flat) if named else Config.from_folder(flat)
        if named:
            allow_members([config.task])
        if strange := values.keys() - settings_of(type(config.task.settings)).keys():
            raise BadInput(f"{min(strange)} is not a setting of the task")
        return build_task(config)
    except BadInput as error:
        raise BadInput(f"the task {words}: {error}") from None


def child_of(
    entries: Sequence[Entry], plan: Plan, first: Graph | None = None
) -> tuple[Graph, tuple[int, ...], tuple]:
    """The graph of the next cell, the numbers of its parents, and the changes.

    `first` is that of the plan's first cell, if it is known; else a folder names it.
    """
    if not entries:
        return first or graph_of(plan.start, named=False), (), ()
    random = np.random.default_rng([plan.seed, len(entries)])
    known = {entry.graph for entry in entries}
    population = best_of(entries, plan.population)
    for attempt in range(TRIES):
        parent = _selected(population, random)
        graph, changes = parent.graph, []
        parents: tuple[int, ...] = (parent.number,)
        if len(population) > 1 and random.random() < CROSSOVER:
            other = _selected([e for e in population if e is not parent], random)
            graph = crossed(graph, other.graph, random)
            parents, changes = (parent.number, other.number), ["crossover"]
        while not changes or (graph in known and attempt > TRIES // 2) or random.random() < MORE:
            graph, name = mutated(graph, random)
            changes.append(name)
        if graph not in known:
            return graph, parents, tuple(changes)
    raise RuntimeError(f"{TRIES} attempts gave no new cell")


def _selected(population: list[Entry], random: np.random.Generator) -> Entry:
    drawn = random.integers(len(population), size=TOURNAMENT)
    return population[int(drawn.min())]  # the best comes first


def tried(
    graph: Graph,
    problems: Sequence[Problem],
    yardsticks: Sequence[float],
    stop: Stop | None = None,
) -> Outcome | None:
    """The progress of a cell on each problem after each rung, and whether it finished.

    Args:
        graph: the cell.
        problems: what it is tried on.
        yardsticks: the least score after each rung but the last.
        stop: where a signal is noted; the result is `None` if one came.
    """
    runs = [problem.run(graph) for problem in problems]
    return judged(runs, problems[0].budget.rungs, yardsticks, stop)


def judged(
    runs: Sequence[Iterator[float]],
    count: int,
    yardsticks: Sequence[float],
    stop: Stop | None = None,
) -> Outcome | None:
    """`tried`, from the progress on each problem after each of `count` rungs."""
    rungs: list[tuple[float, ...]] = []
    for number in range(count):
        least = yardsticks[number] if number < len(yardsticks) else 0.0
        scores: list[float] = []
        for run in runs:
            if sum(scores) + len(runs) - len(scores) < least * len(runs):
                break
            scores.append(round(next(run), 6))
            if stop is not None and stop.number is not None:
                return None
        rungs.append(tuple(scores))
        if len(scores) < len(runs) or np.mean(scores) < least:
            return tuple(rungs), False
    return tuple(rungs), True


def yardsticks_of(entries: Sequence[Entry], rungs: int) -> list[float]:
    """The median score after each rung but the last, of all cells that reached it."""
    medians = []
    for rung in range(rungs - 1):
        reached = [entry.scores[rung] for entry in entries if len(entry.scores) > rung]
        medians.append(float(np.median(reached)) if reached else 0.0)
    return medians


class Ahead:
    """Trials on a cluster: of the next cell, and of those that come after it if it is rejected.

    What a cell's rungs show does not depend on the cells before it; they only say which cell comes
    next, and after which rung it is rejected. Until the next cell is known to be one of the best,
    which few are, its successors are those of a search in which it is not. So they are tried too,
    and what was foreseen wrongly is dropped. The search is the same as in one process.

    Attributes:
        cluster: where cells are tried.
        plan, first: of the search.
        shown: the rungs of cells that were tried, as far as they went.
    """

    def __init__(self, cluster: Cluster, plan: Plan, first: Graph | None):
        self.cluster, self.plan, self.first = cluster, plan, first
        self.shown: dict[Graph, tuple[tuple[float, ...], ...]] = {}

    def tried(
        self, graph: Graph, entries: Sequence[Entry], yardsticks: Sequence[float], stop: Stop
    ) -> Outcome | None:
        """The outcome of the cell that comes after `entries`, as `search.tried` gives it."""
        self._submit(entries)
        while True:
            if graph in self.shown:
                rungs = self.shown.pop(graph)
                runs = [
                    iter([x[n] for x in rungs if n < len(x)]) for n in range(len(self.plan.tasks))
                ]
                try:
                    return judged(runs, self.plan.budget.rungs, yardsticks)
                except StopIteration:  # it was rejected by another yardstick
                    self._call(graph, yardsticks)
            try:
                number, (rungs, _) = self.cluster.next(stop)
            except Interrupted as end:
                stop.number = end.number
                return None
            self.shown[number] = rungs

    def _submit(self, entries: Sequence[Entry]) -> None:
        """Try as many of the next cells as there is room for, and no others."""
        assumed, rungs = [*entries], self.plan.budget.rungs
        foreseen: dict[Graph, list[float]] = {}
        while len(foreseen) < self.cluster.room(SHARE) and len(assumed) < self.plan.evaluations:
            graph, parents, changes = child_of(assumed, self.plan, self.first)
            foreseen[graph] = yardsticks_of(assumed, rungs)
            assumed.append(Entry(len(assumed), graph, parents, changes, (), False))
            if not entries:
                break  # the first cell has no successors before its fitness is known
        self.cluster.cancel(lambda graph: graph not in foreseen)
        known = {*self.shown, *(call.key for call in self.cluster.calls.values())}
        for graph in (graph for graph in foreseen if graph not in known):
            self._call(graph, foreseen[graph])

    def _call(self, graph: Graph, yardsticks: Sequence[float]) -> None:
        given = graph, self.plan.tasks, self.plan.budget, yardsticks
        self.cluster.submit(Call(graph, _tried, given, share=SHARE))


def _tried(
    graph: Graph, tasks: tuple[str, ...], budget: Budget, yardsticks: Sequence[float]
) -> Outcome | None:
    """The outcome of a cell, on a worker."""
    return tried(graph, _problems(tasks, budget), yardsticks)


@functools.lru_cache(maxsize=1)
def _problems(tasks: tuple[str, ...], budget: Budget) -> list[Problem]:
    return [Problem(task_of(words), budget) for words in tasks]


def evolve(
    plan: Plan,
    folder: str | Path,
    evaluations: int | None = None,
    *,
    resume: bool = False,
    ray: str | None = None,
    listener: Callable[[Sequence[Entry]], None] | None = None,
) -> tuple[list[Entry], int | None]:
    """Search for a cell, and write the best one to `best.py` in the folder.

    Args:
        plan: the settings; with `resume` they must be those of the folder.
        folder: for the settings, the ancestry and the best cell.
        evaluations: how many cells to try in all, if not those of the plan.
        resume: continue the search of the folder.
        ray: the address of a Ray cluster that tries the cells, see `runs.many.connected`; they are
            tried in this process without one.
        listener: called with all entries after each new one.

    Returns:
        All entries, and the number of the signal that interrupted the search, if one did.

    Example:
        >>> small = Budget(rungs=1, steps=2, batch=4, units=4, seeds=1, rates=(0.01,))
        >>> entries, _ = evolve(Plan(("adding:length=5",), budget=small), "search", evaluations=2)
        >>> entries[1].parents
        (0,)
        >>> sorted(path.name for path in Path("search").iterdir())
        ['ancestry.jsonl', 'best.py', 'evolution.json']
    """
    folder = Path(folder)
    if evaluations is not None:
        plan = dataclasses.replace(plan, evaluations=evaluations)
    first = None if resume else graph_of(plan.start)
    problems = [Problem(task_of(words, named=not resume), plan.budget) for words in plan.tasks]
    _check(folder, plan, resume)
    with connected(ray, folder) as cluster, locked(folder), stop_signals() as stop:
        ahead = None if cluster is None else Ahead(cluster, plan, first)
        if (count := len(read_ancestry(folder))) > plan.evaluations:
            raise BadInput(
                f"{folder} has tried {count} cells already, so evaluations must be at least "
                f"{count}, got {plan.evaluations}"
            )
        remove_leftovers(folder)
        write_whole(folder / SETTINGS, json.dumps(plan.as_json(), indent=1).encode())
        entries = read_ancestry(folder, repair=True)
        while len(entries) < plan.evaluations and stop.number is None:
            graph, parents, changes = child_of(entries, plan, first)
            least = yardsticks_of(entries, plan.budget.rungs)
            if ahead is None:
                outcome = tried(graph, problems, least, stop)
            else:
                outcome = ahead.tried(graph, entries, least, stop)
            if outcome is None:
                break
            entry = Entry(len(entries), graph, parents, changes, *outcome)
            add_entry(folder, entry)
            entries.append(entry)
            if listener is not None:
                listener(entries)
        if best := best_of(entries):
            write_whole(folder / BEST, source_of(best[0].graph, note=_note(best[0], plan)).encode())
    return entries, stop.number


def _check(folder: Path, plan: Plan, resume: bool) -> None:
    """Refuse a folder for a new search that is not free, and one to continue with another plan."""
    if resume:
        if read_plan(folder) != plan:
            raise BadInput(f"{folder} has a search with other settings; leave them out to resume")
    elif (folder / SETTINGS).exists():
        raise BadInput(f"{folder} already has a search; add --resume to continue it")
    elif not is_unused(folder):
        raise BadInput(f"{folder} is not empty; give another folder for the search")


def read_plan(folder: Path) -> Plan:
    """The settings of the search in a folder."""
    path = Path(folder) / SETTINGS
    try:
        return Plan.from_json(read_json(path, LARGEST))
    except OSError:
        raise BadInput(f"{folder} has no search to continue: there is no {SETTINGS}") from None
    except ValueError as error:
        words = error if isinstance(error, BadInput) else "it is not JSON"
        raise BadInput(f"{path} cannot be read: {words}") from None


def _note(entry: Entry, plan: Plan) -> str:
    return (
        f"Found by `ostinato evolve` as cell {entry.number} of the search with seed {plan.seed} "
        f"on {', '.join(plan.tasks)}."
    )
