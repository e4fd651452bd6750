"""Checks of what a run keeps of its data, as JSON. A checksum does not say who wrote a file.

Each takes a value and what it is, in words, and gives the value back or raises `BadInput`, which
`open_run` turns into one line.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ..errors import BadInput

Found = TypeVar("Found")


class Kept(dict[str, Any]):
    """What a run keeps of its data, which each reader reads once; it must not be changed.

    The run checks it when it is opened, and the task is made of what was found then.
    """

    def __init__(self, content: Mapping[str, Any]):
        super().__init__(content)
        self._found: dict[Callable, Any] = {}

    def once(self, read: Callable[["Kept"], Found]) -> Found:
        """What a function makes of it."""
        if read not in self._found:
            self._found[read] = read(self)
        return self._found[read]


def kept_object(kept: Any, what: str, names: Sequence[str], more: Sequence[str] = ()) -> dict:
    """A JSON object with these names, and perhaps more.

    Example:
        >>> kept_object({"level": "words"}, "vocabulary", ["level", "tokens"])
        Traceback (most recent call last):
        ostinato.errors.BadInput: its vocabulary has no tokens
    """
    if not isinstance(kept, dict):
        raise BadInput(f"its {what} is not an object")
    for name in names:
        if name not in kept:
            raise BadInput(f"its {what} has no {name}")
    if strange := sorted(kept.keys() - {*names, *more}):
        raise BadInput(f"its {what} has {strange[0]!r:.40}, which is not part of it")
    return kept


def kept_whole(kept: Any, what: str, min: int = 1) -> int:
    """A whole number that JAX can count to."""
    if type(kept) is not int or not min <= kept < 2**31:
        raise BadInput(f"its {what} is not a whole number from {min} on")
    return kept


def kept_numbers(kept: Any, what: str, count: int | None = None) -> tuple[float, ...]:
    """Finite numbers, and so many of them."""
    good = isinstance(kept, list) and all(type(x) in (int, float) and abs(x) < 1e300 for x in kept)
    if not good or count not in (None, len(kept)):
        raise BadInput(f"its {what} is not a list of {'' if count is None else count} numbers")
    return tuple(kept)


def kept_texts(kept: Any, what: str) -> tuple[str, ...]:
    """Different texts, at least one."""
    good = isinstance(kept, list) and kept and all(isinstance(x, str) for x in kept)
    if not good or len(set(kept)) != len(kept):
        raise BadInput(f"its {what} is not a list of different texts")
    return tuple(kept)


def kept_picture(kept: Any) -> tuple[int, ...]:
    """The height, width and channels of a picture."""
    if not isinstance(kept, list) or len(kept) != 3:
        raise BadInput("its pictures have no height, width and channels")
    return tuple(kept_whole(size, "size of pictures") for size in kept)
