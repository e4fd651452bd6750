"""Runs: configuration, the training loop, the run folder and evaluation."""

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from ..tasks.applying import Classified as Classified
    from .analysis.answers import Run as Run
    from .analysis.answers import open_run as open_run
    from .analysis.evaluation import dynamic_evaluate as dynamic_evaluate
    from .analysis.evaluation import evaluate as evaluate
    from .analysis.evaluation import evaluate_network as evaluate_network
    from .analysis.examination import examine as examine
    from .analysis.forecasts import backtest_run as backtest_run
    from .analysis.forecasts import forecast_scores as forecast_scores
    from .analysis.inside import Inside as Inside
    from .analysis.inside import look_inside as look_inside
    from .analysis.playing import play_run as play_run
    from .analysis.playing import sample as sample
    from .config import Config as Config
    from .config.permission import allow as allow
    from .folder import RunFolder as RunFolder
    from .folder import Saved as Saved
    from .loop.divergence import Diverged as Diverged
    from .loop.joining_processes import join_processes as join_processes
    from .loop.start import train as train
    from .loop.step import compiled_step as compiled_step
    from .many.many import train_many as train_many
    from .streaming import NextSymbol as NextSymbol
    from .streaming import Stream as Stream

__getattr__, __dir__, __all__ = attach(__name__)
