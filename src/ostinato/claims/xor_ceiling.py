"""The best possible accuracy on temporal XOR."""

import itertools
from collections import Counter

from ..tasks.synthetic.xor import Xor
from ._claim import Claim, Falsehood, Finding

TRIPLES = 3


def check(free: int = 2) -> Finding:
    """Predict the more frequent next bit after every prefix; `free` bits before each XOR."""
    groups = [(*bits, sum(bits) % 2) for bits in itertools.product((0, 1), repeat=free)]
    sequences = [sum(chosen, ()) for chosen in itertools.product(groups, repeat=TRIPLES)]
    length = (free + 1) * TRIPLES
    right = 0
    for t in range(length):
        follows = Counter((s[:t], s[t]) for s in sequences)
        right += sum(max(follows[begin, 0], follows[begin, 1]) for begin in {b for b, _ in follows})
    best = right / (length * len(sequences))
    task = Xor(length=length).ceiling
    return Finding(
        "holds" if abs(best - 2 / 3) < 1e-12 else "false",
        f"over all {len(sequences)} sequences of {TRIPLES} triples the best prediction of every "
        f"bit from those before it is right for {best:.1%} of them (the task's ceiling is "
        f"{task:.1%}).",
        {"best": best, "ceiling of the task": float(task)},
    )


CLAIM = Claim(
    "xor-ceiling",
    "On temporal XOR a perfect system guesses the first two bits of a triple and knows the third: "
    "66.7 % of all bits.",
    "Lipton et al. (2015), section 3.1, on Elman (1990)",
    "holds",
    check,
    Falsehood("three free bits before each XOR instead of two", {"free": 3}, "false"),
)
