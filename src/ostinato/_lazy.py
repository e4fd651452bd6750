"""Names that are imported when they are first used (PEP 562).

JAX takes a second to import. The command line must be able to give help, to say what is wrong with
an option, or to end at Ctrl-C, before that; and a run of one task needs none of the others.
"""

import dis
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any


def attach(
    package: str, *here: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package or module.

    Its public names are those `here`, which it defines itself, and those that it imports for type
    checkers alone:

        if TYPE_CHECKING:
            from . import cells as cells
            from .weights import count_parameters as count_parameters
        __getattr__, __dir__, __all__ = attach(__name__)
    """
    names = _declared(package)
    public = sorted([*names, *here])

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        where, module = sys.modules[package].__package__, names[name]
        if module is None:
            value = importlib.import_module(f".{name}", where)
        else:  # as `from package.module import name` does it
            source = importlib.util.resolve_name(module, where)
            value = getattr(__import__(source, fromlist=[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: public, public


def _declared(package: str) -> dict[str, str | None]:
    """Each name with the module that it comes from; `None` for a module.

    They are read off the compiled module, which is there even where its source is not. What follows
    `if TYPE_CHECKING` is skipped by a jump over it, and within, an import statement is the level of
    its dots and then, for each name, IMPORT_NAME module, IMPORT_FROM name, STORE_NAME name.
    """
    loader: Any = sys.modules[package].__spec__.loader  # type: ignore[union-attr]
    steps = iter(dis.get_instructions(loader.get_code(package)))
    declared: dict[str, str | None] = {}
    level, source, end = 0, "", None
    for step in steps:
        if step.opname == "LOAD_NAME" and step.argval == "TYPE_CHECKING":
            end = next(step.argval for step in steps if "JUMP" in step.opname)
        elif end is None:
            continue
        elif step.offset >= end:
            break
        elif step.opname.startswith("LOAD_") and isinstance(step.argval, int):
            level = step.argval
        elif step.opname == "IMPORT_NAME":
            source = step.argval
        elif step.opname == "STORE_NAME" and level:
            declared[step.argval] = "." * level + source if source else None
    return declared


class Members(Mapping[str, Any]):
    """Classes by name, each imported when it is first asked for.

    Example:
        >>> cells = Members("ostinato.cells", {"gru": "gru:GRU", "lstm": "lstm:LSTM"})
        >>> list(cells), cells["gru"].__name__
        (['gru', 'lstm'], 'GRU')
    """

    def __init__(self, package: str, classes: Mapping[str, str]):
        """`classes` has, by name, `module:Class` within the package."""
        self._classes = {name: f"{package}.{where}" for name, where in classes.items()}

    def __getitem__(self, name: str) -> Any:
        module, attribute = self.where(name)
        return getattr(importlib.import_module(module), attribute)

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)

    def __contains__(self, name: object) -> bool:
        return name in self._classes

    def __or__(self, other: "Members") -> "Members":
        both = Members("", {})
        both._classes = {**self._classes, **other._classes}
        return both

    def where(self, name: str) -> tuple[str, str]:
        """The names of a class's module and of the class, which is not imported for this."""
        module, _, attribute = self._classes[name].partition(":")
        return module, attribute
