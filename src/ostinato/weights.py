"""Count, save and load the parameters of a module.

Files are in the safetensors format, with notes in the header's metadata. One note is the SHA-256 of
the whole file, computed with zeros in place of the checksum, so a single flipped bit is detected.
"""

import hashlib
import json
import os
import re
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from .errors import BadInput
from .files import write_whole

__all__ = [
    "CorruptFile",
    "StructureMismatch",
    "count_parameters",
    "load_weights",
    "save_weights",
    "trained",
]

Module = TypeVar("Module")
CHECKSUM = "sha256"
_BLANK = "0" * 64
_LARGEST_HEADER = 100_000_000  # the limit of the format


class CorruptFile(BadInput):
    """A weights file that cannot be read, or whose checksum is wrong."""


class StructureMismatch(BadInput):
    """A weights file whose structure is not that of the module."""


def trained(network: Any) -> tuple[Any, Any]:
    """The parameters that learning changes, and the rest of the network.

    These are all arrays of floats, but for the fields that a module's class names in `frozen`, such
    as the fixed weights of a reservoir.

    Example:
        >>> parameters, rest = trained(cell)
        >>> eqx.tree_equal(eqx.combine(parameters, rest), cell)
        Array(True, dtype=bool)
    """
    return eqx.partition(network, _is_trained(network))


def as_reals(tree: Any) -> Any:
    """A tree with each complex array replaced by a pair: its real and its imaginary part.

    Example:
        >>> as_reals({"a": jnp.array([1 + 2j])})
        {'a': (Array([1.], dtype=float32), Array([2.], dtype=float32))}
    """
    return jax.tree.map(lambda x: (x.real, x.imag) if jnp.iscomplexobj(x) else x, tree)


def from_reals(reals: Any, like: Any) -> Any:
    """Undo `as_reals`: a tree with the complex arrays of `like`."""

    def joined(like: Any, x: Any) -> Any:
        return jax.lax.complex(*x) if jnp.iscomplexobj(like) else x

    return jax.tree.map(joined, like, reals)


def own_precision(module: Any) -> AbstractContextManager:
    """A context in which a module computes in its own precision, whatever JAX is set to.

    Without JAX's x64 mode a module of float64 would compute partly in float32.

    Example:
        >>> with own_precision(cell):
        ...     jnp.zeros(()).dtype
        dtype('float32')
    """
    arrays = jax.tree.leaves(eqx.filter(module, eqx.is_inexact_array))
    double = any(x.dtype in (jnp.float64, jnp.complex128) for x in arrays)
    return jax.enable_x64(double or jax.config.read("jax_enable_x64"))


def trained_names(network: Any) -> list[str]:
    """The names of the parameters that learning changes, in the order of their leaves."""
    return [*_by_path(trained(network)[0])]


def _is_trained(part: Any) -> Any:
    """A tree of truth values like `part`: which of its leaves are trained."""
    if jax.tree_util.all_leaves([part]):
        return eqx.is_inexact_array(part)
    frozen = getattr(type(part), "frozen", ())
    children, tree = jax.tree_util.tree_flatten_with_path(part, is_leaf=lambda x: x is not part)

    def marked(key: Any, child: Any) -> Any:
        if getattr(key, "name", None) in frozen:
            return jax.tree.map(lambda _: False, child)
        return _is_trained(child)

    return jax.tree.unflatten(tree, [marked(key, child) for (key,), child in children])


def count_parameters(module: Any) -> int:
    """The number of floating-point parameters of a module of arrays or `ShapeDtypeStruct`s.

    Example:
        >>> count_parameters(ostinato.cells.MLSTM(70, 170, key=jax.random.key(0)))
        204000
    """
    leaves = jax.tree.leaves(module)
    arrays = (x for x in leaves if hasattr(x, "shape") and hasattr(x, "dtype"))
    return sum(int(np.prod(x.shape)) for x in arrays if jnp.issubdtype(x.dtype, jnp.inexact))


def save_weights(path: str | os.PathLike, module: Any) -> None:
    """Write every array of a module to a safetensors file, named by its path in the module.

    An array `R` of complex128 is written as its real part `R[0]` and its imaginary part `R[1]`.
    The write is atomic (see `write_whole`).

    Example:
        >>> save_weights("cell.safetensors", cell)
        >>> restored = load_weights("cell.safetensors", like=cell)
        >>> bool(eqx.tree_equal(restored, cell))
        True
    """
    write_whole(path, *pack(module))


def load_weights(path: str | os.PathLike, like: Module) -> Module:
    """The module `like` with its arrays replaced by those of a file, which must match."""
    return unpack(path, like)[0]


def _in_the_format(tree: Any) -> Any:
    """The arrays of a tree, those of complex128 as pairs, because safetensors files have none."""

    def stored(x: Any) -> Any:
        if x.dtype.name != "complex128":
            return x
        if isinstance(x, jax.ShapeDtypeStruct):
            return (jax.ShapeDtypeStruct(x.shape, np.dtype(np.float64)),) * 2
        return np.asarray(x).real, np.asarray(x).imag

    return jax.tree.map(stored, eqx.filter(tree, _has_shape))


def _from_the_format(stored: Any, like: Any) -> Any:
    """Undo `_in_the_format`, for the arrays of `like`."""

    def joined(like: Any, x: Any) -> Any:
        if like.dtype.name != "complex128":
            return x
        whole = np.empty(like.shape, np.complex128)
        whole.real, whole.imag = x
        return whole

    return jax.tree.map(joined, eqx.filter(like, _has_shape), stored)


def pack(tree: Any, notes: dict[str, str] | None = None) -> list[bytes | memoryview]:
    """Every array of a tree in the safetensors format, named by its path, with notes.

    Returns:
        The parts of the file: its header, and the arrays one by one, which are not copied.

    Example:
        >>> header, *arrays = pack(cell)
        >>> sorted(safetensors.numpy.load(b"".join([header, *arrays])))
        ['R', 'W', 'b']
    """
    # The format has little-endian numbers alone, which are native wherever JAX runs.
    arrays = {n: np.asarray(x) for n, x in _named(tree).items()}
    arrays = {n: x.astype(x.dtype.newbyteorder("="), copy=False) for n, x in arrays.items()}
    # Wide numbers first, so that every array is aligned.
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    parts = [np.ascontiguousarray(arrays[n]).reshape(-1).view(np.uint8).data for n in names]
    header: dict[str, Any] = {"__metadata__": {**(notes or {}), CHECKSUM: _BLANK}}
    start = 0
    for name, part in zip(names, parts, strict=True):
        x, end = arrays[name], start + len(part)
        header[name] = {
            "dtype": _DTYPES[x.dtype.name],
            "shape": x.shape,
            "data_offsets": (start, end),
        }
        start = end
    words = json.dumps(header, separators=(",", ":")).encode()
    words += b" " * (-len(words) % 8)
    size = len(words).to_bytes(8, "little")
    digest = hashlib.sha256(size + words)
    for part in parts:
        digest.update(part)
    return [size + _marked(words, _BLANK, digest.hexdigest()), *parts]


def unpack(path: str | os.PathLike, like: Module, part: str = "") -> tuple[Module, dict[str, str]]:
    """The tree `like` with its arrays replaced by those of a file, and the file's notes.

    `like` may hold `ShapeDtypeStruct`s instead of arrays. With `part="network"` only the arrays
    under `network` in the packed tree are loaded.

    Raises:
        CorruptFile: the file cannot be read, or its checksum is wrong.
        StructureMismatch: the file is intact but has other names, shapes or dtypes.
    """
    notes = notes_of(path)
    return load(path, like, part), notes


def load(path: str | os.PathLike, like: Module, part: str = "") -> Module:
    """The tree of `unpack` from a file whose checksum has been verified by `notes_of`."""
    inside = part + "." if part else ""
    expected = {inside + name: x for name, x in _named(like).items()}
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            _check_fit(path, file, {n for n in file.keys() if n.startswith(inside)}, expected, like)
            tensors = [file.get_tensor(name) for name in expected]
    except (safetensors.SafetensorError, KeyError, TypeError, AttributeError) as error:
        raise CorruptFile(f"{path} cannot be read: {error}") from None
    stored = jax.tree.unflatten(jax.tree.structure(_in_the_format(like)), tensors)
    loaded = jax.device_put(_from_the_format(stored, like))
    return eqx.combine(loaded, eqx.filter(like, _has_shape, inverse=True))


def notes_of(path: str | os.PathLike) -> dict[str, str]:
    """The notes of a packed file, after verifying its checksum."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise CorruptFile(f"{path} is not a regular file")  # opening a pipe would block
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > min(_LARGEST_HEADER, Path(path).stat().st_size):
            raise CorruptFile(f"{path} is not a safetensors file: it has no header")
        header = file.read(size)
        try:
            notes = json.loads(header).get("__metadata__", {})
            strange = [x for pair in notes.items() for x in pair if not isinstance(x, str)]
        except (ValueError, AttributeError, RecursionError) as error:
            raise CorruptFile(f"{path} is not a safetensors file: {error}") from None
        if strange:
            raise CorruptFile(f"{path} has the note {strange[0]!r:.40}, which is not text")
        if CHECKSUM not in notes:  # written before there were checksums, or its name is damaged
            if any(re.fullmatch("[0-9a-f]{64}", note) for note in notes.values()):
                raise CorruptFile(f"{path} is damaged: its checksum has lost its name")
            return notes
        digest = hashlib.sha256(size.to_bytes(8, "little"))
        digest.update(_marked(header, notes[CHECKSUM], _BLANK))
        while piece := file.read(1 << 22):
            digest.update(piece)
    if digest.hexdigest() != notes.pop(CHECKSUM):
        raise CorruptFile(f"{path} is damaged: its checksum is wrong")
    return notes


def _check_fit(path: Any, file: Any, names: set[str], expected: dict, like: Any) -> None:
    """Compare names, shapes and dtypes, reading only the header."""
    if missing := sorted(expected.keys() - names):
        raise StructureMismatch(f"{path} has no {missing[0]}, which {type(like).__name__} needs")
    if extra := sorted(names - expected.keys()):
        raise StructureMismatch(f"{path} has {extra[0]}, which {type(like).__name__} does not have")
    for name, x in expected.items():
        shape, dtype = tuple(file.get_slice(name).get_shape()), file.get_slice(name).get_dtype()
        if x.shape != shape or _DTYPES.get(x.dtype.name) != dtype:
            known = {short: long for long, short in _DTYPES.items()}
            raise StructureMismatch(
                f"{name} in {path} must be {x.dtype}{x.shape}, got {known.get(dtype, dtype)}{shape}"
            )


# Names of dtypes in NumPy and in safetensors.
_DTYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
    "complex64": "C64",
}  # fmt: skip


def shapes_only(module: Module) -> Module:
    """A module with `ShapeDtypeStruct`s in place of its arrays, which are not held any more."""
    return jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype) if eqx.is_array(x) else x, module
    )


def _marked(data: bytes, old: str, new: str) -> bytes:
    """`data` with the checksum in its header replaced."""
    key = f'"{CHECKSUM}":"'.encode()
    return data.replace(key + old.encode() + b'"', key + new.encode() + b'"', 1)


def _named(tree: Any) -> dict[str, jax.Array]:
    return _by_path(_in_the_format(tree))


def _by_path(tree: Any) -> dict[str, jax.Array]:
    """The leaves of a tree by their paths in it, in order."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path).lstrip("."): x for path, x in leaves}


def _has_shape(leaf: Any) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)
