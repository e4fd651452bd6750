"""Shares of the data for training, validation and test."""

from ..errors import BadInput
from ..settings import as_words

PARTS = ("train", "valid", "test")


def shares(split: str) -> tuple[float, float, float]:
    """The shares of one for training, validation and test.

    Example:
        >>> shares("90/5/5")
        (0.9, 0.05, 0.05)
    """
    try:
        parts = [float(x) for x in split.split("/")]
        train, valid, test = (part / 100 for part in parts)
    except ValueError:
        raise BadInput(f"split must read like 90/5/5, got {as_words(split)}") from None
    if not all(0 <= part <= 100 for part in parts):
        raise BadInput(f"the parts of split must be from 0 to 100, got {split}")
    if abs(sum(parts) - 100) > 1e-7:
        raise BadInput(f"the parts of split must add up to 100, got {split}")
    if train == 0:
        raise BadInput(f"the first part of split, for training, is 0, got {split}")
    return train, valid, test


def checked_shares(split: tuple[float, float, float]) -> tuple[float, float, float]:
    """Three shares from 0 to 1 that add up to 1, the first of them positive."""
    try:
        train, valid, test = map(float, split)
    except (TypeError, ValueError):
        raise BadInput(f"split must be three shares, got {split!r:.60}") from None
    if not all(0 <= share <= 1 for share in (train, valid, test)):
        raise BadInput(f"the parts of split must be from 0 to 1, got {split}")
    if abs(train + valid + test - 1) > 1e-9:
        raise BadInput(f"the parts of split must add up to 1, got {split}")
    if train == 0:
        raise BadInput(f"the first part of split, for training, is 0, got {split}")
    return train, valid, test


def divided(count: int, split: tuple[float, float, float], what: str) -> dict[str, slice]:
    """`count` things in a row, divided into parts.

    A part with a share has at least one; a BadInput says so if there are too few.

    Example:
        >>> divided(20, (0.9, 0.05, 0.05), "sequences")["valid"]
        slice(18, 19, None)
    """
    train, valid, test = checked_shares(split)
    wanted = sum(share > 0 for share in (train, valid, test))
    if count < wanted:
        raise BadInput(f"{count} {what} cannot be divided into {wanted} parts (split {split})")
    second = max(round((valid + test) * count), (valid > 0) + (test > 0))
    third = max(round(test * count), int(test > 0))
    third = min(third, second - (valid > 0))
    first = count - second
    return {
        "train": slice(0, first),
        "valid": slice(first, count - third),
        "test": slice(count - third, count),
    }
