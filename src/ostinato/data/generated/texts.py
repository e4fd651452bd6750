"""Generated texts with labels or tags, so that `classify` and `tag` can be tried without a file.

Reviews:

    the soup was not bad at all                               positive
    the room was lovely , but the staff were hardly polite    negative

A negation turns what follows it, and what comes after *but* decides. So the label depends on the
order of the words, and counting them is not enough.

A small language with tags: many words are made up of syllables, and some stems are both nouns and
verbs. So a tagger has to use the context of a word, and for words that it has never seen their
endings:

    the/DET silent/ADJ moran/NOUN morans/VERB to/ADP Belud/PROPN ./PUNCT
"""

import numpy as np

THINGS = ["soup", "room", "staff", "view", "music", "price", "wine", "film", "plot", "service"]
GOOD = ["good", "lovely", "great", "fine", "polite", "superb", "charming", "fresh", "warm"]
BAD = ["bad", "awful", "dull", "rude", "bland", "dreadful", "stale", "noisy", "cold"]
NEGATIONS = ["not", "hardly", "never", "far from", "anything but"]
DEGREES = ["", "", "very", "rather", "really"]
TAILS = ["", "", "at all", "this time", "as usual", "I think"]
Tagged = tuple[list[str], list[str]]  # words, and as many tags
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


def reviews(count: int, rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """Generate texts and their labels, `positive` or `negative`.

    Example:
        >>> from ostinato.data.generated.texts import reviews
        >>> texts, labels = reviews(100, np.random.default_rng(0))
        >>> len(texts), sorted(set(labels))
        (100, ['negative', 'positive'])
    """
    pairs = [_review(rng) for _ in range(count)]
    return [text for text, _ in pairs], [label for _, label in pairs]


def _review(rng: np.random.Generator) -> tuple[str, str]:
    good = bool(rng.integers(2))
    clauses = [_clause(rng, good) for _ in range(rng.integers(1, 3))]
    text = " and ".join(clauses)
    if rng.random() < 0.5:
        text = f"{_clause(rng, not good)} , but {text}"
    return text, "positive" if good else "negative"


def _clause(rng: np.random.Generator, good: bool) -> str:
    turned = bool(rng.integers(2))
    parts = [
        "the",
        rng.choice(THINGS),
        "was",
        rng.choice(NEGATIONS) if turned else "",
        rng.choice(DEGREES),
        rng.choice(GOOD if good != turned else BAD),
        rng.choice(TAILS),
    ]
    return " ".join(str(part) for part in parts if part)


def toy_sentences(count: int, rng: np.random.Generator) -> list[Tagged]:
    """Generate sentences, each a list of words and a list of their tags.

    Example:
        >>> from ostinato.data.generated.texts import toy_sentences
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
