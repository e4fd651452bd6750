"""Which part of a generated data set an example belongs to.

The part is a hash of the example itself, so the same example is never in two parts, however often
and with whatever seed it is drawn.
"""

import hashlib
from collections.abc import Callable
from typing import TypeVar

from ...errors import BadInput
from ..splits import PARTS, part_at

SPLIT = (0.8, 0.1, 0.1)
MAX_TRIES = 10_000

T = TypeVar("T")


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
    if part not in PARTS:
        raise BadInput(f"the part must be one of {', '.join(PARTS)}; got {part!r:.40}")
    for _ in range(MAX_TRIES):
        found = draw()
        if belongs(found) == part:
            return found
    raise too_few(part)


def too_few(part: str) -> BadInput:
    """The error of a part without examples."""
    return BadInput(f"there are too few different examples: none of them is in the part {part}")
