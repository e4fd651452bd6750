"""Labelled sequences of your own: classification and regression, per step or per sequence."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Batch
from ..data.files import whole_path
from ..data.kept import kept_texts, kept_whole
from ..data.scaling import POLICIES, Scaler, check_complete, checked_policy
from ..data.splits import PARTS, divided, shares
from ..errors import BadInput
from ..settings import setting
from .answers import KINDS, Answers, fit_answers
from .epochs import in_order, shuffled
from .sequences import sequences
from .task import Task, checked_count, checked_part, checked_seed, hashed, random

SIZES = 8
SPLIT, WINDOW = 2, 3  # places in the random numbers of the seed


class Arrays(Task):
    """Learn targets `ys` from sequences `xs`, N of them, the sequences on the first axis.

        xs    `(N, T, inputs)`, or `(N, T)` floats       numbers
              `(N, T)` whole numbers                     symbols
              a list of N arrays `(T_i, inputs)`, …      sequences of different lengths
        ys    `(N,)` whole numbers or text               a class per sequence
              `(N,)` or `(N, outputs)` floats            numbers per sequence
              `(N, T)` whole numbers                     a class per step
              `(N, T, outputs)` floats                   numbers per step
              a list of N arrays with T_i rows each      the same, for a list of sequences

    Where it is not clear from dtypes and shapes whether targets are classes or numbers, or whether
    there is one per step, `kind` and `per_step` say so. An answer per sequence is asked for at its
    last step.

    The sequences are divided into parts at random, with the seed. Inputs and numeric targets are
    scaled to mean 0 and deviation 1, fitted on the training part; errors are reported in the units
    of the data, averaged over the outputs. A missing number (NaN) is refused, or with
    `missing="mask"` replaced by the mean; the network then gets a further input for each such
    column, which is 1 where a value is missing. A missing target does not count; nor does a step
    of which one of several numbers is missing.

    Every epoch takes the training sequences in another order. A batch of sequences of different
    lengths is padded to its longest, rounded up to one of eight sizes: multiples of an eighth of
    the longest of all. So there are at most eight compilations. Held-out batches have one size.

    `chance` is the share of the most frequent class, or the variance of the targets.

    Shapes: inputs `(T, B, inputs)` or symbols `(T, B)`; targets `(T, B)` or `(T, B, outputs)`.

    Example:
        >>> xs, ys = np.random.default_rng(0).normal(size=(20, 9, 2)), np.arange(20) % 2
        >>> task = Arrays(xs, ys, lengths=np.arange(20) % 5 + 5)
        >>> task.outputs, task.metric.name, task.batch(0, 4).inputs.shape
        (2, 'accuracy', (9, 4, 2))
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        file: str | None = setting(None, "an .npz file, or a table with a column for sequence")
        target: str | None = setting(None, "column or array to learn; several as a,b")
        columns: str | None = setting(None, "columns to read as inputs, a,b,c (all others)")
        ignore: str | None = setting(None, "columns to leave out, a,b,c")
        sequence: str | None = setting(None, "column that says to which sequence a row belongs")
        kind: str | None = setting(None, "what the target is (by its type)", among=KINDS)
        length: int | None = setting(None, "steps of a sequence or window", least=1)
        split: str = setting("80/10/10", "percent for training, validation, test", read=shares)
        scale: bool = setting(True, "scale inputs and numeric targets")
        missing: str = setting("refuse", "what to do about missing values", among=POLICIES)

        def __post_init__(self) -> None:
            if self.file is not None:
                object.__setattr__(self, "file", whole_path(self.file))

    name = "arrays"

    def __init__(
        self,
        xs: Any,
        ys: Any,
        lengths: Any = None,
        *,
        kind: str | None = None,
        per_step: bool | None = None,
        length: int | None = None,
        split: tuple[float, float, float] | Mapping[str, Sequence[int]] = (0.8, 0.1, 0.1),
        scale: bool = True,
        missing: str = "refuse",
        seed: int = 0,
        source: str = "the arrays",
        names: Sequence[str] | None = None,
        artefacts: Mapping[str, Any] | None = None,
    ):
        """
        Args:
            xs, ys: the sequences and their targets; see above.
            lengths: `(N,)`, the valid steps of each sequence of padded arrays.
            kind: `"classification"` or `"regression"`, where the dtype does not say it.
            per_step: whether there is a target for each step, where the shape does not say it.
            length: targets per step only: windows of so many steps, at a random place of each
                sequence; `None` for whole sequences.
            split: shares for training, validation and test, or the numbers of the sequences of
                `"train"`, `"valid"` and `"test"`.
            scale: whether inputs and numeric targets are scaled.
            missing: `"refuse"` or `"mask"`.
            seed: of the parts, the order and the windows.
            source: where the data are from, for messages.
            names: of the input columns, for messages.
            artefacts: of a trained model, whose scaling and classes are used.
        """
        self.seed, self._source = checked_seed(seed), source
        self.names = None if names is None else [*map(str, names)]
        data = sequences(
            xs, ys, lengths, kind=kind, per_step=per_step, missing=checked_policy(missing)
        )
        count = len(data.lengths)
        self.parts = self._divided(count, split)
        train = self.parts["train"]
        self.data, self.per_step, self.symbolic = data, data.per_step, data.rows.ndim == 1

        def column(n: int) -> str:
            return f"input {n}" if names is None else f"column {names[n]!r}"

        known = artefacts or {}
        self.scaler: Scaler | None = None
        if self.symbolic:
            self.inputs = int(known.get("symbols") or data.rows.max() + 1)
            if data.rows.max() >= self.inputs:
                raise BadInput(f"symbols must be below {self.inputs}, got {data.rows.max()}")
            self._rows = data.rows
        else:
            check_complete(data.rows, missing, lambda at: f"{column(at[1])} of {data.place(at[0])}")
            self.scaler = _scaler(known, data.rows, data.steps_of(train), scale, column)
            self.inputs, self._rows = self.scaler.columns, self.scaler(data.rows)
        rows = data.steps_of(train) if data.per_step else train
        if "answers" in known:
            self.answers = Answers.from_json(known["answers"])
            _check_same_kind(self.answers, data.answers)
        else:
            self.answers = fit_answers(data.answers, rows, scale)
        self._targets, self._there = self.answers(data.answers)
        self.outputs, self.chance = self.answers.outputs, self.answers.chance
        self.loss, self.metrics = self.answers.loss, self.answers.metrics
        self.varied = len(np.unique(data.lengths)) > 1
        self.length = self.longest = int(data.lengths.max())
        self.length = self._checked(length)
        for part, which in self.parts.items():
            rows = data.steps_of(which) if data.per_step else which
            if len(which) and not self._there[rows].any():
                raise BadInput(f"no sequence of the part {part} has a target")

    def _divided(self, count: int, split: Any) -> dict[str, np.ndarray]:
        """The numbers of the sequences of each part."""
        if not isinstance(split, Mapping):
            order = random(self.seed, SPLIT).permutation(count)
            return {
                part: np.sort(order[some])
                for part, some in divided(count, split, "sequences").items()
            }
        if strange := sorted(split.keys() - set(PARTS), key=str):
            raise BadInput(f"the parts are train, valid and test, got {strange[0]!r:.40}")
        found = {part: _numbers(split.get(part, ()), part) for part in PARTS}
        everything = np.concatenate(list(found.values()))
        if not len(found["train"]):
            raise BadInput("the part train has no sequences")
        if len(everything) and not 0 <= everything.min() <= everything.max() < count:
            raise BadInput(f"the parts must hold numbers from 0 to {count - 1}")
        if len(np.unique(everything)) < len(everything):
            raise BadInput("a sequence is in two parts, or twice in one")
        return found

    @property
    def source(self) -> str:
        return f"{self._source} is"

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        train, size = self.parts["train"], checked_count(size, "sequences of a batch")
        length = self._checked(length)
        which = train[shuffled(self.seed, index, size, len(train))]
        sizes = np.minimum(self.data.lengths[which], length)
        spare = self.data.lengths[which] - sizes
        offsets = random(self.seed, WINDOW, index).integers(0, spare + 1)
        piece = -(-length // SIZES)
        steps = min(length, -(-int(sizes.max()) // piece) * piece)
        return self._padded(which, offsets, sizes, steps)

    def held_out(self, part: str, size: int) -> Iterator[Batch]:
        which = self.parts[checked_part(part)]
        sizes = self.data.lengths[which]
        for some in in_order(len(which), checked_count(size, "sequences of a batch")):
            yield self._padded(which[some], 0, sizes[some], int(sizes.max()))

    def _padded(self, which: np.ndarray, offsets: Any, sizes: np.ndarray, steps: int) -> Batch:
        """Sequences side by side, zero after their end."""
        time = np.arange(steps)[:, None]
        valid = time < sizes
        places = self.data.begins[which] + offsets + np.minimum(time, sizes - 1)
        inputs = _where(valid, self._rows[places])
        if self.per_step:
            asked, at = valid & self._there[places], places
        else:
            asked = (time == sizes - 1) & self._there[which]
            at = np.broadcast_to(which, places.shape)
        targets = _where(asked, self._targets[at])
        lengths = sizes.astype(np.int32) if self.varied else None
        return Batch(inputs, targets, asked.astype(np.float32), lengths)

    def epochs(self, batches: int, size: int, length: int | None = None) -> float:
        return batches / (len(self.parts["train"]) // min(size, len(self.parts["train"])))

    def batch_shape(self, size: int) -> tuple[int, int]:
        return self.length, min(size, len(self.parts["train"]))

    def _checked(self, length: int | None) -> int:
        length = self.length if length is None else checked_count(length)
        if not self.per_step and length != self.longest:
            raise BadInput(
                f"the task {self.name} has a length of {self.longest} steps, because a target "
                f"belongs to a whole sequence, got {length}"
            )
        if length > self.longest:
            raise BadInput(
                f"the task {self.name} takes a length of 1 to {self.longest} steps, got {length}"
            )
        return length

    def artefacts(self) -> dict[str, Any]:
        inputs = (
            {"symbols": self.inputs} if self.scaler is None else {"scaler": self.scaler.as_json()}
        )
        return {**inputs, "columns": self.names, "answers": self.answers.as_json()}

    @classmethod
    def check_artefacts(cls, found: Mapping[str, Any]) -> tuple[int | None, int | None]:
        answers = Answers.from_json(found["answers"])
        if found["columns"] is not None:
            kept_texts(found["columns"], "columns")
        if "symbols" in found:
            return kept_whole(found["symbols"], "number of symbols"), answers.outputs
        return Scaler.from_json(found["scaler"]).columns, answers.outputs

    def fingerprint(self) -> str:
        words = [np.frombuffer(repr(self.answers.classes).encode(), np.uint8)]
        data = [self._rows, self.data.lengths, self._targets, self._there]
        return hashed([*data, *words, *self.parts.values()])

    @classmethod
    def from_settings(
        cls, settings: Any, seed: int, artefacts: Mapping[str, Any] | None = None
    ) -> "Arrays":
        """The task of a file; with what a trained model keeps of it, if given."""
        from .from_files import arrays_of_file

        if settings.file is None:
            raise BadInput("the task arrays needs a file: data.npz, or data.csv with sequence")
        options = {"split": shares(settings.split), "seed": seed, "length": settings.length}
        return arrays_of_file(settings.file, settings, artefacts, **options)

    @classmethod
    def on_file(cls, path: Path, settings: Any, artefacts: dict[str, Any]) -> "Arrays":
        from .from_files import arrays_of_file

        task = arrays_of_file(path, settings, artefacts, split=(1, 0, 0))
        task.length = min(settings.length or task.longest, task.longest)
        task.parts = dict.fromkeys(PARTS, task.parts["train"])
        return task


def _numbers(given: Any, part: str) -> np.ndarray:
    """The numbers of the sequences of a part."""
    found = np.asarray(given)
    if found.size and (found.dtype.kind not in "iu" or found.ndim != 1):
        raise BadInput(
            f"the part {part} must be the numbers of sequences, whole numbers (N,), got "
            f"{found.dtype} of shape {found.shape}"
        )
    return found.astype(int).ravel()


def _where(valid: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The values, zero where they are not valid."""
    mask = valid.reshape(*valid.shape, *[1] * (values.ndim - valid.ndim))
    return np.where(mask, values, values.dtype.type(0))


def _scaler(known: Any, rows: np.ndarray, training: np.ndarray, scale: bool, name: Any) -> Scaler:
    if "scaler" not in known:
        return Scaler.fit(rows[training], scale, name)
    found = Scaler.from_json(known["scaler"])
    if len(found.shift) != rows.shape[1]:
        raise BadInput(
            f"the model reads {len(found.shift)} columns, these data have {rows.shape[1]}"
        )
    return found


def _check_same_kind(answers: Answers, rows: np.ndarray) -> None:
    classes = rows.ndim == 1
    if classes != (answers.classes is not None):
        here, there = KINDS[:: 1 if classes else -1]
        raise BadInput(f"the model was trained for {there}, the targets of these data mean {here}")
    if not classes and rows.shape[1] != answers.outputs:
        raise BadInput(f"the model has {answers.outputs} outputs, the targets have {rows.shape[1]}")
