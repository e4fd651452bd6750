"""Tasks, cells and learners by name: built-in ones and your own.

    lstm                    a built-in one
    package.module:Class    a class that Python can import from the current folder
    path/file.py:Class      a class in a file

Your own class is used like a built-in one: its `Settings` become options, and the run folder keeps
its name with the file's absolute path.

A name comes from the user, who types it or writes it into a program or a TOML file, or from a
folder, which may be somebody else's. What a folder names is not run unless it is built in, a class
that this process has imported already, a transformation of optax, or in a file that the user has
allowed (`permission`).
"""

import contextlib
import dataclasses
import hashlib
import importlib
import importlib.machinery
import importlib.util
import inspect
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..._lazy import Members
from ...cells import CELLS
from ...errors import BadInput
from ...learning import LEARNERS
from ...names import class_name, nearest
from ...reservoir import READOUT_LEARNERS, RESERVOIRS
from ...settings import settings_of, shown
from ...tasks import TASKS
from .permission import allowed, code_of, keep

if TYPE_CHECKING:
    from ...learning import Learner, Objective, RunSize

REGISTRIES: dict[str, Members] = {
    "task": TASKS,
    "cell": CELLS | RESERVOIRS,
    "learner": LEARNERS | READOUT_LEARNERS,
}
BASES = Members(
    "ostinato", {"task": "tasks:Task", "cell": "cells:Cell", "learner": "learning:Learner"}
)
LIBRARIES = ("ostinato", "optax")  # what a folder may always name
# What a constructor is given besides its settings: in order, and by name.
GIVEN: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "task": ((), ("seed",)),
    "cell": (("inputs", "units"), ("key",)),
    "learner": (("objective",), ()),
}


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
        return class_name(self.name)

    def setting(self, name: str) -> Any:
        """The value of one of its settings, or `None` if it has no such setting."""
        return getattr(self.settings, name) if name in settings_of(type(self.settings)) else None

    def make_learner(self, objective: "Objective", size: "RunSize") -> "Learner":
        """The learner itself."""
        return self.kind.from_settings(self.name, self.settings, objective, size)


def find(role: str, name: Any, *, named: bool = True) -> tuple[str, Any]:
    """The full name and the class of a task, cell or learner.

    Args:
        role: `"task"`, `"cell"` or `"learner"`.
        name: a built-in one, `module:Class` or `file.py:Class`.
        named: whether the user gave the name; otherwise a folder did, and only what is known or
            allowed is run.

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
        if not named:
            raise BadInput(f"there is no {role} {name!r:.60} in this version of Ostinato")
        if near := nearest(name, REGISTRIES[role]):
            raise BadInput(f"there is no {role} {name!r:.60}; did you mean {near}?")
        known = ", ".join(REGISTRIES[role])
        raise BadInput(
            f"there is no {role} {name!r:.60}; there are {known}, or your own as module:Class or "
            "file.py:Class"
        )
    if not where or not attribute.isidentifier() or "\0" in where or not _can_be_a_path(where):
        raise BadInput(f"a {role} of your own is module:Class or file.py:Class, got {name!a:.80}")
    if _is_file(where):
        where = os.path.realpath(where)
        module = _from_file(Path(where), named)
    elif named:
        module = _imported(where)
    else:
        module = _known(role, where, attribute) or _allowed_module(where)
    name = f"{where}:{attribute}"
    if not hasattr(module, attribute):
        raise BadInput(f"{where} has no {attribute}{_instead(role, module)}")
    return name, _checked(role, name, getattr(module, attribute))


def allow_members(members: Iterable[Member | None]) -> None:
    """Allow the files of members that the user has named, so that their run can be opened later."""
    for member in members:
        if member is None or ":" not in member.name:
            continue
        where = member.name.rpartition(":")[0]
        try:
            if _is_file(where):
                path = Path(where)
                if path in _LATEST:
                    keep(path, _LATEST[path])
            elif where.split(".")[0] not in LIBRARIES and (file := _file_of_module(where)):
                keep(file, code_of(file))
        except BadInput as error:
            warnings.warn(
                f"{error}: commands that open this run will ask you to allow {where}",
                RuntimeWarning,
                stacklevel=2,
            )


def _can_be_a_path(where: str) -> bool:
    try:
        os.fsencode(where)
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can hold
        return False
    return True


def _is_file(where: str) -> bool:
    return where.endswith(".py") or os.sep in where


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
    _look_here()
    try:
        with _own_code(name):
            return importlib.import_module(name)
    except BadInput as error:
        cause = error.__cause__
        missing = cause.name if isinstance(cause, ModuleNotFoundError) else None
        if missing is not None and (name == missing or name.startswith(f"{missing}.")):
            raise BadInput(f"there is no module {name!r:.60} that Python can import") from None
        raise


def _look_here() -> None:
    if (here := os.getcwd()) not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)


def _known(role: str, where: str, attribute: str) -> ModuleType | None:
    """The module of a member that a folder may name without permission, if it is one.

    That is a class that has been imported or is ours, or a function of optax. Any other function
    would be called because a folder says so.
    """
    import optax

    if where.split(".")[0] in LIBRARIES and not where.endswith("__main__"):
        with contextlib.suppress(ImportError):
            importlib.import_module(where)
    module = sys.modules.get(where)
    member = getattr(module, "__dict__", {}).get(attribute)
    if isinstance(member, type):
        return module if issubclass(member, BASES[role]) else None
    library = str(getattr(member, "__module__", "")).split(".")[0] == optax.__name__
    return module if library or isinstance(member, optax.GradientTransformation) else None


def _file_of_module(name: str) -> Path | None:
    """The file with the source of a module, without importing it or the packages it is in."""
    path: list[str] | None = [os.getcwd(), *sys.path]
    spec, parts = None, name.split(".")
    for count in range(1, len(parts) + 1):
        spec = importlib.machinery.PathFinder.find_spec(".".join(parts[:count]), path)
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or [])
    file = None if spec is None else spec.origin
    return Path(os.path.realpath(file)) if file is not None and file.endswith(".py") else None


def _allowed_module(name: str) -> ModuleType:
    """Import a module that a folder names, if its file is allowed."""
    file = _file_of_module(name)
    if file is None:
        raise BadInput(
            f"{name!r:.60} is code of your own that this process has not imported, and there is no "
            "file of that module to allow; import it before you open the folder"
        )
    source = _check_allowed(file)
    if name in sys.modules:
        return sys.modules[name]
    _look_here()
    if "." in name:
        _imported(name.rpartition(".")[0])
    return _executed(name, file, source)


_LOADED: dict[tuple[Path, str], ModuleType] = {}
_LATEST: dict[Path, bytes] = {}  # the source that was loaded last


def _from_file(path: Path, named: bool) -> ModuleType:
    """The module in a file; reloaded only if the file has changed."""
    source = code_of(path)
    at = path, hashlib.sha256(source).hexdigest()
    if at not in _LOADED:
        if not named:
            source = _check_allowed(path, source)
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))  # so that it can import modules beside it
        _LOADED[at] = _executed(f"own_{path.stem}", path, source)
    _LATEST[path] = source
    return _LOADED[at]


def _check_allowed(path: Path, source: bytes | None = None) -> bytes:
    """The source of a file that a folder names; refuse one that is not allowed."""
    source = code_of(path) if source is None else source
    known = allowed(path)
    if known == hashlib.sha256(source).hexdigest():
        return source
    why = "has changed since you allowed it" if known else "you have not allowed"
    raise BadInput(
        f"this would run {path}, which {why}; if you trust what it does: "
        f"ostinato allow {shlex.quote(str(path))}"
    )


def _executed(name: str, path: Path, source: bytes) -> ModuleType:
    """A module made by running this source, whatever a cache beside the file may hold."""
    specification = importlib.util.spec_from_file_location(name, path)
    if specification is None or specification.loader is None:
        raise BadInput(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(specification)
    before, sys.modules[name] = sys.modules.get(name), module
    try:
        with _own_code(str(path)):
            exec(compile(source, str(path), "exec"), module.__dict__)
    except BaseException:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise
    return module


@contextlib.contextmanager
def _own_code(what: str) -> Iterator[None]:
    """A context in which a user's code is run: whatever it raises is one line.

    What it prints goes to standard error, since standard output may have to be one JSON document.
    Ctrl-C in a program of the user's own still interrupts; the command line ends by the signal
    itself, so there a `KeyboardInterrupt` is the code's own.
    """
    process, leave = os.getpid(), os._exit

    def refuse(status: int = 0) -> None:
        if os.getpid() != process:  # a child process, which may leave
            leave(status)
        raise SystemExit(f"it calls os._exit({status!r:.20})")

    os._exit = refuse  # type: ignore[assignment]
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except BaseException as error:
        pressed = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if isinstance(error, KeyboardInterrupt) and pressed:
            raise
        raise BadInput(f"{what} cannot be imported: {_words(error)}") from error
    finally:
        os._exit = leave


def _words(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.msg} (line {error.lineno})"
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _checked(role: str, name: str, kind: Any) -> Any:
    """The class, if a configuration can construct it."""
    base: Any = BASES[role]
    if role == "learner" and not isinstance(kind, type) and _may_be_transformation(kind):
        from ...learning.transformation import learner_of

        return learner_of(kind)
    if not isinstance(kind, type) or not issubclass(kind, base):
        what = "is not a class" if not isinstance(kind, type) else f"is not a {role}"
        needed = ", ".join(sorted(base.__abstractmethods__))
        raise BadInput(f"{name} {what}: it must be a subclass of {base.__name__} with {needed}")
    if missing := sorted(getattr(kind, "__abstractmethods__", ())):
        raise BadInput(f"{name} is not a complete {role}: it lacks {', '.join(missing)}")
    try:
        known = settings_of(kind.Settings)  # type: ignore[attr-defined]
    except BadInput as error:
        raise BadInput(f"the settings of {name}: {error}") from None
    except (AttributeError, TypeError) as error:
        raise BadInput(f"the settings of {name} cannot be read: {error}") from None
    _check_call(role, name, kind, known)
    return kind


def _may_be_transformation(value: Any) -> bool:
    import optax

    return callable(value) or isinstance(value, optax.GradientTransformation)


def _check_call(role: str, name: str, kind: Any, known: dict) -> None:
    """Refuse a class whose constructor does not take what a configuration gives it."""
    base: Any = BASES[role]
    if role != "cell" and kind.from_settings.__func__ is not base.from_settings.__func__:
        return  # it defines how it is constructed
    positional, named = GIVEN[role]
    given = dict.fromkeys([*named, *known])
    try:
        inspect.signature(kind.__init__).bind(None, *positional, **given)
    except TypeError as error:
        settings = [f"{name}={name}" for name in named] + [f"{name}=…" for name in known]
        how = ", ".join([*positional, *settings])
        raise BadInput(f"{name} must be constructed as {kind.__name__}({how}): {error}") from None
