"""Descriptions of what a run was made with, so that it is not resumed with anything else.

A description is plain JSON. A module is described by its class and fields, an array by its dtype
and shape, and user code also by a fingerprint of its source:

    {"class": "Network", "cell": {"class": "mine.MyLSTM", "code": "5f2c…", "R": "float32(4, 16)"}}

Classes of Ostinato are described by name only, because they may move within the package.
"""

import dataclasses
import hashlib
import platform
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ...learning import Learner
from ...settings import as_words, shown
from ...tasks import Task
from ..config import Config
from ..network.budget import Units
from .own_source import LIBRARIES, OURS, own_classes, own_source, package_of


def described(part: Any) -> Any:
    """The structure of a network as plain JSON, for `difference`.

    Example:
        >>> from ostinato.cells import Simple
        >>> description = described(Simple(3, 4, key=jax.random.key(0)))
        >>> description["class"], description["W"], description["f"]
        ('Simple', 'float32(3, 4)', 'tanh')
    """
    if eqx.is_array(part) or isinstance(part, np.ndarray | jax.ShapeDtypeStruct):
        return f"{part.dtype}{part.shape}"
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        names = [f.name for f in dataclasses.fields(part) if f.name != "inference"]
        fields = {name: described(getattr(part, name, None)) for name in names}
        return {**_code(type(part)), **fields}
    if isinstance(part, list | tuple):
        return [described(x) for x in part]
    if isinstance(part, dict):
        return {str(name): described(x) for name, x in part.items()}
    if part is None or isinstance(part, bool | int | str):
        return part
    if callable(part) and hasattr(part, "__qualname__"):
        return _code(part)
    return repr(part) if isinstance(part, float) else type(part).__qualname__


def described_learner(learner: Learner) -> Any:
    """The class of a learner; for an optax transformation, everything that determines it."""
    rule = learner.rule
    return _code(type(learner)) if rule is None else described_function(rule)


def described_function(function: Any) -> Any:
    """A function and what it closes over, such as rates and inner functions.

    For optax transformations, which keep their hyperparameters nowhere else.

    Example:
        >>> def times(factor):
        ...     return lambda x: factor * x
        >>> described_function(times(2.0))["factor"]
        '2.0'
    """
    seen: set[int] = set()

    def walk(part: Any) -> Any:
        if isinstance(part, list | tuple):
            return [walk(x) for x in part]
        cells = getattr(part, "__closure__", None)
        if not cells or id(part) in seen:
            return described(part)
        seen.add(id(part))
        description = dict(_code(part))
        for name, cell in zip(part.__code__.co_freevars, cells, strict=True):
            try:
                description[name] = walk(cell.cell_contents)
            except ValueError:  # an empty cell
                continue
        return description

    return walk(function)


def described_task(task: Task) -> dict:
    """The class of a task and a fingerprint of its data."""
    return {**_code(type(task)), "data": task.fingerprint()}


def values_used(config: Config, task: Task, learner: Learner, units: Units | None) -> dict:
    """The values that follow from the budget, the task or the learner instead of a setting."""
    batch = task.batch(0, config.batch_size)
    length, size = batch.steps, batch.sequences
    used: dict[str, Any] = {"batch": size, "length": length, **learner.chosen_values()}
    if units is not None:
        used["units"] = list(units) if isinstance(units, tuple) else units
    return used


def versions() -> dict[str, str]:
    """The versions of everything that may affect a run's results."""
    packages = {name: version(name) for name in (OURS, "jax", "jaxlib", "equinox", "optax")}
    return {**packages, "python": platform.python_version(), "machine": platform.machine()}


@cache
def code_of_package() -> str:
    """A fingerprint of the source files of this package."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()


def difference(recorded: Any, now: Any, where: str = "") -> str | None:
    """The first difference between two descriptions as text, or `None`.

    A field that only one of them has is ignored: a later version may have added it with a default.
    Missing arrays are noticed when the weights are loaded.
    """
    if isinstance(recorded, dict) and isinstance(now, dict) and _same_class(recorded, now):
        for name in (name for name in recorded if name in now):
            if differs := difference(recorded[name], now[name], f"{where}.{name}".lstrip(".")):
                return differs
        return None
    if isinstance(recorded, list) and isinstance(now, list) and len(recorded) == len(now):
        for i, pair in enumerate(zip(recorded, now, strict=True)):
            if differs := difference(*pair, f"{where}[{i}]"):
                return differs
        return None
    if recorded == now:
        return None
    one, other = (x.get("class", x) if isinstance(x, dict) else x for x in (recorded, now))
    if where.endswith("code"):
        return f"the code of {where.removesuffix('code').rstrip('.') or 'its class'} has changed"
    return f"{where or 'it'} was {_words(one)}, and is now {_words(other)}"


def _same_class(one: dict, other: dict) -> bool:
    return one.get("class") == other.get("class")


def _words(value: Any) -> str:
    if isinstance(value, list):
        many = len(value) > 4 or any(isinstance(x, dict | list) for x in value)
        return f"{len(value)} of them" if many else f"[{', '.join(map(_words, value))}]"
    return as_words(value) if isinstance(value, str) else shown(value)


def _code(of: type | Callable) -> dict[str, str]:
    """The name of a class or function, and a fingerprint of its source if it is user code."""
    if package_of(of) == OURS:
        return {"class": of.__qualname__}
    description = {"class": f"{of.__module__}.{of.__qualname__}"}
    if package_of(of) not in LIBRARIES and (source := _source(of)):
        description["code"] = hashlib.sha256(source.encode()).hexdigest()[:16]
    return description


def _source(of: type | Callable) -> str:
    """The source of user code; of a class, with its bases."""
    if isinstance(of, type):
        return own_source(own_classes(of))
    return own_source([of])
