"""Detect divergence, and say what happened and what to try."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

EXPLODED = 20.0


class Diverged(RuntimeError):
    """The loss became NaN or exploded; the message says when, where and what to try.

    Attributes:
        step: the first step whose loss or gradient is wrong.
    """

    def __init__(self, words: str, step: int):
        super().__init__(words)
        self.step = step


def check_losses(
    first: int,
    reports: Sequence[dict],
    history: Sequence[float],
    names: Sequence[str],
    usual: float,
    advice: Callable[[float], str],
) -> None:
    """Raise `Diverged` at the first report with a non-finite or exploded loss or gradient.

    Args:
        first: the step of the first report.
        reports: the reports of consecutive steps, with `loss`, `norm`, `norms` and `rate`.
        history: gradient norms of earlier steps.
        names: names of the parameters, in the order of `norms`.
        usual: a loss to compare with, from the first step.
        advice: the learner's advice, a function of the learning rate.
    """
    norms = list(history)
    for step, report in enumerate(reports, first):
        loss, norm = float(report["loss"]), float(report["norm"])
        norms.append(norm)
        exploded = loss > EXPLODED * max(usual, 1e-3)
        if np.isfinite(loss) and np.isfinite(norm) and not exploded:
            continue
        what = (
            f"the loss rose to {loss:.3g}, {loss / usual:.0f} times what it was at the start"
            if exploded and np.isfinite(loss)
            else f"the loss became {loss:.3g}"
            if not np.isfinite(loss)
            else f"the gradient became {norm:.3g}"
        )
        raise Diverged(
            f"{what} at step {step}. Gradient norms before it: {_listed(norms[-8:])}. "
            f"{_largest(report['norms'], names)} Try {advice(float(report['rate']))}.",
            step,
        )


def _listed(norms: Sequence[float]) -> str:
    return ", ".join(f"{norm:.3g}" for norm in norms)


def _largest(norms_of_parts: Any, names: Sequence[str]) -> str:
    norms = np.asarray(norms_of_parts, float)
    if (wrong := np.flatnonzero(~np.isfinite(norms))).size:
        return f"Not finite: the gradient of {', '.join(names[i] for i in wrong[:4])}."
    largest = int(np.argmax(norms))
    share = norms[largest] ** 2 / max(float(np.sum(norms**2)), 1e-300)
    return f"The largest part of the gradient is that of {names[largest]} ({share:.0%})."
