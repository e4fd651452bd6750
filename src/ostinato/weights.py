"""The parameters of a module: how many there are, and keeping them in a file."""

import os
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from .files import write_whole

Module = TypeVar("Module")


def count_parameters(module: Any) -> int:
    """The number of floating-point parameters of a module, or of its shapes.

    Example:
        >>> count_parameters(ostinato.cells.MLSTM(70, 170, key=jax.random.key(0)))
        204000
    """
    leaves = jax.tree.leaves(module)
    arrays = (x for x in leaves if hasattr(x, "shape") and hasattr(x, "dtype"))
    return sum(int(np.prod(x.shape)) for x in arrays if jnp.issubdtype(x.dtype, jnp.inexact))


def is_finite(module: Any) -> bool:
    """Whether every parameter of a module is a finite number."""
    floats = jax.tree.leaves(eqx.filter(module, eqx.is_inexact_array))
    return all(bool(np.isfinite(x).all()) for x in floats)


def save_weights(path: str | os.PathLike, module: Any) -> None:
    """Write every array of a module to a safetensors file, by its path in the module.

    The file is complete or not there.

    Example:
        >>> save_weights("cell.safetensors", cell)
        >>> cell = load_weights("cell.safetensors", LSTM(3, 16, key=key))
    """
    write_whole(path, pack(module))


def load_weights(path: str | os.PathLike, like: Module) -> Module:
    """The module `like` with the arrays of a file, after checking that they fit."""
    return unpack(path, like)[0]


def pack(tree: Any, notes: dict[str, str] | None = None) -> bytes:
    """Every array of a tree in the safetensors format, by its path in the tree, with notes."""
    arrays = {name: np.asarray(x) for name, x in _named(tree).items()}
    return safetensors.numpy.save(arrays, metadata=notes)


def unpack(path: str | os.PathLike, like: Module, part: str = "") -> tuple[Module, dict[str, str]]:
    """The tree `like` with the arrays of a file, after checking that they fit, and the notes.

    Shapes can stand in `like` in place of arrays. With `part="network"` only the arrays below
    `network` in the packed tree are looked at.
    """
    notes = notes_of(path)
    found = safetensors.numpy.load_file(path)
    inside = part + "." if part else ""
    found = {name: x for name, x in found.items() if name.startswith(inside)}
    expected = {inside + name: x for name, x in _named(like).items()}
    if missing := sorted(expected.keys() - found.keys()):
        raise ValueError(f"{path} has no {missing[0]}, which {type(like).__name__} needs")
    if extra := sorted(found.keys() - expected.keys()):
        raise ValueError(f"{path} has {extra[0]}, which {type(like).__name__} does not have")
    for name, x in expected.items():
        y = found[name]
        if x.shape != y.shape or x.dtype != y.dtype:
            raise ValueError(f"{name} in {path} must be {x.dtype}{x.shape}, got {y.dtype}{y.shape}")
    arrays, rest = eqx.partition(like, _has_shape)
    tree = jax.tree.structure(arrays)
    loaded = jax.tree.unflatten(tree, [jnp.asarray(found[name]) for name in expected])
    return eqx.combine(loaded, rest), notes


def notes_of(path: str | os.PathLike) -> dict[str, str]:
    """The notes of a packed file, without reading its arrays."""
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            return file.metadata() or {}
    except safetensors.SafetensorError as error:
        raise ValueError(f"{path} is not a safetensors file: {error}") from None


def _named(tree: Any) -> dict[str, jax.Array]:
    arrays = eqx.filter(tree, _has_shape)
    found = jax.tree_util.tree_leaves_with_path(arrays)
    return {jax.tree_util.keystr(path).lstrip("."): x for path, x in found}


def _has_shape(leaf: Any) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)
