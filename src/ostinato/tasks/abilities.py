"""What only some tasks can do: give a text, answer new input.

A task that can is a subclass of the ability. Whoever needs one asks the task, `task.text()` or
`kind.answering()`, and gets the task itself as one that can, `None`, or one line that says that it
cannot. A series that forecasts is asked for by `task.forecasting()`; see `series/series.py`.
"""

import abc
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from ..cells import Model
from ..data import Vocabulary
from .applying import ApplyOptions
from .task import Task


class TextTask(Task):
    """A task on one long text.

    Attributes:
        vocabulary: the characters or bytes that its symbols stand for.
    """

    vocabulary: Vocabulary

    @abc.abstractmethod
    def stream(self, part: str) -> np.ndarray:
        """The symbols `(T,)` of `"train"`, `"valid"` or `"test"`."""

    def text(self) -> Self:
        return self


class AnsweringTask(Task):
    """A task whose trained network answers new input: `ostinato apply`.

    Attributes:
        apply_options: the options of `apply` that it has a use for; see `ApplyOptions`.
    """

    apply_options: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def answering(cls) -> type[Self]:
        return cls

    @classmethod
    @abc.abstractmethod
    def apply(cls, network: Model, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        """The answers of a trained network to new input.

        Args:
            network: the trained network.
            how: what to read, what the run keeps of its task, and options.

        Returns:
            A dictionary for each input, as JSON; `text` is what is printed without --json.
        """
