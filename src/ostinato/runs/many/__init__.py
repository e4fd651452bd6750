"""Many runs at once, and what they share."""

from typing import TYPE_CHECKING

from ..._lazy import attach

if TYPE_CHECKING:
    from .begun import check_settings as check_settings
    from .begun import check_unchanged as check_unchanged
    from .begun import is_over as is_over
    from .cluster import connected as connected
    from .many import side_by_side as side_by_side
    from .many import train_many as train_many

__getattr__, __dir__, __all__ = attach(__name__)
