"""Ostinato: recurrent networks written as equations, run fast and differentiated exactly.

A name is imported when it is first used, so `import ostinato` takes no time.

Example:
    >>> config = ostinato.Config(file="book.txt", units=8, length=10, batch=4, steps=4)
    >>> run = ostinato.train(config, "runs/book")
    >>> len(ostinato.sample(run, "The ", 20))
    20
    >>> [*ostinato.evaluate(run, "test")]
    ['bits per character', 'perplexity per character']
"""

from typing import TYPE_CHECKING, Any

from ._lazy import attach

if TYPE_CHECKING:
    from . import cells as cells
    from . import claims as claims
    from . import contrast as contrast
    from . import data as data
    from . import decoding as decoding
    from . import errors as errors
    from . import evolve as evolve
    from . import experiments as experiments
    from . import export as export
    from . import learning as learning
    from . import lens as lens
    from . import losses as losses
    from . import metrics as metrics
    from . import report as report
    from . import reservoir as reservoir
    from . import runs as runs
    from . import serving as serving
    from . import settings as settings
    from . import studio as studio
    from . import symbolic as symbolic
    from . import tasks as tasks
    from . import testing as testing
    from . import through_time as through_time
    from . import weights as weights
    from . import wiring as wiring
    from .cells import Cell as Cell
    from .data import Batch as Batch
    from .runs import Config as Config
    from .runs import Run as Run
    from .runs import evaluate as evaluate
    from .runs import open_run as open_run
    from .runs import sample as sample
    from .runs import train as train
    from .runs import train_many as train_many
    from .through_time.unroll import taps as taps
    from .through_time.unroll import unroll as unroll
    from .weights import count_parameters as count_parameters
    from .weights import load_weights as load_weights
    from .weights import save_weights as save_weights
    from .wiring import Network as Network
    from .wiring import Readout as Readout

    __version__: str

_get, __dir__, __all__ = attach(__name__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("ostinato")
    return _get(name)
