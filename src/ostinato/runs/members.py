"""Tasks, cells and learners by name: built-in ones and your own.

    lstm                    a built-in one
    package.module:Class    a class that Python can import from the current folder
    path/file.py:Class      a class in a file

Your own class is used like a built-in one: its `Settings` become options, and the run folder keeps
its name with the file's absolute path.
"""

import dataclasses
import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from .._lazy import Members
from ..cells import CELLS
from ..errors import BadInput
from ..learning import LEARNERS
from ..names import nearest
from ..reservoir import READOUT_LEARNERS, RESERVOIRS
from ..settings import settings_of, shown
from ..tasks import TASKS

REGISTRIES: dict[str, Members] = {
    "task": TASKS,
    "cell": CELLS | RESERVOIRS,
    "learner": LEARNERS | READOUT_LEARNERS,
}
BASES = Members(
    "ostinato", {"task": "tasks:Task", "cell": "cells:Cell", "learner": "learning:Learner"}
)
HOW = {"task": "seed=seed", "cell": "inputs, units, key=key", "learner": "objective"}


@dataclasses.dataclass(frozen=True)
class Member:
    """A task, cell or learner that a configuration names.

    Attributes:
        name: as in the configuration; for a class in a file, with the absolute path.
        kind: the class.
        settings: an instance of its `Settings`.
    """

    name: str
    kind: Any = dataclasses.field(compare=False, repr=False)
    settings: Any

    def __str__(self) -> str:
        """The name without module or path."""
        return self.name.rpartition(":")[2]


def find(role: str, name: Any) -> tuple[str, Any]:
    """The full name and the class of a task, cell or learner.

    Args:
        role: `"task"`, `"cell"` or `"learner"`.
        name: a built-in one, `module:Class` or `file.py:Class`.

    Example:
        >>> find("cell", "lstm")[1].__name__
        'LSTM'
    """
    if not isinstance(name, str):
        raise BadInput(f"{role} must be of type str, got {shown(name)}")
    if name in REGISTRIES[role]:
        return name, REGISTRIES[role][name]
    where, colon, attribute = name.rpartition(":")
    if not colon:
        if near := nearest(name, REGISTRIES[role]):
            raise BadInput(f"there is no {role} {name!r:.60}; did you mean {near}?")
        known = ", ".join(REGISTRIES[role])
        raise BadInput(
            f"there is no {role} {name!r:.60}; there are {known}, or your own as module:Class or "
            "file.py:Class"
        )
    if not where or not attribute.isidentifier() or "\0" in where:
        raise BadInput(f"a {role} of your own is module:Class or file.py:Class, got {name!r:.80}")
    if where.endswith(".py") or os.sep in where:
        where = os.path.realpath(where)
        module = _from_file(Path(where))
    else:
        module = _imported(where)
    name = f"{where}:{attribute}"
    if not hasattr(module, attribute):
        raise BadInput(f"{where} has no {attribute}{_instead(role, module)}")
    return name, _checked(role, name, getattr(module, attribute))


def _instead(role: str, module: ModuleType) -> str:
    base = BASES[role]
    names = [
        name
        for name, x in vars(module).items()
        if isinstance(x, type) and issubclass(x, base) and x.__module__ == module.__name__
    ]
    return f"; its {role}s are {', '.join(names)}" if names else ""


def _imported(name: str) -> ModuleType:
    """Import a module by name, from the current folder too."""
    if (here := os.getcwd()) not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise BadInput(f"there is no module {name!r:.60} that Python can import") from None
        raise BadInput(f"{name} cannot be imported: {error}") from None
    except (Exception, SystemExit) as error:
        raise BadInput(f"{name} cannot be imported: {_words(error)}") from error


_LOADED: dict[tuple[Path, str], ModuleType] = {}


def _from_file(path: Path) -> ModuleType:
    """The module in a file; reloaded only if the file has changed."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    at = path, hashlib.sha256(source).hexdigest()
    if at in _LOADED:
        return _LOADED[at]
    name = f"own_{path.stem}"
    specification = importlib.util.spec_from_file_location(name, path)
    if specification is None or specification.loader is None:
        raise BadInput(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(specification)
    before, sys.modules[name] = sys.modules.get(name), module
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # so that it can import modules beside it
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise BadInput(f"{path} cannot be imported: {_words(error)}") from error
    _LOADED[at] = module
    return module


def _words(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.msg} (line {error.lineno})"
    return f"{type(error).__name__}: {error}"


def _checked(role: str, name: str, found: Any) -> Any:
    """The class, if a configuration can construct it."""
    base: Any = BASES[role]
    if role == "learner" and not isinstance(found, type) and _may_be_transformation(found):
        from ..learning import learner_of

        return learner_of(found)
    if not isinstance(found, type) or not issubclass(found, base):
        what = "is not a class" if not isinstance(found, type) else f"is not a {role}"
        needed = ", ".join(sorted(base.__abstractmethods__))
        raise BadInput(f"{name} {what}: it must be a subclass of {base.__name__} with {needed}")
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        raise BadInput(f"{name} is not a complete {role}: it lacks {', '.join(missing)}")
    try:
        known = settings_of(found.Settings)  # type: ignore[attr-defined]
    except BadInput as error:
        raise BadInput(f"the settings of {name}: {error}") from None
    except (AttributeError, TypeError) as error:
        raise BadInput(f"the settings of {name} cannot be read: {error}") from None
    _check_call(role, name, found, known)
    return found


def _may_be_transformation(found: Any) -> bool:
    import optax

    return callable(found) or isinstance(found, optax.GradientTransformation)


def _check_call(role: str, name: str, found: Any, known: dict) -> None:
    """Refuse a class whose constructor does not take what a configuration gives it."""
    base: Any = BASES[role]
    if role != "cell" and found.from_settings.__func__ is not base.from_settings.__func__:
        return  # it defines how it is constructed
    positional = {"task": 0, "cell": 2, "learner": 1}[role]
    named = {"task": ["seed"], "cell": ["key"], "learner": []}[role]
    given = dict.fromkeys([*named, *known])
    try:
        inspect.signature(found.__init__).bind(None, *[None] * positional, **given)
    except TypeError as error:
        how = ", ".join([HOW[role], *(f"{setting}=…" for setting in known)])
        raise BadInput(f"{name} must be constructed as {found.__name__}({how}): {error}") from None
