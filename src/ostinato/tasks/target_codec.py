"""The targets of a data set as answers to learn: classes or numbers."""

import dataclasses
import re
import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np

from ..data.artefact_checks import kept_object
from ..data.scaling import Scaler, check_complete
from ..errors import BadInput
from .losses import CrossEntropy, Loss, SquaredError
from .metrics import F1, AbsoluteError, Accuracy, ErrorInUnits, Metric, RSquared

KINDS = ("classification", "regression")
MAX_AMBIGUOUS = 20  # distinct whole numbers that may be either classes or quantities
MAX_CLASSES = 1000
MAX_LABEL = 2**53  # floats hold all whole numbers below
INVISIBLE = re.compile("[\u200b-\u200f\ufeff]")
NAN = "nan"  # what NumPy makes of a missing label in an array of text


@dataclasses.dataclass(frozen=True)
class TargetCodec:
    """How answers are learned.

    Attributes:
        classes: the labels, in order, or `None` for numbers.
        scaler: the scaling of numbers, or `None` for classes.
        chance: the first metric of the best constant answer on the training part.
        levels: of the quantiles that are learned, if any; see `series/quantiles.py`.
    """

    classes: tuple[Any, ...] | None
    scaler: Scaler | None
    chance: float
    levels: tuple[float, ...] = ()

    @property
    def outputs(self) -> int:
        if self.classes is not None:
            return len(self.classes)
        assert self.scaler is not None
        return len(self.scaler.shift)

    @property
    def loss(self) -> Loss:
        return SquaredError() if self.classes is None else CrossEntropy()

    @property
    def metrics(self) -> tuple[Metric, ...]:
        if self.scaler is not None:
            factors = self.scaler.factor
            return ErrorInUnits(factors), AbsoluteError(factors), RSquared()
        return Accuracy(), F1(self.outputs)

    def __call__(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Answers `(M, ...)` as targets for the loss, and `(M,)` whether each is present.

        If an answer, or one of its numbers, is missing, the target is a placeholder.
        """
        if self.scaler is not None:
            plain = dataclasses.replace(self.scaler, masked=())
            return plain(rows), ~np.isnan(rows).any(axis=1)
        assert self.classes is not None
        there = ~_is_missing(rows)
        found = np.zeros(len(rows), np.int32)
        numbers = {label: n for n, label in enumerate(self.classes)}
        try:
            found[there] = [numbers[_plain(label)] for label in rows[there].tolist()]
        except KeyError as error:
            known = ", ".join(map(str, self.classes[:10]))
            raise BadInput(f"the label {error.args[0]!r:.40} is not one of {known}") from None
        return found, there

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
    def from_json(cls, found: Any) -> "TargetCodec":
        """The inverse of `as_json`, with validation."""
        kept_object(found, "answers", ["classes", "scaler", "chance"], ["levels"])
        classes, scaler, chance = found["classes"], found["scaler"], found["chance"]
        if (classes is None) == (scaler is None):
            raise ValueError("its answers are neither classes nor numbers")
        if not isinstance(chance, int | float) or isinstance(chance, bool):
            raise ValueError("its chance level is not a number")
        if classes is None:
            return cls(None, Scaler.from_json(scaler), float(chance))
        plain = isinstance(classes, list) and all(
            isinstance(x, str | int) or (isinstance(x, float) and np.isfinite(x)) for x in classes
        )
        if not plain or len(set(classes)) != len(classes) or len(classes) < 2:
            raise ValueError("its classes are not a list of different labels")
        return cls(tuple(classes), None, float(chance))


def fit_answers(
    rows: np.ndarray,
    training: np.ndarray,
    scale: bool,
    name: Callable[[int], str] = "target {}".format,
) -> TargetCodec:
    """The classes of all answers, or the means and standard deviations of the training answers.

    Args:
        rows: all answers, `(M,)` labels or `(M, outputs)` numbers in float64.
        training: the indices of the training rows.
        scale: whether to scale numbers.
        name: the name of each output in messages.
    """
    if rows.ndim == 1:
        labels = {_plain(label) for label in rows[~_is_missing(rows)].tolist()}
        classes = tuple(sorted(labels, key=lambda x: (isinstance(x, str), x)))
        if len(classes) < 2:
            raise BadInput(f"classification needs at least 2 classes, got {len(classes)}")
        if len(classes) > MAX_CLASSES:
            raise BadInput(f"there are {len(classes)} classes, more than {MAX_CLASSES}")
        found = TargetCodec(classes, None, 0.0)
        targets, there = found(rows[training])
        if not there.any():
            raise BadInput("the training part has no labels")
        return dataclasses.replace(
            found, chance=float(np.bincount(targets[there]).max()) / there.sum()
        )
    complete = training[~np.isnan(rows[training]).any(axis=1)]
    if not len(complete):
        raise BadInput("the training part has no complete targets")
    scaler = Scaler.fit(rows[complete], scale, name)
    variances = np.var(rows[complete], axis=0)
    return TargetCodec(None, scaler, float(variances.mean()))


def checked_answers(
    ys: np.ndarray, kind: str | None, missing: str, where: Callable[[tuple[int, ...]], str]
) -> np.ndarray:
    """Labels `(...,)` or numbers in float64, by the given kind or else by their dtype.

    Args:
        ys: any shape.
        kind: `"classification"`, `"regression"`, or `None` to decide by the dtype if it is clear.
        missing: `"refuse"` or `"mask"`.
        where: describes an index into the targets in words.
    """
    if kind not in (None, *KINDS):
        raise BadInput(f"kind must be one of {', '.join(KINDS)}; got {kind!r:.40}")
    if ys.dtype.kind not in "biufUSO":
        raise BadInput(f"targets must be numbers or labels, got {ys.dtype}")
    words = ys.dtype.kind in "USO"
    if kind is None:
        kind = "classification" if words else _kind_of_numbers(ys)
    if words:
        if kind == "regression":
            raise BadInput(
                f"regression needs numbers, got {where((0,) * ys.ndim)} = {ys.flat[0]!r:.40}"
            )
        labels = np.array([_text(label) for label in ys.ravel().tolist()], object)
        if ys.dtype.kind != "O":
            labels[labels == NAN] = ""
        _check_alike(labels)
        gaps = np.flatnonzero(labels == "")
        if gaps.size and missing == "refuse":
            index = tuple(int(n) for n in np.unravel_index(gaps[0], ys.shape))
            raise BadInput(f"{where(index)} is missing; fill it in, or use missing=mask")
        return labels.reshape(ys.shape)
    numbers = np.asarray(ys, float)
    check_complete(numbers, missing, where)
    if kind == "regression":
        return numbers
    broken = np.isfinite(numbers) & (
        (numbers != np.round(numbers)) | (np.abs(numbers) >= MAX_LABEL)
    )
    if broken.any():
        index = tuple(int(n) for n in np.unravel_index(int(np.argmax(broken)), ys.shape))
        raise BadInput(
            f"{where(index)} is {numbers[index]:g}; the label of a class is a whole number"
        )
    if np.isnan(numbers).any():
        return numbers
    return numbers.astype(np.int64)


def _kind_of_numbers(ys: np.ndarray) -> str:
    values = np.asarray(ys, float)
    values = values[np.isfinite(values)]
    different = len(np.unique(values))
    if ys.dtype.kind in "biu":
        if different > max(MAX_AMBIGUOUS, len(values) // 2):
            raise BadInput(
                f"the targets are {different} different whole numbers among {len(values)}; say "
                "kind=classification or kind=regression"
            )
        return "classification"
    if (values == np.round(values)).all() and different <= MAX_AMBIGUOUS:
        raise BadInput(
            f"the targets are floats, but only whole numbers ({different} different ones); say "
            "kind=classification or kind=regression"
        )
    return "regression"


def _is_missing(rows: np.ndarray) -> np.ndarray:
    if rows.dtype.kind == "f":
        return np.isnan(rows)
    return np.asarray(rows == "", bool) if rows.dtype.kind == "O" else np.zeros(len(rows), bool)


def _plain(label: Any) -> Any:
    """A label as JSON stores it: whole floats and booleans become integers."""
    return int(label) if isinstance(label, float | bool) else label


def _text(label: Any) -> str:
    """A label as text, empty if it is missing: `None` or NaN."""
    if label is None or label != label:
        return ""
    if isinstance(label, bytes):
        try:
            label = label.decode("utf-8")
        except UnicodeDecodeError:
            raise BadInput(f"the label {label!r:.40} is not UTF-8 text") from None
    return str(label)


def _check_alike(labels: np.ndarray) -> None:
    """Refuse labels that look the same: they differ in spaces, or in how Unicode spells them."""
    known: dict[str, str] = {}
    for label in sorted(set(labels.tolist())):
        plain = unicodedata.normalize("NFC", INVISIBLE.sub("", label)).strip()
        other = known.setdefault(plain, label)
        if other != label:
            raise BadInput(
                f"the labels {other!a:.40} and {label!a:.40} look the same; write one "
                "class in one way"
            )
