"""Packages whose names are imported when they are first used (PEP 562).

JAX takes a second to import. The command line must be able to say what is wrong with an option, or
to end at Ctrl-C, before that.
"""

import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def attach(
    package: str, modules: Iterable[str], names: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package.

    Args:
        package: its `__name__`.
        modules: its modules that are public, by name.
        names: other public names, each with the module that it is imported from.

    Example:
        >>> __getattr__, __dir__, __all__ = attach(__name__, ["cells"], {"Cell": "cells"})
    """
    modules = list(modules)
    public = sorted([*modules, *names])

    def get(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{package}.{names[name]}"), name)
        setattr(importlib.import_module(package), name, found)
        return found

    return get, lambda: public, public
