"""Errors as one line and an exit code.

1    `verify` reached a verdict other than the known one
2    bad input: a file, a setting or an option
3    training diverged, or no validation was finite
128 + n    ended by signal n
"""

import re
from typing import Any

import typer

from ..errors import BadInput
from ..settings import as_words

# typer includes its own click or uses the package click; this is the class it uses.
ClickException = typer.BadParameter.__mro__[2]


def explained(error: BaseException) -> tuple[str, int] | None:
    """The line and the exit code of an error; `None` for a bug."""
    if isinstance(error, BadInput):
        return str(error), 2
    if isinstance(error, ClickException):
        return _of_usage(error), 2
    if isinstance(error, typer.Abort):
        return "aborted", 1
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}", 2
    if isinstance(error, MemoryError):
        return _of_memory(str(error)), 2
    from ..runs.loop.divergence import Diverged  # late, because it imports JAX

    if isinstance(error, Diverged):
        return str(error), 3
    from jax.errors import JaxRuntimeError

    if isinstance(error, JaxRuntimeError) and "RESOURCE_EXHAUSTED" in str(error):
        return _of_memory(str(error).partition("RESOURCE_EXHAUSTED: ")[2]), 2
    return None


def _of_usage(error: BaseException) -> str:
    """`no such option --foo (did you mean --form?); see ostinato train --help`."""
    name = type(error).__name__
    if (words := _of_value(error.__cause__)) is not None:
        error.message = words  # type: ignore[attr-defined]
    if name == "NoArgsIsHelpError":
        return ""  # the help is enough
    words = error.format_message()  # type: ignore[attr-defined]
    if name == "NoSuchOption":
        near = getattr(error, "possibilities", None)  # the nearest comes first
        words = f"no such option {error.option_name}"  # type: ignore[attr-defined]
        words += f" (did you mean {near[0]}?)" if near else ""
    words = (words[:1].lower() + words[1:]).rstrip(".")
    words = re.sub(NO_NUMBER, lambda found: _no_number(found[2], found[1]), words)
    words = re.sub(r"('--[a-z-]+') / '--[^:]+':", r"\1:", words)  # an option's other names
    context = getattr(error, "ctx", None)
    return f"{words}; see {context.command_path if context else 'ostinato'} --help"


# What click says of a value itself, where there is no pydantic.
NO_NUMBER = r"'([^']*)' is not a valid (int|float)(?:eger)?"


def _no_number(kind: str, given: str) -> str:
    what = "a whole number" if kind.startswith("int") else "a number"
    return f"it must be {what}; got {as_words(given)}"


BOUNDS = {"greater_than_equal": ("at least", "ge"), "less_than_equal": ("at most", "le")}


def _of_value(cause: Any) -> str | None:
    """What is wrong with the value of an option, if it is an error of pydantic, as typer has it."""
    if type(cause).__name__ != "ValidationError":
        return None
    found = cause.errors()[0]
    given, kind = found["input"], found["type"]
    if kind.startswith(("int_", "float_")):
        return _no_number(kind, str(given))
    if kind in BOUNDS:
        words, limit = BOUNDS[kind]
        what = f"{words} {found['ctx'][limit]}"
    else:
        return None
    return f"it must be {what}; got {as_words(str(given))}"


def _of_memory(words: str) -> str:
    first = words.strip().splitlines()[0].rstrip(".") if words.strip() else ""
    return f"out of memory{f' ({first})' if first else ''}; try fewer units, steps or sequences"
