"""The source of a user's classes and functions, as text that changes only when their code does.

`inspect.getsource` finds a class with `ast.parse`, which CPython 3.11 cannot run in two threads at
once (`SystemError: AST constructor recursion depth mismatch`), and runs are created in threads. So
a class is found by its code object instead: `compile` to bytecode is safe in threads.
"""

import contextlib
import inspect
import linecache
import sys
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType

OURS = __name__.split(".")[0]
LIBRARIES = {OURS, "equinox", "jax", "jaxlib", "numpy", "optax", *sys.stdlib_module_names}


def package_of(of: type | Callable) -> str:
    """The top-level package of a class or function."""
    return of.__module__.split(".")[0]


def own_classes(kind: type) -> list[type]:
    """A class and its bases, as far as they are a user's."""
    return [one for one in kind.__mro__ if package_of(one) not in LIBRARIES]


def own_files(kind: type) -> set[str]:
    """The files that a user's class and its bases are from."""
    files = set()
    for one in own_classes(kind):
        with contextlib.suppress(OSError, TypeError):  # typed interactively
            files.add(inspect.getfile(one))
    return files


def own_source(parts: list[type] | list[Callable]) -> str:
    """The source of classes or functions, without comments and blank lines.

    It is empty if one of them has no source: typed interactively, or created by `exec`.
    """
    try:
        texts = [_class_source(x) if isinstance(x, type) else inspect.getsource(x) for x in parts]
    except (OSError, TypeError, SyntaxError):
        return ""
    lines = [line for text in texts for line in textwrap.dedent(text).splitlines()]
    return "\n".join(x.rstrip() for x in lines if x.strip() and not x.strip().startswith("#"))


def _class_source(of: type) -> str:
    """What `inspect.getsource` returns for a class."""
    file = inspect.getsourcefile(of) or inspect.getfile(of)
    linecache.checkcache(file)
    lines = linecache.getlines(file, vars(sys.modules[of.__module__]))
    module = compile("".join(lines), file, "exec", dont_inherit=True)
    # Of several classes of that name, the last one is what the name stands for.
    found = [code for code in _codes(module) if code.co_qualname == of.__qualname__]
    if not found:
        raise OSError(f"{file} has no class {of.__qualname__}")
    # A code object begins at the first decorator.
    return "".join(inspect.getblock(lines[found[-1].co_firstlineno - 1 :]))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all that are defined in it, in the order of the source."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
