"""The training loop, from the first step to the last checkpoint."""

from typing import TYPE_CHECKING

from ..._lazy import attach

if TYPE_CHECKING:
    from .divergence import Diverged as Diverged
    from .loop import Training as Training
    from .start import train as train

__getattr__, __dir__, __all__ = attach(__name__)
