"""Answers as a user gives them: labels, numbers or sets of labels, checked and alike."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..data.scaling import MASK, check_complete
from ..errors import BadInput
from ..settings import shown
from .target_codec import KINDS

MAX_AMBIGUOUS = 20  # distinct whole numbers that may be either classes or quantities
MAX_LABEL = 2**53  # floats hold all whole numbers below
INVISIBLE = re.compile("[\u200b-\u200f\ufeff]")
NAN = "nan"  # what NumPy makes of a missing label in an array of text


def checked_answers(
    ys: np.ndarray,
    kind: str | None,
    missing: str,
    where: Callable[[tuple[int, ...]], str],
    mask: str = MASK,
) -> np.ndarray:
    """Labels `(...,)` or numbers in float64, by the given kind or else by their dtype.

    Args:
        ys: any shape.
        kind: `"classification"`, `"regression"`, or `None` to decide by the dtype if it is clear.
        missing: `"refuse"` or `"mask"`.
        where: describes an index into the targets in words.
        mask: how the setting that masks missing targets is typed.
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
            raise BadInput(f"{where(index)} is missing; fill it in, or train with {mask}")
        return labels.reshape(ys.shape)
    numbers = np.asarray(ys, float)
    check_complete(numbers, missing, where, mask)
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


def label_sets(
    cells: Iterable[str | Sequence[str]], known: Sequence[Any] | None
) -> tuple[np.ndarray, list[str]]:
    """Sets of labels, written `a,b` or as lists, as rows `(N, labels)` of 0 and 1, and the labels.

    Args:
        cells: the sets; an empty one is written as nothing, or as an empty list.
        known: the labels of a trained model; by default those of the cells, in order.

    Example:
        >>> from ostinato.tasks.given_answers import label_sets
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


def labels_of(rows: np.ndarray, kind: str | None) -> list[str] | None:
    """Names for several labels at once that have none; `None` for targets of another kind."""
    return [str(n) for n in range(1, rows.shape[1] + 1)] if kind == "multilabel" else None


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
