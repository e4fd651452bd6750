"""Search for cells: expression graphs that mutate, compete on tasks and are written out as code."""

from .ancestry import Entry as Entry
from .ancestry import best_of as best_of
from .ancestry import line_of as line_of
from .ancestry import read_ancestry as read_ancestry
from .cell import KNOWN as KNOWN
from .cell import GraphCell as GraphCell
from .graph import Graph as Graph
from .graph import Node as Node
from .graph import equations as equations
from .graph import memory_kind as memory_kind
from .search import Plan as Plan
from .search import evolve as evolve
from .source import source_of as source_of
from .traced import graph_of as graph_of
from .trial import Budget as Budget
from .trial import Problem as Problem
