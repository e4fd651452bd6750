"""Runs: configuration, the training loop, the run folder and evaluation."""

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from .config import Config as Config
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
    from .trouble import Diverged as Diverged
else:
    _MODULES = (
        "build",
        "config",
        "devices",
        "evaluation",
        "examination",
        "fit",
        "folder",
        "inside",
        "looking",
        "permission",
        "playing",
        "step",
        "training",
        "trouble",
    )
    _NAMES = {
        "Config": "config",
        "Diverged": "trouble",
        "Inside": "inside",
        "Run": "folder",
        "allow": "permission",
        "Saved": "folder",
        "dynamic_evaluate": "evaluation",
        "evaluate": "evaluation",
        "examine": "examination",
        "look_inside": "inside",
        "open_run": "folder",
        "play_run": "playing",
        "train": "training",
    }
    __getattr__, __dir__, __all__ = attach(__name__, _MODULES, _NAMES)
