"""Scaling to mean 0 and deviation 1, and missing values."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

import numpy as np

from ..errors import BadInput
from ..names import typed
from .artefact_checks import kept_numbers, kept_object

# Of scaled values; float64 in a run of that precision.
DTYPE: ContextVar[type] = ContextVar("dtype", default=np.float32)
POLICIES = ("refuse", "mask")
MAX = 1e18  # of scaled values: the square of a float32 stays finite
MASK = typed("missing", "mask", in_shell=False)
NEGLIGIBLE = 1e-12  # of a column's size: a deviation of rounding errors


@dataclasses.dataclass(frozen=True)
class Scaler:
    """What was fitted to the columns of the training part: `(x - shift) / factor`.

    A missing value becomes the column's mean, and each column that has any in the training part
    gets a further column, with a one where the value is missing.

    Attributes:
        shift, factor: for each column; 0 and 1 if nothing is to be scaled.
        means: of each column, in the units of the data.
        masked: the columns with an indicator.

    Example:
        >>> rows = np.array([[1.0, 10.0], [3.0, np.nan], [5.0, 30.0]])
        >>> scaler = Scaler.fit(rows)
        >>> scaler(np.array([[3.0, np.nan]])).tolist(), scaler.columns
        ([[0.0, 0.0, 1.0]], 3)
    """

    shift: tuple[float, ...]
    factor: tuple[float, ...]
    means: tuple[float, ...]
    masked: tuple[int, ...] = ()

    @classmethod
    def fit(
        cls, rows: np.ndarray, scale: bool = True, name: Callable[[int], str] = "column {}".format
    ) -> "Scaler":
        """Fit to rows `(M, columns)`, those of the training part, without padding."""
        rows = np.asarray(rows, float)
        present = ~np.isnan(rows)
        counts = present.sum(axis=0)
        for column in np.flatnonzero(counts == 0):
            raise BadInput(f"{name(int(column))} has no value in the training part; leave it out")
        filled = np.where(present, rows, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            means = filled.sum(axis=0) / counts
            apart = np.where(present, rows - means, 0.0)
            deviations = np.sqrt((apart**2).sum(axis=0) / counts)
        for column in np.flatnonzero(~np.isfinite(means + deviations)):
            raise BadInput(f"{name(int(column))} has numbers that are too large to compute with")
        # A constant column stays what it is: all zeros once its mean is gone.
        deviations[deviations <= NEGLIGIBLE * np.abs(means)] = 1.0
        plain = np.zeros_like(means), np.ones_like(means)
        shift, factor = (means, deviations) if scale else plain
        masked = np.flatnonzero(counts < len(rows))
        return cls(_tuple(shift), _tuple(factor), _tuple(means), _tuple(masked))

    @property
    def columns(self) -> int:
        """The number of columns after scaling, with the indicators."""
        return len(self.shift) + len(self.masked)

    @functools.cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.array(self.shift), np.array(self.factor), np.array(self.means)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Scaled values `(..., columns)` in `DTYPE`, without any missing."""
        return self.exactly(values).astype(DTYPE.get())

    def exactly(self, values: np.ndarray) -> np.ndarray:
        """Scaled values in float64, which do not depend on the precision of a run."""
        values = np.asarray(values, float)
        missing = np.isnan(values)
        shift, factor, means = self._arrays
        values = np.where(missing, means, values)
        scaled = (values - shift) / factor
        if scaled.size and np.abs(scaled).max() > MAX:
            index = np.unravel_index(int(np.argmax(np.abs(scaled))), scaled.shape)
            raise BadInput(f"the number {values[index]:g} is too large to compute with")
        if self.masked:
            scaled = np.concatenate([scaled, missing[..., list(self.masked)]], axis=-1)
        return scaled

    def as_json(self) -> dict[str, Any]:
        """As plain JSON; the inverse of `from_json`."""
        return {name: list(values) for name, values in dataclasses.asdict(self).items()}

    @classmethod
    def from_json(cls, kept: Any) -> "Scaler":
        """The inverse of `as_json`, with validation."""
        kept_object(kept, "scaling", [field.name for field in dataclasses.fields(cls)])
        shift = tuple(map(float, kept_numbers(kept["shift"], "shift")))
        factor = tuple(map(float, kept_numbers(kept["factor"], "factor", len(shift))))
        means = tuple(map(float, kept_numbers(kept["means"], "means", len(shift))))
        masked = kept_numbers(kept["masked"], "masked")
        if not shift or min(factor) <= 0:
            raise BadInput("its factors are not positive numbers")
        if any(type(n) is not int or not 0 <= n < len(shift) for n in masked):
            raise BadInput("its masked columns are not columns")
        return cls(shift, factor, means, masked)  # type: ignore[arg-type]


def _tuple(values: np.ndarray) -> tuple:
    return tuple(values.tolist())


def check_complete(
    values: np.ndarray,
    missing: str,
    where: Callable[[tuple[int, ...]], str],
    mask: str = MASK,
) -> None:
    """Refuse infinite numbers, and missing ones unless they are to be masked.

    Args:
        values: any shape.
        missing: `"refuse"` or `"mask"`.
        where: says in words where an index into the values is.
        mask: how the setting that masks them is typed; empty if masking is impossible.
    """
    if infinite := _first(np.isinf(values)):
        raise BadInput(f"{where(infinite)} is infinite")
    if missing == "refuse" and (gap := _first(np.isnan(values))):
        count = int(np.isnan(values).sum())
        more = f" ({count} values are missing in all)" if count > 1 else ""
        tip = f"; fill it in, or train with {mask}" if mask else ""
        raise BadInput(f"{where(gap)} is missing{more}{tip}")


def _first(mask: np.ndarray) -> tuple[int, ...] | None:
    if not mask.any():
        return None
    return tuple(int(n) for n in np.unravel_index(int(np.argmax(mask)), mask.shape))


def scaler_for(
    known: Mapping[str, Any],
    training: np.ndarray,
    scale: bool,
    name: Callable[[int], str],
    have: str,
) -> Scaler:
    """The scaling of a trained model, or else one that is fitted to the training part.

    Args:
        known: what the model keeps of its task.
        training: the rows of the training part.
        scale, name: see `Scaler.fit`.
        have: what has other columns than the model reads, with its verb, for a message.
    """
    if "scaler" not in known:
        return Scaler.fit(training, scale, name)
    scaler = Scaler.from_json(known["scaler"])
    check_columns(scaler, training.shape[1], have)
    return scaler


def check_columns(scaler: Scaler, columns: int, have: str) -> None:
    """Refuse data with more or fewer columns than a trained model reads; `have` names them."""
    if len(scaler.shift) != columns:
        raise BadInput(f"the model reads {len(scaler.shift)} columns, {have} {columns}")
