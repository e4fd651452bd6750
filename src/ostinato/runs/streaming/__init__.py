"""One row, one character at a time: a trained network that keeps its state between steps."""

from typing import TYPE_CHECKING

from ..._lazy import attach

if TYPE_CHECKING:
    from .codecs import NextSymbol as NextSymbol
    from .stream import Stream as Stream

__getattr__, __dir__, __all__ = attach(__name__)
