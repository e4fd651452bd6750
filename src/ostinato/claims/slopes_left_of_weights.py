"""The order of slopes and weights in the Jacobian between two steps, or two layers."""

from collections.abc import Callable
from functools import reduce

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._nets import derivative, gap

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


def check(factor: Callable = printed) -> Finding:
    """Compare the product of the factors with ∂a_t/∂a_k over steps, and over layers."""
    rng = np.random.default_rng(0)
    W, us = rng.normal(size=(UNITS, UNITS)) / np.sqrt(UNITS), rng.normal(size=(STEPS, UNITS))
    over_steps = error(factor, [W] * STEPS, us, rng.normal(size=UNITS), recurrent=True)
    weights = [rng.normal(size=shape) for shape in zip(LAYERS[1:], LAYERS[:-1], strict=True)]
    biases = [rng.normal(size=size) for size in LAYERS[1:]]
    first = rng.normal(size=LAYERS[0])
    over_layers = error(factor, weights, biases, first, recurrent=False)
    return Finding(
        "holds" if max(over_steps, over_layers) < 1e-12 else "false",
        f"on a random tanh net the product over {STEPS} steps (1.45, 1.62) is off by "
        f"{over_steps:.2g} of the largest entry, and that over {len(weights)} layers (1.25) by "
        f"{over_layers:.2g}.",
        {"over steps": over_steps, "over layers": over_layers},
    )


def error(
    factor: Callable, weights: list, biases: list | np.ndarray, first: np.ndarray, recurrent: bool
) -> float:
    """How far the product is from the derivative of `a ← W tanh(a) + b` by its first value."""

    def run(a: np.ndarray) -> list[np.ndarray]:
        found = [a]
        for W, b in zip(weights, biases, strict=True):
            found.append(W @ np.tanh(found[-1]) + b)
        return found

    values = run(first)
    pairs = zip(weights, values[:-1], values[1:], strict=True)
    product = reduce(lambda J, at: factor(*at, recurrent) @ J, pairs, np.eye(len(first)))
    return gap(product, derivative(lambda a: run(a)[-1], first))


CLAIM = Claim(
    "slopes-left-of-weights",
    "∂a_t/∂a_k = ∏ diag(σ'(a_i)) W over the steps i = t - 1, …, k, and so over the layers of a "
    "feed-forward net.",
    "Galvan (2015), eq. 1.44, 1.45 and 1.62, and eq. 1.25",
    "false",
    check,
    Falsehood("W diag(σ') in place of diag(σ') W", {"factor": exchanged}, "holds"),
)
