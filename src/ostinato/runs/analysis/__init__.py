"""What is asked of a run: its metrics, its faults, its inside, its samples."""

from typing import TYPE_CHECKING

from ..._lazy import attach

if TYPE_CHECKING:
    from .evaluation import dynamic_evaluate as dynamic_evaluate
    from .evaluation import evaluate as evaluate
    from .examination import examine as examine
    from .inside import Inside as Inside
    from .inside import look_inside as look_inside
    from .playing import play_run as play_run

__getattr__, __dir__, __all__ = attach(__name__)
