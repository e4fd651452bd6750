"""The general theorem on backpropagation through time."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import PeepholeLSTM
from ..through_time import bptt, general_bptt
from ._claim import Claim, Finding
from ._nets import drawn, gap, numbers

INPUTS, UNITS, STEPS, BATCH = 3, 4, 8, 2


def check(other: Callable = general_bptt) -> Finding:
    """Compare the theorem, or another method, with the engine's gradient."""
    cell = drawn(PeepholeLSTM, INPUTS, UNITS)
    xs, targets = numbers(1, STEPS, BATCH, INPUTS), numbers(2, STEPS, BATCH, UNITS)
    _, expected, _ = eqx.filter_jit(bptt)(cell, squared, xs, targets)
    _, found, _ = eqx.filter_jit(other)(cell, squared, xs, targets)
    error = gap(found, expected)
    return Finding(
        "holds" if error < 1e-12 else "false",
        f"on a random LSTM with peepholes over {STEPS} steps it differs from backpropagation "
        f"through time by {error:.0g}.",
        {"relative error": error},
    )


def squared(y: jax.Array, target: jax.Array) -> jax.Array:
    return 0.5 * jnp.sum((y - target) ** 2)


CLAIM = Claim(
    "general-theorem",
    "Γ_T = ∇L_T, Γ_k = ∇L_k + Γ_{k+1} ∂z_{k+1}/∂z_k and ∂L/∂θ = Σ ⟨Γ_k, ∂⁺z_k/∂θ⟩ give the "
    "gradient of any recurrent net.",
    "Delgado del Cerro (2021), chapter 3, eq. 3.2-3.4",
    "holds",
    check,
)
