"""Metrics: what is reported of a network. `Metric` is the contract, `StepMean` a mean over steps.

Example:
    >>> ostinato.metrics.perplexity(bits=3.0)
    8.0
"""

from typing import TYPE_CHECKING

from ._lazy import attach

if TYPE_CHECKING:
    from .tasks.bit_vectors import BitsPerSequence as BitsPerSequence
    from .tasks.bit_vectors import WrongBits as WrongBits
    from .tasks.edit_distance import LabelErrorRate as LabelErrorRate
    from .tasks.metrics import F1 as F1
    from .tasks.metrics import Accuracy as Accuracy
    from .tasks.metrics import Bits as Bits
    from .tasks.metrics import ExactMatch as ExactMatch
    from .tasks.metrics import MeanSquaredError as MeanSquaredError
    from .tasks.metrics import Metric as Metric
    from .tasks.metrics import NatsPerStep as NatsPerStep
    from .tasks.metrics import Perplexity as Perplexity
    from .tasks.metrics import StepMean as StepMean
    from .tasks.metrics import perplexity as perplexity
    from .tasks.quantiles import Coverage as Coverage
    from .tasks.quantiles import MedianError as MedianError
    from .tasks.quantiles import PinballInUnits as PinballInUnits
    from .tasks.regression import AbsoluteError as AbsoluteError
    from .tasks.regression import ErrorInUnits as ErrorInUnits
    from .tasks.regression import NormalisedError as NormalisedError
    from .tasks.regression import RSquared as RSquared

__getattr__, __dir__, __all__ = attach(__name__)
