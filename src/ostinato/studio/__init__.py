"""The studio: a local page over run folders, `ostinato studio [FOLDER]`.

The run folder is the only store. The server needs no JAX: what does, such as the doctor or a form
of all settings, runs in a process of its own (`work`).
"""

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from .serve import serve as serve
else:
    _MODULES = ("digest", "folder", "thinning")
    _NAMES = {"serve": "serve"}
    __getattr__, __dir__, __all__ = attach(__name__, _MODULES, _NAMES)
