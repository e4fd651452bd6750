"""The report of a run: one self-contained HTML page, and a PNG of every chart."""

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from .run_page import write_report as write_report

__getattr__, __dir__, __all__ = attach(__name__)
