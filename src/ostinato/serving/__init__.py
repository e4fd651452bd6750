"""A trained network over HTTP, for many clients at once: `ostinato serve`."""

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from .requests import Limits as Limits
    from .server import serve as serve

__getattr__, __dir__, __all__ = attach(__name__)
