"""Metrics: what is reported of a network. `Metric` is the contract, `StepMean` a mean over steps.

Example:
    >>> ostinato.metrics.perplexity(bits=3.0)
    8.0
"""

from typing import TYPE_CHECKING

from ._lazy import attach

if TYPE_CHECKING:
    from .tasks.audio.esr import ErrorToSignalRatio as ErrorToSignalRatio
    from .tasks.confusion import F1 as F1
    from .tasks.ctc import LabelErrorRate as LabelErrorRate
    from .tasks.metrics import AbsoluteError as AbsoluteError
    from .tasks.metrics import Accuracy as Accuracy
    from .tasks.metrics import Bits as Bits
    from .tasks.metrics import ErrorInUnits as ErrorInUnits
    from .tasks.metrics import ExactMatch as ExactMatch
    from .tasks.metrics import MeanSquaredError as MeanSquaredError
    from .tasks.metrics import Metric as Metric
    from .tasks.metrics import NatsPerStep as NatsPerStep
    from .tasks.metrics import NormalisedError as NormalisedError
    from .tasks.metrics import Perplexity as Perplexity
    from .tasks.metrics import RSquared as RSquared
    from .tasks.metrics import StepMean as StepMean
    from .tasks.metrics import perplexity as perplexity
    from .tasks.series.quantiles import Coverage as Coverage
    from .tasks.series.quantiles import MedianError as MedianError
    from .tasks.series.quantiles import PinballInUnits as PinballInUnits
    from .tasks.turing.bit_vectors import BitsPerSequence as BitsPerSequence
    from .tasks.turing.bit_vectors import WrongBits as WrongBits

__getattr__, __dir__, __all__ = attach(__name__)
