"""Read NumPy's files: labelled sequences from `.npz`, a series from `.npy`. Never pickles."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput, first_line
from ..settings import shown
from .files import check_file, check_unpacked

INPUTS = ("x", "xs", "inputs", "X")
TARGETS = ("y", "ys", "targets", "labels", "Y")
LENGTHS = ("lengths",)
ALIKE = (  # names under which an array of lengths is not found
    *("length", "lengths", "lens", "len", "seq_lens", "seq_lengths", "sequence_lengths"),
    *("sizes", "mask"),
)
NUMBERS = "biuf"  # the kinds of dtypes
PAD = "pad the sequences to one length and add an array lengths"


def read_npz(
    path: str | Path,
    inputs: str | None = None,
    targets: str | None = None,
    labelled: bool = True,
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Inputs, targets and lengths (or `None`) of an `.npz` file.

    Args:
        path: a file of `numpy.savez` or `numpy.savez_compressed`.
        inputs, targets: names of the arrays. By default the inputs are `x`, `xs`, `inputs` or
            `X`, the targets `y`, `ys`, `targets`, `labels` or `Y`; the lengths are `lengths`.
        labelled: whether there must be targets; if not, none are read.

    Example:
        >>> np.savez("walks.npz", x=np.zeros((6, 9, 2)), y=np.arange(6) % 2)
        >>> xs, ys, lengths = read_npz("walks.npz")
        >>> xs.shape, ys.shape, lengths
        ((6, 9, 2), (6,), None)
    """
    path = Path(path)

    def named(files: list[str]) -> dict[str, str]:
        names = {"inputs": _name(path, files, inputs, INPUTS, "inputs")}
        if labelled:
            names["targets"] = _name(path, files, targets, TARGETS, "targets")
        for name in files:
            if name.lower() in ALIKE and name not in (*LENGTHS, *names.values()):
                raise BadInput(
                    f"{path} has an array {name}, which is not read; give the number of valid "
                    "steps of each sequence as lengths, or leave it out"
                )
        return names | ({"lengths": LENGTHS[0]} if LENGTHS[0] in files else {})

    arrays = read_named(path, named)
    return arrays["inputs"], arrays.get("targets"), arrays.get("lengths")


def read_named(
    path: str | Path, named: Callable[[list[str]], dict[str, str]], advice: str = PAD
) -> dict[str, np.ndarray]:
    """Some arrays of an `.npz` file, by role.

    Args:
        path: the file.
        named: gives the name of the array for each role, from the names in the file.
        advice: what to do about an array of Python objects.
    """
    check_file(path, "file of arrays")
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise BadInput(f"{path} is one array, not an .npz file of several")
            names = named(archive.files)
            assert archive.zip is not None
            entries = {entry.filename: entry.file_size for entry in archive.zip.infolist()}
            sizes = [entries.get(f"{name}.npy", entries.get(name, 0)) for name in names.values()]
            check_unpacked(path, sum(sizes))
            return {role: _array(path, archive, name, advice) for role, name in names.items()}
    except BadInput:
        raise
    except Exception as error:  # a damaged file makes NumPy raise almost anything
        raise BadInput(f"{path} is not a file of NumPy arrays: {problem(error)}") from None


def read_npy(path: str | Path) -> np.ndarray:
    """The array of an `.npy` file: a series `(T, columns)` or `(T,)`, or several `(N, T, columns)`.

    Example:
        >>> np.save("sine.npy", np.sin(np.arange(100) / 5))
        >>> read_npy("sine.npy").shape
        (100,)
    """
    path = Path(path)
    check_unpacked(path, check_file(path, "file of an array").st_size)
    try:
        array = np.load(path, allow_pickle=False)
    except Exception as error:  # a damaged file makes NumPy raise almost anything
        raise BadInput(f"{path} is not a NumPy array: {problem(error)}") from None
    if not isinstance(array, np.ndarray):
        raise BadInput(f"{path} holds several arrays; an .npy file holds one")
    if array.dtype.kind not in NUMBERS:
        raise BadInput(f"{path} holds {array.dtype}, not numbers")
    return array


def _name(path: Path, files: list[str], asked: str | None, usual: tuple, what: str) -> str:
    if asked is not None:
        if asked not in files:
            raise BadInput(f"{path} has no array {shown(asked)}; it has {', '.join(files)}")
        return asked
    known = [name for name in usual if name in files]
    if len(known) > 1:
        raise BadInput(f"{path} has {' and '.join(known)}; say which are the {what}")
    if not known:
        option = "columns" if what == "inputs" else "target"
        raise BadInput(
            f"{path} has the arrays {', '.join(files) or 'none'}; none is called "
            f"{', '.join(usual)}: name the {what} with {option}"
        )
    return known[0]


def _array(path: str | Path, archive: Any, name: str, advice: str) -> np.ndarray:
    try:
        array = archive[name]
    except ValueError as error:
        if "pickle" in str(error).lower():
            raise BadInput(
                f"{path}: {name} is an array of Python objects, which would have to be unpickled; "
                f"{advice}"
            ) from None
        raise
    if array.dtype.kind not in NUMBERS + "US":
        raise BadInput(f"{path}: {name} holds {array.dtype}, neither numbers nor text")
    return array


def problem(error: Exception) -> str:
    """Why NumPy could not read a file, in a line."""
    unpickled = "pickle" in str(error).lower()
    return "it is not in NumPy's format" if unpickled else first_line(error)
