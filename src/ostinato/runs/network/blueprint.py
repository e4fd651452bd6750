"""A network as JSON, from which it is made again with shapes in place of its arrays.

A network that was given to `train` follows from no configuration. If it consists of the classes
of `cells`, `wiring` and `reservoir`, its run folder holds its blueprint, and the arrays come from a
checkpoint:

    {"module": "ostinato.cells.lstm:LSTM", "fields": {"W": {"array": ["float32", 3, 16]}, …}}

A blueprint names classes only: whoever reads it runs no constructor and no code of a user.
"""

import dataclasses
import importlib
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ... import __name__ as package
from ...cells import Model
from ...errors import BadInput

ROOMS = ("cells", "wiring", "reservoir")
PLAIN = (bool, int, float, str, type(None))
DTYPES = {str(jnp.dtype(x)) for x in (*"?bhilBHILefdFD", jnp.bfloat16)}
LARGEST = 1 << 40  # numbers of an array


class _Foreign(Exception):
    """A part of a network is neither plain nor of our classes."""


def blueprint(network: Model) -> Any:
    """A network as JSON; `None` if a part of it is not of our classes.

    Example:
        >>> from ostinato.cells import Simple
        >>> drawn = blueprint(Simple(3, 4, key=jax.random.key(0)))
        >>> drawn["module"], drawn["fields"]["W"], drawn["fields"]["f"]
        ('ostinato.cells.simple:Simple', {'array': ['float32', 3, 4]}, 'tanh')
    """
    try:
        return _drawn(network)
    except _Foreign:
        return None


def _drawn(part: Any) -> Any:
    kind = type(part)
    if kind in PLAIN:
        return part
    if eqx.is_array(part) and str(part.dtype) in DTYPES:
        return {"array": [str(part.dtype), *part.shape]}
    if kind is list:
        return [_drawn(x) for x in part]
    if kind is tuple:
        return {"tuple": [_drawn(x) for x in part]}
    if kind is dict and all(type(name) is str for name in part):
        return {"dict": {name: _drawn(x) for name, x in part.items()}}
    name = f"{kind.__module__}:{kind.__qualname__}"
    if not _is_ours(kind.__module__) or _module(name) is not kind:
        raise _Foreign
    fields = {field.name: vars(part)[field.name] for field in dataclasses.fields(part)}
    return {"module": name, "fields": {key: _drawn(x) for key, x in fields.items()}}


def from_blueprint(drawn: Any) -> Model:
    """The network of a blueprint, with `jax.ShapeDtypeStruct`s in place of its arrays."""
    try:
        made = _made(drawn)
        if not isinstance(made, Model):
            raise ValueError("it is not of a network")
    except (TypeError, ValueError, LookupError, RecursionError) as error:
        raise BadInput(
            f"the recorded network cannot be made again ({error}); open the run from Python with "
            "the network: open_run(path, network=...)"
        ) from None
    return made


def _made(drawn: Any) -> Any:
    if type(drawn) in PLAIN:
        return drawn
    if type(drawn) is list:
        return [_made(x) for x in drawn]
    match drawn:
        case {"array": [str(dtype), *shape]}:
            return _array(dtype, shape)
        case {"tuple": [*parts]}:
            return tuple(_made(x) for x in parts)
        case {"dict": dict(parts)}:
            return {name: _made(x) for name, x in parts.items()}
        case {"module": str(name), "fields": dict(fields)}:
            return _made_module(_module(name), fields)
    raise ValueError(f"it has {drawn!r:.40}")


def _array(dtype: str, shape: list) -> jax.ShapeDtypeStruct:
    whole = all(type(n) is int and n >= 0 for n in shape)
    if dtype not in DTYPES or not whole or math.prod(shape) > LARGEST:
        raise ValueError(f"it has an array of {dtype!r:.20} and {shape!r:.40}")
    return jax.ShapeDtypeStruct(shape, dtype)


def _made_module(kind: type, fields: dict[str, Any]) -> Any:
    """An instance of a class of modules with these fields, whose constructor is not called."""
    made: Any = object.__new__(kind)
    known = {field.name: field for field in dataclasses.fields(kind)}
    if strange := fields.keys() - known.keys():
        raise ValueError(f"{kind.__name__} has no field {min(strange)!r:.40}")
    for name, field in known.items():
        if name not in fields and field.default is dataclasses.MISSING:
            raise ValueError(f"{kind.__name__} needs the field {name!r:.40}")
        value = _made(fields[name]) if name in fields else field.default
        object.__setattr__(made, name, value)  # a module is frozen
    return made


def _is_ours(module: str) -> bool:
    return any(module == x or module.startswith(f"{x}.") for x in _ROOMS)


def _module(name: str) -> type:
    """The class `module:Class`, which must be a module of our networks."""
    where, _, kind = name.partition(":")
    if not _is_ours(where):
        raise ValueError(f"{name!r:.60} is not a class of Ostinato's networks")
    try:
        found = vars(importlib.import_module(where)).get(kind)
    except ImportError:
        found = None
    if not (isinstance(found, type) and issubclass(found, eqx.Module)):
        raise ValueError(f"this version has no {name!r:.60}")
    return found


_ROOMS = tuple(f"{package}.{room}" for room in ROOMS)
