"""The contract of a recipe: a published experiment that can be repeated.

A recipe is mostly settings. Every row of its table has published numbers, and is trained once per
seed (`Trained`, see `_trained.py`) or computed directly (`Computed`). What was obtained is a
`Result`: plain numbers in a file of its own, so that results of several machines can be merged by
copying their files into one folder.
"""

import abc
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ..errors import BadInput
from ..progress import Report, silent
from ..report.charts import Chart
from .corpus import Corpus

Curve = dict[str, list[Any]]  # the numbers x and y, None where y is not finite


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of a published table.

    Attributes:
        name: for `--rows` and for files: lower case, without spaces.
        title: as the source calls it.
        settings: those of `Config`, in addition to the recipe's; empty if nothing is trained.
        published: the published numbers, or words, by column.
        parameters: the published number of parameters.
        quick: settings that replace others with `--quick`.
        reference: whether the row only has published numbers, and is not repeated here.
    """

    name: str
    title: str
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    published: Mapping[str, float | str] = dataclasses.field(default_factory=dict)
    parameters: int | None = None
    quick: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    reference: bool = False


@dataclasses.dataclass(frozen=True)
class Found:
    """What one run or computation showed: numbers by column, curves by name, and words."""

    numbers: dict[str, float | None]
    curves: dict[str, Curve] = dataclasses.field(default_factory=dict)
    words: str = ""


@dataclasses.dataclass(frozen=True)
class Result:
    """What was obtained for one row and seed, as it stands in its file.

    Attributes:
        row, seed: of what.
        quick: whether it is of the small size, which says nothing about the published numbers.
        settings: all settings of the run that differ from their defaults.
        changes: the settings that the user changed.
        corpus: which text was read, or empty.
        parameters, steps, seconds, device: of the run; 0 or empty if nothing was trained.
        numbers, curves, words: see `Found`.
    """

    row: str
    seed: int
    quick: bool
    numbers: dict[str, float | None]
    curves: dict[str, Curve] = dataclasses.field(default_factory=dict)
    words: str = ""
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    changes: dict[str, Any] = dataclasses.field(default_factory=dict)
    corpus: str = ""
    parameters: int = 0
    steps: int = 0
    seconds: float = 0.0
    device: str = ""


@dataclasses.dataclass(frozen=True)
class Job:
    """One request to repeat an experiment.

    Attributes:
        folder: where runs, results and the page go.
        quick: the small size.
        seeds: how many, from 0 on.
        rows: the names of the rows; all by default.
        minutes: the most minutes of training per run.
        changes: settings that replace those of the recipe.
        corpus: the user's own text.
        listener: called with the row, the seed and each event of its run.
        report: hears how far all rows and seeds are together.
    """

    folder: Path
    quick: bool = False
    seeds: int = 1
    rows: Sequence[str] | None = None
    minutes: float | None = None
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    corpus: Path | None = None
    listener: Callable[[str, int, dict], None] | None = None
    report: Report = silent


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe(abc.ABC):
    """A published experiment.

    Attributes:
        name: its name on the command line.
        title: the heading of its page.
        source: author, year and place.
        shows: what the experiment shows, in a sentence.
        differs: what is different here, a sentence each.
        data: the data in words, if there is no corpus.
        columns: the columns of numbers, in order.
        rows: the rows of the table.
        order: the column by which the rows are ranked, if the order is what matters.
        higher_is_better: of that column.
        digits: after the decimal point.
        corpus: the text, if the experiment has one.
        charts: the charts of all results together.
        trains: whether there are runs, and so a quick size.
    """

    trains: ClassVar[bool] = True
    name: str
    title: str
    source: str
    shows: str
    differs: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    data: str = "generated here, from the seed"
    order: str | None = None
    higher_is_better: bool = False
    digits: int = 2
    corpus: Corpus | None = None
    charts: Callable[["Recipe", list[Result]], list[Chart]] = lambda recipe, results: []

    @abc.abstractmethod
    def obtain(self, row: Row, seeds: Sequence[int], job: Job) -> list[Result]:
        """The results of a row, one per seed."""

    def chosen(self, names: Sequence[str] | None) -> list[Row]:
        """The rows with these names, or all rows."""
        known = {row.name: row for row in self.rows if not row.reference}
        for name in names or ():
            if name not in known:
                raise BadInput(f"{self.name} has no row {name!r:.40}; there are {', '.join(known)}")
        return [known[name] for name in (names or known)]

    def titled(self, name: str) -> str:
        """The title of the row with this name."""
        return next(row.title for row in self.rows if row.name == name)

    def named(self, row: str, seed: int) -> str:
        """A run of the row with this name, in words."""
        return f"{self.titled(row)}, seed {seed}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Computed(Recipe):
    """A recipe whose numbers are computed, without training and without a seed.

    Attributes:
        compute: gives what is found for a row.
    """

    trains: ClassVar[bool] = False
    compute: Callable[[Row], Found]

    def obtain(self, row: Row, seeds: Sequence[int], job: Job) -> list[Result]:
        if job.changes or job.minutes is not None or job.corpus is not None:
            raise BadInput(f"{self.name} trains nothing; leave out --set, --minutes and --corpus")
        found = self.compute(row)
        return [Result(row.name, 0, False, found.numbers, found.curves, found.words)]
