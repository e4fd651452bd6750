"""Ostinato: recurrent networks written as equations, run fast and differentiated exactly."""

from . import cells as cells
from . import learning as learning
from . import runs as runs
from . import tasks as tasks
from . import testing as testing
from . import through_time as through_time
from . import wiring as wiring
from .cells import Cell as Cell
from .through_time import taps as taps
from .through_time import unroll as unroll
from .weights import count_parameters as count_parameters
from .weights import load_weights as load_weights
from .weights import save_weights as save_weights
from .wiring import Network as Network
from .wiring import Readout as Readout
