"""Reservoirs: recurrent networks of fixed random weights, of which only the readout is fitted."""

from typing import Any

from .expansion import EXPANSIONS as EXPANSIONS
from .expansion import MLP as MLP
from .expansion import Expansion as Expansion
from .feedback import OutputFeedback as OutputFeedback
from .liquid import Liquid as Liquid
from .moments import Moments as Moments
from .moments import fitted as fitted
from .reservoir import Reservoir as Reservoir
from .ridge import Ridge as Ridge
from .rls import RecursiveLeastSquares as RecursiveLeastSquares
from .search import search as search
from .sparse import BlockSparse as BlockSparse

# The cells and learners by their names on the command line.
RESERVOIRS: dict[str, Any] = {"reservoir": Reservoir, "liquid": Liquid}
READOUT_LEARNERS: dict[str, Any] = {"ridge": Ridge, "rls": RecursiveLeastSquares}
