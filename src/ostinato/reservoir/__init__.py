"""Reservoirs: recurrent networks of fixed random weights, of which only the readout is fitted."""

from typing import Any

from .moments import Moments as Moments
from .moments import fitted as fitted
from .reservoir import Reservoir as Reservoir
from .ridge import Ridge as Ridge
from .sparse import BlockSparse as BlockSparse

# The cells and learners by their names on the command line.
RESERVOIRS: dict[str, Any] = {"reservoir": Reservoir}
READOUT_LEARNERS: dict[str, Any] = {"ridge": Ridge}
