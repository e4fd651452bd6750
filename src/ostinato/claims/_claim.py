"""A claim: a statement from the literature, and the computation that decides it."""

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
    """The result of checking a statement.

    Attributes:
        verdict: "holds", "false", or "holds when …" with the condition in words.
        evidence: one sentence with the deciding number.
        numbers: all computed numbers by name.
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
    """A statement, its source, and how to check it.

    Attributes:
        name: a short name, words joined by hyphens.
        text: the statement, as its author means it.
        source: author, year and place; `SOURCES` has the titles of those cited often.
        expected: the known verdict.
        check: computes the finding, in float64. Its arguments all have defaults; tests vary them
            to show that another verdict is possible.

    Example:
        >>> result = ostinato.claims.CLAIMS["xor-ceiling"].verify()
        >>> print(result.finding.evidence)
        over all 64 sequences of 3 triples the best prediction of every bit from those before it is
        right for 66.7% of them (the task's ceiling is 66.7%).
        >>> result.reproduces
        True
    """

    name: str
    text: str
    source: str
    expected: str
    check: Callable[..., Finding]

    def verify(self) -> "Result":
        """Check the statement, in float64 whatever JAX's default precision."""
        start = time.perf_counter()
        with jax.enable_x64(True):
            finding = self.check()
        return Result(self, finding, time.perf_counter() - start)


@dataclasses.dataclass(frozen=True)
class Result:
    """A claim, its finding, and the seconds that the check took."""

    claim: Claim
    finding: Finding
    seconds: float

    @property
    def reproduces(self) -> bool:
        """Whether the verdict is the expected one."""
        return self.finding.verdict == self.claim.expected
