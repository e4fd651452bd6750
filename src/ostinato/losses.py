"""Losses: what a learner minimises. `Loss` is the contract, and `StepLoss` a sum over time steps.

Example:
    >>> float(ostinato.losses.SquaredError()(jnp.zeros_like(batch.targets), batch)) > 0
    True
"""

from typing import TYPE_CHECKING

from ._lazy import attach

if TYPE_CHECKING:
    from .tasks.audio.esr import ErrorToSignal as ErrorToSignal
    from .tasks.ctc import CTC as CTC
    from .tasks.losses import BinaryCrossEntropy as BinaryCrossEntropy
    from .tasks.losses import CrossEntropy as CrossEntropy
    from .tasks.losses import Loss as Loss
    from .tasks.losses import SmoothedCrossEntropy as SmoothedCrossEntropy
    from .tasks.losses import SquaredError as SquaredError
    from .tasks.losses import StepLoss as StepLoss
    from .tasks.series.quantiles import Pinball as Pinball

__getattr__, __dir__, __all__ = attach(__name__)
