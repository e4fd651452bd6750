"""Generating symbols from a network and a prompt: sampling and beam search."""

from .beam import beam as beam
from .labels import most_probable as most_probable
from .prompt import NotFinite as NotFinite
from .sampling import choose as choose
from .sampling import sample as sample
from .text import as_text as as_text
from .text import opening as opening
from .text import until as until
