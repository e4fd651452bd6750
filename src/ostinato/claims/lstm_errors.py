"""The backward equations of the LSTM with peepholes, Delgado del Cerro (2021), in NumPy."""

from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .claim import Falsehood, Finding, Theme
from .tools import derivative, gap

THEME = Theme()

INPUTS, UNITS = 3, 4
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


def weights(units: int = UNITS, seed: int = 0, scale: float = 0.7) -> Weights:
    """Normally distributed W, R and p."""
    rng = np.random.default_rng(seed)
    w: Weights = {("W", k): scale * rng.normal(size=(units, INPUTS)) for k in "zifo"}
    w |= {("R", k): scale * rng.normal(size=(units, units)) for k in "zifo"}
    return w | {("p", k): scale * rng.normal(size=units) for k in "ifo"}


def random_lstm(steps: int) -> tuple[Weights, np.ndarray, np.ndarray, np.ndarray]:
    """Weights, inputs, and the output and memory before the first step."""
    rng = np.random.default_rng(1)
    return weights(), rng.normal(size=(steps, INPUTS)), *rng.normal(size=(2, UNITS))


def sigmoid(a: Any) -> Any:
    """σ(a), also of complex numbers."""
    return 0.5 * (1 + np.tanh(0.5 * a))


def step(w: Weights, x: Any, y: Any, c: Any, bump: Any = 0.0) -> Step:
    """(4.1-4.5); `bump` is added to the new memory."""
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


def published(w: Weights, xs: Any, targets: Any, y: Any, c: Any, transposed: bool) -> Weights:
    """Section 4.2, (4.6-4.14)."""
    steps = forward(w, xs, y, c)
    ys = [y, *(step.y for step in steps)]
    gradient = {name: np.zeros_like(value) for name, value in w.items()}
    from_c = from_y = np.zeros(UNITS)
    for t in reversed(range(len(xs))):
        s = steps[t]
        dy = s.y - targets[t] + from_y  # (4.14)
        d = {"o": s.o * (1 - s.o) * np.tanh(s.c) * dy}  # (4.7)
        dc = dy * s.o * (1 - np.tanh(s.c) ** 2) + w["p", "o"] * d["o"] + from_c  # (4.12)
        d["i"] = s.i * (1 - s.i) * s.z * dc
        d["f"] = s.f * (1 - s.f) * s.before * dc
        d["z"] = (1 - s.z**2) * s.i * dc  # (4.8)
        from_c = w["p", "i"] * d["i"] + w["p", "f"] * d["f"] + s.f * dc  # (4.11)
        R = {k: w["R", k].T if transposed else w["R", k] for k in "zifo"}
        from_y = sum(R[k] @ d[k] for k in "zifo")  # (4.13)
        for k in "zifo":
            gradient["W", k] += np.outer(d[k], xs[t])  # (4.6)
            gradient["R", k] += np.outer(d[k], ys[t])
            if k != "z":
                gradient["p", k] += d[k] * (s.c if k == "o" else s.before)
    return gradient


@THEME.claim(
    "The usual backward equations of the LSTM are not exact, because they leave out indirect "
    "dependencies.",
    "Delgado del Cerro (2021), section 4.3, on eq. 4.6-4.14",
    "false",
    Falsehood(
        "R as (4.13) prints it, instead of Rᵀ: these equations are inexact",
        {"transposed": False},
        "holds",
    ),
)
def lstm_equations_are_inexact(transposed: bool = True) -> Finding:
    """Compare the equations, with Rᵀ in (4.13) or R as printed, with the derivative."""
    w = weights()
    rng, steps = np.random.default_rng(1), 6
    xs, targets = rng.normal(size=(steps, INPUTS)), rng.normal(size=(steps, UNITS))
    y, c = rng.normal(size=(2, UNITS))

    def loss(name: tuple[str, str], value: np.ndarray) -> Any:
        ys = np.stack([step.y for step in forward({**w, name: value}, xs, y, c)])
        return 0.5 * np.sum((ys - targets) ** 2)

    exact = {}
    for name, value in w.items():
        flat = derivative(lambda v: loss(name, v.reshape(value.shape)), value.ravel())  # noqa: B023
        exact[name] = flat.reshape(value.shape)
    error = gap(published(w, xs, targets, y, c, transposed), exact)
    as_printed = gap(published(w, xs, targets, y, c, False), exact)
    return Finding(
        "false" if error < 1e-12 else "holds",
        f"on a random LSTM they agree with the derivative to {error:.0g}, with Rᵀ where "
        f"(4.13) prints R (as printed they are off by {as_printed:.2g}).",
        {"relative error": error, "relative error as printed": as_printed},
    )


@THEME.claim(
    "One step back, ∂δc(t-1)/∂δc(t) = Q + diag(f), where Q depends on gates and weights.",
    "Delgado del Cerro (2021), section 4.4, eq. 4.16-4.17",
    "holds when it is transposed",
    Falsehood("Q without the peepholes", {"peepholes": False}, "false"),
)
def lstm_error_recursion(peepholes: bool = True) -> Finding:
    """Compare (4.16), with its peepholes or without, with the derivative."""
    w, xs, y, c = random_lstm(steps=2)
    blind = {**w, **{("p", k): np.zeros(UNITS) for k in "ifo"}}
    printed = printed_factor(w if peepholes else blind, *forward(w, xs, y, c))

    def later(bump: np.ndarray) -> Any:
        return forward(w, xs, y, c, bump)[1].c

    jacobian = derivative(later, np.zeros(UNITS))  # ∂c(t)/∂c(t-1)
    as_printed, turned = gap(printed, jacobian.T), gap(printed.T, jacobian.T)
    verdict = "holds" if as_printed < 1e-12 else "holds when it is transposed"
    return Finding(
        verdict if turned < 1e-12 else "false",
        f"as printed, with matrices and diagonals exchanged in (4.16), it is off by "
        f"{as_printed:.2g}; transposed it agrees with the derivative to {turned:.0g}.",
        {"relative error as printed": as_printed, "relative error transposed": turned},
    )


LAG = 20


def error_of_product(output_gate: float, first: bool) -> float:
    """For Rᵒ times `output_gate`."""
    w, xs, y, c = random_lstm(LAG + 1)
    w["R", "o"] = output_gate * w["R", "o"]
    steps = forward(w, xs, y, c)
    factors = [printed_factor(w, *pair) for pair in pairwise(steps)]
    product = reduce(np.matmul, factors if first else factors[::-1])  # of ∂c(t)/∂c(t-1)

    def last(bump: np.ndarray) -> np.ndarray:
        return forward(w, xs, y, c, bump)[-1].c

    return gap(product, derivative(last, np.zeros(UNITS)))


@THEME.claim(
    "Over many steps the error at the memory is multiplied by the product of the Q + diag(f).",
    "Delgado del Cerro (2021), section 4.4, eq. 4.18",
    "holds when the output gate does not read y",
    Falsehood("the factors in the order of time", {"first": True}, "false"),
)
def lstm_error_product(first: bool = False) -> Finding:
    """Compare the product of (4.18) with the derivative; `first`: with its first step first."""
    error, without = error_of_product(1.0, first), error_of_product(0.0, first)
    verdict = "holds" if error < 1e-12 else "holds when the output gate does not read y"
    return Finding(
        verdict if without < 1e-12 else "false",
        f"over {LAG} steps the product is off by {error:.2g}, because it leaves out the path "
        f"through the recurrent weights of the output gate; without these, by {without:.0g}.",
        {"relative error": error, "relative error without Rᵒ": without},
    )


@THEME.claim(
    "∂ψ_l/∂c_j = (h(c_l) σ'(ω_l) p_l + ω_l h'(φ_l)) ∂φ_l/∂c_j, for the output ψ = ω ⊙ h(φ), with c "
    "the memory before the step and φ that after it.",
    "Delgado del Cerro (2021), section 4.1",
    "false",
    Falsehood("h of the new memory, h(φ_l), in place of h(c_l)", {"old": False}, "holds"),
)
def old_memory_in_the_jacobian(old: bool = True) -> Finding:
    """Compare ∂y_t/∂c_{t-1} with h(c_{t-1}) in its first term, as printed, or with h(c_t)."""
    w, (x,), y, c = random_lstm(steps=1)
    exact = derivative(lambda c: step(w, x, y, c).y, c)
    s = step(w, x, y, c)
    of_memory = s.i * (1 - s.i) * w["p", "i"] * s.z + s.f * (1 - s.f) * w["p", "f"] * c + s.f

    def jacobian(memory: np.ndarray) -> np.ndarray:
        gate = np.tanh(memory) * s.o * (1 - s.o) * w["p", "o"]
        return np.diag((gate + s.o * (1 - np.tanh(s.c) ** 2)) * of_memory)

    printed, right = gap(jacobian(c), exact), gap(jacobian(s.c), exact)
    return Finding(
        "holds" if (printed if old else right) < 1e-12 else "false",
        f"on a random LSTM with peepholes it is off by {printed:.2f} of the largest entry; with "
        f"the new memory, h(φ_l), by {right:.0g}.",
        {"as printed": printed, "with the new memory": right},
    )
