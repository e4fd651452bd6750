"""The run folder: configuration, manifest, log and checkpoints, and who reads them."""

from typing import TYPE_CHECKING

from ..._lazy import attach

if TYPE_CHECKING:
    from .run import RunFolder as RunFolder
    from .run import Saved as Saved
    from .run import is_run as is_run

__getattr__, __dir__, __all__ = attach(__name__)
