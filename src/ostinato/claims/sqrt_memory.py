"""The cost of keeping only the states of every √T-th step."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from ..cells import Simple
from ..through_time import unroll
from ._claim import Claim, Finding
from ._count import multiplications
from ._nets import drawn, gap, numbers

UNITS, STEPS = 8, 64


def check(memory: str | int = "sqrt") -> Finding:
    """Count the products with a matrix in the forward pass and in two gradients."""
    cell = drawn(Simple, UNITS, UNITS)
    xs = numbers(1, STEPS, UNITS)

    def run(R: jax.Array, memory: str | int = "all") -> jax.Array:
        with_other = jax.tree.map(lambda x: R if x is cell.R else x, cell)
        return jnp.sum(unroll(with_other, xs, memory=memory)[0] ** 2)

    def gradient(memory: str | int) -> Callable[[jax.Array], jax.Array]:
        return jax.grad(lambda R: run(R, memory))

    each = UNITS * UNITS
    forward = multiplications(run, cell.R) / each  # with inputs and recurrent weights, both h × h
    gradients = {name: multiplications(gradient(name), cell.R) / each for name in ("all", memory)}
    extra = (gradients[memory] - gradients["all"]) / forward
    error = gap(*(jax.jit(gradient(name))(cell.R) for name in ("all", memory)))
    return Finding(
        "holds" if abs(extra - 1) < 0.1 and error < 1e-12 else "false",
        f"over {STEPS} steps a forward pass takes {forward:.0f} products with a matrix, a gradient "
        f"{gradients['all']:.0f}, and {gradients[memory]:.0f} if states are recomputed: "
        f"{extra:.2f} forward passes more, for the same gradient to {error:.0g}.",
        {"forward": forward, "extra forward passes": extra, "relative error": error},
    )


CLAIM = Claim(
    "sqrt-memory",
    "Keeping the states of every √T-th step and recomputing the others doubles the computation of "
    "the forward pass, and costs nothing else.",
    "Krause (2015), section 3.3.5.1",
    "holds",
    check,
)
