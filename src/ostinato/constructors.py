"""The arguments of a member's constructor, checked like its settings and shown in its signature."""

import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

from .errors import BadInput
from .settings import Setting, checked, settings_of, shown

# The types of parameters of a constructor that are checked like settings.
PLAIN = (Any, int, float, str, bool, int | None, float | None, str | None)


def from_arguments(kind: type, given: Mapping[str, Any], ready: Any = None) -> Any:
    """A dataclass of settings from the keyword arguments of a constructor, each of them checked.

    Args:
        kind: the dataclass.
        given: the arguments by name. One that has a `read` may also be what `read` makes.
        ready: an instance of the dataclass, in place of arguments by name.

    Example:
        >>> from ostinato.settings import NoSettings
        >>> from_arguments(NoSettings, {"depth": 2})
        Traceback (most recent call last):
        ostinato.errors.BadInput: there is no setting 'depth'; there are none
    """
    if ready is not None and not given:
        if not dataclasses.is_dataclass(ready) or isinstance(ready, type):
            raise BadInput(
                f"settings must be an instance of {kind.__qualname__}, got {shown(ready)}"
            )
        return ready
    known = {} if ready is not None else _arguments(kind)
    for name in given:
        if name not in known:
            raise BadInput(f"there is no setting {name!r}; there are {', '.join(known) or 'none'}")
    return kind(**{name: _held(known[name], value) for name, value in given.items()})


def _held(setting: Setting, value: Any) -> Any:
    """What settings hold of an argument: one with a `write` is always its text.

    The numbers of the sequences of each part, a mapping, have no text and stay what they are.
    """
    if setting.read is None or type(value) is str:
        return checked(setting, value)
    if setting.write is None or value is None or isinstance(value, Mapping):
        return value
    return checked(setting, setting.write(setting.read(value)))


def check_arguments(
    member: type, constructor: Callable, given: tuple, named: Mapping[str, Any], array: Any = ()
) -> dict[str, Any]:
    """The arguments of a member's constructor by name, checked like its settings.

    Args:
        member: the class, which has `Settings`.
        constructor: its constructor, or the one that it inherits.
        given, named: the arguments. A setting that has a `read` is what `read` makes; a parameter
            whose type is not that of a setting is not looked at, and no default is.
        array: a class whose values are not looked at, because they may be traced.

    Example:
        >>> from ostinato.settings import NoSettings
        >>> class Deep:
        ...     Settings = NoSettings
        ...     def __init__(self, units): ...
        >>> check_arguments(Deep, Deep.__init__, (), {"unit": 3})
        Traceback (most recent call last):
        ostinato.errors.BadInput: Deep: missing a required argument: 'units'
    """
    parameters = inspect.signature(constructor).parameters
    try:
        bound = inspect.signature(constructor).bind(None, *given, **named).arguments
    except TypeError as error:
        raise BadInput(f"{member.__name__}: {error}") from None
    known = settings_of(member.Settings)  # type: ignore[attr-defined]
    for name, value in bound.items():
        one = known.get(name)
        plain = parameters[name].annotation in PLAIN and not isinstance(value, array)
        if one and not one.read and plain and value is not parameters[name].default:
            checked(one, value)
    return bound


def _arguments(kind: type) -> dict[str, Setting]:
    return {name: one for name, one in settings_of(kind).items() if not one.of_file}


def signature(function: Callable, kind: type, common: Callable) -> inspect.Signature:
    """The signature of a constructor, with what it hands on as `**given` written out.

    Args:
        function: the constructor.
        kind: the settings that it takes by name.
        common: the constructor that takes what is handed on, its arguments before the settings.

    Example:
        >>> from ostinato.settings import NoSettings
        >>> def common(self, *, seed=0, **given): ...
        >>> signature(lambda self, xs, **given: None, NoSettings, common)
        <Signature (xs, *, seed=0)>
    """
    parameters = _parameters(function)
    if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD:
        hints, named = typing.get_type_hints(kind), inspect.Parameter.KEYWORD_ONLY
        more = [
            *(x for x in _parameters(common) if x.kind is named),
            *(
                inspect.Parameter(x.name, named, default=x.default, annotation=hints[x.name])
                for x in _arguments(kind).values()
            ),
        ]
        known = {x.name for x in parameters}
        parameters = parameters[:-1] + [x for x in more if x.name not in known]
    return inspect.Signature(parameters)


def _parameters(function: Callable) -> list[inspect.Parameter]:
    """Those of a method, without `self`."""
    return list(inspect.signature(function).parameters.values())[1:]
