"""Which class a network takes for which: the counts of a held-out part, and metrics of classes.

Where TP, FP and FN are the true and false positives and the false negatives of a class:

    F1                  `2 TP / (2 TP + FP + FN)`, averaged over the classes that occur
    MacroF1, MicroF1    the same of several labels at once, averaged, or of the counts of all labels
    HammingLoss         the fraction of labels that are wrong, of several at once
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Model
from ..data import Batch
from .applying import outputs_on
from .metrics import SHARE, Metric, StepMean, total
from .task import Task

IN_FULL = 12  # classes of a table; of more, only the largest confusions are listed
LISTED = 10


class Confusion(NamedTuple):
    """How often each class was said for each that was right.

    Attributes:
        classes: by number.
        counts: `(classes, classes)`: the row is the class that is right, the column the one said.

    Example:
        >>> confusion = Confusion(("no", "yes"), np.array([[3, 1], [0, 4]]))
        >>> print("\\n".join(confusion.lines()))
        right, and what was said:
               no  yes
          no    3    1
          yes   0    4
    """

    classes: tuple[str, ...]
    counts: np.ndarray

    def as_json(self) -> dict[str, Any]:
        return {"classes": list(self.classes), "counts": self.counts.tolist()}

    def largest(self, count: int = LISTED) -> list[tuple[str, str, int]]:
        """The classes that were most often taken for another, which that is, and how often."""
        wrong = self.counts * ~np.eye(len(self.counts), dtype=bool)
        order = np.argsort(-wrong, axis=None, kind="stable")[:count]
        pairs = zip(*np.unravel_index(order, wrong.shape), strict=True)
        named = [(self.classes[i], self.classes[j], int(wrong[i, j])) for i, j in pairs]
        return [one for one in named if one[2]]

    def lines(self) -> list[str]:
        """A table in words; of many classes, the largest confusions."""
        if len(self.classes) > IN_FULL:
            listed = [f"  {a} was taken for {b} {count:,} times" for a, b, count in self.largest()]
            return ["most often confused:", *listed] if listed else ["nothing was confused"]
        body = [[f"{count:,}" for count in row] for row in self.counts.tolist()]
        widths = [max(map(len, (name, *x))) for name, *x in zip(self.classes, *body, strict=True)]
        first = max(map(len, self.classes))
        rows = [["", *self.classes], *([a, *b] for a, b in zip(self.classes, body, strict=True))]
        return ["right, and what was said:"] + [
            "  ".join(
                ["", name.ljust(first), *(x.rjust(n) for x, n in zip(row, widths, strict=True))]
            )
            for name, *row in rows
        ]


def confusion(network: Model, task: Task, part: str) -> Confusion | None:
    """The confusions of a network on `"valid"` or `"test"`; `None` if the task has no classes.

    Example:
        >>> from ostinato.runs.build import build_network
        >>> from ostinato.tasks import Classify
        >>> task = Classify(["good", "bad"] * 50, ["yes", "no"] * 50)
        >>> network = build_network(Config(task="classify", units=4), task)
        >>> int(confusion(network, task, "test").counts.sum())
        10
    """
    if task.classes is None:
        return None
    size = len(task.classes)
    counts = np.zeros(size * size, np.int64)
    for batch in task.evaluated(part):
        said = np.argmax(np.asarray(outputs_on(network, batch.arrays)), axis=-1)
        asked = np.asarray(batch.counted) > 0
        right = np.asarray(batch.targets)[asked].astype(int)
        counts += np.bincount(right * size + said[asked], minlength=size * size)
    return Confusion(task.classes, counts.reshape(size, size))


@dataclasses.dataclass(frozen=True)
class F1(Metric):
    """The F1 score, averaged over the classes that occur among predictions or targets.

    Example:
        >>> outputs = np.eye(3)[[[0, 1, 1]]]
        >>> metric, batch = F1(3), Batch(None, np.array([[0, 1, 0]]), np.ones((1, 3)))
        >>> round(metric.value(jax.jit(metric.counts)(outputs, batch)), 3)  # ⅔ for both classes
        0.667
    """

    classes: int
    name = "F1"
    higher_is_better = True
    bounds = SHARE

    def counts(self, outputs: jax.Array, batch: Batch) -> Any:
        weights = jnp.asarray(batch.counted)[..., None]
        said, right = self.decided(outputs, batch.targets)
        axes = tuple(range(said.ndim - 1))
        return jnp.stack([total(weights * x, axes) for x in (said * right, said, right)])

    def decided(self, outputs: jax.Array, targets: Any) -> tuple[jax.Array, jax.Array]:
        """What is said and what is right, `(..., classes)` of 0 and 1."""
        said = jax.nn.one_hot(jnp.argmax(outputs, axis=-1), self.classes)
        return said, jax.nn.one_hot(targets, self.classes)

    def value(self, counts: Any) -> float | None:
        both, said, right = np.asarray(counts, float)
        there = said + right > 0
        return float(np.mean(2 * both[there] / (said + right)[there])) if there.any() else None


@dataclasses.dataclass(frozen=True)
class MacroF1(F1):
    """The F1 score of each of several labels at once, averaged over those that occur.

    A label is said where its output is positive, which is where its sigmoid is above ½.
    """

    name = "F1 macro"

    def decided(self, outputs: jax.Array, targets: Any) -> tuple[jax.Array, jax.Array]:
        return (outputs > 0).astype(jnp.float32), jnp.asarray(targets)


class MicroF1(MacroF1):
    """The F1 score of several labels at once, from the counts of all of them together."""

    name = "F1 micro"

    def value(self, counts: Any) -> float | None:
        return super().value(np.sum(np.asarray(counts, float), axis=1, keepdims=True))


@dataclasses.dataclass(frozen=True)
class HammingLoss(StepMean):
    """The fraction of labels, of several at once, that are said and wrong or right and not said."""

    name = "Hamming loss"
    bounds = SHARE

    def score(self, outputs: jax.Array, targets: Any) -> jax.Array:
        return jnp.mean(jnp.asarray((outputs > 0) != (jnp.asarray(targets) > 0), float), axis=-1)
