"""Networks as code for other machines: every target is printed from one traced step."""

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from ..wiring.program import Program as Program
    from ..wiring.program import trace as trace
    from .c import header as header
    from .javascript import function as function
    from .onnx import to_onnx as to_onnx
    from .run_export import export_run as export_run

__getattr__, __dir__, __all__ = attach(__name__)
