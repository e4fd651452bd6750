"""`data.safetensors`: the data of a task that was made in Python, so that its run is whole.

What is kept are the arguments with which the task was made. Arrays are tensors, a data frame is the
bytes of an Arrow stream, many texts are those of their UTF-8, and all else is JSON in the header.
Nothing is pickled.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from ...data import Vocabulary
from ...data.frames import bytes_of_frame, frame_of_bytes, is_frame
from ...data.tokens import Tokens
from ...errors import BadInput
from ...files import write_whole
from ...memory import shown
from ...settings import as_json, make
from ...tasks import Task
from ..build import settings_in_words

NAME = "data.safetensors"
MAX_KEPT = 256 << 20  # bytes
MAX_JSON = 64 << 20  # bytes of the header, of which safetensors reads at most 100 MB
INLINE = 1 << 16  # characters of texts that are kept as JSON
PLAIN = (bool, int, float, str)
# Plain data that a constructor may be given, by the name of its class.
CLASSES = {kind.__name__: kind for kind in (Vocabulary, Tokens)}


class CannotKeep(Exception):
    """Why the data of a task are not kept."""


def keep_data(folder: Path, task: Task) -> None:
    """Write the arguments of a task into its run folder; raises `CannotKeep` if that is not done.

    Example:
        >>> _ = Path("run").mkdir()
        >>> keep_data(Path("run"), Series(np.arange(99.0), horizon=3))
        >>> kept_task(Path("run"), Series).horizon
        3
    """
    if task.arguments is None:
        raise CannotKeep("it was made from settings, with another seed than that of the run")
    given, named = task.arguments
    if "settings" in named:
        named = {**named, "settings": settings_in_words(task.settings)}
    packing = _Packing()
    words = json.dumps(packing.packed([given, named]))
    size = len(words) + sum(x.nbytes for x in packing.arrays.values())
    if size > MAX_KEPT or len(words) > MAX_JSON:
        raise CannotKeep(f"they take {shown(size)}, more than {shown(MAX_KEPT)}")
    content = safetensors.numpy.save(packing.arrays, {"arguments": words})
    write_whole(folder / NAME, content)


def settings_say_it_all(task: Task) -> bool:
    """Whether a task was given no data: they are in a file, or made from the seed."""
    settings = as_json(task.settings)
    if task.arguments is None or settings.get("file") is not None:
        return True
    given, named = task.arguments
    return not given and named.keys() <= {"seed", "settings", *settings}


def kept_task(folder: Path, kind: type[Task]) -> Task:
    """The task that was made with the kept arguments."""
    path = folder / NAME
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            words = json.loads(file.metadata()["arguments"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}
        given, named = _unpacked(words, arrays)
        if "settings" in named:
            named["settings"] = make(kind.Settings, named["settings"])
        return kind(*given, **named)
    except FileNotFoundError:
        raise BadInput(f"{folder} has no {NAME}, the data of its task; restore it") from None
    except BadInput:
        raise
    except (safetensors.SafetensorError, OSError, TypeError, ValueError, LookupError) as error:
        raise BadInput(f"{path} is not what a run writes: {error}") from None


class _Packing:
    """Turns values into JSON, and the arrays among them into tensors."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def _tensor(self, array: np.ndarray) -> str:
        name = str(len(self.arrays))
        self.arrays[name] = np.ascontiguousarray(array)
        return name

    def packed(self, value: Any) -> Any:
        """A value as JSON: itself if it is plain, else an object whose one name says what it is."""
        if value is None or type(value) in PLAIN:
            return value
        if isinstance(value, np.generic):
            return self.packed(value.item())
        if type(value) in CLASSES.values():
            return {type(value).__name__: self.packed(vars(value))}
        if isinstance(value, Mapping):
            return {"dict": [[self.packed(x) for x in pair] for pair in value.items()]}
        if isinstance(value, tuple):
            return {"tuple": [self.packed(x) for x in value]}
        if isinstance(value, list | range):
            return self._packed_list([*value])
        if is_frame(value):
            return {"frame": self._tensor(np.frombuffer(bytes_of_frame(value), np.uint8))}
        array = np.asarray(value)
        if array.shape == () and array.dtype == object:  # NumPy does not know it either
            raise CannotKeep(f"{type(value).__name__} is not kept")
        return self._packed_array(array)

    def _packed_list(self, value: list) -> Any:
        if value and all(type(x) is str for x in value) and sum(map(len, value)) > INLINE:
            raw = [text.encode("utf-8", "surrogatepass") for text in value]
            whole = self._tensor(np.frombuffer(b"".join(raw), np.uint8))
            return {"texts": [whole, self._tensor(np.array([*map(len, raw)]))]}
        alike = {(x.dtype, x.shape[1:]) if isinstance(x, np.ndarray) else None for x in value}
        if len(value) > 1 and len(alike) == 1 and alike != {None} and value[0].ndim:
            if value[0].dtype.kind in "biuf":
                whole = self._tensor(np.concatenate(value))
                return {"arrays": [whole, self._tensor(np.array([*map(len, value)]))]}
        return [self.packed(x) for x in value]

    def _packed_array(self, array: np.ndarray) -> Any:
        if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
            return {"array": self._tensor(array)}
        if array.dtype.kind in "UO":
            cells = self.packed(array.ravel().tolist())
            return {"cells": [array.dtype.kind == "U", [*array.shape], cells]}
        raise CannotKeep(f"an array of {array.dtype} is not kept")


def _unpacked(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The inverse of `_Packing.packed`."""

    def inner(x: Any) -> Any:
        return _unpacked(x, arrays)

    if isinstance(value, list):
        return [inner(x) for x in value]
    if not isinstance(value, dict):
        return value
    ((name, content),) = value.items()
    if name in CLASSES:
        return CLASSES[name](**inner(content))
    if name == "dict":
        return {inner(one): inner(other) for one, other in content}
    if name == "tuple":
        return tuple(inner(x) for x in content)
    if name == "array":
        return arrays[content]
    if name == "frame":
        return frame_of_bytes(arrays[content].tobytes())
    if name == "cells":
        texts, shape, cells = content
        return np.array(inner(cells), str if texts else object).reshape(shape)
    if name not in ("arrays", "texts"):
        raise ValueError(f"it has {name!r:.40}")
    whole, lengths = (arrays[x] for x in content)
    ends = np.cumsum(lengths)
    if name == "arrays":
        return np.split(whole, ends[:-1])
    raw = whole.tobytes()
    cuts = zip(ends - lengths, ends, strict=True)
    return [raw[begin:end].decode("utf-8", "surrogatepass") for begin, end in cuts]
