"""How a trained network is applied to new input."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax

from ..cells import Model
from ..data import Batch
from ..data.lines import count_lines, given_lines
from ..data.text_table import TABLES, read_text_table, suffix_of, texts_in
from ..data.vocabulary import checked_texts
from ..errors import BadInput
from ..names import option_of
from ..progress import Report, silent
from ..settings import Setting, checked, shown
from ..weights import own_precision
from ..wiring import outputs_of
from .checks import MAX_SEED

DRAWN = 1000  # at most so many answers are drawn for one input
WIDEST = 1000  # at most so many answers does a search keep
WITHOUT = {  # of two ways to answer, what the first has no use for
    "targets": ("beam", "n_best", "penalty", "temperature", "seed", "pictures", "rescore"),
    "rescore": ("beam", "penalty", "temperature", "seed", "pictures"),
    "temperature": ("beam", "penalty"),
}
FURTHEST = 1_000_000  # steps of a forecast, at most


@dataclasses.dataclass(frozen=True)
class ApplyOptions:
    """What a trained network is applied to, and how: the options of `ostinato apply`.

    Attributes:
        given: what to read: a path, `None` or `-` for standard input, or what is in memory. A task
            says what it takes: a list of lines, a data frame, arrays.
        settings, artefacts: those of the run; its own data need not exist any more.
        beam: how many answers a search keeps.
        searches: whether there is such a search, which gives no more answers than it keeps.
        n_best: how many answers to give for each input.
        penalty: of short answers; see `decoding.beam_answers`.
        temperature: draw answers at random instead of searching; 1 draws as the network predicts.
        seed: of the drawing.
        targets: a file of answers to score instead of searching, one per input.
        rescore: a file of n-best lists to rank instead of searching; see `pairs/rescoring.py`.
        weight: the share of the network in the new scores of such a list.
        steps: forecasts: how many steps, in a closed loop; `None` for the horizon of the run.
        future: forecasts: the rows after the input, with what is known ahead, in the same form.
        pictures: whether to give a picture of where the network looked, with each best answer.
        save: whether drawn frames are saved, instead of shown.
        report: hears how much of the input is done.
        notes: what was done to read the input, in sentences, which go with the first answer.
    """

    given: Any = None
    settings: Any = None
    artefacts: dict[str, Any] = dataclasses.field(default_factory=dict)
    beam: int = 5
    n_best: int = 1
    penalty: float = 1.0
    temperature: float | None = None
    seed: int = 0
    targets: Path | None = None
    rescore: Path | None = None
    weight: float = 0.5
    steps: int | None = None
    future: Any = None
    pictures: bool = False
    save: bool = False
    report: Report = silent
    searches: bool = True
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check("beam", int, 1, WIDEST)
        self._check("seed", int, 0, MAX_SEED)
        self._check("penalty", float, 0, 100)
        self._check("weight", float, 0, 1)
        if self.rescore is not None or not self.searches:
            self._check("n_best", int, 1, DRAWN)
        elif self.temperature is None:
            words = f"the width of the beam, {self.beam};"
            self._check("n_best", int, 1, self.beam, words)
        else:
            self._check("temperature", float, 0, 100)
            self._check("n_best", int, 1, DRAWN)
        if self.steps is not None:
            self._check("steps", int, 1, FURTHEST)
        if self.targets is not None and (self.n_best > 1 or self.temperature is not None):
            raise BadInput("--targets are scored as they are; leave out --n-best and --temperature")

    def _check(self, name: str, kind: type, low: int, high: int, words: str = "") -> None:
        """Refuse an option of another type, or outside its range."""
        option, value = option_of(name), getattr(self, name)
        checked(Setting(option, kind, False, None, max=math.inf), value)
        if not low <= value <= high:
            raise BadInput(
                f"{option} must be from {low} to {words or f'{high},'} got {shown(value)}"
            )

    @functools.cached_property
    def _keys(self) -> Iterator[jax.Array]:
        return (jax.random.fold_in(jax.random.key(self.seed), n) for n in itertools.count())

    def next_key(self) -> jax.Array:
        """A key for the next answers that are drawn, another one each time."""
        return next(self._keys)

    @property
    def in_memory(self) -> bool:
        """Whether the input is given as it is, instead of by the name of a file."""
        return self.given is not None and not isinstance(self.given, str | Path)

    @property
    def where(self) -> str:
        """Where the input is from, for messages."""
        return "input" if self.in_memory or self.given is None else str(self.given)

    def given_file(self, what: str) -> Path:
        """The file; raises if there is none, for what cannot be read from a pipe."""
        if self.given is None or str(self.given) == "-":
            raise BadInput(f"give {what}; it is not read from standard input")
        return Path(self.given)

    def file_or_data(self, what: str) -> Any:
        """The file, or what is in memory."""
        return self.given if self.in_memory else self.given_file(what)

    def lines(self) -> Iterator[str]:
        """The lines of the input, without their newlines."""
        if self.in_memory:
            return iter(checked_texts(self.given, "the lines"))
        return given_lines(None if self.given is None else Path(self.given))

    def of_column(self, name: str | None, encoding: str | None = None) -> "ApplyOptions":
        """The same on the texts of a column, if the input is a table and the run learned from one.

        Args:
            name: the column; `None` if the run did not learn from a table.
            encoding: of the file.
        """
        table = not self.in_memory and suffix_of(str(self.given)) in TABLES
        if name is None or not table:
            return self
        (cells,), places, notes = read_text_table(str(self.given), [name], encoding)
        texts = texts_in(cells, places, str(self.given), "the text")
        return dataclasses.replace(self, given=texts, notes=notes)

    @property
    def line_count(self) -> int | None:
        """How many lines there are; `None` if only reading them all would tell."""
        if self.in_memory:
            return len(self.given)
        return count_lines(None if self.given is None else Path(self.given))


def with_notes(answers: Iterable[dict[str, Any]], notes: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Answers, the first of which says what was done to the input, if anything was."""
    for number, answer in enumerate(answers):
        yield {**answer, "notes": [*notes]} if notes and not number else answer


@eqx.filter_jit
def outputs_on(network: Model, batch: Batch) -> jax.Array:
    """The outputs `(T, B, outputs)` of a network on a batch, with noise off; compiled.

    Args:
        network: the network.
        batch: without `first`; see `Batch.arrays`.
    """
    return outputs_of(eqx.nn.inference_mode(network), batch)[0]


@eqx.filter_jit
def outputs_on_from(network: Model, state: Any, batch: Batch) -> Any:
    """The outputs of a network on a batch from a state, and its final state; compiled."""
    return outputs_of(network, batch, state)


def outputs_through(
    network: Model, batches: Iterable[Batch], run: Callable = outputs_on_from
) -> Iterator[tuple[jax.Array, Batch]]:
    """The outputs of a network on each of some batches, with noise off, and the batch.

    The state is carried from batch to batch and is reset where `batch.first` is true. The compiled
    function is reused for networks of the same structure. A network of float64 computes in float64.

    Args:
        network: the network.
        batches: in order.
        run: does what `outputs_on_from` does, for example on several devices.
    """
    network = eqx.nn.inference_mode(network)
    state = None
    for batch in batches:
        with own_precision(network):
            if batch.first:
                state = network.initial((batch.sequences,)) if network.can_step else None
            outputs, state = run(network, state, batch.arrays)
        yield outputs, batch


class Classified(NamedTuple):
    """The class of a text or a sequence.

    Attributes:
        label: the most probable one; of several labels at once those above ½, joined by commas.
        probabilities: that of each label.

    Example:
        >>> Classified("good", {"bad": 0.25, "good": 0.75}).label
        'good'
    """

    label: Any
    probabilities: dict[Any, float]

    def as_json(self) -> dict[str, Any]:
        each = {str(name): share for name, share in self.probabilities.items()}
        return {"label": self.label, "probabilities": each}
