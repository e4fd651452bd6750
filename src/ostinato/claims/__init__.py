"""Statements from the literature on recurrent networks, each with a computed verdict.

Each file holds the claims of one theme. `ostinato verify` checks them all; `docs/claims.md` lists
the results. Each claim declares a falsehood that its check refuses, and
`ostinato verify --falsehoods` plants it.

Example:
    >>> for result in verify(["toy-net", "softmax-hessian"]):
    ...     print(result.claim.name, result.finding.verdict, sep=": ")
    toy-net: holds when the unit is linear, or an active ReLU, and |w| ≠ 1
    softmax-hessian: holds
"""

from collections.abc import Iterable

from ..errors import BadInput
from ..names import did_you_mean
from . import (
    activations,
    capacity,
    curvature_products,
    damping,
    forget_gates,
    gauss_newton,
    gradient_bounds,
    gradient_methods,
    jacobian_equations,
    lstm_errors,
    reservoirs,
    stability,
)
from .claim import SOURCES as SOURCES
from .claim import Claim as Claim
from .claim import Falsehood as Falsehood
from .claim import Finding as Finding
from .claim import Result as Result
from .claim import Theme as Theme

THEMES: tuple[Theme, ...] = (
    gradient_bounds.THEME,
    jacobian_equations.THEME,
    activations.THEME,
    stability.THEME,
    reservoirs.THEME,
    forget_gates.THEME,
    lstm_errors.THEME,
    gradient_methods.THEME,
    gauss_newton.THEME,
    curvature_products.THEME,
    damping.THEME,
    capacity.THEME,
)
CLAIMS: dict[str, Claim] = {name: claim for theme in THEMES for name, claim in theme.items()}


def named(names: Iterable[str] | None = None) -> list[Claim]:
    """The claims with these names, or all claims."""
    chosen = list(CLAIMS) if names is None else list(names)
    for name in chosen:
        if name not in CLAIMS:
            hint = did_you_mean(name, CLAIMS, count=3, cutoff=0.4)
            raise BadInput(f"there is no claim {name}; {hint}")
    return [CLAIMS[name] for name in chosen]


def verify(names: Iterable[str] | None = None) -> list[Result]:
    """Check the claims with these names, or all claims, one after the other."""
    return [claim.verify() for claim in named(names)]
