"""The derivative through time as a sum over paths, one path at a time; for small nets."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Simple, activation, slope
from ..errors import BadInput
from ..through_time import sizes, unroll

MOST = 1_000_000


class Paths(NamedTuple):
    """The paths between two units of the unfolded network, the costliest first.

    Attributes:
        total: the sum of the costs of all paths: the derivative.
        number: how many paths there are, `units^(t - k - 1)`.
        enabled_number: how many of them are enabled.
        costs: `(paths,)`, each the product of the weights of its arcs and the derivatives of the
            units that it crosses.
        weights: `(paths,)`, the products of the weights alone.
        enabled: `(paths,)`, whether no derivative on the way is zero: with ReLUs, whether all units
            on the way are active. A path that is not enabled costs nothing, and an enabled path of
            ReLUs costs its weights.
        units: `(paths, t - k + 1)`, the unit of each step from k to t.
    """

    total: float
    number: int
    enabled_number: int
    costs: np.ndarray
    weights: np.ndarray
    enabled: np.ndarray
    units: np.ndarray


def path_sum(
    cell: Simple,
    xs: Any,
    i: int,
    j: int,
    from_step: int,
    to_step: int,
    state: Any = None,
    *,
    of: str = "a",
    top: int | None = None,
) -> Paths:
    """Entry (i, j) of `∂a_t/∂a_k`, unit i at t and j at k, path by path.

    With `a_t = W x_t + R h_{t-1} + b` and `h_t = f(a_t)` a path j = n_k, n_{k+1}, …, n_t = i costs

        ∏_{s=k}^{t-1} f'(a_s[n_s]) R[n_s, n_{s+1}]        for ∂a_t/∂a_k
        ∏_{s=k+1}^{t} R[n_{s-1}, n_s] f'(a_s[n_s])        for ∂h_t/∂h_k

    (`R[n, m]` is from unit n to unit m) and the entry is the sum over all paths.

    Source: Galvan (2015), (1.72) and figures 1.11 and 1.12. There the paths of t - k arcs are
    counted as here, `units^(t - k - 1)`, since both ends are given.

    Args:
        cell: a `Simple` cell of few units.
        xs: one sequence, `(T, inputs)`.
        i, j: the unit at `to_step` and the one at `from_step`.
        from_step, to_step: k and t, counted from 0.
        state: the state before the first step.
        of: `"a"` for pre-activations, `"h"` for states.
        top: return only so many paths; the total is always that of all.

    Example:
        >>> cell = Simple(3, 4, key=jax.random.key(0), f="relu")
        >>> xs = jax.random.normal(jax.random.key(1), (8, 3))
        >>> found = path_sum(cell, xs, 0, 1, from_step=2, to_step=6, top=5)
        >>> found.units.shape  # the five paths that count most, each by its units
        (5, 5)
    """
    units, lag = _checked(cell, xs, from_step, to_step)
    if of not in ("a", "h"):
        raise BadInput(f"of must be 'a' or 'h', got {of!r}")
    for unit in (i, j):
        if not 0 <= unit < units:
            raise BadInput(f"units are from 0 to {units - 1}, got {unit}")
    if lag == 0:
        one = np.array([float(i == j)])
        return Paths(float(one[0]), 1, 1, one, one, np.ones(1, bool), np.array([[j]]))
    (_, (a,)), _ = unroll(cell, xs, state, watch="products")
    slopes = np.asarray(slope(cell.f, a[from_step : to_step + 1]), float)
    R = np.asarray(cell.R, float)
    # Arc s is from step k + s to k + s + 1; the derivative is that of its first or its last unit.
    arcs = [R * (slopes[s][:, None] if of == "a" else slopes[s + 1]) for s in range(lag)]
    crossed = [(slopes[s][:, None] if of == "a" else slopes[s + 1]) != 0 for s in range(lag)]
    costs = _along(arcs, i, j)
    weights = _along([R] * lag, i, j)
    enabled = _along([np.broadcast_to(x, R.shape) for x in crossed], i, j)
    order = np.argsort(-np.abs(costs), kind="stable")[:top]
    # The number of a path, written in base `units`, is the units between its ends.
    between = [order // units ** (lag - 2 - s) % units for s in range(lag - 1)]
    ends = [np.full(len(order), unit) for unit in (j, i)]
    return Paths(
        total=float(costs.sum()),
        number=len(costs),
        enabled_number=int(enabled.sum()),
        costs=costs[order],
        weights=weights[order],
        enabled=enabled[order],
        units=np.stack([ends[0], *between, ends[1]], axis=1),
    )


def toy_contribution(
    w: float | np.ndarray, lags: Sequence[int], *, f: str = "identity", x: float = 1.0
) -> np.ndarray:
    """What the first input contributes to a net of one unit after some steps: `∂h_t/∂x_0`.

    `h_0 = f(x)` and `h_t = f(w h_{t-1})`: all later inputs are zero, and the weights of input and
    output are one. For linear units it is `w^lag`: it fades for |w| < 1, stays for |w| = 1 and
    explodes for |w| > 1.

    Source: Lipton et al. (2015) section 3.2, figures 7 and 8.

    Args:
        w: the recurrent weight, or an array of them.
        lags: the steps since the input, from 0.
        f: `identity`, or another activation of `Simple`.
        x: the first input.

    Returns:
        An array `(lags, *w.shape)` in float64.

    Example:
        >>> toy_contribution(0.5, [0, 1, 4]).tolist()
        [1.0, 0.5, 0.0625]
    """
    wanted = np.asarray(lags, int)
    if wanted.min(initial=0) < 0:
        raise BadInput(f"lags must be at least 0, got {wanted.min()}")
    weights = jnp.asarray(w, float)

    def step(a: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        return weights * activation(f)(a), slope(f, a)

    first = jnp.full(weights.shape, x, weights.dtype)
    _, slopes = jax.lax.scan(step, first, length=int(wanted.max(initial=0)) + 1)
    # The product is made in float64, which goes down to 1e-308.
    factors = np.array(slopes, float)
    factors[1:] *= np.asarray(w, float)
    return np.cumprod(factors, axis=0)[wanted]


def _checked(cell: Simple, xs: Any, from_step: int, to_step: int) -> tuple[int, int]:
    """The number of units and the lag."""
    if type(cell) is not Simple:
        raise BadInput(f"paths are those of a Simple cell, got {type(cell).__name__}")
    steps, batch = sizes(cell, xs)
    if batch:
        raise BadInput(f"paths are those of one sequence (T, inputs), got a batch {batch}")
    if not 0 <= from_step <= to_step < steps:
        raise BadInput(
            f"steps must be 0 <= from_step <= to_step < {steps}, got {from_step} and {to_step}"
        )
    units, lag = len(cell.R), to_step - from_step
    if units ** max(lag - 1, 0) > MOST:
        raise BadInput(
            f"{units} units and a lag of {lag} make {units}^{lag - 1} paths, more than {MOST:,}: "
            "take fewer units or a shorter lag"
        )
    return units, lag


def _along(arcs: list[np.ndarray], i: int, j: int) -> np.ndarray:
    """The product along every path from j to i, one after the other; the last unit runs fastest."""
    if len(arcs) == 1:
        return arcs[0][j, i].reshape(1)
    found = arcs[0][j]
    for arc in arcs[1:-1]:
        # Each path so far, which ends in a unit, goes on to every unit.
        found = (found.reshape(-1, len(arc), 1) * arc).reshape(-1)
    return (found.reshape(-1, len(arcs[-1])) * arcs[-1][:, i]).reshape(-1)
