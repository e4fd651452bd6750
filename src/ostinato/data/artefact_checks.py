"""Checks of what a run keeps of its data, as JSON. A checksum does not say who wrote a file.

Each takes a value and what it is, in words, and gives the value back or raises `ValueError`, which
`open_run` turns into one line.
"""

import math
from collections.abc import Sequence
from typing import Any


def kept_object(value: Any, what: str, names: Sequence[str], more: Sequence[str] = ()) -> dict:
    """A JSON object with these names, and perhaps more.

    Example:
        >>> kept_object({"level": "words"}, "vocabulary", ["level", "tokens"])
        Traceback (most recent call last):
        ValueError: its vocabulary has no tokens
    """
    if not isinstance(value, dict):
        raise ValueError(f"its {what} is not an object")
    for name in names:
        if name not in value:
            raise ValueError(f"its {what} has no {name}")
    if strange := sorted(value.keys() - {*names, *more}):
        raise ValueError(f"its {what} has {strange[0]!r:.40}, which is not part of it")
    return value


def kept_whole(value: Any, what: str, min: int = 1) -> int:
    """A whole number that JAX can count to."""
    if type(value) is not int or not min <= value < 2**31:
        raise ValueError(f"its {what} is not a whole number from {min} on")
    return value


def kept_numbers(value: Any, what: str, count: int | None = None) -> tuple[float, ...]:
    """Finite numbers, and so many of them."""
    good = isinstance(value, list) and all(
        type(x) in (int, float) and abs(x) < 1e300 and math.isfinite(x) for x in value
    )
    if not good or count not in (None, len(value)):
        raise ValueError(f"its {what} is not a list of {'' if count is None else count} numbers")
    return tuple(value)


def kept_texts(value: Any, what: str) -> tuple[str, ...]:
    """Different texts, at least one."""
    good = isinstance(value, list) and value and all(isinstance(x, str) for x in value)
    if not good or len(set(value)) != len(value):
        raise ValueError(f"its {what} is not a list of different texts")
    return tuple(value)
