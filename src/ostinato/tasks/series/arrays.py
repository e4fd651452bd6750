"""Labelled sequences of your own: classification and regression, per step or per sequence."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from ...cells import Model
from ...data import Batch
from ...data.artefact_checks import kept_numbers, kept_texts, kept_whole
from ...data.examples import Examples
from ...data.padding import multiple_above
from ...data.scaling import POLICIES, Scaler
from ...data.splits import PARTS, divided_at_random, in_percent, shares
from ...errors import BadInput, naming
from ...names import typed
from ...settings import setting
from ...wiring.changes import spreads_of
from ..abilities import AnsweringTask
from ..applying import ApplyOptions
from ..batches import Own, hashed, random
from ..checks import checked_length
from ..file_task import FileSettings, FileTask, Reading
from ..finite import Finite
from ..given_answers import labels_of
from ..interface import Interface, row_of_numbers
from ..target_codec import KINDS, TargetCodec, fit_answers
from ..task import Artefacts
from .from_files import arrays_of_file
from .new_sequences import answers_to_sequences
from .sequences import scaled_inputs, sequences

SIZES = 8
FEW = 1000  # sequences to learn from, whose features fit into memory and one decomposition
# Measured by `benchmarks/everyday.py`. It reads in one direction, so that it streams and exports.
RANDOM_FEATURES = MappingProxyType(
    {
        "cell": "reservoir",
        "units": 500,
        "changes": True,
        "radius": 1.1,
        "input_scaling": 0.5,
        "bias_scaling": 0.5,
        "slowest": 0.05,
        "pool": "mean,max,share",
        "learner": "ridge",
    }
)
SPLIT, WINDOW = 2, 3  # places in the random numbers of the seed


class Arrays(Finite, FileTask, AnsweringTask):
    """Learn a class or numbers from each of many sequences, or at each of their steps.

    The targets `ys` are learned from N sequences `xs`, the sequences on the first axis.

        xs    `(N, T, inputs)`, or `(N, T)` floats       numbers
              `(N, T)` whole numbers                     symbols
              a list of N arrays `(T_i, inputs)`, …      sequences of different lengths
        ys    `(N,)` whole numbers or text               a class per sequence
              `(N,)` or `(N, outputs)` floats            numbers per sequence
              `(N, T)` whole numbers                     a class per step
              `(N, T, outputs)` floats                   numbers per step
              `(N, labels)` or `(N, T, labels)`          several labels at once, each 0 or 1, with
                                                         `kind="multilabel"`
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

    `chance` is the share of the most frequent class, the variance of the targets or, of several
    labels, the Hamming loss of the best set that is always the same.

    Shapes: inputs `(T, B, inputs)` or symbols `(T, B)`; targets `(T, B)` or `(T, B, outputs)`.

    Example:
        >>> xs, ys = np.random.default_rng(0).normal(size=(20, 9, 2)), np.arange(20) % 2
        >>> task = Arrays(xs, ys, lengths=np.arange(20) % 5 + 5)
        >>> task.outputs, task.metric.name, task.batch(0, 4).inputs.shape
        (2, 'accuracy', (9, 4, 2))
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(FileSettings):
        file: str | None = setting(
            None, "an .npz file, or a table with a column for sequence", of_file=True
        )
        target: str | None = setting(None, "column or array to learn; several as a,b", of_file=True)
        columns: str | None = setting(
            None, "columns to read as inputs, a,b,c (all others)", of_file=True
        )
        ignore: str | None = setting(None, "columns to leave out, a,b,c", of_file=True)
        sequence: str | None = setting(
            None, "column that says to which sequence a row belongs", of_file=True
        )
        kind: str | None = setting(None, "what the target is (by its type)", among=KINDS)
        length: int | None = setting(None, "steps of a sequence or window", min=1)
        split: str = setting(
            "80/10/10", "percent for training, validation, test", read=shares, write=in_percent
        )
        scale: bool = setting(True, "scale inputs and numeric targets")
        missing: str = setting("refuse", "what to do about missing values", among=POLICIES)

    name = "arrays"
    recipe_from_data = True
    apply_options = ("n_best",)

    def __init__(
        self,
        xs: Any,
        ys: Any,
        lengths: Any = None,
        *,
        per_step: bool | None = None,
        names: Sequence[str] | None = None,
        source: str = "the arrays",
        artefacts: Artefacts = None,
        **given: Any,
    ):
        """
        Args:
            xs, ys: the sequences and their targets; see above.
            lengths: `(N,)`, the valid steps of each sequence of padded arrays.
            per_step: whether there is a target for each step, where the shape does not say it.
            names: of the input columns, for messages.
            source: where the data are from, for messages.
            artefacts: of a trained model, whose scaling and classes are used.
            given: `seed` of all that is random, and settings by name: `kind`, `length`, `split`,
                `scale` and `missing`; see `Settings`. With targets per step a `length` makes
                windows of so many steps, at a random place of each sequence. A `split` may also be
                the numbers of the sequences of `"train"`, `"valid"` and `"test"`.
        """
        super().__init__(source=source, **given)
        kind, missing = self.settings.kind, self.settings.missing
        mask = self._mask
        data = sequences(xs, ys, lengths, kind=kind, per_step=per_step, missing=missing, mask=mask)
        split = shares(self.settings.split)
        labels = labels_of(data.targets, kind)
        self._learn(data, split, names, artefacts or {}, missing, self.settings.scale, labels)
        self.length = self._checked(self.settings.length)

    def _learn(
        self,
        data: Examples,
        split: Any,
        names: Sequence[str] | None,
        known: Mapping[str, Any],
        missing: str = "refuse",
        scale: bool = True,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Divide and scale the data; see the constructor, whose artefacts are `known`."""
        self.names = None if names is None else [*map(str, names)]
        self.parts = self._divided(len(data), split)
        train = self.parts["train"]
        self.per_step, self.symbolic = data.per_step, data.inputs.ndim == 1
        self.single_answer = not data.per_step
        inputs, self.scaler = scaled_inputs(data, train, names, known, missing, scale, self._mask)
        if self.scaler is None:
            self.inputs = int(known.get("symbols") or inputs.max() + 1)
        else:
            self.inputs = self.scaler.columns
            first = np.cumsum(data.lengths[train]) - data.lengths[train]
            rows = self.scaler.exactly(data.inputs[data.steps_of(train)])
            spreads = known.get("spreads") or spreads_of(rows, first)
            self.model = {"kind": "network", "embedding": None, "spreads": spreads}
        rows = data.steps_of(train) if data.per_step else train
        if "answers" in known:
            self.answers = TargetCodec.from_json(known["answers"])
            _check_same_kind(self.answers, data.targets)
        else:
            self.answers = fit_answers(data.targets, rows, scale, labels=labels)
        targets, there = self.answers(data.targets)
        self.as_read = data  # before scaling
        self.data = dataclasses.replace(data, inputs=inputs, targets=targets, there=there)
        self.outputs, self.framing = self.answers.outputs, self.answers
        if self.answers.kind == "classification":
            self.classes = tuple(map(str, self.answers.classes or ()))
        self.varied = len(np.unique(data.lengths)) > 1
        self.length = self.longest = int(data.lengths.max())
        for part, which in self.parts.items():
            rows = data.steps_of(which) if data.per_step else which
            if len(which) and not there[rows].any():
                raise BadInput(f"no sequence of the part {part} has a target")

    @property
    def _mask(self) -> str:
        """How to have missing values masked, as it is typed where the data are from."""
        return typed("missing", "mask", in_shell=self.settings.file is not None)

    def _divided(self, count: int, split: Any) -> dict[str, np.ndarray]:
        """The numbers of the sequences of each part."""
        if not isinstance(split, Mapping):
            return divided_at_random(count, split, "sequences", random(self.seed, SPLIT))
        if strange := sorted(split.keys() - set(PARTS), key=str):
            raise BadInput(f"the parts are train, valid and test, got {strange[0]!r:.40}")
        parts = {part: _numbers(split.get(part, ()), part) for part in PARTS}
        everything = np.concatenate(list(parts.values()))
        if not len(parts["train"]):
            raise BadInput("the part train has no sequences")
        if len(everything) and not 0 <= everything.min() <= everything.max() < count:
            raise BadInput(f"the parts must hold numbers from 0 to {count - 1}")
        if len(np.unique(everything)) < len(everything):
            raise BadInput("a sequence is in two parts, or twice in one")
        return parts

    def recipe_of_data(self) -> Mapping[str, Any]:
        """Random features for a class of each of few sequences of numbers."""
        count = self.count("train")
        few = self.single_answer and not self.symbolic and count <= FEW
        if few and self.answers.kind == "classification":
            return {**RANDOM_FEATURES, "batch": count}
        return {}

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        return self.batch_of(slice, index, size, length)[0]

    def batch_of(
        self, own: Own, index: int, size: int, length: int | None = None
    ) -> tuple[Batch, int]:
        length, which = self._checked(length), self.parts["train"][self.chosen(index, size)]
        sizes = np.minimum(self.data.lengths[which], length)
        spare = self.data.lengths[which] - sizes
        offsets = random(self.seed, WINDOW, index).integers(0, spare + 1)
        steps = min(length, multiple_above(int(sizes.max()), -(-length // SIZES)))
        some = own(len(which))
        batch = self._padded(which[some], steps, offsets[some], sizes[some])
        return batch, int(sizes.sum()) if self.varied else steps * len(which)

    def together(self, part: str, which: np.ndarray) -> Batch:
        every = self.parts[part]
        return self._padded(every[which], int(self.data.lengths[every].max()))

    def _padded(self, which: np.ndarray, steps: int, *window: Any) -> Batch:
        batch = self.data.batch(which, steps, *window)
        return batch if self.varied else batch._replace(lengths=None)

    def _checked(self, length: int | None) -> int:
        why = ", because a target belongs to a whole sequence"
        return checked_length(self, length, 1 if self.per_step else self.longest, self.longest, why)

    def artefacts(self) -> dict[str, Any]:
        inputs: dict[str, Any] = {"symbols": self.inputs}
        if self.scaler is not None and self.model is not None:
            inputs = {"scaler": self.scaler.as_json(), "spreads": self.model["spreads"]}
        answers = {"answers": self.answers.as_json(), "per_step": self.per_step}
        return {**inputs, "columns": self.names, **answers}

    @classmethod
    def check_artefacts(cls, artefacts: Mapping[str, Any]) -> tuple[int | None, int | None]:
        answers = TargetCodec.from_json(artefacts["answers"])
        if artefacts["columns"] is not None:
            kept_texts(artefacts["columns"], "columns")
        if not isinstance(artefacts.get("per_step", False), bool):
            raise BadInput("it does not say whether there is an answer per step")
        if "symbols" in artefacts:
            return kept_whole(artefacts["symbols"], "number of symbols"), answers.outputs
        columns = Scaler.from_json(artefacts["scaler"]).columns
        if "spreads" in artefacts:  # which earlier versions did not keep
            spreads = kept_numbers(artefacts["spreads"], "spreads", columns)
            if min(spreads) <= 0:
                raise BadInput("its spreads are not positive numbers")
        return columns, answers.outputs

    def fingerprint(self) -> str:
        words = [np.frombuffer(repr(self.answers.classes).encode(), np.uint8)]
        data = [self.data.inputs, self.data.lengths, self.data.targets, self.data.there]
        return hashed([*data, *words, *self.parts.values()])

    @classmethod
    def read(cls, given: Reading) -> "Arrays":
        if given.file is None:
            raise BadInput("the task arrays needs a file: data.npz, or data.csv with sequence")
        arguments = arrays_of_file(given)
        with naming(given.file):
            return cls(**arguments)

    @classmethod
    def on_file(cls, path: Path, settings: Any, artefacts: dict[str, Any]) -> Self:
        """Sequences of other data may be shorter than the windows of the run."""
        task = super().on_file(path, dataclasses.replace(settings, length=None), artefacts)
        task.length = min(settings.length or task.longest, task.longest)
        return task

    @classmethod
    def verb(cls, artefacts: Mapping[str, Any]) -> str:
        return "predict" if artefacts["answers"]["classes"] is None else "classify"

    @classmethod
    def interface(cls, settings: Any, artefacts: Mapping[str, Any]) -> Interface:
        answers = {"answers": artefacts["answers"]}
        if "symbols" in artefacts:
            return Interface("answers", {"symbols": artefacts["symbols"], **answers})
        row = row_of_numbers(Scaler.from_json(artefacts["scaler"]))
        columns = {"columns": artefacts["columns"], "sequence": settings.sequence}
        return Interface("answers", {**columns, **row, **answers})

    @classmethod
    def apply(cls, network: Model, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        """The class or the numbers of each sequence; see `answers_to_sequences`."""
        return answers_to_sequences(network, how)


def _numbers(given: Any, part: str) -> np.ndarray:
    """The numbers of the sequences of a part."""
    numbers = np.asarray(given)
    if numbers.size and (numbers.dtype.kind not in "iu" or numbers.ndim != 1):
        raise BadInput(
            f"the part {part} must be the numbers of sequences, whole numbers (N,), got "
            f"{numbers.dtype} of shape {numbers.shape}"
        )
    return numbers.astype(int).ravel()


def _check_same_kind(answers: TargetCodec, rows: np.ndarray) -> None:
    classes = rows.ndim == 1
    if classes != (answers.kind == "classification"):
        raise BadInput(
            f"the model was trained for {answers.kind}, the targets of these data mean "
            f"{KINDS[0 if classes else 1]}"
        )
    if not classes and rows.shape[1] != answers.outputs:
        raise BadInput(f"the model has {answers.outputs} outputs, the targets have {rows.shape[1]}")
