"""Poor solutions: a Jacobian of zero, and what it says about early inputs."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from ._claim import Claim, Falsehood, Finding

STEPS, THRESHOLD = 6, 1.0


def jump(a: jax.Array) -> jax.Array:
    """A step, whose derivative is zero on both sides of a jump that is near."""
    return jnp.where(a > -0.25, 1.0, 0.0)


def check(remembers: Callable = jax.nn.relu) -> Finding:
    """A ReLU net whose memory wakes only for inputs above one.

    `m_t = remembers(m_{t-1} + x_t - 1)`, and `y_t = relu(m_{t-1} + x_t)` is the output.
    """

    @jax.jit
    def output(xs: jax.Array) -> jax.Array:
        m = y = jnp.zeros(())
        for x in xs:
            y = jax.nn.relu(m + x)
            m = remembers(m + x - THRESHOLD)
        return y

    xs = np.random.default_rng(0).uniform(0.2, 0.8, STEPS)
    early = np.arange(STEPS) < STEPS - 1
    derivative = float(np.abs(jax.jit(jax.grad(output))(xs)[:-1]).max())
    little, much = (float(np.abs(output(xs + early * size) - output(xs))) for size in (0.1, 2.0))
    verdict = "holds" if much == 0 else "holds when the inputs change little"
    return Finding(
        verdict if derivative == 0 and little == 0 else "false",
        f"a net has a derivative of {derivative:g} by all inputs but the last; raising them "
        f"by 0.1 changes its output by {little:g}, raising them by 2 by {much:.2g}.",
        {"derivative": derivative, "change by 0.1": little, "change by 2": much},
    )


CLAIM = Claim(
    "poor-solutions",
    "Where ∂a_T/∂a_k is zero for all k < τ, the output does not depend on the inputs before τ: a "
    "poor solution.",
    "Galvan (2015), section 1.6, poor solutions",
    "holds when the inputs change little",
    check,
    Falsehood("a memory with a step in place of ReLU", {"remembers": jump}, "false"),
)
