"""Generated reviews, so that the task `classify` can be tried without a file.

    the soup was not bad at all                               positive
    the room was lovely , but the staff were hardly polite    negative

A negation turns what follows it, and what comes after *but* decides. So the label depends on the
order of the words, and counting them is not enough.
"""

import numpy as np

THINGS = ["soup", "room", "staff", "view", "music", "price", "wine", "film", "plot", "service"]
GOOD = ["good", "lovely", "great", "fine", "polite", "superb", "charming", "fresh", "warm"]
BAD = ["bad", "awful", "dull", "rude", "bland", "dreadful", "stale", "noisy", "cold"]
NEGATIONS = ["not", "hardly", "never", "far from", "anything but"]
DEGREES = ["", "", "very", "rather", "really"]
TAILS = ["", "", "at all", "this time", "as usual", "I think"]


def reviews(count: int, rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """Generate texts and their labels, `positive` or `negative`.

    Example:
        >>> from ostinato.tasks.reviews import reviews
        >>> texts, labels = reviews(100, np.random.default_rng(0))
        >>> len(texts), sorted(set(labels))
        (100, ['negative', 'positive'])
    """
    found = [_review(rng) for _ in range(count)]
    return [text for text, _ in found], [label for _, label in found]


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
