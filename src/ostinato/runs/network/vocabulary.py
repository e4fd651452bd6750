"""Which arrays of a run belong to the symbols of a vocabulary, so that devices can share them.

An embedding, the input weights of one-hot symbols and a readout have a row or a column for each
symbol, and so have the learner's arrays for them. They are known by their size: an array of another
kind that has it by chance is shared as well, which costs time and changes no number.
"""

from collections.abc import Collection, Sequence
from itertools import count

from ...tasks.task import TaskSizes
from .parts import model_of

WRITERS = ("encoder-decoder", "captioner", "video-captioner")


def vocabularies(task: TaskSizes) -> tuple[int, ...]:
    """The sizes of the vocabularies that a task reads and writes.

    Example:
        >>> from ostinato.runs.network.parts import Sizes
        >>> vocabularies(Sizes("translate", 8000, 6000, True, model={"kind": "encoder-decoder"}))
        (6000, 8000)
        >>> vocabularies(Sizes("adding", 2, 1, False))
        ()
    """
    writes = task.symbolic and task.predicts_next
    if writes or model_of(task)["kind"] in WRITERS:
        return tuple(sorted({task.outputs, *([task.inputs] if task.symbolic else [])}))
    return (task.inputs,) if task.symbolic else ()


def symbol_axis(shape: Sequence[int], sizes: Collection[int]) -> int | None:
    """The axis of an array that has a row for each symbol of a vocabulary, if one has.

    Example:
        >>> symbol_axis((64, 8000), (6000, 8000)), symbol_axis((64, 256), (6000, 8000))
        (1, None)
    """
    return next((axis for axis, size in enumerate(shape) if size in sizes), None)


def uneven(task: TaskSizes, devices: int) -> int | None:
    """The size of a vocabulary that so many devices cannot share equally, if there is one."""
    return next((size for size in vocabularies(task) if size % devices), None)


def even(size: int, devices: int) -> str:
    """What would do in place of a vocabulary that devices cannot share, in words.

    Example:
        >>> even(4095, 8)
        '4088 or 4096 symbols would do, or 7 devices'
    """
    fewer = next(n for n in count(devices, -1) if size % n == 0)
    below = size - size % devices
    sizes = " or ".join(str(n) for n in (below, below + devices) if n)
    others = f", or {fewer} devices" if fewer > 1 else ""
    return f"{sizes} symbols would do{others}"
