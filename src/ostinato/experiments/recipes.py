"""The contract of a recipe: a published experiment that can be repeated.

A recipe is mostly settings. Every row of its table has published numbers, and is trained once per
seed (`Trained`, see `trained.py`) or computed directly (`Computed`). What was obtained is a
`Result`: plain numbers in a file of its own, so that results of several machines can be merged by
copying their files into one folder.

The text of an experiment (`Corpus`) is the original if the user has it, else an open stand-in. It
is cut to the published number of characters and reduced to the published number of symbols, so that
a network has the published number of parameters. On a text of fewer symbols it has fewer.
"""

import abc
import collections
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypedDict

from ..data.datasets import text_path
from ..data.files import check_file
from ..errors import BadInput
from ..files import write_whole
from ..progress import Report, silent
from ..report.charts import Chart
from ..runs.folder.events import Measured, Number

FILE = "corpus.txt"
UNKNOWN = "\N{REPLACEMENT CHARACTER}"


class Curve(TypedDict):
    """As many numbers x as y, `None` where y is not finite."""

    x: Sequence[Number]
    y: list[Measured]


@dataclasses.dataclass(frozen=True)
class TableRow:
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
class Measurements:
    """What one run or computation showed: numbers by column, curves by name, and words."""

    numbers: dict[str, Measured]
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
        numbers, curves, words: see `Measurements`.
    """

    row: str
    seed: int
    quick: bool
    numbers: dict[str, Measured]
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


class Prepared(NamedTuple):
    """The task's settings for a text, and a sentence that says which text it is."""

    settings: dict[str, Any]
    words: str


@dataclasses.dataclass(frozen=True)
class Corpus:
    """The text of an experiment.

    Attributes:
        original: the published text, in words.
        stand_in: the data set that is read without `--corpus`.
        parts: characters for training, validation and test.
        symbols: the published size of the vocabulary.
        quick: characters in all with `--quick`.
    """

    original: str
    stand_in: str
    parts: tuple[int, int, int]
    symbols: int
    quick: int = 60_000

    def prepared(self, given: Path | None, folder: Path, quick: bool) -> Prepared:
        """Write the text into the folder of the experiment; `given` is the user's own file."""
        text = _read(self.stand_in, given)
        wanted = self.quick if quick else sum(self.parts)
        text = reduced(text[:wanted], self.symbols)
        if len(text) < 100:
            raise BadInput(f"the corpus has {len(text)} characters; an experiment needs 100")
        path, data = folder / FILE, text.encode()
        if not path.is_file() or path.read_bytes() != data:
            write_whole(path, data)
        split = "/".join(str(100 * part / sum(self.parts)) for part in self.parts)
        which = f"your text ({given})" if given else f"the open stand-in {self.stand_in}"
        words = (
            f"Text: {which}, {len(text):,} characters, {len(set(text))} symbols. Published: "
            f"{self.original}, {sum(self.parts):,} characters, {self.symbols} symbols."
        )
        if len(set(text)) < self.symbols:
            words += " With fewer symbols the networks have fewer parameters than published."
        return Prepared({"file": str(path), "split": split}, words)


def reduced(text: str, symbols: int) -> str:
    """The text with at most so many symbols: the most frequent ones, and one for all others.

    Example:
        >>> reduced("aaabbc", 2)
        'aaa���'
    """
    counts = collections.Counter(text)
    if len(counts) <= symbols:
        return text
    kept = {symbol for symbol, _ in counts.most_common(symbols - 1)}
    return "".join(symbol if symbol in kept else UNKNOWN for symbol in text)


def _read(stand_in: str, given: Path | None) -> str:
    if given is not None:
        check_file(given, "corpus")
    path = text_path(stand_in) if given is None else given
    assert path is not None, stand_in
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BadInput(f"cannot read the corpus {path}: {error.strerror}") from None


Charts = Callable[["Recipe", list[Result]], list[Chart]]


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
    rows: tuple[TableRow, ...]
    data: str = "generated here, from the seed"
    order: str | None = None
    higher_is_better: bool = False
    digits: int = 2
    corpus: Corpus | None = None
    charts: Charts = lambda recipe, results: []

    @abc.abstractmethod
    def obtain(self, row: TableRow, seeds: Sequence[int], job: Job) -> Iterable[Result]:
        """The results of a row, one per seed; `Diverged` if one has none, after the others."""

    def chosen(self, names: Sequence[str] | None) -> list[TableRow]:
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
    compute: Callable[[TableRow], Measurements]

    def obtain(self, row: TableRow, seeds: Sequence[int], job: Job) -> list[Result]:
        if job.changes or job.minutes is not None or job.corpus is not None:
            raise BadInput(f"{self.name} trains nothing; leave out --set, --minutes and --corpus")
        computed = self.compute(row)
        return [Result(row.name, 0, False, computed.numbers, computed.curves, computed.words)]
