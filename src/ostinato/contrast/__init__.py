"""Contrast: many runs, compared fairly.

`contrast` brings every combination of cells, wirings, learners and tasks to the same number of
parameters, tunes each with the same number of trials, trains it with several seeds and tests the
differences. `comparison_page` draws any runs on one page.
"""

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from .comparison import comparison_page as comparison_page
    from .run import contrast as contrast
    from .spec import Spec as Spec

__getattr__, __dir__, __all__ = attach(__name__)
