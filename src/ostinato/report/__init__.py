"""The report of a run: one self-contained HTML page, and a PNG of every chart."""

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from . import charts as charts
    from . import course as course
    from . import figures as figures
    from . import network_charts as network_charts
    from . import subject as subject
    from . import training_charts as training_charts
    from .write import write_report as write_report

__getattr__, __dir__, __all__ = attach(__name__)
