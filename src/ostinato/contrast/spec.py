"""What is contrasted: cells, wirings, learners and tasks, and how they are made comparable.

    budget = 220000                  # parameters of every entry
    seeds = 5                        # runs per entry, or a list of seeds
    trials = 6                       # of the tuning, per entry
    cells = ["lstm", "mlstm", "mine.py:MyCell"]
    tasks = ["adding"]

    [settings]                       # of all entries: any settings of a configuration
    steps = 2000

    [wirings]                        # named variants of any settings
    flat = {}
    deep = { layers = 2 }

    [learners.adam]
    [learners.hf-small]              # a variant that is not called like its learner
    learner = "hf"
    batch = 500
    steps = 100

    [tune]                           # in other ranges than usual, or other settings
    rate = [1e-4, 1e-1]

The grid has an entry for each combination of a cell, a wiring, a learner and a task.
"""

import dataclasses
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..names import did_you_mean
from ..runs.config.config import beside, toml_text
from ..runs.config.members import find
from ..runs.config.sections import MAX_SEED
from ..settings import shown

# The axes of the grid, and the section of a configuration that each names a member for.
AXES: dict[str, str | None] = {
    "tasks": "task",
    "cells": "cell",
    "wirings": None,
    "learners": "learner",
}
BUDGET, STEPS, SEEDS, TRIALS = 30_000, 400, 2, 4
MAX_COUNT = 1000  # of trials, and of seeds
CELLS = ("lstm", "gru", "mlstm", "simple")
Variants = dict[str, dict[str, Any]]
# What a line of a TOML file may begin with.
_HEADER = re.compile(r"\s*\[+\s*([^\]#]+?)\s*\]+\s*(?:#.*)?$")
_KEY = re.compile(
    r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*="
)
_PART = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")


@dataclasses.dataclass(frozen=True)
class Spec:
    """A contrast, checked as far as it can be without data.

    Attributes:
        tasks, cells, wirings, learners: the variants of each axis: settings by name. An empty axis
            has only the usual one.
        settings: of all entries.
        budget: the parameters of each entry; `None` if the settings give units.
        seeds: the seeds of the runs that are compared.
        trials: how many configurations are tried per entry; 0 to take the usual settings.
        tune: settings to tune besides the usual ones or in other ranges: least and largest value.
        test: whether entries are tested against each other; `None` for: if there are enough seeds.

    Example:
        >>> spec = Spec.from_dict({"cells": ["lstm", "gru"], "seeds": 3})
        >>> spec.cells, spec.seeds
        ({'lstm': {'cell': 'lstm'}, 'gru': {'cell': 'gru'}}, (1, 2, 3))
    """

    tasks: Variants
    cells: Variants
    wirings: Variants
    learners: Variants
    settings: dict[str, Any]
    budget: int | None
    seeds: tuple[int, ...]
    trials: int
    tune: dict[str, tuple[float, float]] | None
    test: bool | None
    source: "Source" = dataclasses.field(compare=False, repr=False)

    @classmethod
    def from_toml(cls, path: str | Path) -> "Spec":
        """A specification from a TOML file; an error names its line."""
        text, given = toml_text(Path(path))
        return cls.from_dict(given, Source(Path(path), text))

    @classmethod
    def from_dict(cls, given: dict[str, Any], source: "Source | None" = None) -> "Spec":
        """A specification from a dictionary with the keys of the file."""
        source = source or Source()
        known = [field.name for field in dataclasses.fields(cls) if field.name != "source"]
        for name in given:
            if name not in known:
                hint = did_you_mean(name, known)
                raise source.error(f"{name!r:.40} is no part of a contrast; {hint}", name)
        axes = {axis: _variants(axis, given.get(axis, []), source) for axis in AXES}
        if not given.get("cells"):
            axes["cells"] = {name: {"cell": name} for name in CELLS}
        settings = {"steps": STEPS, **_section(given.get("settings", {}), "settings", source)}
        for name, where in (("seed", "seeds"), ("budget", "budget")):
            if name in settings:
                raise source.error(
                    f"give {where} beside the settings, not among them", "settings", name
                )
        sized = "units" in settings or any(
            "units" in x for axis in axes.values() for x in axis.values()
        )
        budget = given.get("budget", None if sized else BUDGET)
        if budget is not None:
            _check_count("budget", budget, 1, source)
            if sized:
                raise source.error("give either units or a budget, not both", "budget")
        trials = given.get("trials", TRIALS)
        _check_count("trials", trials, 0, source, MAX_COUNT)
        seeds = _seeds(given.get("seeds", SEEDS), source)
        test = given.get("test")
        if test is not None and not isinstance(test, bool):
            raise source.error(f"test is true or false, got {shown(test)}", "test")
        if test and len(seeds) < 2:
            raise source.error(
                "a test compares entries over seeds, so it needs at least two; there is one",
                "seeds" if "seeds" in given else "test",
            )
        tune = given.get("tune")
        ranges = None if tune is None else _ranges(tune, source)
        return cls(
            **axes,
            settings=settings,
            budget=budget,
            seeds=seeds,
            trials=trials,
            tune=ranges,
            test=test,
            source=source,
        )

    def as_json(self) -> dict[str, Any]:
        """The specification as plain JSON; `from_dict` reads it."""
        given = {**dataclasses.asdict(self), "source": None}
        return json.loads(json.dumps({k: x for k, x in given.items() if x is not None and x != {}}))

    @property
    def axes(self) -> dict[str, Variants]:
        """The variants of each axis of the grid."""
        return {axis: getattr(self, axis) for axis in AXES}


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a specification comes from: a TOML file with its text, or options.

    `named` is false for the folder of a contrast, which may not be the user's; see `members.find`.
    """

    path: Path | None = None
    text: str = ""
    named: bool = True

    def error(self, words: str, *where: str, word: str | None = None) -> BadInput:
        """An error with the line of a key, or of a word in its list."""
        if self.path is None:
            return BadInput(words)
        line = line_of(self.text, where, word)
        return BadInput(f"{self.path}{f', line {line}' if line else ''}: {words}")

    def beside(self, name: str) -> str:
        """The name of a class, with a path relative to the file resolved."""
        return name if self.path is None else beside(self.path, name)

    def beside_file(self, file: str) -> str:
        """A data file, which may be relative to the specification."""
        if self.path is not None and (near := self.path.parent / file).is_file():
            return str(near)
        return file


def _variants(axis: str, given: Any, source: Source) -> Variants:
    """The variants of an axis, from a list of names or a table of settings."""
    role = AXES[axis]
    if isinstance(given, list) and role is not None:
        if strange := [name for name in given if not isinstance(name, str)]:
            raise source.error(f"{axis} is a list of names, got {shown(strange[0])}", axis)
        if twice := [name for place, name in enumerate(given) if name in given[:place]]:
            raise source.error(f"{axis} has {twice[0]} twice", axis, word=twice[0])
        variants = {name: {role: name} for name in given}
    elif isinstance(given, dict):
        variants = {name: _section(part, f"{axis}.{name}", source) for name, part in given.items()}
        if role is not None:
            variants = {name: {role: name, **part} for name, part in variants.items()}
    elif given == []:
        return {}
    else:
        kind = "a table of settings by name" if role is None else "a list of names, or a table"
        raise source.error(f"{axis} is {kind}; got {shown(given)}", axis)
    for name, part in variants.items():
        if role is not None:
            if not isinstance(part[role], str):
                raise source.error(
                    f"{axis}.{name}.{role} is a name, got {shown(part[role])}", axis, name, role
                )
            try:
                part[role] = find(role, source.beside(part[role]), named=source.named)[0]
            except BadInput as error:
                raise source.error(str(error), axis, name, role, word=name) from None
    return variants


def _section(given: Any, where: str, source: Source) -> dict[str, Any]:
    """Settings by name; a data file may be relative to the specification."""
    if not isinstance(given, dict):
        raise source.error(f"{where} is a table of settings, got {shown(given)}", *where.split("."))
    if isinstance(given.get("file"), str):
        return {**given, "file": source.beside_file(given["file"])}
    return dict(given)


def _check_count(name: str, value: Any, min: int, source: Source, max: int | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < min:
        raise source.error(f"{name} is a whole number from {min} on, got {shown(value)}", name)
    if max is not None and value > max:
        raise source.error(f"{name} is at most {max}, got {shown(value)}", name)


def _seeds(given: Any, source: Source) -> tuple[int, ...]:
    """The seeds, from their number or a list; 0 is the seed of the tuning."""
    if isinstance(given, int) and not isinstance(given, bool):
        _check_count("seeds", given, 1, source, MAX_COUNT)
        return tuple(range(1, given + 1))
    if not isinstance(given, list | tuple) or not given:
        raise source.error(f"seeds is a number or a list of seeds, got {shown(given)}", "seeds")
    for seed in given:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 < seed <= MAX_SEED:
            raise source.error(
                f"a seed is a whole number from 1 to {MAX_SEED} (0 is that of the tuning), got "
                f"{shown(seed)}",
                "seeds",
            )
    if len(set(given)) < len(given):
        raise source.error("seeds has the same seed twice", "seeds")
    return tuple(given)


def _ranges(given: Any, source: Source) -> dict[str, tuple[float, float]]:
    ranges = {}
    for name, value in _section(given, "tune", source).items():
        pair = value if isinstance(value, list | tuple) else []
        right = [x for x in pair if isinstance(x, int | float) and not isinstance(x, bool)]
        if len(pair) != 2 or len(right) != 2 or not 0 < pair[0] < pair[1]:
            raise source.error(
                f"tune.{name} is a least and a largest value, both positive; got {shown(value)}",
                "tune",
                name,
            )
        ranges[name] = (float(pair[0]), float(pair[1]))
    return ranges


def line_of(text: str, where: Sequence[str], word: str | None = None) -> int | None:
    """The line of a key, or of the innermost table or inline table around it that has a line.

    Args:
        text: a valid TOML file.
        where: the key, as a path from the top.
        word: something quoted in its value, which may be in a later line.

    Example:
        >>> text = 'seeds = 3\\ncells = [\\n  "lstm",\\n  "gro",\\n]\\n[learners.hf]\\nbatch = 5\\n'
        >>> line_of(text, ["learners", "hf", "batch"]), line_of(text, ["cells"], "gro")
        (7, 4)
    """
    lines, table = text.splitlines(), []
    depth, at = 0, None
    for number, line in enumerate(lines, 1):
        if header := _HEADER.match(line):
            table = path = _parts(header[1])
        elif key := _KEY.match(line):
            path = table + _parts(key[1])
        else:
            continue
        if len(path) > depth and path == list(where[: len(path)]):
            depth, at = len(path), number
    if at is not None and word is not None:
        for number in range(at, len(lines) + 1):
            if re.search(rf"""(["']){re.escape(word)}\1""", lines[number - 1]):
                return number
    return at


def _parts(words: str) -> list[str]:
    return ["".join(part) for part in _PART.findall(words)]
