"""Runs: configuration, the training loop, the run folder and evaluation."""

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from . import build as build
    from . import config as config
    from . import devices as devices
    from . import divergence as divergence
    from . import evaluation as evaluation
    from . import examination as examination
    from . import fit as fit
    from . import folder as folder
    from . import inside as inside
    from . import playing as playing
    from . import probe as probe
    from . import step as step
    from . import training as training
    from .config import Config as Config
    from .divergence import Diverged as Diverged
    from .evaluation import dynamic_evaluate as dynamic_evaluate
    from .evaluation import evaluate as evaluate
    from .examination import examine as examine
    from .folder import Run as Run
    from .folder import Saved as Saved
    from .folder import open_run as open_run
    from .inside import Inside as Inside
    from .inside import look_inside as look_inside
    from .permission import allow as allow
    from .playing import play_run as play_run
    from .training import train as train

__getattr__, __dir__, __all__ = attach(__name__)
