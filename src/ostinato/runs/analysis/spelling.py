"""The words of generated texts that the training text does not have: the word fail rate."""

import re
from collections.abc import Collection
from typing import Any

import jax
import numpy as np

from ...cells import Model
from ...data import Vocabulary
from ...decoding import sample
from ...decoding.text import opening
from ...errors import BadInput
from ...progress import Report, each, silent
from ...tasks import Task, TextTask

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def words_of(text: str) -> list[str]:
    """The words of a text in lower case: letters, and apostrophes between letters.

    Example:
        >>> words_of("Don’t say 'tis 42 o'clock.")
        ["don't", 'say', 'tis', "o'clock"]
    """
    return _WORD.findall(text.replace("’", "'").lower())


def word_fail_rate(text: str, words: Collection[str]) -> float | None:
    """The fraction of a text's words that are not in `words`; `None` if it has no words.

    Source: Delgado del Cerro (2021), section 5.2.5.

    Example:
        >>> round(word_fail_rate("The cat szat.", {"the", "cat", "sat"}), 2)
        0.33
    """
    said = words_of(text)
    return sum(word not in words for word in said) / len(said) if said else None


def training_words(task: Task) -> set[str]:
    """The words of the training part of a text."""
    text = task.ability(TextTask)
    if text is None:
        raise BadInput(f"the task {task.name} has no text with words")
    return set(words_of(text.vocabulary.decode(text.stream("train"))))


def spelling(
    network: Model,
    vocabulary: Vocabulary,
    known: Collection[str],
    count: int,
    seed: int,
    report: Report = silent,
    *,
    texts: int = 1,
) -> dict[str, Any]:
    """The word fail rate of generated texts of `count` symbols each, and the numbers of words.

    Text n is the one that `ostinato sample` writes with the seed `seed + n`. The last word of each
    is left out, because it may be cut off. With several texts, `text_fail_rates` has the rate of
    each. `report` hears how many symbols there are.

    Source: Delgado del Cerro (2021), section 5.2.5: one text of 100,000 characters, and two of
    1,000, of whose words 3.68 % (LSTM) and 19.04 % (RNN) fail.

    Example:
        >>> sorted(spelling(run.network(), run.vocabulary, {"the"}, 20, seed=0))
        ['generated_words', 'known_words', 'word_fail_rate']
    """
    said, rates = [], []
    for number in range(texts):
        pieces = sample(network, opening(vocabulary), count, key=jax.random.key(seed + number))
        which = "generating text" if texts == 1 else f"generating text {number + 1} of {texts}"
        symbols = np.concatenate([*each(pieces, report, which, count, len)])
        said.append(re.sub(r"(?:[^\W\d_]|['’])+$", "", vocabulary.decode(symbols)))
        rates.append(word_fail_rate(said[-1], known))
    whole = "\n".join(said)
    several = {"text_fail_rates": rates} if texts > 1 else {}
    rate, words = word_fail_rate(whole, known), len(words_of(whole))
    return {"word_fail_rate": rate, "generated_words": words, "known_words": len(known), **several}
