"""Products with the Hessian and the Gauss-Newton matrix: the R-forward pass, and costs."""

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp

from ..cells import MLSTM, Cell, KrauseLSTM
from .claim import Falsehood, Finding, Theme
from .gauss_newton import cross_entropy, outputs
from .tools import drawn, gap, multiplications, numbers

THEME = Theme()


def costs(functions: Iterable[Callable], units: int, symbols: int) -> list[float]:
    """The multiplications that functions of `(theta, v, xs, targets)` take for one more step.

    Relative to those of the forward pass, and from shapes alone.
    """

    def per_step(function: Callable) -> int:
        return counted(function, 4) - counted(function, 3)

    def counted(function: Callable, steps: int) -> int:
        theta = jax.ShapeDtypeStruct((units * (units + 2 * symbols + 1),), float)
        xs = jax.ShapeDtypeStruct((steps, symbols), float)
        return multiplications(function, theta, theta, xs, xs)

    forward = per_step(lambda theta, v, xs, targets: outputs(theta, xs, units, symbols))
    return [per_step(function) / forward for function in functions]


@THEME.claim(
    "The R-forward pass of an RNN costs about as much as two forward passes.",
    "Krause (2015), section 3.3.2, after algorithm 4",
    "holds",
    Falsehood(
        "a pass that follows a change of the inputs instead of the weights",
        {"of_inputs": True},
        "false",
    ),
)
def r_forward_costs_two_passes(
    of_inputs: bool = False, units: int = 400, symbols: int = 70
) -> Finding:
    """Count multiplications in matrix products, for the tanh network of Krause (2015).

    `of_inputs`: the pass follows a change of the inputs instead of the parameters.
    """

    def both(theta: Any, v: Any, xs: Any, targets: Any) -> Any:
        if of_inputs:
            return jax.jvp(lambda xs: outputs(theta, xs, units, symbols), (xs,), (targets,))
        return jax.jvp(lambda theta: outputs(theta, xs, units, symbols), (theta,), (v,))

    ratio = costs((both,), units, symbols)[0] - 1
    return Finding(
        "holds" if abs(ratio - 2) < 0.2 else "false",
        f"per step of a network of {units} units it takes {ratio:.2f} times the multiplications of "
        f"a forward pass: two products for every one of the forward pass, but only one with the "
        f"input.",
        {"ratio": ratio},
    )


INPUTS, UNITS, STEPS = 3, 4, 5


def run(cell: Cell, xs: jax.Array) -> jax.Array:
    return jax.lax.scan(lambda state, x: cell.step(state, cell.inputs(x)), cell.initial(()), xs)[1]


def r_forward(w: Any, v: Any, xs: jax.Array, factor: bool, with_slope: bool) -> jax.Array:
    """R(H_out) by (7.1-7.7), or by (7.28-7.35) with the factor of the mLSTM.

    The blocks of a cell are i, f, g, o.
    """

    def step(state: Any, x: jax.Array) -> tuple[Any, jax.Array]:
        h, c, rh, rc = state
        read, r_read = h, rh
        if factor:
            by_input, by_state = x @ w.Wm, h @ w.Rm
            read = by_input * by_state
            r_read = (x @ v.Wm) * by_state + by_input * (h @ v.Rm + rh @ w.Rm)  # (7.28)
        a = x @ w.W + read @ w.R
        r_in = x @ v.W + read @ v.R + r_read @ w.R  # (7.1-7.4), (7.29-7.32)
        i, f, _, o = jnp.split(jax.nn.sigmoid(a), 4)
        ri, rf, rg, ro = jnp.split(r_in, 4)
        if with_slope:
            ri, rf, ro = (r * s * (1 - s) for r, s in ((ri, i), (rf, f), (ro, o)))
        g = jnp.split(a, 4)[2]
        rc = g * ri + rg * i + rf * c + f * rc  # (7.5)
        c = f * c + i * g
        h = jnp.tanh(c * o)
        rh = (rc * o + c * ro) * (1 - h**2)  # (7.6-7.7)
        return (h, c, rh, rc), rh

    return jax.lax.scan(step, (jnp.zeros(UNITS),) * 4, xs)[1]


@THEME.claim(
    "R(ω) = R(W) I + R(W) H + W R(H), and so for all gates, gives the directional derivative of "
    "the LSTM and of the mLSTM.",
    "Krause (2015), sections 7.1 and 7.3, eq. 7.2-7.4 and 7.30-7.32",
    "false",
    Falsehood("the equations times σ(1 - σ)", {"with_slope": True}, "holds"),
)
def r_forward_of_gates(with_slope: bool = False) -> Finding:
    """R(H_out) over time by the appendix, and by automatic differentiation."""
    errors, by_appendix = {}, jax.jit(r_forward, static_argnums=(3, 4))
    for kind in (KrauseLSTM, MLSTM):
        w, v = (drawn(kind, INPUTS, UNITS, seed=seed) for seed in (0, 1))
        xs = numbers(2, STEPS, INPUTS)
        exact = jax.jit(lambda w, v: jax.jvp(lambda w: run(w, xs), (w,), (v,))[1])(w, v)  # noqa: B023
        for slope in (False, True):
            errors[kind, slope] = gap(by_appendix(w, v, xs, kind is MLSTM, slope), exact)
    chosen = [errors[kind, with_slope] for kind in (KrauseLSTM, MLSTM)]
    return Finding(
        "holds" if max(chosen) < 1e-12 else "false",
        f"on random nets over {STEPS} steps they are off by {errors[KrauseLSTM, False]:.2g} (LSTM) "
        f"and {errors[MLSTM, False]:.2g} (mLSTM) of the largest number; times σ(1 - σ) they agree "
        f"to {max(errors[kind, True] for kind in (KrauseLSTM, MLSTM)):.0g}.",
        {
            "LSTM as printed": errors[KrauseLSTM, False],
            "mLSTM as printed": errors[MLSTM, False],
            "LSTM with the slope": errors[KrauseLSTM, True],
            "mLSTM with the slope": errors[MLSTM, True],
        },
    )


@THEME.claim(
    "A Gauss-Newton product needs only about half the computation of a Hessian product.",
    "Krause (2015), section 3.3.2, end",
    "false",
    Falsehood("a gradient in place of the Gauss-Newton product", {"of_gradient": True}, "holds"),
)
def hessian_product_costs_twice(
    of_gradient: bool = False, units: int = 400, symbols: int = 70
) -> Finding:
    """Count multiplications in matrix products, for the tanh network of Krause (2015).

    `of_gradient`: a gradient takes the place of the Gauss-Newton product.
    """
    other = "gradient" if of_gradient else "Gauss-Newton product"

    def loss(theta: Any, xs: Any, targets: Any) -> jax.Array:
        return cross_entropy(outputs(theta, xs, units, symbols), targets)

    def gradient(theta: Any, v: Any, xs: Any, targets: Any) -> jax.Array:
        return jax.grad(loss)(theta, xs, targets)

    def gauss_newton(theta: Any, v: Any, xs: Any, targets: Any) -> jax.Array:
        values, push = jax.linearize(lambda theta: outputs(theta, xs, units, symbols), theta)
        at_outputs = jax.grad(lambda at: cross_entropy(at, targets))
        errors = jax.jvp(at_outputs, (values,), (push(v),))[1]
        return jax.linear_transpose(push, theta)(errors)

    def hessian(theta: Any, v: Any, xs: Any, targets: Any) -> jax.Array:
        return jax.jvp(lambda theta: gradient(theta, v, xs, targets), (theta,), (v,))[1]

    half = gradient if of_gradient else gauss_newton
    of_hessian, of_other = costs((hessian, half), units, symbols)
    ratio = of_hessian / of_other
    return Finding(
        "holds" if ratio > 1.8 else "false",
        f"per step of a network of {units} units a Hessian product takes the multiplications of "
        f"{of_hessian:.2f} forward passes, a {other} those of {of_other:.2f}: {ratio:.2f} times as "
        f"much.",
        {"ratio": ratio, "Hessian product": of_hessian, other: of_other},
    )
