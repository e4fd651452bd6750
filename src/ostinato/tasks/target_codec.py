"""The targets of a data set as answers to learn: a class, several labels at once, or numbers."""

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..data.artefact_checks import kept_object
from ..data.scaling import Scaler
from ..errors import BadInput
from .confusion import F1, HammingLoss, MacroF1, MicroF1
from .losses import BinaryCrossEntropy, CrossEntropy, Loss, SquaredError
from .metrics import AbsoluteError, Accuracy, ErrorInUnits, Metric, RSquared

KINDS = ("classification", "regression", "multilabel")
MAX_CLASSES = 1000


class TargetCodec(abc.ABC):
    """How answers are learned: `Classes`, `LabelSets`, `Numbers` or the quantiles of numbers.

    Attributes:
        kind: one of `KINDS`.
        loss: what training minimises.
        classes: the labels, in order, or `None` for numbers.
        scaler: the scaling of numbers, or `None` for classes.
        chance: the first metric of the best constant answer on the training part.
        levels: of the quantiles that are learned, if any; see `series/quantiles.py`.
    """

    kind: ClassVar[str]
    loss: ClassVar[Loss]
    classes: tuple[Any, ...] | None
    scaler: Scaler | None
    chance: float
    levels: tuple[float, ...] = ()

    @property
    def width(self) -> int | None:
        """How many numbers a target has; `None` for a class."""
        return None

    @property
    @abc.abstractmethod
    def outputs(self) -> int:
        """The size of a network's output."""

    @property
    @abc.abstractmethod
    def metrics(self) -> tuple[Metric, ...]: ...

    @abc.abstractmethod
    def __call__(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Answers `(M, ...)` as targets for the loss, and `(M,)` whether each is present.

        If an answer, or one of its numbers, is missing, the target is a placeholder.
        """

    @abc.abstractmethod
    def told(self, outputs: np.ndarray, n_best: int = 1) -> list[dict[str, Any]]:
        """What is answered for each row of outputs `(M, outputs)`, as JSON; see `Task.apply`.

        Of a class these are the `label`, all `probabilities` and the `n_best` of them as `answers`;
        of numbers the `values`, in the units of the data. `text` has the answer in words.

        Example:
            >>> codec = Classes(("no", "yes"), 0.5)
            >>> codec.told(np.log([[1.0, 3.0]]))[0]["probabilities"]
            {'no': 0.25, 'yes': 0.75}
        """

    def in_words(self, outputs: np.ndarray) -> list[str]:
        """What is answered for each row of outputs `(M, outputs)`, in words."""
        return [one["text"] for one in self.told(outputs)]

    def centre(self, outputs: Any) -> Any:
        """The outputs as one number for each target."""
        return outputs

    def shown(self, outputs: np.ndarray, at: int) -> dict[str, np.ndarray]:
        """The forecasts `(T,)` of target number `at` that a preview shows, by name."""
        return {"forecast": outputs[:, at]}

    def as_json(self) -> dict[str, Any]:
        return {
            "classes": None if self.classes is None else list(self.classes),
            "scaler": None if self.scaler is None else self.scaler.as_json(),
            "chance": self.chance,
        }

    @classmethod
    def from_json(cls, kept: Any) -> "TargetCodec":
        """The inverse of `as_json`, with validation."""
        kept_object(kept, "answers", ["classes", "scaler", "chance"], ["levels", "several"])
        classes, scaler, chance = kept["classes"], kept["scaler"], kept["chance"]
        if (classes is None) == (scaler is None):
            raise BadInput("its answers are neither classes nor numbers")
        if not isinstance(chance, int | float) or isinstance(chance, bool):
            raise BadInput("its chance level is not a number")
        if classes is None:
            return Numbers(Scaler.from_json(scaler), float(chance))
        plain = isinstance(classes, list) and all(
            isinstance(x, str | int) or (isinstance(x, float) and np.isfinite(x)) for x in classes
        )
        if not plain or len(set(classes)) != len(classes) or len(classes) < 2:
            raise BadInput("its classes are not a list of different labels")
        several = kept.get("several", False)
        if not isinstance(several, bool):
            raise BadInput("it does not say whether there are several labels at once")
        return (LabelSets if several else Classes)(tuple(classes), float(chance))


@dataclasses.dataclass(frozen=True)
class Numbers(TargetCodec):
    """Numbers, scaled."""

    kind = "regression"
    loss: ClassVar[Loss] = SquaredError()
    classes = None
    scaler: Scaler
    chance: float

    @classmethod
    def fit(cls, rows: np.ndarray, training: np.ndarray, scale: bool) -> "Numbers":
        """The scaling of the training answers; `chance` is the variance of these.

        Args:
            rows: all answers, `(M, outputs)` in float64.
            training: the indices of the training rows.
            scale: whether to scale.
        """
        complete = training[~np.isnan(rows[training]).any(axis=1)]
        if not len(complete):
            raise BadInput("the training part has no complete targets")
        scaler = Scaler.fit(rows[complete], scale, "target {}".format)
        return cls(scaler, float(np.var(rows[complete], axis=0).mean()))

    @property
    def width(self) -> int:
        return len(self.scaler.shift)

    @property
    def outputs(self) -> int:
        return self.width

    @property
    def metrics(self) -> tuple[Metric, ...]:
        factors = self.scaler.factor
        return ErrorInUnits(factors), AbsoluteError(factors), RSquared()

    def __call__(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        plain = dataclasses.replace(self.scaler, masked=())
        return plain(rows), ~np.isnan(rows).any(axis=1)

    def told(self, outputs: np.ndarray, n_best: int = 1) -> list[dict[str, Any]]:
        rows = np.asarray(outputs, float) * self.scaler.factor + self.scaler.shift
        return [
            {"values": row, "text": ",".join(f"{value:.6g}" for value in row)}
            for row in rows.tolist()
        ]


@dataclasses.dataclass(frozen=True)
class Classes(TargetCodec):
    """One of the `classes`."""

    kind = "classification"
    loss: ClassVar[Loss] = CrossEntropy()
    classes: tuple[Any, ...]
    scaler = None
    chance: float

    @classmethod
    def fit(cls, rows: np.ndarray, training: np.ndarray) -> "Classes":
        """The classes of all answers `(M,)`; `chance` is the share of the most frequent one.

        Args:
            rows: all answers, as labels.
            training: the indices of the training rows.
        """
        different = {_plain(label) for label in rows[~_is_missing(rows)].tolist()}
        classes = tuple(sorted(different, key=lambda x: (isinstance(x, str), x)))
        if len(classes) < 2:
            raise BadInput(f"classification needs at least 2 classes, got {len(classes)}")
        if len(classes) > MAX_CLASSES:
            raise BadInput(f"there are {len(classes)} classes, more than {MAX_CLASSES}")
        codec = cls(classes, 0.0)
        targets, present = codec(rows[training])
        if not present.any():
            raise BadInput("the training part has no labels")
        chance = float(np.bincount(targets[present]).max()) / present.sum()
        return dataclasses.replace(codec, chance=chance)

    @property
    def outputs(self) -> int:
        return len(self.classes)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return Accuracy(), F1(self.outputs)

    def __call__(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        present = ~_is_missing(rows)
        numbered = np.zeros(len(rows), np.int32)
        numbers = {label: n for n, label in enumerate(self.classes)}
        try:
            numbered[present] = [numbers[_plain(label)] for label in rows[present].tolist()]
        except KeyError as error:
            known = ", ".join(map(str, self.classes[:10]))
            raise BadInput(f"the label {error.args[0]!r:.40} is not one of {known}") from None
        return numbered, present

    def labels(self, outputs: np.ndarray) -> list[Any]:
        """The class itself, for each row of outputs: the most probable one."""
        return [self.classes[n] for n in np.argmax(outputs, axis=-1)]

    def probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """The probability of each class, in float64: the softmax of outputs `(M, outputs)`."""
        above = np.exp(outputs - np.max(outputs, axis=-1, keepdims=True), dtype=float)
        return above / above.sum(-1, keepdims=True)

    def told(self, outputs: np.ndarray, n_best: int = 1) -> list[dict[str, Any]]:
        answers = []
        for label, row in zip(self.labels(outputs), self.probabilities(outputs), strict=True):
            each = dict(zip(self.classes, row.tolist(), strict=True))
            best = sorted(each, key=lambda name: -each[name])[:n_best]
            ranked = [{"text": str(name), "score": each[name]} for name in best]
            answers.append(
                {"label": label, "probabilities": each, "answers": ranked, "text": str(label)}
            )
        return answers


@dataclasses.dataclass(frozen=True)
class LabelSets(Classes):
    """Any number of the `classes` at once, each by a sigmoid of its own.

    Source: Lipton et al. (2015), section 2.3. A target is a row of 0 and 1, one for each class.
    """

    kind = "multilabel"
    loss: ClassVar[Loss] = BinaryCrossEntropy()

    @classmethod
    def fit_sets(cls, rows: np.ndarray, training: np.ndarray, names: Sequence[Any]) -> "LabelSets":
        """The answers for rows `(M, labels)` of 0 and 1.

        `chance` is the Hamming loss of the best constant set: the labels that more than half of
        the training part has.
        """
        if not 2 <= len(names) <= MAX_CLASSES:
            raise BadInput(
                f"multilabel needs 2 to {MAX_CLASSES} different labels, got {len(names)}"
            )
        codec = cls(tuple(names), 0.0)
        targets, present = codec(rows[training])
        if not targets[present].any():
            raise BadInput("the training part has no labels")
        shares = targets[present].mean(0, dtype=float)
        return dataclasses.replace(codec, chance=float(np.minimum(shares, 1 - shares).mean()))

    @property
    def width(self) -> int:
        return self.outputs

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return HammingLoss(), MicroF1(self.outputs), MacroF1(self.outputs)

    def __call__(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gaps = np.isnan(rows)
        return np.where(gaps, 0, rows).astype(np.float32), ~gaps.any(axis=1)

    def labels(self, outputs: np.ndarray) -> list[Any]:
        """The labels whose sigmoid is above ½, joined by commas, for each row of outputs."""
        names = np.array(self.classes, object)
        return [",".join(map(str, names[row > 0])) for row in outputs]

    def probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """The probability of each label by itself: the sigmoid of its output."""
        return 0.5 * (1 + np.tanh(0.5 * np.asarray(outputs, float)))

    def as_json(self) -> dict[str, Any]:
        return {**super().as_json(), "several": True}


def fit_answers(
    rows: np.ndarray, training: np.ndarray, scale: bool, labels: Sequence[Any] | None = None
) -> TargetCodec:
    """How answers are learned, fitted to the training part.

    Args:
        rows: all answers, `(M,)` labels or `(M, outputs)` numbers in float64.
        training: the indices of the training rows.
        scale: whether to scale numbers.
        labels: their names, if every row has several labels at once: 0 or 1 for each.
    """
    if labels is not None:
        return LabelSets.fit_sets(rows, training, labels)
    return Classes.fit(rows, training) if rows.ndim == 1 else Numbers.fit(rows, training, scale)


def _is_missing(rows: np.ndarray) -> np.ndarray:
    if rows.dtype.kind == "f":
        return np.isnan(rows)
    return np.asarray(rows == "", bool) if rows.dtype.kind == "O" else np.zeros(len(rows), bool)


def _plain(label: Any) -> Any:
    """A label as JSON stores it: whole floats and booleans become integers."""
    return int(label) if isinstance(label, float | bool) else label
