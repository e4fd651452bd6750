"""Reservoirs: recurrent networks of fixed random weights, of which only the readout is fitted."""

from typing import TYPE_CHECKING

from .._lazy import Members, attach

if TYPE_CHECKING:
    from .expansion import MLP as MLP
    from .expansion import Expansion as Expansion
    from .feedback import OutputFeedback as OutputFeedback
    from .parameter_search import search as search
    from .reservoir import Liquid as Liquid
    from .reservoir import Reservoir as Reservoir
    from .ridge import Ridge as Ridge
    from .rls import RecursiveLeastSquares as RecursiveLeastSquares

__getattr__, __dir__, __all__ = attach(__name__, "READOUT_LEARNERS", "RESERVOIRS")

# The cells and learners by their names on the command line.
RESERVOIRS = Members(
    __name__,
    {
        "reservoir": "reservoir:Reservoir",
        "liquid": "reservoir:Liquid",
    },
)
READOUT_LEARNERS = Members(
    __name__,
    {
        "ridge": "ridge:Ridge",
        "rls": "rls:RecursiveLeastSquares",
    },
)
