"""Printed equations for the Jacobian between two steps, against the derivative."""

from collections.abc import Callable
from functools import reduce

import numpy as np

from .claim import Falsehood, Finding, Theme
from .tools import derivative, gap

THEME = Theme()


@THEME.claim(
    "∏ W diag(s_i) = Wⁿ diag(∏ s_i): the Jacobian is a power of the weights times the "
    "slopes (printed with the power n - 1).",
    "Galvan (2015, draft of March), section 1.3.4, eq. 1.46-1.48",
    "false",
    Falsehood("diagonal weights, which commute with the slopes", {"diagonal": True}, "holds"),
)
def weights_leave_the_product(units: int = 4, factors: int = 3, diagonal: bool = False) -> Finding:
    """Compare both sides for random weights, all or only diagonal ones, and slopes."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(units, units))
    if diagonal:
        W = np.diag(np.diag(W))
    slopes = rng.uniform(size=(factors, units))
    product = reduce(np.matmul, [W @ np.diag(s) for s in slopes])
    pulled = np.linalg.matrix_power(W, factors) @ np.diag(slopes.prod(axis=0))
    error = gap(pulled, product)
    return Finding(
        "holds" if error < 1e-12 else "false",
        f"for {factors} factors of random {units} × {units} matrices the two sides differ by "
        f"{error:.2f} of the largest entry.",
        {"relative error": error},
    )


UNITS, STEPS = 4, 4
LAYERS = (3, 5, 4, 2)


def slopes(a: np.ndarray) -> np.ndarray:
    """diag(σ'(a)) for tanh."""
    return np.diag(1 - np.tanh(a) ** 2)


def printed(W: np.ndarray, before: np.ndarray, after: np.ndarray, recurrent: bool) -> np.ndarray:
    """A factor of (1.44-1.45), which takes the slope before the step, or of (1.25), after it."""
    return slopes(before if recurrent else after) @ W


def exchanged(W: np.ndarray, before: np.ndarray, after: np.ndarray, recurrent: bool) -> np.ndarray:
    """W diag(σ'), with the slope of what W reads."""
    return W @ slopes(before)


def error_of_product(
    factor: Callable, weights: list, biases: list | np.ndarray, first: np.ndarray, recurrent: bool
) -> float:
    """How far the product is from the derivative of `a ← W tanh(a) + b` by its first value."""

    def run(a: np.ndarray) -> list[np.ndarray]:
        values = [a]
        for W, b in zip(weights, biases, strict=True):
            values.append(W @ np.tanh(values[-1]) + b)
        return values

    values = run(first)
    pairs = zip(weights, values[:-1], values[1:], strict=True)
    product = reduce(lambda J, at: factor(*at, recurrent) @ J, pairs, np.eye(len(first)))
    return gap(product, derivative(lambda a: run(a)[-1], first))


@THEME.claim(
    "∂a_t/∂a_k = ∏ diag(σ'(a_i)) W over the steps i = t - 1, …, k, and so over the layers of a "
    "feed-forward net.",
    "Galvan (2015), eq. 1.44, 1.45 and 1.62, and eq. 1.25",
    "false",
    Falsehood("W diag(σ') in place of diag(σ') W", {"factor": exchanged}, "holds"),
)
def slopes_left_of_weights(factor: Callable = printed) -> Finding:
    """Compare the product of the factors with ∂a_t/∂a_k over steps, and over layers."""
    rng = np.random.default_rng(0)
    W, us = rng.normal(size=(UNITS, UNITS)) / np.sqrt(UNITS), rng.normal(size=(STEPS, UNITS))
    over_steps = error_of_product(factor, [W] * STEPS, us, rng.normal(size=UNITS), recurrent=True)
    weights = [rng.normal(size=shape) for shape in zip(LAYERS[1:], LAYERS[:-1], strict=True)]
    biases = [rng.normal(size=size) for size in LAYERS[1:]]
    first = rng.normal(size=LAYERS[0])
    over_layers = error_of_product(factor, weights, biases, first, recurrent=False)
    return Finding(
        "holds" if max(over_steps, over_layers) < 1e-12 else "false",
        f"on a random tanh net the product over {STEPS} steps (1.45, 1.62) is off by "
        f"{over_steps:.2g} of the largest entry, and that over {len(weights)} layers (1.25) by "
        f"{over_layers:.2g}.",
        {"over steps": over_steps, "over layers": over_layers},
    )


@THEME.claim(
    "∂H(t)/∂H(t-n) = ∏ Wᵀ diag(1 - H(t-k)²) over k = 0, …, n - 1.",
    "Krause (2015), section 2.1, eq. 2.10",
    "false",
    Falsehood("diag(1 - H²) W in place of Wᵀ diag(1 - H²)", {"slopes_first": True}, "holds"),
)
def transposed_weights_in_the_product(slopes_first: bool = False) -> Finding:
    """Compare (2.10) with the derivative; `slopes_first`: with factors `diag(1 - H²) W`."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(UNITS, UNITS)) / np.sqrt(UNITS)
    us, first = rng.normal(size=(STEPS, UNITS)), np.zeros(UNITS)

    def run(h: np.ndarray) -> list[np.ndarray]:
        states = []
        for u in us:
            h = np.tanh(W @ h + u)
            states.append(h)
        return states

    exact = derivative(lambda h: run(h)[-1], first)
    slopes = [np.diag(1 - h**2) for h in run(first)[::-1]]  # of H(t), H(t-1), …
    printed = reduce(np.matmul, [W.T @ slope for slope in slopes])
    right = reduce(np.matmul, [slope @ W for slope in slopes])
    off, turned, other = (gap(J, exact) for J in (printed, printed.T, right))
    return Finding(
        "holds" if min((other,) if slopes_first else (off, turned)) < 1e-12 else "false",
        f"on a random net over {STEPS} steps it is off by {off:.2f} of the largest entry, and by "
        f"{turned:.2f} if the result is transposed, because the steps are then in the wrong order; "
        f"the product of diag(1 - H²) W agrees to {other:.0g}.",
        {"as printed": off, "transposed": turned, "diag(1 - H²) W": other},
    )


@THEME.claim(
    "∂a_t/∂w_lj = Σ_k ∂a_t/∂a_k,l φ_j of step t - 1, and ∂⁺a_k/∂W_j = φ_j of step k times the "
    "identity.",
    "Galvan (2015), section 1.3.2, eq. 1.38 and 1.42",
    "false",
    Falsehood("φ of step k - 1 in both", {"before": True}, "holds"),
)
def step_of_the_activation(before: bool = False) -> Finding:
    """Compare ∂a_t/∂W with `Σ_k ∂a_t/∂a_k ∂⁺a_k/∂W`, whose last factor is an activation φ.

    It is that of step t - 1 in (1.38) and of step k in (1.42); with `before` that of step k - 1.
    """
    rng, steps = np.random.default_rng(0), 5
    W, us = rng.normal(size=(UNITS, UNITS)), rng.normal(size=(steps, UNITS))

    def run(W: np.ndarray) -> list[np.ndarray]:
        """a_1 to a_t, with φ_0 = 0."""
        phi, values = np.zeros(UNITS), []
        for u in us:
            values.append(W @ phi + u)
            phi = np.tanh(values[-1])
        return values

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

    ks = range(1, steps + 1)
    right = gap(gradient([k - 1 for k in ks]), exact)
    errors = [gap(gradient([steps - 1] * steps), exact), gap(gradient([*ks]), exact)]
    return Finding(
        "holds" if (right if before else max(errors)) < 1e-12 else "false",
        f"on a random tanh net over {steps} steps (1.38) is off by {errors[0]:.2g} of the largest "
        f"entry and (1.42) by {errors[1]:.2g}; with φ_(k-1), which W multiplies in a_k, they agree "
        f"to {right:.0g}.",
        {"(1.38)": errors[0], "(1.42)": errors[1], "with φ_(k-1)": right},
    )
