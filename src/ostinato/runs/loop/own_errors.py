"""Errors in a user's own task, as one line: where they were raised, and what is kept of the run."""

import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ...data import Batch
from ...errors import BadInput, first_line
from ...tasks import Task
from ..folder.checkpoints import Checkpoints
from ..folder.own_source import own_files
from .divergence import Diverged


@contextlib.contextmanager
def own_errors(kind: type[Task], path: Path) -> Iterator[None]:
    """A context in which a run is trained: what a user's code raises becomes one line.

    Args:
        kind: the class of the task.
        path: the run folder.
    """
    try:
        yield
    except (BadInput, Diverged):
        raise
    except Exception as error:
        if (where := _where(error, own_files(kind))) is None:
            raise
        words = first_line(error)
        name = type(error).__name__
        reason = name if words == name else f"{name}: {words}"
        raise BadInput(f"{where}: {reason.rstrip('.')}. {_kept(path)}") from error


def _where(error: Exception, files: set[str]) -> str | None:
    """The user's function that failed, with file and line; `None` if the fault is not theirs."""
    frames = [
        (frame.f_code, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename in files
    ]
    if not frames:
        return None
    # The first is what was called; the last is where it failed.
    (called, _), (code, line) = frames[0], frames[-1]
    return f"{called.co_qualname} failed in {code.co_filename}, line {line}"


def _kept(path: Path) -> str:
    steps = Checkpoints(path, "").steps()
    if not steps:
        return f"There is no checkpoint in {path} yet; mend the code, then start the run again"
    return (
        f"Last good checkpoint: step {steps[-1]}, in {path}. Remove the cause, then --resume; if "
        "that changes the code of the task, start another run"
    )


def without_numbers(batch: Batch) -> str | None:
    """Where a batch holds NaN or infinity, in words; `None` if it holds none.

    Example:
        >>> without_numbers(Batch(np.array([[[np.nan]]]), np.zeros((1, 1, 1)), np.ones((1, 1))))
        'NaN or infinity in its inputs'
    """
    parts: dict[str, Any] = {"inputs": batch.inputs, "targets": batch.targets}
    parts["weights"] = batch.weights
    wrong = [name for name, part in parts.items() if not all(map(_finite, jax.tree.leaves(part)))]
    return f"NaN or infinity in its {' and '.join(wrong)}" if wrong else None


def _finite(array: Any) -> bool:
    array = np.asarray(array)
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())
