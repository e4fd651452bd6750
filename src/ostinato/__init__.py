"""Ostinato: recurrent networks written as equations, run fast and differentiated exactly.

A name is imported when it is first used, so `import ostinato` takes no time.
"""

from typing import TYPE_CHECKING, Any

from ._lazy import attach

if TYPE_CHECKING:
    from . import cells as cells
    from . import claims as claims
    from . import contrast as contrast
    from . import data as data
    from . import decoding as decoding
    from . import evolve as evolve
    from . import experiments as experiments
    from . import learning as learning
    from . import lens as lens
    from . import report as report
    from . import reservoir as reservoir
    from . import runs as runs
    from . import studio as studio
    from . import symbolic as symbolic
    from . import tasks as tasks
    from . import testing as testing
    from . import through_time as through_time
    from . import wiring as wiring
    from .cells import Cell as Cell
    from .through_time import taps as taps
    from .through_time import unroll as unroll
    from .weights import count_parameters as count_parameters
    from .weights import load_weights as load_weights
    from .weights import save_weights as save_weights
    from .wiring import Network as Network
    from .wiring import Readout as Readout

    __version__: str
else:
    _MODULES = (
        "cells",
        "claims",
        "contrast",
        "data",
        "decoding",
        "errors",
        "evolve",
        "experiments",
        "files",
        "learning",
        "lens",
        "memory",
        "names",
        "report",
        "reservoir",
        "runs",
        "settings",
        "studio",
        "symbolic",
        "tasks",
        "testing",
        "through_time",
        "weights",
        "wiring",
    )
    _NAMES = {
        "Cell": "cells",
        "Network": "wiring",
        "Readout": "wiring",
        "count_parameters": "weights",
        "load_weights": "weights",
        "save_weights": "weights",
        "taps": "through_time",
        "unroll": "through_time",
    }
    _get, __dir__, __all__ = attach(__name__, _MODULES, _NAMES)

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("ostinato")
        return _get(name)
