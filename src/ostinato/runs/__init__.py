"""Runs: configuration, the training loop, the run folder and evaluation."""

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from . import build as build
    from . import config as config
    from . import fit as fit
    from . import folder as folder
    from .analysis import evaluation as evaluation
    from .analysis import examination as examination
    from .analysis import inside as inside
    from .analysis import playing as playing
    from .analysis.evaluation import dynamic_evaluate as dynamic_evaluate
    from .analysis.evaluation import evaluate as evaluate
    from .analysis.examination import examine as examine
    from .analysis.inside import Inside as Inside
    from .analysis.inside import look_inside as look_inside
    from .analysis.playing import play_run as play_run
    from .config import Config as Config
    from .config.permission import allow as allow
    from .folder import Run as Run
    from .folder import Saved as Saved
    from .folder import open_run as open_run
    from .loop import devices as devices
    from .loop import divergence as divergence
    from .loop import probe as probe
    from .loop import step as step
    from .loop import training as training
    from .loop.divergence import Diverged as Diverged
    from .loop.training import train as train

__getattr__, __dir__, __all__ = attach(__name__)
