"""Settings: dataclass fields with a line of help and a check.

Every task, cell and learner keeps its settings as a dataclass beside its code. The command line,
files and Python all read them through this module, so a wrong value has one message wherever it
comes from.

    class GRU(Cell):
        @dataclasses.dataclass(frozen=True)
        class Settings:
            reset: str = setting("before", "where the reset gate acts", among=("before", "after"))

A setting is an `int`, a `float`, a `str`, a `bool` or `tuple[int, ...]`, or `None` for "the usual
value" where its type says so. `int | tuple[int, ...]` is one number, or one per layer. Numbers of
NumPy count as those of Python; text is never taken for a number (`read_numbers` reads it).
"""

import dataclasses
import math
import reprlib
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from .errors import BadInput

__all__ = ["NoSettings", "Setting", "setting"]

MAX = 2**31 - 1  # JAX counts in 32 bits
MAX_FLOAT = 3.4e38  # the largest float32
TYPES: dict[type, tuple[type, ...]] = {
    int: (int,),
    float: (int, float),
    str: (str,),
    bool: (bool,),
    tuple: (int, tuple),
}


@dataclasses.dataclass(frozen=True)
class NoSettings:
    """The settings of what has none."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """One setting of a dataclass.

    Attributes:
        name: of the field.
        type: `int`, `float`, `str`, `bool`, or `tuple` for whole numbers.
        optional: whether it may be `None`.
        default: its usual value.
        help: one line.
        min, max, below, among: what a value must satisfy, each or `None`.
        read: turns a text into what the constructor takes, or `None`. A constructor also takes what
            it makes.
        write: the inverse of `read`, or `None`: whatever form a value is given in, settings hold
            its text.
        of_file: whether it says what is read from files, so that a constructor, which is given the
            data, does not take it.
        number: whether its text may also be given as a number.
    """

    name: str
    type: type
    optional: bool
    default: Any
    help: str = ""
    min: float | None = None
    max: float | None = None
    below: float | None = None
    among: tuple[str, ...] | None = None
    read: Callable[[Any], Any] | None = None
    write: Callable[[Any], str] | None = None
    of_file: bool = False
    number: bool = False


def setting(
    default: Any,
    help: str,
    *,
    min: float | None = None,
    max: float | None = None,
    below: float | None = None,
    among: tuple[str, ...] | None = None,
    read: Callable[[Any], Any] | None = None,
    write: Callable[[Any], str] | None = None,
    of_file: bool = False,
    number: bool = False,
) -> Any:
    """A dataclass field with help and checks; see `Setting`.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class Mine:
        ...     depth: int = setting(3, "how deep it goes", min=1)
        >>> make(Mine, {"depth": 2}).depth
        2
    """
    checks = {"min": min, "max": max, "below": below, "among": among, "read": read, "write": write}
    kind = {"of_file": of_file, "number": number}
    return dataclasses.field(default=default, metadata={"help": help, **checks, **kind})


def settings_of(kind: type) -> dict[str, Setting]:
    """The settings of a dataclass by name.

    Example:
        >>> settings_of(NoSettings)
        {}
    """
    return _settings_of(kind)


@cache
def _settings_of(kind: type) -> dict[str, Setting]:
    if not dataclasses.is_dataclass(kind):
        raise BadInput(f"{kind.__qualname__} must be a dataclass")
    try:
        hints = typing.get_type_hints(kind)
    except NameError as error:
        raise BadInput(f"the types of {kind.__qualname__} cannot be read: {error}") from None
    settings = {}
    for field in dataclasses.fields(kind):
        where = f"{kind.__qualname__}.{field.name}"
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        if default is dataclasses.MISSING:
            raise BadInput(f"{where} must have a default")
        known = {name: x for name, x in field.metadata.items() if name in _CHECKS}
        settings[field.name] = Setting(
            field.name, *_type(hints[field.name], where), default, **known
        )
    return settings


_CHECKS = {field.name for field in dataclasses.fields(Setting)} - {"name", "type", "optional"}


def _type(hint: Any, where: str) -> tuple[type, bool]:
    """The type of a setting, and whether it may be `None`."""
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    parts = set(typing.get_args(hint)) if union else {hint}
    optional = type(None) in parts
    parts -= {type(None)}
    if any(typing.get_origin(part) is tuple for part in parts) and parts <= {int, tuple[int, ...]}:
        return tuple, optional
    if parts == {int, float}:
        return float, optional
    if len(parts) == 1 and (only := parts.pop()) in (int, float, str, bool):
        return only, optional
    raise BadInput(
        f"{where} must be an int, float, str, bool or tuple[int, ...], or None too; its type is "
        f"{getattr(hint, '__name__', hint)}"
    )


def make(kind: type, given: Mapping[str, Any]) -> Any:
    """A dataclass of settings from values by name, each of them checked."""
    known = settings_of(kind)
    return kind(**{name: checked(known[name], value) for name, value in given.items()})


def shared(settings: Any, kind: type) -> dict[str, Any]:
    """Those of the settings that another dataclass of settings has too, by name.

    Example:
        >>> shared(NoSettings(), NoSettings)
        {}
    """
    return {name: getattr(settings, name) for name in settings_of(kind)}


def options(settings: Any) -> dict[str, Any]:
    """The settings as keyword arguments of a constructor; those that are `None` are left out."""
    arguments = {}
    for name, one in settings_of(type(settings)).items():
        value = getattr(settings, name)
        if value is not None:
            arguments[name] = value if one.read is None else one.read(value)
    return arguments


def as_json(settings: Any) -> dict[str, Any]:
    """The settings as plain JSON."""
    values = {name: getattr(settings, name) for name in settings_of(type(settings))}
    return {name: list(x) if isinstance(x, tuple) else x for name, x in values.items()}


def checked(setting: Setting, value: Any) -> Any:
    """The value of a setting, or `BadInput` with what is wrong with it."""
    name, expected = setting.name, setting.type
    if value is None and setting.optional:
        return None
    if expected is tuple:
        return _numbers(setting, value)
    value = _plain(value)
    if setting.number:
        value = as_number_text(value)
    _check_one(setting, value)
    if setting.read is not None:
        try:
            setting.read(value)
        except BadInput as error:
            raise BadInput(str(error) if name in str(error) else f"{name}: {error}") from None
    return value


def checked_int(name: str, value: Any, min: int = 1, max: int | None = None) -> int:
    """A whole number that is an argument of a function, checked like a setting.

    Example:
        >>> checked_int("top_k", 1.5)
        Traceback (most recent call last):
        ostinato.errors.BadInput: top_k must be of type int, got 1.5
    """
    return checked(Setting(name, int, False, None, min=min, max=max), value)


def checked_float(
    name: str, value: Any, min: float | None = None, max: float | None = None
) -> float:
    """The same for any number; never NaN or infinity."""
    return float(checked(Setting(name, float, False, None, min=min, max=max), value))


def checked_kind(name: str, value: Any, kind: type | tuple[type, ...], what: str) -> Any:
    """An argument that must be of a class, or of one of several; `what` says which one in words.

    Example:
        >>> checked_kind("run", "runs/1", dict, "a run, as open_run returns it")
        Traceback (most recent call last):
        ostinato.errors.BadInput: run must be a run, as open_run returns it; got 'runs/1'
    """
    if not isinstance(value, kind):
        words = shown(value)
        got = words if len(words) <= 60 else f"an object of the class {type(value).__name__}"
        raise BadInput(f"{name} must be {what}; got {got}")
    return value


def read_numbers(text: str) -> int | tuple[int, ...]:
    """One whole number or several from the text of an option.

    Example:
        >>> read_numbers("128"), read_numbers("150,130")
        (128, (150, 130))
    """
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise BadInput(
            f"it must be a whole number, or one per layer like 150,130,110; got {as_words(text)}"
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers


def _plain(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _numbers(setting: Setting, value: Any) -> int | tuple[int, ...]:
    """One whole number, or several: from `128` or `(150, 130)`."""
    parts = [_plain(part) for part in (value if isinstance(value, list | tuple) else [value])]
    if not parts or any(type(part) is not int for part in parts):
        raise BadInput(
            f"{setting.name} must be a whole number, or one per layer like [150, 130]; "
            f"got {shown(value)}"
        )
    for part in parts:
        _check_one(dataclasses.replace(setting, type=int), part)
    return parts[0] if len(parts) == 1 else tuple(parts)


def _check_one(setting: Setting, value: Any) -> None:
    name, expected, largest = setting.name, setting.type, setting.max
    right = isinstance(value, TYPES[expected]) and isinstance(value, bool) == (expected is bool)
    if not right:
        raise BadInput(f"{name} must be of type {expected.__name__}, got {shown(value)}")
    if expected is float and not abs(value) <= MAX_FLOAT:  # false for NaN
        raise BadInput(f"{name} must be a number that float32 holds, got {shown(value)}")
    if expected is int and largest is None:
        largest = MAX
    if setting.min is not None and value < setting.min:
        raise BadInput(f"{name} must be at least {setting.min}, got {shown(value)}")
    if largest is not None and value > largest:
        raise BadInput(f"{name} must be at most {largest}, got {shown(value)}")
    if setting.below is not None and value >= setting.below:
        raise BadInput(f"{name} must be below {setting.below}, got {shown(value)}")
    if setting.among is not None and value not in setting.among:
        raise BadInput(f"{name} must be one of {', '.join(setting.among)}; got {as_words(value)}")


def as_number_text(value: Any) -> Any:
    """A number as the text that stands for it; anything else as it is.

    Example:
        >>> as_number_text(1.0), as_number_text(0.5), as_number_text("2x")
        ('1', '0.5', '2x')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def as_words(value: str) -> str:
    """A text in a message, quoted only where it cannot be printed."""
    return f"{value:.60}" if value.isprintable() else shown(value)


MAX_SHOWN = 160  # characters: nested values multiply what reprlib keeps of each level


def shown(value: Any) -> str:
    """A value in a message, in one short line; Python refuses to write out the longest numbers.

    Example:
        >>> shown(np.zeros((2, 2)))
        'array([[0., 0.], [0., 0.]])'
    """
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"a number of {int(value.bit_length() * math.log10(2)) + 1} digits"
    text = _SHORT.repr(value)
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60
