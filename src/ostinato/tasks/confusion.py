"""Which class a network takes for which: the counts of a held-out part."""

from typing import Any, NamedTuple

import numpy as np

from ..cells import Model
from .applying import outputs_on
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
