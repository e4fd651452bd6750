"""Dependencies beyond the window of truncated backpropagation through time."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Simple
from ..through_time import truncated_bptt
from ._claim import Claim, Falsehood, Finding
from ._nets import drawn, numbers

UNITS, STEPS = 4, 12


def check(window: int = STEPS // 2) -> Finding:
    """The gradient of the input weights, where all inputs but the first and all losses but the
    last are zero."""
    cell = drawn(Simple, 2, UNITS)
    xs = numbers(1, STEPS, 2) * (jnp.arange(STEPS) == 0)[:, None]
    counts = (jnp.arange(STEPS) == STEPS - 1).astype(xs.dtype)

    def loss(y: jax.Array, count: jax.Array) -> jax.Array:
        return count * jnp.sum(y)

    def seen(window: int) -> float:
        method = eqx.filter_jit(partial(truncated_bptt, window=window))
        _, gradient, _ = method(cell, loss, xs, counts)
        return float(np.linalg.norm(gradient.W))

    short, whole = seen(window), seen(STEPS)
    return Finding(
        "holds" if short == 0 and whole > 0 else "false",
        f"for an input {STEPS - 1} steps before the loss, the gradient is {short:g} in windows of "
        f"{window} steps, and {whole:.2g} in one window of {STEPS} steps.",
        {"truncated": short, "whole": whole},
    )


CLAIM = Claim(
    "truncation-horizon",
    "Truncated backpropagation through time gives up dependencies longer than its window.",
    "Lipton et al. (2015), section 3.2",
    "holds",
    check,
    Falsehood("a window that reaches from the input to the loss", {"window": STEPS}, "false"),
)
