"""A curriculum from short to long sequences."""

from ..errors import BadInput

STAGES = 5


def length_at(step: int, steps: int, first: int, last: int) -> int:
    """The length at a step: five stages in the first half of the run, then the full length.

    The lengths grow geometrically from `first` to `last`. There are only five stages because every
    new length is a new compilation.

    Example:
        >>> [length_at(s, 100, 10, 160) for s in (0, 10, 20, 30, 40, 50)]
        [10, 20, 40, 80, 160, 160]
    """
    if not 1 <= first <= last:
        raise BadInput(f"lengths must rise from 1 or more, got {first} to {last}")
    stage = min(STAGES - 1, 2 * STAGES * step // max(1, steps))
    return round(first * (last / first) ** (stage / (STAGES - 1)))
