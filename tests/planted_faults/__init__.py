"""Cells with one fault each, and the words that the line of `check_cell` must hold."""

from . import _numbers, _parameters, _purity, _returns, _tracing  # noqa: F401, each lists its own
from ._mine import FAULTS as FAULTS
from ._mine import Mine as Mine
from ._mine import parameter as parameter
