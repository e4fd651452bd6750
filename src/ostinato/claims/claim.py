"""A claim: a statement from the literature, and the computation that decides it."""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import jax

from ..errors import BadInput

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
        _check_verdict(self.verdict)


@dataclasses.dataclass(frozen=True)
class Falsehood:
    """What is planted in a check to show that its verdict can change.

    It alters what is computed (the equation, the matrix, the rule), never how the result is judged.
    Where the statement holds, something false is planted; where the statement is false, its
    correction, which must come out as "holds".

    Attributes:
        planted: what is planted, in words.
        changes: the arguments of the claim's `check` that plant it.
        verdict: what `check` must come to then.
    """

    planted: str
    changes: dict[str, Any]
    verdict: str

    def __post_init__(self) -> None:
        _check_verdict(self.verdict)


@dataclasses.dataclass(frozen=True)
class Claim:
    """A statement, its source, and how to check it.

    Attributes:
        name: a short name, words joined by hyphens.
        text: the statement, as its author means it.
        source: author, year and place; `SOURCES` has the titles of those cited often.
        expected: the known verdict.
        check: computes the finding, in float64. Its arguments all have defaults.
        falsehood: other arguments of `check`, which lead to another verdict.

    Example:
        >>> result = ostinato.claims.CLAIMS["xor-ceiling"].verify()
        >>> print(result.finding.evidence)
        over all 64 sequences of 3 triples the best prediction of every bit from those before it is
        right for 66.7% of them (the task's ceiling is 66.7%).
        >>> result.reproduces
        True
        >>> print(result.claim.falsehood.planted)
        three free bits before each XOR instead of two
        >>> result.claim.plant().finding.verdict
        'false'
    """

    name: str
    text: str
    source: str
    expected: str
    check: Callable[..., Finding]
    falsehood: Falsehood

    def __post_init__(self) -> None:
        _check_verdict(self.expected)
        known, other = self.expected, self.falsehood.verdict
        if other == known or (known == "false" and other != "holds"):
            raise BadInput(
                f"the falsehood of {self.name} must change the verdict, and one of a false "
                f"statement to 'holds'; got {other!r} instead of {known!r}"
            )

    def verify(self) -> "Result":
        """Check the statement, in float64 whatever JAX's default precision."""
        return self._checked(self.expected, {})

    def plant(self) -> "Result":
        """Check the statement with the falsehood planted; its verdict is expected then."""
        return self._checked(self.falsehood.verdict, self.falsehood.changes)

    def _checked(self, expected: str, changes: dict[str, Any]) -> "Result":
        start = time.perf_counter()
        with jax.enable_x64(True):
            finding = self.check(**changes)
        return Result(self, finding, expected, time.perf_counter() - start)


class Theme(dict[str, Claim]):
    """The claims of one file, by name, in the order in which the file has them."""

    def claim(
        self, text: str, source: str, expected: str, falsehood: Falsehood
    ) -> Callable[[Callable[..., Finding]], Callable[..., Finding]]:
        """Add the claim that a function checks; the function's name is the claim's.

        Example:
            >>> theme = ostinato.claims.Theme()
            >>> planted = ostinato.claims.Falsehood("a unit that integrates", {"w": 1.0}, "false")
            >>> @theme.claim("A linear unit with w = 0.5 forgets.", "Example", "holds", planted)
            ... def inputs_fade(w=0.5):
            ...     fades, left = w**100 < 1e-6, {"left": w**100}
            ...     return ostinato.claims.Finding("holds" if fades else "false", "a number.", left)
            >>> theme["inputs-fade"].verify().finding.verdict
            'holds'
        """

        def add(check: Callable[..., Finding]) -> Callable[..., Finding]:
            name = check.__name__.replace("_", "-")
            self[name] = Claim(name, text, source, expected, check, falsehood)
            return check

        return add


@dataclasses.dataclass(frozen=True)
class Result:
    """A claim, its finding, the verdict expected, and the seconds that the check took."""

    claim: Claim
    finding: Finding
    expected: str
    seconds: float

    @property
    def reproduces(self) -> bool:
        """Whether the verdict is the expected one."""
        return self.finding.verdict == self.expected


def _check_verdict(verdict: str) -> None:
    if verdict not in ("holds", "false") and not verdict.startswith("holds when "):
        raise BadInput(f"a verdict must be 'holds', 'false' or 'holds when …', got {verdict!r}")
