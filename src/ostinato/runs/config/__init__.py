"""The description of a run: its sections, the members that it names, what is refused."""

from typing import TYPE_CHECKING

from ..._lazy import attach

if TYPE_CHECKING:
    from .config import Config as Config

__getattr__, __dir__, __all__ = attach(__name__)
