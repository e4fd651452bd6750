"""Which step's activation multiplies an error in the gradient of a recurrent weight."""

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._nets import derivative, gap

UNITS, STEPS = 4, 5


def check(before: bool = False) -> Finding:
    """Compare ∂a_t/∂W with `Σ_k ∂a_t/∂a_k ∂⁺a_k/∂W`, whose last factor is an activation φ.

    It is that of step t - 1 in (1.38) and of step k in (1.42); with `before` that of step k - 1.
    """
    rng = np.random.default_rng(0)
    W, us = rng.normal(size=(UNITS, UNITS)), rng.normal(size=(STEPS, UNITS))

    def run(W: np.ndarray) -> list[np.ndarray]:
        """a_1 to a_t, with φ_0 = 0."""
        phi, found = np.zeros(UNITS), []
        for u in us:
            found.append(W @ phi + u)
            phi = np.tanh(found[-1])
        return found

    flat = derivative(lambda w: run(w.reshape(W.shape))[-1], W.ravel())
    exact = flat.reshape(UNITS, UNITS, UNITS)  # unit u of a_t by w_lj
    values = run(W)
    phis = [np.zeros(UNITS), *map(np.tanh, values)]  # φ_0 to φ_t
    to_last, J = [], np.eye(UNITS)
    for a in [None, *values[-2::-1]]:  # ∂a_t/∂a_k for k = t, …, 1
        J = J if a is None else J @ W @ np.diag(1 - np.tanh(a) ** 2)
        to_last.append(J)

    def gradient(steps: list[int]) -> np.ndarray:
        """With φ of the given steps for k = 1, …, t."""
        return np.einsum("kul,kj->ulj", to_last[::-1], [phis[n] for n in steps])

    ks = range(1, STEPS + 1)
    right = gap(gradient([k - 1 for k in ks]), exact)
    errors = [gap(gradient([STEPS - 1] * STEPS), exact), gap(gradient([*ks]), exact)]
    return Finding(
        "holds" if (right if before else max(errors)) < 1e-12 else "false",
        f"on a random tanh net over {STEPS} steps (1.38) is off by {errors[0]:.2g} of the largest "
        f"entry and (1.42) by {errors[1]:.2g}; with φ_(k-1), which W multiplies in a_k, they agree "
        f"to {right:.0g}.",
        {"(1.38)": errors[0], "(1.42)": errors[1], "with φ_(k-1)": right},
    )


CLAIM = Claim(
    "step-of-the-activation",
    "∂a_t/∂w_lj = Σ_k ∂a_t/∂a_k,l φ_j of step t - 1, and ∂⁺a_k/∂W_j = φ_j of step k times the "
    "identity.",
    "Galvan (2015), section 1.3.2, eq. 1.38 and 1.42",
    "false",
    check,
    Falsehood("φ of step k - 1 in both", {"before": True}, "holds"),
)
