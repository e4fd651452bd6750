"""Detect divergence, and say what happened and what to try."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ..folder.events import DIVERGED, Divergence

EXPLODED = 20.0


class Diverged(RuntimeError):
    """The loss became NaN or exploded, or no validation was finite; the message says what to try.

    Attributes:
        step: the first step whose loss or gradient is wrong, or the last one of the run.
    """

    def __init__(self, words: str, step: int):
        super().__init__(words)
        self.step = step
        self.event: Divergence = {"kind": "diverged", "step": step, "words": words}  # for the log

    def __reduce__(self) -> tuple:  # it may come from another machine
        return Diverged, (str(self), self.step)


class Unsound(Exception):
    """A loss or a gradient is not finite, perhaps because a persistent kernel failed."""

    def __init__(self, step: int):
        super().__init__(
            f"a loss or a gradient is not finite from step {step} on, perhaps because a persistent "
            "kernel timed out; the run continues with the scan from its last good checkpoint"
        )
        self.step = step


class Watch:
    """Looks at the losses of a run, step after step.

    Attributes:
        names: names of the parameters, in the order of a report's `norms`.
        advice: the learner's advice, a function of the learning rate.
        may_fail: whether a persistent kernel may have failed where a loss is not finite.
        silent: the loss of silence; asked for only when a loss is far above the first one.
        reference_loss: the first loss, or that of silence if it is larger; infinite as long as
            nothing counted.
        norms: gradient norms of the last logged steps.
    """

    def __init__(
        self,
        names: Sequence[str],
        advice: Callable[[float], str],
        silent: Callable[[], float],
        may_fail: bool = False,
    ):
        self.names, self.advice, self.silent, self.may_fail = names, advice, silent, may_fail
        self.reference_loss = np.inf
        self.norms: list[float] = []

    def remember(self, reports: Sequence[dict]) -> None:
        """Keep the gradient norms of logged steps, for the words about a later one."""
        self.norms = (self.norms + [float(report["norm"]) for report in reports])[-100:]

    def check(self, reports: Sequence[dict], first: int) -> None:
        """Raise `Unsound` or `Diverged` if a loss or a gradient is not finite or has exploded."""
        finite = [bool(np.isfinite(r["loss"]) and np.isfinite(r["norm"])) for r in reports]
        if self.may_fail and not all(finite):
            raise Unsound(first + finite.index(False))
        if self.reference_loss == np.inf and reports:
            # Nothing counts in a batch of washout: then a later one is compared with.
            self.reference_loss = float(reports[0]["loss"]) or np.inf
        if max((float(r["loss"]) for r in reports), default=0) > EXPLODED * max(
            self.reference_loss, 1e-3
        ):
            self.reference_loss = max(self.reference_loss, self.silent())
        norms = list(self.norms)
        for step, report in enumerate(reports, first):
            loss, norm = float(report["loss"]), float(report["norm"])
            norms.append(norm)
            what = self._what_is_wrong(loss, norm)
            if what is None:
                continue
            before = ", ".join(f"{norm:.3g}" for norm in norms[-8:])
            diverged = Diverged(
                f"{what} at step {step}. Gradient norms before it: {before}. "
                f"{_largest(report['norms'], self.names)} "
                f"Try {self.advice(float(report['rate']))}.",
                step,
            )
            numbers = {name: [finite_or_none(r[name]) for r in reports] for name in DIVERGED}
            diverged.event = cast(
                Divergence, {"kind": "diverged", "step": first, "words": "", **numbers}
            )
            raise diverged

    def _what_is_wrong(self, loss: float, norm: float) -> str | None:
        """What is wrong with the loss and the gradient norm of a step, in words."""
        if not np.isfinite(loss):
            return f"the loss became {loss:.3g}"
        if loss > EXPLODED * max(self.reference_loss, 1e-3):
            times = loss / self.reference_loss
            return f"the loss rose to {loss:.3g}, {times:.0f} times what it was at the start"
        return None if np.isfinite(norm) else f"the gradient became {norm:.3g}"


def _largest(norms_of_parts: Any, names: Sequence[str]) -> str:
    norms = np.asarray(norms_of_parts, float)
    if (wrong := np.flatnonzero(~np.isfinite(norms))).size:
        return f"Not finite: the gradient of {', '.join(names[i] for i in wrong[:4])}."
    largest = int(np.argmax(norms))
    share = norms[largest] ** 2 / max(float(np.sum(norms**2)), 1e-300)
    return f"The largest part of the gradient is that of {names[largest]} ({share:.0%})."


def finite_or_none(number: Any) -> float | None:
    """The number, or `None` for NaN and infinity, which JSON does not have."""
    return float(number) if np.isfinite(number) else None
