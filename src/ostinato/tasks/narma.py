"""NARMA-10: a nonlinear system of order 10, whose output is learned from its input."""

from typing import Any

import numpy as np

from ..data.generated.dynamical import narma
from .generated_series import GeneratedSeries
from .task import checked_part

DELAYS = 40  # inputs that the delay line sees


class NARMA10(GeneratedSeries):
    """Learn `y_{t+1}` of the system `narma` from the inputs up to `u_t`.

    The metric is the NRMSE. The baseline `delay line` is a linear regression on the last 40 inputs:
    what a memory without nonlinearity can do.

    Sources: Atiya and Parlos (2000); Jaeger (2003).

    Shapes: inputs and targets `(T, B, 1)`.

    Example:
        >>> task = NARMA10(samples=2000, washout=100, length=50)
        >>> task.batch(0, size=1).targets.shape
        (50, 1, 1)
    """

    name = "narma10"
    apply_options = ()

    def generate(self, settings: Any, seed: int) -> tuple[np.ndarray, np.ndarray]:
        u, y = narma(settings.samples, 10, seed)
        return u, y[:, None]

    def yardsticks(self, part: str) -> dict[str, float]:
        train, held_out = self.parts["train"], self.parts[checked_part(part)]
        if not held_out.there.any():
            return {}
        solution, *_ = np.linalg.lstsq(*_delayed(train), rcond=None)
        x, y = _delayed(held_out)
        return {"delay line": float(np.sqrt(np.mean((x @ solution - y) ** 2) / y.var()))}


def _delayed(stream: Any) -> tuple[np.ndarray, np.ndarray]:
    """The last inputs before each step, with a one, and the targets."""
    u = np.concatenate([np.zeros(DELAYS - 1), stream.inputs[:, 0]])
    rows = np.lib.stride_tricks.sliding_window_view(u, DELAYS)
    rows = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
    return rows[stream.there], stream.targets[stream.there, 0].astype(float)
