"""Many runs at once, and what they share."""

from typing import TYPE_CHECKING

from ..._lazy import attach

if TYPE_CHECKING:
    from .cluster import connected as connected
    from .finished import check_finished as check_finished
    from .finished import check_settings as check_settings
    from .finished import is_over as is_over
    from .many import side_by_side as side_by_side
    from .many import train_many as train_many

__getattr__, __dir__, __all__ = attach(__name__)
