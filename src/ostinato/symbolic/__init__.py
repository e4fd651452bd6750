"""Networks that are constructed rather than trained: programs, Hopfield networks."""

from .compiler import ProgramNetwork as ProgramNetwork
from .compiler import compile_program as compile_program
from .execution import State as State
from .execution import Step as Step
from .execution import interpret as interpret
from .execution import network_trace as network_trace
from .hopfield import Capacity as Capacity
from .hopfield import capacity as capacity
from .hopfield import energy as energy
from .hopfield import recall as recall
from .hopfield import store as store
from .language import Instruction as Instruction
from .language import Program as Program
from .language import load_program as load_program
from .language import parse as parse
