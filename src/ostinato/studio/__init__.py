"""The studio: a local page over run folders, `ostinato studio [FOLDER]`.

The run folder is the only store. The server needs no JAX: what does, such as the doctor or a form
of all settings, runs in a process of its own (`worker_process`).
"""

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from .server import serve as serve

__getattr__, __dir__, __all__ = attach(__name__)
