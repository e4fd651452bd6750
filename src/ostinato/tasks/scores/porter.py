"""The stemmer of Porter (1980), for English words.

A word is `[C](VC)^m[V]`, with C and V runs of consonants and vowels; m is its *measure*. In five
steps the longest suffix that matches is replaced if what stands before it satisfies a condition.

Source: Porter (1980), An algorithm for suffix stripping.
"""

from itertools import pairwise

VOWELS = "aeiou"


def _endings(words: str) -> dict[str, str]:
    """Endings and what takes their place: `ational>ate`."""
    return dict(word.split(">") for word in words.split())


STEP_2 = _endings(
    "ational>ate tional>tion enci>ence anci>ance izer>ize abli>able alli>al entli>ent eli>e "
    "ousli>ous ization>ize ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous "
    "aliti>al iviti>ive biliti>ble"
)
STEP_3 = _endings("icate>ic ative> alize>al iciti>ic ical>ic ful> ness>")
STEP_4 = _endings(
    "al> ance> ence> er> ic> able> ible> ant> ement> ment> ent> ion> ou> ism> ate> iti> ous> ive> "
    "ize>"
)


def stem(word: str) -> str:
    """The stem of an English word in lower case.

    Example:
        >>> [stem(word) for word in ("computer", "computers", "computing", "happy", "sky")]
        ['comput', 'comput', 'comput', 'happi', 'sky']
    """
    if len(word) <= 2 or not word.isalpha() or not word.isascii():
        return word
    word = _endings_of_verbs(_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(_replaced(word, STEP_2), STEP_3)
    return _tidied(_replaced(word, STEP_4, min_measure=2))


def measure(word: str) -> int:
    """How often a vowel is followed by a consonant.

    Example:
        >>> [measure(word) for word in ("tree", "trouble", "troubles")]
        [0, 1, 2]
    """
    kinds = [_is_consonant(word, n) for n in range(len(word))]
    return sum(not one and other for one, other in pairwise(kinds))


def _is_consonant(word: str, n: int) -> bool:
    """Y is a vowel after a consonant."""
    if word[n] == "y":
        return n == 0 or not _is_consonant(word, n - 1)
    return word[n] not in VOWELS


def _has_vowel(word: str) -> bool:
    return not all(_is_consonant(word, n) for n in range(len(word)))


def _double_consonant(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _is_consonant(word, len(word) - 1)


def _short_end(word: str) -> bool:
    """Consonant, vowel, consonant other than w, x and y: the condition *o of the paper."""
    n = len(word)
    if n < 3 or word[-1] in "wxy":
        return False
    return [_is_consonant(word, k) for k in (n - 3, n - 2, n - 1)] == [True, False, True]


def _plural(word: str) -> str:
    """Step 1a: caresses, ponies, caress, cats."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _endings_of_verbs(word: str) -> str:
    """Step 1b: agreed, plastered, motoring."""
    if word.endswith("eed"):
        return word[:-1] if measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix) and _has_vowel(word[: -len(suffix)]):
            word = word[: -len(suffix)]
            break
    else:
        return word
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _double_consonant(word) and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if measure(word) == 1 and _short_end(word) else word


def _replaced(word: str, endings: dict[str, str], min_measure: int = 1) -> str:
    """Steps 2 to 4: the longest suffix is replaced if the measure before it is large enough."""
    suffix = max((x for x in endings if word.endswith(x)), key=len, default="")
    before = word.removesuffix(suffix)
    if not suffix or measure(before) < min_measure or (suffix == "ion" and before[-1] not in "st"):
        return word
    return before + endings[suffix]


def _tidied(word: str) -> str:
    """Step 5: a final e, and one l of two."""
    if word.endswith("e"):
        before = word[:-1]
        if measure(before) > 1 or (measure(before) == 1 and not _short_end(before)):
            word = before
    return word[:-1] if word.endswith("ll") and measure(word) > 1 else word
