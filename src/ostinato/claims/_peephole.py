"""The LSTM with peepholes of Delgado del Cerro (2021) (4.1-4.5), in its own notation, in NumPy.

Column vectors, `W @ x`, four blocks z, i, f, o, and no biases; g = h = tanh.
"""

from typing import Any, NamedTuple

import numpy as np

Weights = dict[tuple[str, str], Any]


class Step(NamedTuple):
    """The values of one step."""

    z: Any
    i: Any
    f: Any
    o: Any
    c: Any
    y: Any
    before: Any  # c of the previous step


def weights(inputs: int, units: int, seed: int = 0, scale: float = 0.7) -> Weights:
    """Normally distributed W, R and p."""
    rng = np.random.default_rng(seed)
    w: Weights = {("W", k): scale * rng.normal(size=(units, inputs)) for k in "zifo"}
    w |= {("R", k): scale * rng.normal(size=(units, units)) for k in "zifo"}
    return w | {("p", k): scale * rng.normal(size=units) for k in "ifo"}


def step(w: Weights, x: Any, y: Any, c: Any, bump: Any = 0.0) -> Step:
    """(4.1-4.5); `bump` is added to the new memory."""

    def sigmoid(a: Any) -> Any:
        return 0.5 * (1 + np.tanh(0.5 * a))

    bar = {k: w["W", k] @ x + w["R", k] @ y for k in "zifo"}
    z = np.tanh(bar["z"])
    i = sigmoid(bar["i"] + w["p", "i"] * c)
    f = sigmoid(bar["f"] + w["p", "f"] * c)
    new = i * z + f * c + bump
    o = sigmoid(bar["o"] + w["p", "o"] * new)
    return Step(z, i, f, o, new, o * np.tanh(new), c)


def forward(w: Weights, xs: Any, y: Any, c: Any, bump: Any = 0.0) -> list[Step]:
    """All steps; `bump` is added to the memory of the first."""
    steps: list[Step] = []
    for x in xs:
        steps.append(step(w, x, y, c, bump if not steps else 0.0))
        y, c = steps[-1].y, steps[-1].c
    return steps


def printed_factor(w: Weights, before: Step, now: Step) -> np.ndarray:
    """Q + diag(f) as (4.16) prints it, from the steps t - 1 and t."""
    out = before.o * (1 - np.tanh(before.c) ** 2)
    out = out + w["p", "o"] * before.o * (1 - before.o) * np.tanh(before.c)
    of_i, of_f = now.i * (1 - now.i) * now.z, now.f * (1 - now.f) * now.before
    of_z = (1 - now.z**2) * now.i
    Q = of_i[:, None] * (w["R", "i"] * out + np.diag(w["p", "i"]))
    Q += of_f[:, None] * (w["R", "f"] * out + np.diag(w["p", "f"]))
    Q += of_z[:, None] * (w["R", "z"] * out)
    return Q + np.diag(now.f)
