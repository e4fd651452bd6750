"""Addition of two numbers, written as a program that prints the sum.

Source: Zaremba and Sutskever (2014), Learning to execute, section 3.2.
"""

import numpy as np

from ...errors import BadInput
from .parts import MAX_TRIES, draw_in, part_of, too_few

MAX_DIGITS = 18  # both numbers and their sum fit into 64 bits


def addition_pair(one: int, other: int) -> tuple[str, str]:
    """The program that adds two numbers, and what it prints.

    Example:
        >>> addition_pair(123, 45)
        ('print(123+45)', '168')
    """
    return f"print({one}+{other})", str(one + other)


def draw_terms(
    rng: np.random.Generator, digits: int, part: str = "train", same_length: bool = True
) -> tuple[int, int]:
    """Two random numbers of the part; see `part_of`. The order of the two does not change the part.

    Args:
        rng: the source of randomness.
        digits: of both numbers, or of the longer one at most.
        part: `"train"`, `"valid"` or `"test"`.
        same_length: whether both have exactly so many digits, as in the paper; otherwise each has
            a random number of digits up to that.

    Example:
        >>> draw_terms(np.random.default_rng(0), 9)
        (865561803, 673265518)
    """
    if not 1 <= digits <= MAX_DIGITS:
        raise BadInput(f"the numbers must have 1 to {MAX_DIGITS} digits, got {digits}")

    def one() -> int:
        length = digits if same_length else int(rng.integers(1, digits + 1))
        low = 10 ** (length - 1) if length > 1 else 0
        return int(rng.integers(low, 10**length))

    return draw_in(part, lambda: (one(), one()), lambda pair: part_of(str(sorted(pair))))


def draw_many_terms(
    rng: np.random.Generator, digits: np.ndarray, part: str = "train"
) -> np.ndarray:
    """Pairs of random numbers of the part, `(N, 2)`: `draw_terms` for many pairs at once.

    Args:
        rng: the source of randomness.
        digits: `(N, 2)`, the digits of each number.
        part: `"train"`, `"valid"` or `"test"`.

    Example:
        >>> draw_many_terms(np.random.default_rng(0), np.array([[9, 9], [2, 1]])).tolist()
        [[865561803, 673265518], [56, 2]]
    """
    if digits.min() < 1 or digits.max() > MAX_DIGITS:
        wrong = digits.min() if digits.min() < 1 else digits.max()
        raise BadInput(f"the numbers must have 1 to {MAX_DIGITS} digits, got {wrong}")
    high = 10 ** digits.astype(np.int64)
    low = np.where(digits > 1, high // 10, 0)
    found = np.zeros_like(high)
    left = np.arange(len(digits))
    for _ in range(MAX_TRIES):
        found[left] = rng.integers(low[left], high[left])
        terms = np.sort(found[left], axis=1).tolist()
        left = left[[part_of(str(pair)) != part for pair in terms]]
        if not len(left):
            return found
    raise too_few(part)
