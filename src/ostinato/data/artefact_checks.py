"""Checks of what a run keeps of its data, as JSON. A checksum does not say who wrote a file.

Each takes a value and what it is, in words, and gives the value back or raises `ValueError`, which
`open_run` turns into one line.
"""

import math
from collections.abc import Sequence
from typing import Any


def kept_object(found: Any, what: str, names: Sequence[str], more: Sequence[str] = ()) -> dict:
    """A JSON object with these names, and perhaps more.

    Example:
        >>> kept_object({"level": "words"}, "vocabulary", ["level", "tokens"])
        Traceback (most recent call last):
        ValueError: its vocabulary has no tokens
    """
    if not isinstance(found, dict):
        raise ValueError(f"its {what} is not an object")
    for name in names:
        if name not in found:
            raise ValueError(f"its {what} has no {name}")
    if strange := sorted(found.keys() - {*names, *more}):
        raise ValueError(f"its {what} has {strange[0]!r:.40}, which is not part of it")
    return found


def kept_whole(found: Any, what: str, min: int = 1) -> int:
    """A whole number that JAX can count to."""
    if type(found) is not int or not min <= found < 2**31:
        raise ValueError(f"its {what} is not a whole number from {min} on")
    return found


def kept_numbers(found: Any, what: str, count: int | None = None) -> tuple[float, ...]:
    """Finite numbers, and so many of them."""
    good = isinstance(found, list) and all(
        type(x) in (int, float) and abs(x) < 1e300 and math.isfinite(x) for x in found
    )
    if not good or count not in (None, len(found)):
        raise ValueError(f"its {what} is not a list of {'' if count is None else count} numbers")
    return tuple(found)


def kept_texts(found: Any, what: str) -> tuple[str, ...]:
    """Different texts, at least one."""
    good = isinstance(found, list) and found and all(isinstance(x, str) for x in found)
    if not good or len(set(found)) != len(found):
        raise ValueError(f"its {what} is not a list of different texts")
    return tuple(found)


def kept_picture(found: Any) -> tuple[int, ...]:
    """The height, width and channels of a picture."""
    if not isinstance(found, list) or len(found) != 3:
        raise ValueError("its pictures have no height, width and channels")
    return tuple(kept_whole(size, "size of pictures") for size in found)
