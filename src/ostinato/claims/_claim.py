"""What a claim is: a statement from the literature, and the computation that decides it."""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import jax

SOURCES = {
    "Galvan (2015)": "G. Galvan, On recurrent neural networks, August; and its draft of March",
    "Delgado del Cerro (2021)": "Traditional and LSTM recurrent neural networks: a theoretical and "
    "applied comparison",
    "Lipton et al. (2015)": "Z. C. Lipton, J. Berkowitz and C. Elkan, A critical review of "
    "recurrent neural networks for sequence learning",
    "Krause (2015)": "B. Krause, Optimizing and contrasting recurrent neural network architectures",
}


@dataclasses.dataclass(frozen=True)
class Finding:
    """What a computation says about a statement.

    Attributes:
        verdict: "holds", "false", or "holds when …" with the condition in words.
        evidence: one plain sentence with the number that decides it.
        numbers: all the numbers, by name.
        figure: draws the finding on matplotlib axes, or `None`.
    """

    verdict: str
    evidence: str
    numbers: dict[str, float]
    figure: Callable[[Any], None] | None = None

    def __post_init__(self) -> None:
        if self.verdict not in ("holds", "false") and not self.verdict.startswith("holds when "):
            raise ValueError(
                f"a verdict must be 'holds', 'false' or 'holds when …', got {self.verdict!r}"
            )


@dataclasses.dataclass(frozen=True)
class Claim:
    """A statement, where it stands, and how to check it.

    Attributes:
        name: what the statement says in a few words, joined by hyphens.
        text: the statement, as its author means it.
        source: where it stands, by author and year; those in `SOURCES` have their titles there.
        expected: the verdict that is known.
        check: computes the finding, in float64. Its arguments, all with defaults, are what may be
            varied to see that another verdict is possible.

    Example:
        >>> result = ostinato.claims.CLAIMS["xor-ceiling"].verify()
        >>> print(result.finding.evidence)
        over all 64 sequences of 3 triples the best prediction of every bit from those before it is
        right in 66.7% (the task here has 66.7%).
        >>> result.reproduces
        True
    """

    name: str
    text: str
    source: str
    expected: str
    check: Callable[..., Finding]

    def verify(self) -> "Result":
        """Check the statement now, in float64 whatever JAX is set to."""
        start = time.perf_counter()
        with jax.enable_x64(True):
            finding = self.check()
        return Result(self, finding, time.perf_counter() - start)


@dataclasses.dataclass(frozen=True)
class Result:
    """A claim, what was found, and how many seconds that took."""

    claim: Claim
    finding: Finding
    seconds: float

    @property
    def reproduces(self) -> bool:
        """Whether the verdict is the one that is known."""
        return self.finding.verdict == self.claim.expected
