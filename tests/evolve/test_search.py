"""The search: the same from its seed, resumed as if never interrupted, and early rejection."""

import dataclasses
import json
import signal

import numpy as np
import pytest

from ostinato.errors import BadInput
from ostinato.evolve import (
    KNOWN,
    Budget,
    Plan,
    Problem,
    best_of,
    evolve,
    line_of,
    read_ancestry,
    search,
)
from ostinato.evolve.ancestry import FILE
from ostinato.evolve.canonical_form import canonical
from ostinato.evolve.cell import SIMPLE
from ostinato.evolve.search import read_plan

TINY = Budget(rungs=2, steps=2, batch=4, units=3, seeds=1, rates=(0.01,))
PLAN = Plan(("adding:length=4",), population=3, budget=TINY)


class Pretended:
    """A problem that needs no training: progress is a function of the graph."""

    def __init__(self, task, budget):
        self.budget = budget

    def run(self, graph):
        for rung in range(self.budget.rungs):
            known = np.random.default_rng(len(str(graph)) + 7 * len(graph.linears))
            yield float(known.random()) * (rung + 1) / self.budget.rungs


@pytest.fixture
def pretended(monkeypatch):
    monkeypatch.setattr(search, "Problem", Pretended)


def test_resumed_anywhere_it_is_the_same(pretended, tmp_path):
    evolve(PLAN, tmp_path / "whole", 30)
    whole = (tmp_path / "whole" / FILE).read_bytes()
    parts = tmp_path / "parts"
    for number, count in enumerate((4, 17, 30)):
        evolve(PLAN, parts, count, resume=number > 0)
        with (parts / FILE).open("ab") as file:
            file.write(b'{"number": 4, "gra')  # a line that a crash left
    evolve(PLAN, parts, 30, resume=True)
    assert (parts / FILE).read_bytes() == whole
    assert (parts / "best.py").read_bytes() == (tmp_path / "whole" / "best.py").read_bytes()


def test_a_signal_interrupts_it_and_loses_no_cell(pretended, tmp_path):
    def interrupt(entries):
        if len(entries) == 5:
            signal.raise_signal(signal.SIGINT)

    entries, number = evolve(PLAN, tmp_path / "a", 20, listener=interrupt)
    assert number == signal.SIGINT and len(entries) == 5 == len(read_ancestry(tmp_path / "a"))
    entries, number = evolve(PLAN, tmp_path / "a", 20, resume=True)
    assert number is None and len(entries) == 20
    assert evolve(PLAN, tmp_path / "b", 20)[0] == entries


def test_no_cell_is_tried_twice_and_ancestors_are_earlier(pretended, tmp_path):
    entries, _ = evolve(PLAN, tmp_path / "a", 60)
    assert len({entry.graph for entry in entries}) == 60
    assert all(entries[parent].finished for entry in entries for parent in entry.parents)
    (best,) = best_of(entries)
    assert line_of(entries, best)[0].number == 0
    assert best.score > entries[0].score
    rejected = [entry for entry in entries if not entry.finished]
    assert 10 < len(rejected) < 50
    assert {name for entry in entries for name in entry.changes} >= {"crossover", "gate", "keep"}


def test_seeds_differ(pretended, tmp_path):
    one, _ = evolve(PLAN, tmp_path / "a", 5)
    other, _ = evolve(Plan(PLAN.tasks, seed=1, budget=TINY), tmp_path / "b", 5)
    assert [entry.graph for entry in one] != [entry.graph for entry in other]


def test_rejection_goes_by_the_median_and_skips_what_cannot_help():
    class Counted(Pretended):
        asked = 0

        def run(self, graph):
            for value in (0.2, 0.9):
                Counted.asked += 1
                yield value

    problems = [Counted(None, TINY)] * 2
    assert search.tried(SIMPLE, problems, [0.1]) == (((0.2, 0.2), (0.9, 0.9)), True)
    assert search.tried(SIMPLE, problems, [0.3]) == (((0.2, 0.2),), False)
    Counted.asked = 0
    assert search.tried(SIMPLE, problems, [0.7]) == (((0.2,),), False)
    assert Counted.asked == 1  # with 1 on the second task the mean would be 0.6


@pytest.mark.slow
def test_training_really_happens():
    """A rate at which nothing is learned does not count, because the best rate does."""
    budget = Budget(rungs=2, steps=40, batch=16, units=6, seeds=2, rates=(1e-6, 0.03))
    first, second = Problem(search.task_of("adding:length=4"), budget).run(KNOWN["gru"])
    assert first < second and second > 0.5


def test_it_starts_from_any_cell(pretended, tmp_path):
    entries, _ = evolve(dataclasses.replace(PLAN, start="gru"), tmp_path / "a", 4)
    assert entries[0].graph == canonical(KNOWN["gru"])
    assert read_plan(tmp_path / "a").start == "gru"
    given = json.loads((tmp_path / "a" / "evolution.json").read_text())
    assert Plan.from_json({k: v for k, v in given.items() if k != "start"}).start == "simple"


BAD = {
    "cell leaky cannot be a graph: its step multiplies by 0.5": {"start": "leaky"},
    "there is no cell 'gruu'; did you mean gru": {"start": "gruu"},
    "the first cell is given by its name, got 3": {"start": 3},
    "there is no task 'nope'": {"tasks": ("nope",)},
    "the task adding:length=1: ": {"tasks": ("adding:length=1",)},
    "the task adding:depth=3: ": {"tasks": ("adding:depth=3",)},
    "the task adding:units=3: units is not a setting of the task": {"tasks": ("adding:units=3",)},
    "needs at least .* fewer --steps or --rungs": {"budget": Budget(steps=10**9)},
    "needs at least .* fewer --units": {"budget": Budget(units=10**7)},
    "at least one task": {"tasks": ()},
    "a task is given by its name, got 3": {"tasks": (3,)},
    "population must be a whole number from 1 on": {"population": 0},
    "evaluations must be a whole number from 1 on": {"evaluations": True},
    "needs a network of its own kind": {"tasks": ("addition",)},
}


@pytest.mark.parametrize("words", BAD)
def test_bad_settings(words, tmp_path):
    with pytest.raises(BadInput, match=words):
        evolve(Plan(**{"tasks": PLAN.tasks, "budget": TINY, **BAD[words]}), tmp_path / "a", 2)
    assert not (tmp_path / "a").exists()


def test_a_search_remembers_how_many_cells_to_try(pretended, tmp_path):
    def stop(entries):
        if len(entries) == 3:
            signal.raise_signal(signal.SIGTERM)

    entries, number = evolve(PLAN, tmp_path / "a", 6, listener=stop)
    assert len(entries) == 3 and number
    entries, _ = evolve(read_plan(tmp_path / "a"), tmp_path / "a", resume=True)
    assert len(entries) == 6
    evolve(PLAN, tmp_path / "a", 8, resume=True)
    assert read_plan(tmp_path / "a").evaluations == 8


def test_fewer_cells_than_were_tried_are_refused(pretended, tmp_path):
    evolve(PLAN, tmp_path / "a", 3)
    before = {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}
    with pytest.raises(BadInput, match=r"tried 3 cells already, .* at least 3, got 2"):
        evolve(PLAN, tmp_path / "a", 2, resume=True)
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}


def test_bad_folders(pretended, tmp_path):
    with pytest.raises(BadInput, match="has no search to continue"):
        evolve(PLAN, tmp_path, 2, resume=True)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match="is not empty"):
        evolve(PLAN, tmp_path, 2)
    evolve(PLAN, tmp_path / "a", 2)
    with pytest.raises(BadInput, match="already has a search; add --resume"):
        evolve(PLAN, tmp_path / "a", 2)
    with pytest.raises(BadInput, match="a search with other settings"):
        evolve(Plan(PLAN.tasks, seed=4, budget=TINY), tmp_path / "a", 2, resume=True)
    file = tmp_path / "a" / FILE
    file.write_text(json.dumps({"number": 0}) + "\n")
    with pytest.raises(BadInput, match="line 1, is not an entry"):
        evolve(PLAN, tmp_path / "a", 2, resume=True)
    whole = {"number": 0, "graph": SIMPLE.as_json(), "parents": [], "changes": []}
    for rungs in ([], [[]], [[float("nan")]], [["x"]]):
        file.write_text(json.dumps({**whole, "rungs": rungs, "finished": True}) + "\n")
        with pytest.raises(BadInput, match="line 1, is not an entry"):
            evolve(PLAN, tmp_path / "a", 2, resume=True)
    settings = PLAN.as_json()
    settings["budget"]["units"] = 0
    (tmp_path / "a" / "evolution.json").write_text(json.dumps(settings))
    with pytest.raises(BadInput, match="units must be a whole number from 1 on, got 0"):
        read_plan(tmp_path / "a")
    (tmp_path / "a" / "evolution.json").write_text("{}")
    with pytest.raises(BadInput, match="cannot be read: these are not the settings"):
        evolve(PLAN, tmp_path / "a", 2, resume=True)
