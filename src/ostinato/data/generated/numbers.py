"""Numbers in words: English to French or German."""

import numpy as np

from ...errors import BadInput
from .number_words import english, french, german
from .parts import draw_in, part_of

LANGUAGES = {"fr": french, "de": german}
ALWAYS_TRAINED = 100  # the numbers below, in which every simple word occurs
MAX = 10**12 - 1  # larger numbers need no new words but "trillion" and its like


def number_pair(number: int, language: str = "fr") -> tuple[str, str]:
    """A number in English words, and the same number in another language.

    Args:
        number: from 0 to 999,999,999,999.
        language: `"fr"` or `"de"`.

    Example:
        >>> number_pair(1294)
        ('one thousand, two hundred and ninety-four', 'mille deux cent quatre-vingt-quatorze')
        >>> number_pair(21, "de")
        ('twenty-one', 'einundzwanzig')
    """
    if language not in LANGUAGES:
        raise BadInput(f"the language must be one of {', '.join(LANGUAGES)}; got {language!r:.40}")
    if not 0 <= number <= MAX:
        raise BadInput(f"numbers in words go from 0 to {MAX}, got {number}")
    return english(int(number)), LANGUAGES[language](int(number))


def part_of_number(number: int) -> str:
    """The part that a number belongs to: see `part_of`; all numbers below 100 are for training.

    Example:
        >>> [part_of_number(n) for n in (3, 103, 106)]
        ['train', 'valid', 'test']
    """
    return "train" if number < ALWAYS_TRAINED else part_of(str(number))


def draw_numbers(
    rng: np.random.Generator, count: int, most: int = 999_999, part: str = "train"
) -> list[int]:
    """Random numbers from 0 to `most` that belong to a part; see `part_of_number`.

    The number of digits is uniform, and so is the number among those with that many digits: short
    numbers, of which there are few, are as frequent as long ones. A number of one part never occurs
    in another, so a network is tested on numbers that it has never seen.

    Args:
        rng: the source of randomness.
        count: how many numbers.
        most: the largest number.
        part: `"train"`, `"valid"` or `"test"`.

    Example:
        >>> draw_numbers(np.random.default_rng(0), 5)
        [673265, 3428, 13, 0, 83]
    """
    if not 0 <= most <= MAX:
        raise BadInput(f"the largest number must be from 0 to {MAX}, got {most}")
    digits = len(str(most))

    def draw() -> int:
        length = int(rng.integers(1, digits + 1))
        low = 10 ** (length - 1) if length > 1 else 0
        return int(rng.integers(low, min(10**length - 1, most), endpoint=True))

    return [draw_in(part, draw, part_of_number) for _ in range(count)]
