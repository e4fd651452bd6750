"""The directional derivative of gates, with and without the slope of the sigmoid."""

from typing import Any

import jax
import jax.numpy as jnp

from ..cells import MLSTM, Cell, KrauseLSTM
from ._claim import Claim, Falsehood, Finding
from ._nets import drawn, gap, numbers

INPUTS, UNITS, STEPS = 3, 4, 5


def check(with_slope: bool = False) -> Finding:
    """R(H_out) over time by the appendix, and by automatic differentiation."""
    errors = {}
    for kind in (KrauseLSTM, MLSTM):
        w, v = (drawn(kind, INPUTS, UNITS, seed=seed) for seed in (0, 1))
        xs = numbers(2, STEPS, INPUTS)
        exact = jax.jit(lambda w, v: jax.jvp(lambda w: outputs(w, xs), (w,), (v,))[1])(w, v)  # noqa: B023
        for slope in (False, True):
            errors[kind, slope] = gap(jax.jit(r_forward, static_argnums=3)(w, v, xs, slope), exact)
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


def outputs(cell: Cell, xs: jax.Array) -> jax.Array:
    state, found = cell.initial(()), []
    for x in xs:
        state, y = cell.step(state, cell.inputs(x))
        found.append(y)
    return jnp.stack(found)


def r_forward(w: Any, v: Any, xs: jax.Array, with_slope: bool) -> jax.Array:
    """(7.1-7.7), or with a factor (7.28-7.35); the blocks of a cell are i, f, g, o."""
    h = c = rh = rc = jnp.zeros(UNITS)
    found = []
    for x in xs:
        read, r_read = h, rh
        if isinstance(w, MLSTM):
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
        found.append(rh)
    return jnp.stack(found)


CLAIM = Claim(
    "r-forward-of-gates",
    "R(ω) = R(W) I + R(W) H + W R(H), and so for all gates, gives the directional derivative of "
    "the LSTM and of the mLSTM.",
    "Krause (2015), sections 7.1 and 7.3, eq. 7.2-7.4 and 7.30-7.32",
    "false",
    check,
    Falsehood("the equations times σ(1 - σ)", {"with_slope": True}, "holds"),
)
