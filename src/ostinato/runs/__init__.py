"""Runs: configuration, the training loop, the run folder and evaluation."""

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from .config import Config as Config
    from .divergence import Diverged as Diverged
    from .evaluation import dynamic_evaluate as dynamic_evaluate
    from .evaluation import evaluate as evaluate
    from .evaluation import evaluate_network as evaluate_network
    from .examination import examine as examine
    from .folder import Run as Run
    from .folder import Saved as Saved
    from .folder import open_run as open_run
    from .inside import Inside as Inside
    from .inside import look_inside as look_inside
    from .many import train_many as train_many
    from .permission import allow as allow
    from .playing import play_run as play_run
    from .playing import sample as sample
    from .step import compiled_step as compiled_step
    from .training import train as train

__getattr__, __dir__, __all__ = attach(__name__)
