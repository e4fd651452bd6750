"""Checks of a cell's parts: its parameters, the arguments of its methods, `initial`."""

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Cell, Layer
from ..through_time.check import same_structure
from .case import BATCH, Case
from .explain import CellError, explain
from .trees import at, distance, is_float, plain

ARGUMENTS = {"initial": ("batch",), "inputs": ("x",), "step": ("state", "u")}
BATCHES = ((BATCH,), (), (2, 3))


def it_is_a_cell(case: Case) -> None:
    """It is an instance of a subclass of `Cell`, and its methods take the right arguments."""
    cell = case.own
    if isinstance(cell, type):
        raise CellError(
            f"check_cell takes a cell, not its class: build one, {cell.__name__}(...); it needs "
            "the methods initial, inputs and step"
        )
    if isinstance(cell, Layer) and not cell.can_step:
        return
    if not isinstance(cell, Cell):
        raise CellError(
            "it is not a Cell: write class "
            f"{case.name}(ostinato.cells.Cell), with the methods initial, inputs and step"
        )
    for name, arguments in ARGUMENTS.items():
        method = getattr(cell, name)
        expected = f"{name}({', '.join(('self', *arguments))})"
        if not callable(method):
            raise CellError(f"{name} must be a method: write def {expected}, without @property")
        function = inspect.unwrap(method)
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            raise CellError(f"{name} is a generator or async: use return, not yield or await")
        try:
            inspect.signature(method).bind(*arguments)
        except TypeError:
            given = inspect.signature(method)
            raise CellError(
                f"{name} must take {' and '.join(arguments)}: write def {expected}; called on a "
                f"cell, it now takes {given}"
            ) from None


def parameters_can_be_trained(case: Case) -> None:
    """Every parameter is a JAX array of finite numbers, and no static field holds one."""
    for path, value, declared, static in _fields(case.own):
        holds = (type(value).__module__ == "numpy" and "a NumPy array") or "a JAX array"
        if static:
            if isinstance(value, np.ndarray | jax.Array):
                raise CellError(
                    f"the static field {path} holds {holds}, which is never trained: remove "
                    "static=True"
                )
        elif isinstance(value, np.ndarray) and is_float(value):
            raise CellError(
                f"the parameter {path} is a NumPy array, which is never trained: make it a JAX "
                "array with jnp.asarray"
            )
        elif isinstance(value, float | complex | np.generic) and declared:
            raise CellError(
                f"{path} is declared as an array but is the Python number {value}, which is never "
                "trained: make it a JAX array with jnp.asarray, or declare it as a float"
            )
        elif eqx.is_array(value) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
            raise CellError(
                f"{path} is a random key, which cannot be saved with the parameters: keep "
                "jax.random.key_data(key), and in step use jax.random.wrap_key_data"
            )
        elif eqx.is_inexact_array(value) and not np.isfinite(plain(value)).all():
            raise CellError(
                f"the parameter {path} holds NaN or infinity: look at how __init__ makes it"
            )


def _fields(module: Any, path: str = "") -> Iterator[tuple[str, Any, bool, bool]]:
    """Path and value of every leaf of a module, and whether it is declared an array, or static."""
    for field in dataclasses.fields(module):
        value, here = getattr(module, field.name, None), f"{path}.{field.name}"
        kind = field.type if isinstance(field.type, str) else repr(field.type)
        declared = ("Array" in kind or "ndarray" in kind) and "float" not in kind.lower()
        static = bool(field.metadata.get("static", False))
        is_module = lambda x: isinstance(x, eqx.Module)  # noqa: E731
        for inner, leaf in jax.tree_util.tree_leaves_with_path(value, is_leaf=is_module):
            place = here + jax.tree_util.keystr(inner)
            if is_module(leaf):
                yield from _fields(leaf, place)
            else:
                yield place, leaf, declared, static


def initial_gives_a_state(case: Case) -> None:
    """`initial(batch)` returns the same arrays on every call, with the batch axes first."""
    states = {}
    for batch in BATCHES:
        try:
            states[batch] = jax.device_get(case.cell.initial(batch))
        except Exception as error:
            if batch == (BATCH,):
                raise
            raise CellError(
                f"{explain(error)}, for the batch axes {batch}: a batch is any tuple of axes, "
                "write (*batch, units)"
            ) from None
        if states[batch] is None:
            raise CellError("initial returned None: return the state, or () if there is none")
        check_arrays(states[batch], f"initial({batch})", batch)
    again = jax.device_get(case.cell.initial((BATCH,)))
    if not same_structure(states[(BATCH,)], again) or distance(states[(BATCH,)], again) > 0:
        raise CellError(
            "initial is not pure: called twice it gives different states; it must depend on batch "
            "and the parameters alone, so take random numbers from a key in a field"
        )
    for leaf in jax.tree.leaves(again):
        if is_float(leaf) and np.isnan(plain(leaf)).any():
            raise CellError("initial returns NaN: give the state numbers, such as jnp.zeros")
    if not case.noisy:
        for batch in BATCHES:
            first = states[batch]
            for _ in batch:
                first = at(first, -1)
            if distance(first, states[()]) > 1e-12:
                raise CellError(
                    f"initial({batch}) gives a sequence another state than initial(()): the state "
                    "of a sequence must not depend on its place in the batch"
                )


def check_arrays(tree: Any, method: str, leading: tuple[int, ...]) -> None:
    """Refuse leaves that are not arrays, or whose first axes are not `leading`."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        place = f" at {jax.tree_util.keystr(path)}" if path else ""
        if isinstance(leaf, bool | int | float | complex):
            raise CellError(
                f"{method} must return arrays, got the Python number {leaf!r}{place}: write "
                f"jnp.full((*batch, ...), {leaf!r})"
            )
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            raise CellError(
                f"{method} must return arrays, got the {type(leaf).__name__} {leaf!r}{place}: keep "
                "everything but numbers in a static field"
            )
        if leaf.shape[: len(leading)] != leading:
            raise CellError(
                f"{method} must return arrays whose first axes are {leading}, got shape "
                f"{leaf.shape}{place}"
            )
