"""Which part of the data an example belongs to: `"train"`, `"valid"` or `"test"`.

divided              the parts follow one another
divided_at_random    the parts are drawn, each of an exact size
part_at              each example is drawn by itself, or has a number of its own such as a hash

The part of a generated example is a hash of the example itself (`part_of`), so the same example is
never in two parts, however often and with whatever seed it is drawn.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import numpy as np

from ..errors import BadInput
from ..settings import as_words, shown

PARTS = ("train", "valid", "test")
SPLIT = (0.8, 0.1, 0.1)
MAX_TRIES = 10_000
T = TypeVar("T")
Split = tuple[float, float, float]  # of training, validation and test


class Parts(Mapping[str, T], Generic[T]):
    """The parts of some data by name, each made when it is first asked for.

    Example:
        >>> parts = Parts(str.upper)
        >>> parts["train"], [*parts]
        ('TRAIN', ['train', 'valid', 'test'])
    """

    def __init__(self, make: Callable[[str], T]):
        self._make, self._made = make, dict[str, T]()

    def __getitem__(self, part: str) -> T:
        if part not in PARTS:
            raise KeyError(part)
        if part not in self._made:
            self._made[part] = self._make(part)
        return self._made[part]

    def __iter__(self) -> Iterator[str]:
        return iter(PARTS)

    def __len__(self) -> int:
        return len(PARTS)


def shares(split: Any) -> Any:
    """The shares of one for training, validation and test, from a text; else what is given.

    Example:
        >>> shares("90/5/5")
        (0.9, 0.05, 0.05)
    """
    if not isinstance(split, str):
        return split
    try:
        given = [float(x) for x in split.split("/")]
    except ValueError:
        given = []
    if len(given) != 3:
        whole = len(given) == 2 and sum(given) == 100
        advice = f"; for training and validation alone give {split}/0" if whole else ""
        raise BadInput(f"split must read like 90/5/5, got {as_words(split)}{advice}")
    train, valid, test = given
    return _in_shares((train, valid, test), 100, split)


def in_percent(split: Split) -> str:
    """Three shares of one as the text of a setting.

    Example:
        >>> in_percent((0.9, 0.05, 0.05))
        '90/5/5'
    """
    return "/".join(f"{100 * share:.12g}" for share in checked_shares(split))


def checked_shares(split: Split) -> Split:
    """Three shares from 0 to 1 that add up to 1, the first of them positive."""
    try:
        train, valid, test = map(float, split)
    except (TypeError, ValueError):
        raise BadInput(f"split must be three shares, got {shown(split)}") from None
    return _in_shares((train, valid, test), 1, split)


def _in_shares(parts: Split, whole: int, split: Any) -> Split:
    """The parts as shares of one; they add up to `whole`, and the first is positive."""
    if not all(0 <= part <= whole for part in parts):
        raise BadInput(f"the parts of split must be from 0 to {whole}, got {split}")
    if abs(sum(parts) - whole) > 1e-9 * whole:
        raise BadInput(f"the parts of split must add up to {whole}, got {split}")
    if parts[0] == 0:
        raise BadInput(f"the first part of split, for training, is 0, got {split}")
    train, valid, test = (part / whole for part in parts)
    return train, valid, test


def checked_parts(parts: Any, what: str) -> None:
    """Refuse what is not a dictionary of parts, each with two sides that are equally long."""
    try:
        good = "train" in parts and all(len(a) == len(b) for a, b in parts.values())
    except (AttributeError, TypeError, ValueError):
        good = False
    if not good:
        raise BadInput(
            f"{what} must be a dictionary of train, valid and test, each with two sides that are "
            f"equally long; got {shown(parts)}"
        )


def divided(count: int, split: Split, what: str | None = None) -> dict[str, slice]:
    """`count` things in a row, divided into parts.

    Args:
        count: how many things there are.
        split: the shares of training, validation and test.
        what: what the things are, in words: a part with a share then has at least one, and a
            BadInput says so if there are too few. Without it the ends of the parts are rounded.

    Example:
        >>> divided(20, (0.9, 0.05, 0.05), "sequences")["valid"]
        slice(18, 19, None)
    """
    train, valid, test = checked_shares(split)
    if what is None:
        first, second = round(train * count), round((train + valid) * count)
        cuts = slice(0, first), slice(first, second), slice(second, count)
        return dict(zip(PARTS, cuts, strict=True))
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


def divided_at_random(
    count: int, split: Split, what: str, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """`count` things divided into parts at random: the numbers of each part, in order.

    Example:
        >>> divided_at_random(10, (0.8, 0.1, 0.1), "texts", np.random.default_rng(0))["valid"]
        array([8])
    """
    order = rng.permutation(count)
    return {part: np.sort(order[some]) for part, some in divided(count, split, what).items()}


def part_at(draw: float, split: Split) -> str:
    """The part of an example to which a number from 0 to 1, 1 excluded, was given.

    Example:
        >>> [part_at(draw, (0.8, 0.1, 0.1)) for draw in (0.05, 0.15, 0.25)]
        ['valid', 'test', 'train']
    """
    _, valid, test = split
    return "valid" if draw < valid else "test" if draw < valid + test else "train"


def check_part(part: str) -> None:
    """Refuse what is none of `PARTS`."""
    if part not in PARTS:
        raise BadInput(f"the part must be one of {', '.join(PARTS)}; got {shown(part)}")


def part_of(example: str) -> str:
    """`"train"` for eight examples in ten, `"valid"` and `"test"` for one each.

    Example:
        >>> [part_of(str(n)) for n in range(5)]
        ['train', 'valid', 'valid', 'test', 'train']
    """
    digest = hashlib.blake2b(example.encode(), digest_size=8).digest()
    return part_at(int.from_bytes(digest, "big") % 10 / 10, SPLIT)


def draw_in(
    part: str, draw: Callable[[], T], belongs: Callable[[T], str] = lambda x: part_of(str(x))
) -> T:
    """Call `draw` until its result lies in the part.

    Args:
        part: `"train"`, `"valid"` or `"test"`.
        draw: returns a random example.
        belongs: the part that an example belongs to.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> part_of(str(draw_in("test", lambda: int(rng.integers(1000)))))
        'test'
    """
    check_part(part)
    for _ in range(MAX_TRIES):
        example = draw()
        if belongs(example) == part:
            return example
    raise too_few(part)


def too_few(part: str) -> BadInput:
    """The error of a part without examples."""
    return BadInput(f"there are too few different examples: none of them is in the part {part}")
