"""A small generated language with tags, so that the task `tag` can be tried without a file.

Many words are made up of syllables, and some stems are both nouns and verbs. So a tagger has to use
the context of a word, and for words that it has never seen their endings:

    the/DET silent/ADJ moran/NOUN morans/VERB to/ADP Belud/PROPN ./PUNCT
"""

import numpy as np

from .tagged import Tagged

VOWELS, CONSONANTS = "aeiou", "bdfgklmnprstvz"
STEMS = 1500
WORDS = {
    "DET": ["the", "a", "this", "every", "no"],
    "PRON": ["it", "she", "they", "who", "this"],
    "ADP": ["to", "in", "with", "of", "over"],
    "AUX": ["is", "was", "will", "has"],
    "CCONJ": ["and", "or", "but"],
    "PART": ["to", "not"],
    "PUNCT": [".", "!", "?"],
}


def toy_sentences(count: int, rng: np.random.Generator) -> list[Tagged]:
    """Generate sentences, each a list of words and a list of their tags.

    Example:
        >>> from ostinato.tasks.toy_language import toy_sentences
        >>> words, tags = toy_sentences(1, np.random.default_rng(0))[0]
        >>> len(words) == len(tags), tags[-1]
        (True, 'PUNCT')
    """
    stems = ["".join(_syllable(rng) for _ in range(rng.integers(1, 4))) for _ in range(STEMS)]
    return [_sentence(rng, stems) for _ in range(count)]


def _syllable(rng: np.random.Generator) -> str:
    return "".join(
        str(rng.choice(some)) for some in ([*CONSONANTS], [*VOWELS], ["", "n", "r", "l"])
    )


def _sentence(rng: np.random.Generator, stems: list[str]) -> Tagged:
    words: list[str] = []
    tags: list[str] = []

    def say(tag: str, word: str | None = None) -> None:
        words.append(word or str(rng.choice(WORDS[tag])))
        tags.append(tag)

    def stem() -> str:
        return stems[min(int(rng.pareto(0.7) * 5), STEMS - 1)]

    def phrase() -> None:
        kind = rng.random()
        if kind < 0.2:
            say("PRON")
        elif kind < 0.35:
            say("PROPN", stem().capitalize())
        else:
            say("DET")
            for _ in range(rng.integers(0, 3)):
                say("ADJ", stem() + str(rng.choice(["ish", "ous", "al"])))
            say("NOUN", stem() + str(rng.choice(["", "", "s", "er"])))

    def clause() -> None:
        phrase()
        if rng.random() < 0.3:
            say("AUX")
            say("VERB", stem() + "ing")
        else:
            say("VERB", stem() + str(rng.choice(["s", "ed"])))
        if rng.random() < 0.3:
            say("ADV", stem() + "ly")
        kind = rng.random()
        if kind < 0.2:
            say("PART", "to")
            say("VERB", stem())
        elif kind < 0.6:
            say("ADP")
            phrase()
        elif kind < 0.9:
            phrase()

    clause()
    while rng.random() < 0.25:
        say("CCONJ")
        clause()
    say("PUNCT")
    return words, tags
