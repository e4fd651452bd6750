"""Check inputs and targets in any of the forms that `Arrays` takes."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...data.examples import Examples
from ...data.scaling import MASK, Scaler, check_complete, scaler_for
from ...errors import BadInput
from ..given_answers import checked_answers

MAX_SYMBOL = 2**31 - 2  # a network has an input for each, and counts them in 32 bits
Check = Callable[..., np.ndarray]  # `checked_answers` with everything but targets and place
FORMS = "(N, T, inputs) numbers, (N, T) whole numbers, or a list of N arrays"


def sequences(
    xs: Any,
    ys: Any,
    lengths: Any,
    *,
    kind: str | None,
    per_step: bool | None,
    missing: str,
    mask: str = MASK,
) -> Examples:
    """Labelled sequences as they are in the data: inputs in float64, targets as labels or numbers.

    All targets are there: what is missing among them is for `TargetCodec` to say. `mask` as in
    `check_complete`.
    """
    rows, sizes, padded = checked_inputs(xs, lengths)
    examples = Examples(rows, sizes, np.zeros(0), np.zeros(0, bool))
    check = partial(checked_answers, kind=kind, missing=missing, mask=mask)
    answers, per_step = _targets(ys, examples, padded, kind, per_step, check)
    there = np.ones(len(answers), bool)
    return dataclasses.replace(examples, targets=answers, there=there, per_step=per_step)


def scaled_inputs(
    data: Examples,
    training: np.ndarray,
    names: Sequence[str] | None,
    known: Mapping[str, Any],
    missing: str,
    scale: bool = True,
    mask: str = MASK,
) -> tuple[np.ndarray, Scaler | None]:
    """The inputs as a network reads them, and their scaling; symbols have none.

    Args:
        data: the sequences as they were read.
        training: the sequences to which a scaling is fitted, unless there is one.
        names: of the columns, for messages.
        known: what a trained model keeps of its task, whose symbols or scaling are used.
        missing, mask: see `check_complete`.
        scale: see `Scaler.fit`.
    """

    def column(n: int) -> str:
        return f"input {n}" if names is None else f"column {names[n]!r}"

    rows = data.inputs
    symbols = None if rows.ndim > 1 else int(rows.max()) + 1
    if known and ("symbols" in known) != (symbols is not None):
        reads = "symbols, whole numbers" if "symbols" in known else "numbers, floats"
        raise BadInput(f"the model reads {reads}; these data have others")
    if symbols is not None:
        if symbols > (most := int(known.get("symbols") or symbols)):
            raise BadInput(f"symbols must be below {most}, got {symbols - 1}")
        return rows, None
    check_complete(rows, missing, lambda at: f"{column(at[1])} of {data.place(at[0])}", mask)
    scaler = scaler_for(known, rows[data.steps_of(training)], scale, column, "these data have")
    return scaler(rows), scaler


def as_array(values: Any, what: str) -> np.ndarray:
    """`np.asarray`, or one line for what makes no array, such as rows of different lengths."""
    try:
        return np.asarray(values)
    except ValueError:
        raise BadInput(f"{what} must be an array; its rows have different lengths") from None


def checked_inputs(xs: Any, lengths: Any) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Rows and lengths, and the number of steps with padding if the inputs are one array."""
    if not isinstance(xs, list | tuple):
        xs = as_array(xs, "xs")
        if xs.dtype == object or xs.dtype.kind not in "biuf" or xs.ndim not in (2, 3):
            raise BadInput(f"xs must be {FORMS}; got {xs.dtype} of shape {xs.shape}")
        if not xs.size:
            raise BadInput(f"xs is empty, of shape {xs.shape}")
        sizes = _lengths(lengths, *xs.shape[:2])
        valid = np.arange(xs.shape[1]) < sizes[:, None]
        return _rows(xs[valid]), sizes, xs.shape[1]
    if lengths is not None:
        raise BadInput("lengths go with padded arrays; a list of sequences has its own")
    parts = [as_array(x, f"sequence {n}") for n, x in enumerate(xs)]
    if not parts:
        raise BadInput("xs is an empty list")
    shape, symbolic = parts[0].shape[1:], _symbolic(parts[0], 1)
    for n, x in enumerate(parts):
        if x.dtype.kind not in "biuf" or x.ndim not in (1, 2) or not len(x):
            raise BadInput(
                f"sequence {n} must be (T, inputs) numbers or (T,) whole numbers, not empty; "
                f"got {x.dtype} of shape {x.shape}"
            )
        if x.shape[1:] != shape or _symbolic(x, 1) != symbolic:
            raise BadInput(
                f"sequence {n} is {x.dtype} with steps of shape {x.shape[1:]}, sequence 0 is "
                f"{parts[0].dtype} with steps of shape {shape}"
            )
    # Alike, because NumPy makes floats of signed and unsigned whole numbers together.
    alike = [_rows(x) for x in parts] if symbolic else parts
    return _rows(np.concatenate(alike)), np.array([len(x) for x in parts]), None


def _symbolic(x: np.ndarray, ndim: int) -> bool:
    return x.dtype.kind in "iu" and x.ndim == ndim


def _rows(rows: np.ndarray) -> np.ndarray:
    """Symbols `(M,)` or vectors `(M, inputs)`."""
    if _symbolic(rows, 1):
        if rows.min() < 0 or rows.max() > MAX_SYMBOL:
            wrong = rows.min() if rows.min() < 0 else rows.max()
            raise BadInput(
                f"symbols are whole numbers from 0, got {wrong}; give other numbers as floats"
            )
        return rows.astype(np.int32)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if not rows.shape[1]:
        raise BadInput("xs has no inputs: the last axis has size 0")
    return rows.astype(float)


def _lengths(lengths: Any, count: int, steps: int) -> np.ndarray:
    if lengths is None:
        return np.full(count, steps)
    sizes = np.asarray(lengths)
    if sizes.dtype.kind not in "iu" or sizes.shape != (count,):
        raise BadInput(
            f"lengths must be {count} whole numbers, got {sizes.dtype} of shape {sizes.shape}"
        )
    for n in np.flatnonzero((sizes < 1) | (sizes > steps)):
        raise BadInput(f"lengths must be from 1 to {steps}, got {sizes[n]} for sequence {n}")
    return sizes.astype(int)


def _targets(
    ys: Any,
    examples: Examples,
    padded: int | None,
    kind: str | None,
    per_step: bool | None,
    check: Check,
) -> tuple[np.ndarray, bool]:
    count = len(examples.lengths)
    ragged = isinstance(ys, list | tuple) and any(np.ndim(y) for y in ys)
    if ragged and len({np.shape(y)[0] if np.ndim(y) else 0 for y in ys}) > 1:
        return _of_list(ys, examples, kind, per_step, check), True
    ys = as_array(ys, "ys")
    if ys.ndim == 0 or len(ys) != count:
        raise BadInput(f"ys must have {count} rows, one per sequence; got shape {ys.shape}")
    longest = padded or int(examples.lengths.max())
    per_step = _is_per_step(ys, longest, kind, per_step)
    if per_step:
        if ys.ndim < 2 or ys.shape[1] != longest:
            raise BadInput(f"targets per step must be (N, {longest}, ...), got {ys.shape}")
        valid = np.arange(longest) < examples.lengths[:, None]
        return _checked(
            ys[valid], kind, check, lambda n: f"the target of {examples.place(n)}"
        ), True
    return _checked(ys, kind, check, lambda n: f"the target of sequence {n}"), False


def _is_per_step(ys: np.ndarray, longest: int, kind: str | None, asked: bool | None) -> bool:
    """Whether an array has targets per step."""
    if ys.ndim > 3:
        raise BadInput(f"ys must have 1 to 3 axes, got shape {ys.shape}")
    if asked is not None:
        return asked
    if ys.ndim != 2:
        return ys.ndim == 3
    if ys.shape[1] != longest:
        return False
    if kind == "multilabel" or (ys.dtype.kind == "f" and kind != "classification"):
        raise BadInput(
            f"ys of shape {ys.shape} may be a number per step or {longest} per sequence; say "
            "per_step=True or per_step=False"
        )
    return True


def _of_list(
    ys: Any, examples: Examples, kind: str | None, per_step: bool | None, check: Check
) -> np.ndarray:
    """The answers of a list with one array per sequence."""
    parts = [as_array(y, f"the targets of sequence {n}") for n, y in enumerate(ys)]
    if len(parts) != len(examples.lengths) or per_step is False:
        raise BadInput(f"ys must have an entry for each of {len(examples.lengths)} sequences")
    for n, (y, size) in enumerate(zip(parts, examples.lengths, strict=True)):
        if not y.ndim or len(y) != size:
            raise BadInput(f"the targets of sequence {n} must have {size} steps, got {y.shape}")
        if y.shape[1:] != parts[0].shape[1:]:
            raise BadInput(
                f"the targets of sequence {n} have another shape than those of sequence 0"
            )
    return _checked(
        np.concatenate(parts), kind, check, lambda n: f"the target of {examples.place(n)}"
    )


def _checked(
    ys: np.ndarray, kind: str | None, check: Check, where: Callable[[int], str]
) -> np.ndarray:
    """Labels `(M,)` or numbers `(M, outputs)`."""

    def place(index: tuple[int, ...]) -> str:
        return where(index[0]) + (f", output {index[1]}" if len(index) > 1 else "")

    ys = check(ys, where=place)
    if np.issubdtype(ys.dtype, np.floating) and kind != "classification":
        return ys[:, None] if ys.ndim == 1 else ys
    if ys.ndim == 2 and ys.shape[1] == 1:
        ys = ys[:, 0]
    if ys.ndim > 1:
        raise BadInput(
            f"a class is one label, got {ys.shape[1:]} of them; for numbers give floats, or "
            "kind=regression"
        )
    return ys
