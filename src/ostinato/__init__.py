"""Ostinato: recurrent networks written as equations, run fast and differentiated exactly."""

from . import cells as cells
from .cells import Cell as Cell
from .through_time import taps as taps
from .through_time import unroll as unroll
