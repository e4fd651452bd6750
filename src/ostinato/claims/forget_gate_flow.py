"""The error flow through the memory of an LSTM with forget gates."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..cells import LSTM
from ..through_time import unroll
from ._claim import Claim, Finding
from ._nets import drawn, gap, numbers

INPUTS, UNITS, STEPS = 2, 4, 30


class ThroughMemory(LSTM):
    """The LSTM whose errors go back through c alone."""

    def step(self, state: Any, u: jax.Array) -> tuple[Any, jax.Array]:
        h, c = state
        return super().step((jax.lax.stop_gradient(h), c), u)


def check(kind: type[LSTM] = ThroughMemory) -> Finding:
    """Compare ∂c_T/∂c_0 with the product of the forget gates."""
    cell = drawn(kind, INPUTS, UNITS)
    xs, h, c = numbers(1, STEPS, INPUTS), numbers(2, UNITS), numbers(3, UNITS)

    @jax.jit
    def flow(c: jax.Array) -> tuple[jax.Array, jax.Array]:
        def memory(c: jax.Array) -> tuple[jax.Array, jax.Array]:
            hs, (_, last) = unroll(cell, xs, (h, c))
            return last, hs

        jacobian, hs = jax.jacrev(memory, has_aux=True)(c)
        before = jnp.vstack([h, hs[:-1]])
        forget = jnp.split(jax.nn.sigmoid(cell.inputs(xs) + before @ cell.R), 4, axis=-1)[1]
        return jacobian, jnp.prod(forget, axis=0)

    found, product = map(np.asarray, flow(c))
    error = gap(found, np.diag(product))
    rate = float(np.max(product) ** (1 / STEPS))
    return Finding(
        "holds" if error < 1e-12 else "false",
        f"over {STEPS} steps ∂c_T/∂c_0 through c alone is the product of the forget gates to "
        f"{error:.0g}; the slowest memory cell keeps {rate:.2f} per step.",
        {"relative error": error, "kept per step": rate},
    )


CLAIM = Claim(
    "forget-gate-flow",
    "With a forget gate the factor of the flow through the memory is the gate's activation instead "
    "of one, so that errors can vanish again, slowly where it is close to one.",
    "Krause (2015), section 2.2, eq. 2.18",
    "holds",
    check,
)
