"""The targets of a data set as answers to learn: a class, several labels at once, or numbers."""

import dataclasses
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..data.artefact_checks import kept_object
from ..data.scaling import Scaler, check_complete
from ..errors import BadInput
from ..settings import shown
from .confusion import F1, HammingLoss, MacroF1, MicroF1
from .losses import BinaryCrossEntropy, CrossEntropy, Loss, SquaredError
from .metrics import AbsoluteError, Accuracy, ErrorInUnits, Metric, RSquared

KINDS = ("classification", "regression", "multilabel")
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
    def kind(self) -> str:
        """One of `KINDS`."""
        return KINDS[0] if self.scaler is None else KINDS[1]

    @property
    def width(self) -> int | None:
        """How many numbers a target has; `None` for a class."""
        return None if self.scaler is None else len(self.scaler.shift)

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
        numbered = np.zeros(len(rows), np.int32)
        numbers = {label: n for n, label in enumerate(self.classes)}
        try:
            numbered[there] = [numbers[_plain(label)] for label in rows[there].tolist()]
        except KeyError as error:
            known = ", ".join(map(str, self.classes[:10]))
            raise BadInput(f"the label {error.args[0]!r:.40} is not one of {known}") from None
        return numbered, there

    def in_words(self, outputs: np.ndarray) -> list[str]:
        """The most probable class for each row of outputs `(M, outputs)`."""
        assert self.classes is not None
        return [str(self.classes[n]) for n in np.argmax(outputs, axis=-1)]

    def labels(self, outputs: np.ndarray) -> list[Any]:
        """The class itself, for each row of outputs: the most probable one."""
        assert self.classes is not None
        return [self.classes[n] for n in np.argmax(outputs, axis=-1)]

    def probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """The probability of each class, in float64: the softmax of outputs `(M, outputs)`."""
        above = np.exp(outputs - np.max(outputs, axis=-1, keepdims=True), dtype=float)
        return above / above.sum(-1, keepdims=True)

    def told(self, outputs: np.ndarray, n_best: int = 1) -> list[dict[str, Any]]:
        """What is answered for each row of outputs `(M, outputs)`, as JSON; see `Task.apply`.

        Of a class these are the `label`, all `probabilities` and the `n_best` of them as `answers`;
        of numbers the `values`, in the units of the data. `text` has the answer in words.

        Example:
            >>> codec = TargetCodec(("no", "yes"), None, 0.5)
            >>> codec.told(np.log([[1.0, 3.0]]))[0]["probabilities"]
            {'no': 0.25, 'yes': 0.75}
        """
        if self.scaler is not None:
            rows = np.asarray(outputs, float) * self.scaler.factor + self.scaler.shift
            words = (",".join(f"{value:.6g}" for value in row) for row in rows)
            return [{"values": row.tolist(), "text": x} for row, x in zip(rows, words, strict=True)]
        assert self.classes is not None
        answers = []
        for label, row in zip(self.labels(outputs), self.probabilities(outputs), strict=True):
            each = dict(zip(self.classes, row.tolist(), strict=True))
            best = sorted(each, key=lambda name: -each[name])[:n_best]
            ranked = [{"text": str(name), "score": each[name]} for name in best]
            answers.append(
                {"label": label, "probabilities": each, "answers": ranked, "text": str(label)}
            )
        return answers

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
        kept_object(found, "answers", ["classes", "scaler", "chance"], ["levels", "several"])
        classes, scaler, chance = found["classes"], found["scaler"], found["chance"]
        if (classes is None) == (scaler is None):
            raise BadInput("its answers are neither classes nor numbers")
        if not isinstance(chance, int | float) or isinstance(chance, bool):
            raise BadInput("its chance level is not a number")
        if classes is None:
            return cls(None, Scaler.from_json(scaler), float(chance))
        plain = isinstance(classes, list) and all(
            isinstance(x, str | int) or (isinstance(x, float) and np.isfinite(x)) for x in classes
        )
        if not plain or len(set(classes)) != len(classes) or len(classes) < 2:
            raise BadInput("its classes are not a list of different labels")
        several = found.get("several", False)
        if not isinstance(several, bool):
            raise BadInput("it does not say whether there are several labels at once")
        return (LabelSets if several else TargetCodec)(tuple(classes), None, float(chance))


@dataclasses.dataclass(frozen=True)
class LabelSets(TargetCodec):
    """Any number of the `classes` at once, each by a sigmoid of its own.

    Source: Lipton et al. (2015), section 2.3. A target is a row of 0 and 1, one for each class.
    """

    @property
    def kind(self) -> str:
        return "multilabel"

    @property
    def width(self) -> int | None:
        return self.outputs

    @property
    def loss(self) -> Loss:
        return BinaryCrossEntropy()

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return HammingLoss(), MicroF1(self.outputs), MacroF1(self.outputs)

    def __call__(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gaps = np.isnan(rows)
        return np.where(gaps, 0, rows).astype(np.float32), ~gaps.any(axis=1)

    def in_words(self, outputs: np.ndarray) -> list[str]:
        """The labels whose sigmoid is above ½, joined by commas, for each row of outputs."""
        names = np.array(self.classes, object)
        return [",".join(map(str, names[row > 0])) for row in outputs]

    def labels(self, outputs: np.ndarray) -> list[Any]:
        return self.in_words(outputs)

    def probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """The probability of each label by itself: the sigmoid of its output."""
        return 0.5 * (1 + np.tanh(0.5 * np.asarray(outputs, float)))

    def as_json(self) -> dict[str, Any]:
        return {**super().as_json(), "several": True}


def label_sets(
    cells: Iterable[str | Sequence[str]], known: Sequence[Any] | None
) -> tuple[np.ndarray, list[str]]:
    """Sets of labels, written `a,b` or as lists, as rows `(N, labels)` of 0 and 1, and the labels.

    Args:
        cells: the sets; an empty one is written as nothing, or as an empty list.
        known: the labels of a trained model; by default those of the cells, in order.

    Example:
        >>> from ostinato.tasks.target_codec import label_sets
        >>> rows, names = label_sets(["new, big", "", "big"], None)
        >>> names, rows.tolist()
        (['big', 'new'], [[1, 1], [0, 0], [1, 0]])
    """
    lists = [_labels_of(cell) for cell in cells]
    for number, labels in enumerate(lists):
        if "" in labels or len(set(labels)) < len(labels):
            what = "an empty label" if "" in labels else "a label twice"
            raise BadInput(f"the labels of text {number} have {what}: {shown(','.join(labels))}")
    sets = [*map(set, lists)]
    names = sorted(set().union(*sets)) if known is None else [*map(str, known)]
    _check_alike(np.array(names, object))
    places = {name: n for n, name in enumerate(names)}
    rows = np.zeros((len(sets), len(names)), np.int32)
    for row, some in zip(rows, sets, strict=True):
        if strange := sorted(some - places.keys()):
            raise BadInput(f"the label {strange[0]!r:.40} is not one of {', '.join(names[:10])}")
        row[[places[name] for name in some]] = 1
    return rows, names


def _labels_of(cell: str | Sequence[str]) -> list[str]:
    parts = cell.split(",") if isinstance(cell, str) else cell
    labels = [str(part).strip() for part in parts]
    return [] if labels == [""] else labels


def fit_label_sets(rows: np.ndarray, training: np.ndarray, names: Sequence[Any]) -> LabelSets:
    """The answers for rows `(M, labels)` of 0 and 1.

    `chance` is the Hamming loss of the best constant set: the labels that more than half of the
    training part has.
    """
    if not 2 <= len(names) <= MAX_CLASSES:
        raise BadInput(f"multilabel needs 2 to {MAX_CLASSES} different labels, got {len(names)}")
    codec = LabelSets(tuple(names), None, 0.0)
    targets, there = codec(rows[training])
    if not targets[there].any():
        raise BadInput("the training part has no labels")
    shares = targets[there].mean(0, dtype=float)
    return dataclasses.replace(codec, chance=float(np.minimum(shares, 1 - shares).mean()))


def fit_answers(
    rows: np.ndarray,
    training: np.ndarray,
    scale: bool,
    name: Callable[[int], str] = "target {}".format,
    labels: Sequence[Any] | None = None,
) -> TargetCodec:
    """The classes of all answers, or the means and standard deviations of the training answers.

    Args:
        rows: all answers, `(M,)` labels or `(M, outputs)` numbers in float64.
        training: the indices of the training rows.
        scale: whether to scale numbers.
        name: the name of each output in messages.
        labels: their names, if every row has several labels at once: 0 or 1 for each.
    """
    if labels is not None:
        return fit_label_sets(rows, training, labels)
    if rows.ndim == 1:
        different = {_plain(label) for label in rows[~_is_missing(rows)].tolist()}
        classes = tuple(sorted(different, key=lambda x: (isinstance(x, str), x)))
        if len(classes) < 2:
            raise BadInput(f"classification needs at least 2 classes, got {len(classes)}")
        if len(classes) > MAX_CLASSES:
            raise BadInput(f"there are {len(classes)} classes, more than {MAX_CLASSES}")
        codec = TargetCodec(classes, None, 0.0)
        targets, there = codec(rows[training])
        if not there.any():
            raise BadInput("the training part has no labels")
        return dataclasses.replace(
            codec, chance=float(np.bincount(targets[there]).max()) / there.sum()
        )
    complete = training[~np.isnan(rows[training]).any(axis=1)]
    if not len(complete):
        raise BadInput("the training part has no complete targets")
    scaler = Scaler.fit(rows[complete], scale, name)
    variances = np.var(rows[complete], axis=0)
    return TargetCodec(None, scaler, float(variances.mean()))


def labels_of(rows: np.ndarray, kind: str | None) -> list[str] | None:
    """Names for several labels at once that have none; `None` for targets of another kind."""
    return [str(n) for n in range(1, rows.shape[1] + 1)] if kind == "multilabel" else None


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
        if kind != "classification":
            raise BadInput(
                f"{kind} needs numbers, got {where((0,) * ys.ndim)} = {ys.flat[0]!r:.40}"
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
    if kind == "multilabel":
        wrong = ~np.isin(numbers, (0, 1)) & ~np.isnan(numbers)
        if wrong.any():
            index = tuple(int(n) for n in np.unravel_index(int(np.argmax(wrong)), ys.shape))
            raise BadInput(
                f"{where(index)} is {numbers[index]:g}; of several labels each is 0 or 1"
            )
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
