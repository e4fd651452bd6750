"""Numbers in words, English to French or German, and sums of numbers.

The spelling of cardinal numbers from 0 to 999,999,999,999 is that of the package `num2words`: the
British "and", French hyphens as before 1990. A sum is written as a program that prints it.

Source of the sums: Zaremba and Sutskever (2014), Learning to execute, section 3.2.
"""

import numpy as np

from ...errors import BadInput
from ...settings import shown
from ..splits import MAX_TRIES, draw_in, part_of, too_few

ALWAYS_TRAINED = 100  # the numbers below, in which every simple word occurs
MAX = 10**12 - 1  # larger numbers need no new words but "trillion" and its like
ENGLISH = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
ENGLISH_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
FRENCH = (
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
    "dix-sept dix-huit dix-neuf"
).split()
FRENCH_TENS = (
    "_ _ vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt"
).split()
GERMAN = (
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn "
    "fünfzehn sechzehn siebzehn achtzehn neunzehn"
).split()
GERMAN_TENS = "_ _ zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
MAX_DIGITS = 18  # both numbers and their sum fit into 64 bits


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
    languages = {"fr": french, "de": german}
    if language not in languages:
        raise BadInput(f"the language must be one of {', '.join(languages)}; got {shown(language)}")
    if not 0 <= number <= MAX:
        raise BadInput(f"numbers in words go from 0 to {MAX}, got {number}")
    return english(int(number)), languages[language](int(number))


def part_of_number(number: int) -> str:
    """The part that a number belongs to: see `part_of`; all numbers below 100 are for training.

    Example:
        >>> [part_of_number(n) for n in (3, 103, 106)]
        ['train', 'valid', 'test']
    """
    return "train" if number < ALWAYS_TRAINED else part_of(str(number))


def draw_numbers(
    rng: np.random.Generator, count: int, largest: int = 999_999, part: str = "train"
) -> list[int]:
    """Random numbers from 0 to `largest` that belong to a part; see `part_of_number`.

    The number of digits is uniform, and so is the number among those with that many digits: short
    numbers, of which there are few, are as frequent as long ones. A number of one part never occurs
    in another, so a network is tested on numbers that it has never seen.

    Args:
        rng: the source of randomness.
        count: how many numbers.
        largest: the largest number.
        part: `"train"`, `"valid"` or `"test"`.

    Example:
        >>> draw_numbers(np.random.default_rng(0), 5)
        [673265, 3428, 13, 0, 83]
    """
    if not 0 <= largest <= MAX:
        raise BadInput(f"the largest number must be from 0 to {MAX}, got {largest}")
    digits = len(str(largest))

    def draw() -> int:
        length = int(rng.integers(1, digits + 1))
        low = 10 ** (length - 1) if length > 1 else 0
        return int(rng.integers(low, min(10**length - 1, largest), endpoint=True))

    return [draw_in(part, draw, part_of_number) for _ in range(count)]


def english(number: int) -> str:
    """A number in English.

    Example:
        >>> english(1_000_294), english(2_001)
        ('one million, two hundred and ninety-four', 'two thousand and one')
    """
    for size, name in (10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred"):
        if number >= size:
            count, rest = divmod(number, size)
            words = f"{english(count)} {name}"
            return f"{words}{' and' if rest < 100 else ','} {english(rest)}" if rest else words
    if number < 20:
        return ENGLISH[number]
    tens, ones = divmod(number, 10)
    return f"{ENGLISH_TENS[tens]}-{ENGLISH[ones]}" if ones else ENGLISH_TENS[tens]


def french(number: int) -> str:
    """A number in French.

    Example:
        >>> french(1_294), french(80), french(271)
        ('mille deux cent quatre-vingt-quatorze', 'quatre-vingts', 'deux cent soixante et onze')
    """
    for size, name in (10**9, "milliard"), (10**6, "million"):
        if number >= size:
            count, rest = divmod(number, size)
            words = f"{french(count)} {name}{'s' if count > 1 else ''}"
            return f"{words} {french(rest)}" if rest else words
    # A multiplied vingt or cent has an s at the end of the number and before million or milliard.
    hundreds, rest = divmod(number % 1000, 100)
    plural = rest == 80 or (rest == 0 and hundreds > 1)
    return f"{_french(number)}{'s' if plural else ''}"


def _french(number: int) -> str:
    """A number below a million, without the s of vingts and cents."""
    for size, name in (1000, "mille"), (100, "cent"):
        if number >= size:
            count, rest = divmod(number, size)
            words = f"{_french(count)} {name}" if count > 1 else name
            return f"{words} {_french(rest)}" if rest else words
    if number < 20:
        return FRENCH[number]
    tens, ones = divmod(number, 10)
    if tens in (7, 9):
        ones += 10
    if not ones:
        return FRENCH_TENS[tens]
    joint = " et " if ones in (1, 11) and tens < 8 else "-"
    return f"{FRENCH_TENS[tens]}{joint}{FRENCH[ones]}"


def german(number: int) -> str:
    """A number in German.

    Example:
        >>> german(21), german(1_100), german(2_000_001)
        ('einundzwanzig', 'eintausendeinhundert', 'zwei Millionen eins')
    """
    for size, one, name in (10**9, "Milliarde", "Milliarden"), (10**6, "Million", "Millionen"):
        if number >= size:
            count, rest = divmod(number, size)
            words = f"eine {one}" if count == 1 else f"{german(count)} {name}"
            return f"{words} {german(rest)}" if rest else words
    for size, name in (1000, "tausend"), (100, "hundert"):
        if number >= size:
            count, rest = divmod(number, size)
            words = f"{'ein' if count == 1 else german(count)}{name}"
            return f"{words}{german(rest)}" if rest else words
    if number < 20:
        return GERMAN[number]
    tens, ones = divmod(number, 10)
    before = f"{'ein' if ones == 1 else GERMAN[ones]}und" if ones else ""
    return f"{before}{GERMAN_TENS[tens]}"


def addition_pair(one: int, other: int) -> tuple[str, str]:
    """The program that adds two numbers, and what it prints.

    Example:
        >>> addition_pair(123, 45)
        ('print(123+45)', '168')
    """
    return f"print({one}+{other})", str(one + other)


def draw_many_terms(
    rng: np.random.Generator, digits: np.ndarray, part: str = "train"
) -> np.ndarray:
    """Pairs of random numbers of the part, `(N, 2)`; see `part_of`.

    The order of the two does not change the part.

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
    drawn = np.zeros_like(high)
    left = np.arange(len(digits))
    for _ in range(MAX_TRIES):
        drawn[left] = rng.integers(low[left], high[left])
        terms = np.sort(drawn[left], axis=1).tolist()
        left = left[[part_of(str(pair)) != part for pair in terms]]
        if not len(left):
            return drawn
    raise too_few(part)
