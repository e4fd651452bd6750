"""The report of a run: one self-contained HTML page, and a PNG of every chart."""

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from .write import write_report as write_report
else:
    _MODULES = ("charts", "course", "figures", "of_log", "of_network", "subject")
    _NAMES = {"write_report": "write"}
    __getattr__, __dir__, __all__ = attach(__name__, _MODULES, _NAMES)
