"""Checks of what a task is given and of what it says: seeds, counts, lengths, parts."""

import operator
import re
from typing import Any, Protocol

from ..errors import BadInput
from ..names import METRIC_NAME
from ..settings import checked_int, checked_kind, shown
from .metrics import Metric

MAX_SEED = 2**32 - 1


def checked_seed(seed: int) -> int:
    """The seed; raises unless it is from 0 to 2³² - 1, the range of a JAX random key."""
    if not is_whole(seed) or not 0 <= seed <= MAX_SEED:
        raise BadInput(f"a seed is a whole number from 0 to {MAX_SEED}, got {seed!r}")
    return int(seed)


def is_whole(number: Any) -> bool:
    try:
        operator.index(number)
    except TypeError:
        return False
    return not isinstance(number, bool)


def checked_count(count: int, what: str = "steps of a sequence") -> int:
    """A number of steps or sequences; raises unless it is whole and at least 1."""
    if not is_whole(count) or count < 1:
        raise BadInput(f"the {what} must be a whole number of at least 1, got {shown(count)}")
    return int(count)


class OfLength(Protocol):
    """What `checked_length` must know of a task."""

    name: str
    length: int


def checked_length(
    task: OfLength,
    length: int | None,
    min_length: int = 1,
    max_length: int | None = None,
    why: str = "",
) -> int:
    """A number of steps, by default the task's, which must be from `min_length` to `max_length`.

    Args:
        task: named in the message.
        length: the steps asked for.
        min_length, max_length: those that the task allows.
        why: the reason, for the message, if there is but one length.
    """
    length = task.length if length is None else checked_count(length)
    if min_length <= length and (max_length is None or length <= max_length):
        return length
    allowed = f"takes a length of at least {min_length} steps"
    if max_length is not None:
        allowed = f"takes a length of {min_length} to {max_length} steps"
    if min_length == max_length:
        allowed = f"has a length of {max_length} steps{why}"
    raise BadInput(f"the task {task.name} {allowed}, got {length}")


def checked_part(part: str) -> str:
    """The name of a held-out part; raises for any other."""
    if not isinstance(part, str) or part not in ("valid", "test"):
        raise BadInput(f"the part must be valid or test, got {part!r:.40}")
    return part


def check_declared(task: Any) -> None:
    """Refuse a task that lacks what its contract asks of it, in one line."""
    who = type(task).__name__
    for name in ("name", "inputs", "outputs", "length", "loss", "metrics", "chance"):
        try:
            getattr(task, name)
        except AttributeError as error:
            raise BadInput(f"the task {who} does not say its {name}: {error}") from None
    for name in ("inputs", "outputs"):
        checked_int(f"{name} of the task {who}", getattr(task, name))
    if not checked_kind(f"metrics of the task {who}", task.metrics, tuple, "a tuple"):
        raise BadInput(f"metrics of the task {who} must have at least one metric")
    for metric in task.metrics:
        checked_kind(f"each of metrics of the task {who}", metric, Metric, "a Metric")
        if not re.match(METRIC_NAME, metric.name):
            raise BadInput(
                f"a metric's name has 1 to 100 characters and none of <>&\"`, because a log keeps "
                f"it; the task {who} has {shown(metric.name)}"
            )
    try:
        float(task.chance)
    except (TypeError, ValueError):
        what = shown(task.chance)
        raise BadInput(f"chance of the task {who} must be a number, got {what}") from None
