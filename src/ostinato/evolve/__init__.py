"""Search for cells: expression graphs that mutate, compete on tasks and are written out as code."""

from .canonical import canonical as canonical
from .canonical import simplified as simplified
from .cell import GraphCell as GraphCell
from .graph import Graph as Graph
from .graph import Node as Node
from .graph import equations as equations
from .known import KNOWN as KNOWN
from .memory_path import memory_kind as memory_kind
from .mutation import MUTATIONS as MUTATIONS
from .mutation import crossed as crossed
from .mutation import mutated as mutated
