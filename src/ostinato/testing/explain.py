"""Explains an exception from a user's cell or task in one line: what, where, how to fix it."""

import dataclasses
import importlib.util
import os
import sysconfig
import traceback
from pathlib import Path

from jax import errors

METHODS = ("initial", "inputs", "step")

# By type, most specific first.
BY_TYPE: tuple[tuple[type[Exception], str], ...] = (
    (
        errors.TracerBoolConversionError,
        "a Python `if`, `while`, `and` or `assert` cannot depend on the state, the input or a "
        "parameter: use jnp.where or jax.lax.cond",
    ),
    (
        errors.NonConcreteBooleanIndexError,
        "an array cannot be indexed with a mask that depends on the state, the input or a "
        "parameter: use jnp.where(mask, a, b)",
    ),
    (
        errors.TracerArrayConversionError,
        "NumPy cannot compute with the state, the input or a parameter: use jnp instead of np",
    ),
    (
        errors.ConcretizationTypeError,
        "int(), float(), bool(), .item() and .tolist() cannot be used on the state, the input or a "
        "parameter: keep them arrays and use jnp",
    ),
    (
        errors.TracerIntegerConversionError,
        "a Python index, range or shape cannot depend on the state, the input or a parameter: use "
        "jnp.take or jax.lax.dynamic_slice",
    ),
    (
        errors.UnexpectedTracerError,
        "a value of an earlier call was kept in a global or in an attribute: return it as part of "
        "the state",
    ),
    (
        dataclasses.FrozenInstanceError,
        "a cell cannot change its own attributes: return what changes as part of the state",
    ),
)

# By text in the message.
BY_WORDS = {
    "does not support item assignment": "arrays cannot be changed in place: use x.at[i].set(value)",
    "JAX arrays are immutable": "arrays cannot be changed in place: use x.at[i].set(value)",
    "Reverse-mode differentiation does not work for lax.while_loop": (
        "lax.while_loop, or lax.fori_loop with bounds that are not fixed, has no reverse mode: use "
        "lax.scan, or fixed bounds"
    ),
    "to a custom_vjp function": (
        "a custom_vjp has no forward mode, which unroll needs: use custom_jvp"
    ),
    "Transpose rule (for reverse-mode differentiation)": (
        "a custom_jvp must be linear in the tangents, so that reverse mode can transpose it"
    ),
}


class CellError(Exception):
    """What is wrong with a cell, one line per problem."""


def explain(error: Exception) -> str:
    """One line for an exception; that of a `CellError` is its own message."""
    if isinstance(error, CellError):
        return str(error)
    calls = [f for f in traceback.extract_tb(error.__traceback__) if f.name in METHODS]
    users = _user_frames(error)
    method = next((call.name for call in calls if call in users), calls[0].name if calls else None)
    by_type = (advice for kind, advice in BY_TYPE if isinstance(error, kind))
    by_words = (advice for words, advice in BY_WORDS.items() if words in str(error))
    for advice in (*by_type, *by_words):
        return f"{method or 'step'}{_place(users)}: {advice} ({type(error).__name__})"
    return raised(error, method or "unroll")


def raised(error: Exception, what: str) -> str:
    """One line for an exception without advice: what raised it, its first line, and where."""
    first = (str(error).strip().splitlines() or ["no message"])[0]
    return f"{what} raised {type(error).__name__}: {first}{_place(_user_frames(error))}"


def _user_frames(error: Exception) -> list[traceback.FrameSummary]:
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if not _is_library(frame.filename)]


def _place(users: list[traceback.FrameSummary]) -> str:
    return f" ({_short(users[-1].filename)}:{users[-1].lineno})" if users else ""


def _folder(module: str) -> str:
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    return str(Path(spec.origin).parent) + os.sep


_OURS = _folder(__name__.partition(".")[0])
_LIBRARIES = (*map(_folder, ("jax", "jaxlib", "equinox", "numpy")), _OURS)
_STANDARD = sysconfig.get_path("stdlib") + os.sep


def _is_library(file: str) -> bool:
    """Whether a file belongs to Ostinato, to JAX or its companions, or to Python itself."""
    standard = file.startswith(_STANDARD) and "site-packages" not in file
    return file.startswith((*_LIBRARIES, "<frozen")) or standard


def _short(file: str) -> str:
    """The path relative to the current folder, if the file is inside it."""
    path = os.path.relpath(file) if os.path.isabs(file) else file
    return file if path.startswith("..") else path
