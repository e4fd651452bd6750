"""Forget gates, and how errors flow back through the memory of an LSTM."""

from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np

from ..cells import PeepholeLSTM
from ..lens import forget_share, memory_conditions
from .claim import Falsehood, Finding, Theme
from .lstm_errors import INPUTS, random_lstm, sigmoid, step, weights
from .tools import derivative, drawn, gap, numbers

THEME = Theme()


class Flow(NamedTuple):
    """How the memory after all steps depends on that before them.

    Attributes:
        whole: ∂c_T/∂c_0, along all paths.
        through_c: the same along c alone: what the gates read of the outputs is held fixed.
        forget: the activations of the forget gate, `(steps, units)`.
    """

    whole: np.ndarray
    through_c: np.ndarray
    forget: np.ndarray


def flow(
    steps: int,
    kept: Callable[[Any], Any] = lambda gate: gate,
    forget_bias: float = 0.0,
    peephole: float = 0.0,
) -> Flow:
    """The flow through a random LSTM, Krause (2015), eq. 2.11-2.18, in NumPy.

    Args:
        steps: T.
        kept: the factor of the old memory in (2.18), from the activation of the forget gate.
        forget_bias: is added to the input of the forget gate.
        peephole: the weight with which every gate reads its memory cell; zero in Krause (2015).
    """
    rng, inputs, units = np.random.default_rng(0), 2, 4
    W, R = 0.7 * rng.normal(size=(4, units, inputs)), 0.7 * rng.normal(size=(4, units, units))
    xs, h, c = rng.normal(size=(steps, inputs)), rng.normal(size=units), rng.normal(size=units)

    def run(c: Any, held: Any = None) -> tuple[Any, Any, Any]:
        """The last memory, and all outputs and forget gates; gates read `held` if it is given."""
        out, hs, gates = h, [h], []
        for t, x in enumerate(xs):
            a = W @ x + R @ (out if held is None else held[t])
            a[1] = a[1] + forget_bias
            write, forget, read = (sigmoid(a[k] + peephole * c) for k in (0, 1, 2))
            c = kept(forget) * c + write * a[3]  # (2.14), (2.18)
            out = np.tanh(c * read)  # (2.15)
            hs.append(out)
            gates.append(forget)
        return c, np.array(hs), np.array(gates)

    _, hs, gates = run(c)
    return Flow(
        derivative(lambda c: run(c)[0], c), derivative(lambda c: run(c, hs)[0], c), gates.real
    )


STEPS = 100


@THEME.claim(
    "In the LSTM without forget gates errors flow back through a memory cell unchanged, because "
    "its self-connection has weight one.",
    "Galvan (2015), section 2.1.1; Lipton et al. (2015), section 4.1; Krause (2015), section 2.2",
    "holds when errors go back through c alone",
    Falsehood("a self-connection of 0.99", {"weight": 0.99}, "false"),
)
def constant_error_flow(weight: float = 1.0) -> Finding:
    """Differentiate c after many steps by c before them, for a self-connection of this weight."""
    error_flow = flow(STEPS, kept=lambda gate: weight)
    through_c, whole = (
        float(np.abs(J - np.eye(len(J))).max()) for J in (error_flow.through_c, error_flow.whole)
    )
    verdict = "holds" if whole < 1e-12 else "holds when errors go back through c alone"
    return Finding(
        verdict if through_c < 1e-12 else "false",
        f"with a self-connection of {weight:g}, ∂c_T/∂c_0 over {STEPS} steps differs from the "
        f"identity by {through_c:.1g} along c alone, as in the truncated gradient of 1997, and by "
        f"{whole:.2g} along all paths.",
        {"off through c": through_c, "off along all paths": whole},
    )


BIASES = (0.0, 4.0, 8.0)  # of the forget gate, which moves towards one


@THEME.claim(
    "With a forget gate the factor of the flow through the memory is the gate's activation instead "
    "of one, so that errors can vanish again, slowly where it is close to one.",
    "Krause (2015), section 2.2, eq. 2.18",
    "holds",
    Falsehood("gates that read the memory through peepholes", {"peephole": 0.5}, "false"),
)
def forget_gate_flow(peephole: float = 0.0) -> Finding:
    """Compare ∂c_T/∂c_0 along c alone with the product of the forget gates, for three biases.

    `peephole`: the weight with which the gates read the memory, zero in the source.
    """
    error, kept = 0.0, []
    for bias in BIASES:
        error_flow = flow(STEPS, forget_bias=bias, peephole=peephole)
        error = max(error, gap(error_flow.through_c, np.diag(error_flow.forget.prod(axis=0))))
        kept.append(float(np.linalg.norm(error_flow.through_c, 2)))
    vanishes_slowly = kept[0] < 1e-3 and kept[0] < kept[1] < kept[2] and 0.5 < kept[2] < 1
    return Finding(
        "holds" if error < 1e-12 and vanishes_slowly else "false",
        f"over {STEPS} steps ∂c_T/∂c_0 along c alone is the product of the forget gates to "
        f"{error:.0g}; {kept[0]:.0g} of an error is left with a bias of {BIASES[0]:g} at the gate, "
        f"{kept[1]:.2f} with {BIASES[1]:g} and {kept[2]:.2f} with {BIASES[2]:g}.",
        {"relative error": error}
        | {f"left, bias {bias:g}": x for bias, x in zip(BIASES, kept, strict=True)},
    )


NETS = 20
FACTOR = 2.0  # what still counts as ~


def lstm(norm: float, seed: int) -> PeepholeLSTM:
    """Without biases, as in Delgado del Cerro (2021), whose z is the cell's g."""
    units = 8
    w, cell = weights(units, seed, scale=1.0), drawn(PeepholeLSTM, INPUTS, units)
    W = [w["W", k].T for k in "ifzo"]
    R = [w["R", k].T * norm / np.linalg.norm(w["R", k], 2) for k in "ifzo"]
    p = [w["p", k] * norm / np.abs(w["p", k]).max() for k in "ifo"]
    new = np.hstack(W), np.hstack(R), np.zeros(4 * units), np.stack(p)
    return eqx.tree_at(lambda c: (c.W, c.R, c.b, c.p), cell, new)


@THEME.claim(
    "Where ‖Q‖ < 1 its powers become insignificant over long times, and ∂δc(τ)/∂δc(t) ~ "
    "∏ diag(f): long-term dependencies are governed by the forget gates.",
    "Delgado del Cerro (2021), section 4.4, after eq. 4.18",
    "false",
    Falsehood(
        "weights so small that Q is negligible beside the forget gates, not only below one",
        {"norm": 0.001},
        "holds",
    ),
)
def forget_gates_govern(norm: float = 0.49, lag: int = 50) -> Finding:
    """Compare ∏ (Q + diag(f)) with ∏ diag(f) in LSTMs that meet the first condition of the list.

    All of Rⁱ, Rᶠ, Rᶻ and the peepholes have the given norm.
    """
    ratios, largest = [], 0.0
    for seed in range(NETS):
        cell = lstm(norm, seed)
        xs = numbers(100 + seed, lag + 1, INPUTS)
        share = forget_share(cell, xs, lags=[lag])
        ratios.append(float(share.product[0] / share.forget[0]))
        largest = max(largest, memory_conditions(cell, xs)["small Q"].numbers["‖Q‖"])
    middle = median(ratios)
    alike = all(1 / FACTOR < ratio < FACTOR for ratio in ratios)
    return Finding(
        "holds" if alike else "false",
        f"in {NETS} random LSTMs with norms of {norm:g}, where ‖Q‖ is at most {largest:.2f}, the "
        f"whole product over {lag} steps is {middle:.3g} times that of the forget gates (median; "
        f"range {min(ratios):.2g} to {max(ratios):.2g}).",
        {
            "median ratio": middle,
            "smallest": min(ratios),
            "largest": max(ratios),
            "largest norm of Q": largest,
        },
    )


@THEME.claim(
    "∂φ_l/∂y_j = ∂i_l/∂y_j z_l + i_l ∂z_l/∂y_j + ∂f_l/∂y_j c_l + f_l δ_jl, for the new memory "
    "φ = i ⊙ z + f ⊙ c.",
    "Delgado del Cerro (2021), section 4.1",
    "false",
    Falsehood("the equation without f_l δ_jl", {"stray": False}, "holds"),
)
def stray_forget_gate(stray: bool = True) -> Finding:
    """Compare ∂c_t/∂y_{t-1}, with the term `f_l δ_jl` of the derivation or without it."""
    w, (x,), y, c = random_lstm(steps=1)
    exact = derivative(lambda y: step(w, x, y, c).c, y)
    s = step(w, x, y, c)
    jacobian = (s.i * (1 - s.i) * s.z)[:, None] * w["R", "i"]
    jacobian += (s.i * (1 - s.z**2))[:, None] * w["R", "z"]
    jacobian += (s.f * (1 - s.f) * c)[:, None] * w["R", "f"]
    without, printed = gap(jacobian, exact), gap(jacobian + np.diag(s.f), exact)
    return Finding(
        "holds" if (printed if stray else without) < 1e-12 else "false",
        f"on a random LSTM with peepholes it is off by {printed:.2f} of the largest entry, and "
        f"without f_l δ_jl, as in the Jacobian that is printed afterwards, by {without:.0g}.",
        {"as derived": printed, "without the term": without},
    )
