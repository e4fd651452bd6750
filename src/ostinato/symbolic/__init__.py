"""Networks that are constructed rather than trained: programs, Hopfield networks."""

from .compiler import ProgramNetwork as ProgramNetwork
from .compiler import compile_program as compile_program
from .examples import load_program as load_program
from .hopfield import Capacity as Capacity
from .hopfield import capacity as capacity
from .hopfield import energy as energy
from .hopfield import recall as recall
from .hopfield import store as store
from .interpreter import State as State
from .interpreter import interpret as interpret
from .language import Instruction as Instruction
from .language import Program as Program
from .language import parse as parse
from .trace import Step as Step
from .trace import network_trace as network_trace
