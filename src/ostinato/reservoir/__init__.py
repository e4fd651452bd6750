"""Reservoirs: recurrent networks of fixed random weights, of which only the readout is fitted."""

from .reservoir import Reservoir as Reservoir
from .sparse import BlockSparse as BlockSparse
