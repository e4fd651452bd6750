"""The derivative through time as an explicit sum over paths, for small networks."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Simple
from ..cells.activations import activation, slope
from ..errors import BadInput
from ..settings import shown
from ..through_time import unroll
from ..through_time.check import sizes

MAX = 1_000_000


class Paths(NamedTuple):
    """The paths between two units of the unrolled network, largest cost first.

    Attributes:
        total: the derivative, which is the sum of the costs of all paths.
        number: the number of paths, `units^(t - k - 1)`.
        enabled_number: the number of enabled paths.
        costs: `(paths,)`, the product of the weights of a path's arcs and of the activation
            derivatives of the units that it crosses.
        weights: `(paths,)`, the product of the weights alone.
        enabled: `(paths,)`, whether every activation derivative along the path is nonzero; with
            ReLUs, whether every unit along it is active. The cost of a path that is not enabled is
            zero, and that of an enabled path of ReLUs is the product of its weights.
        units: `(paths, t - k + 1)`, the unit at each step from k to t.
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
    """Entry (i, j) of `∂a_t/∂a_k`, for unit i at time t and unit j at time k, path by path.

    With `a_t = W x_t + R h_{t-1} + b` and `h_t = f(a_t)`, the cost of a path
    j = n_k, n_{k+1}, …, n_t = i is

        ∏_{s=k}^{t-1} f'(a_s[n_s]) R[n_s, n_{s+1}]        for ∂a_t/∂a_k
        ∏_{s=k+1}^{t} R[n_{s-1}, n_s] f'(a_s[n_s])        for ∂h_t/∂h_k

    where `R[n, m]` is the weight from unit n to unit m. The entry is the sum over all paths.

    Source: Galvan (2015), (1.72) and figures 1.11 and 1.12. There, too, the number of paths of
    t - k arcs is `units^(t - k - 1)`, because both ends are fixed.

    Args:
        cell: a `Simple` cell with few units.
        xs: one sequence, `(T, inputs)`.
        i, j: the unit at `to_step` and the unit at `from_step`.
        from_step, to_step: k and t, counted from 0.
        state: the state before the first step.
        of: `"a"` for pre-activations, `"h"` for states.
        top: return only this many paths; `total` always covers all paths.

    Example:
        >>> cell = Simple(3, 4, key=jax.random.key(0), f="relu")
        >>> xs = jax.random.normal(jax.random.key(1), (8, 3))
        >>> found = path_sum(cell, xs, 0, 1, from_step=2, to_step=6, top=5)
        >>> found.units.shape  # the units of the five most important paths
        (5, 5)
    """
    units, lag = _checked(cell, xs, from_step, to_step)
    if of not in ("a", "h"):
        raise BadInput(f"of must be 'a' or 'h', got {of!r}")
    for unit in (i, j):
        if not 0 <= unit < units:
            raise BadInput(f"i and j must be from 0 to {units - 1}, got {unit}")
    if lag == 0:
        one = np.array([float(i == j)])
        return Paths(float(one[0]), 1, 1, one, one, np.ones(1, bool), np.array([[j]]))
    slopes, R = _slopes(cell, xs, state, from_step, to_step), np.asarray(cell.R, float)
    # Arc s goes from step k + s to k + s + 1; its derivative is at its first or its last unit.
    crossed = slopes[:-1, :, None] if of == "a" else slopes[1:, None, :]
    costs = _along([R * factor for factor in crossed], i, j)
    weights = _along([R] * lag, i, j)
    enabled = _along([np.broadcast_to(factor != 0, R.shape) for factor in crossed], i, j)
    order = np.argsort(-np.abs(costs), kind="stable")[:top]
    # The digits of a path's index in base `units` are the units between its ends.
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


def strongest_entry(
    cell: Simple, xs: Any, from_step: int, to_step: int, state: Any = None
) -> tuple[int, int]:
    """The entry (i, j) of `∂a_t/∂a_k` of largest absolute value: where `path_sum` has most to say.

    Args: as for `path_sum`.

    Example:
        >>> cell = Simple(3, 4, key=jax.random.key(0))
        >>> i, j = strongest_entry(cell, jnp.ones((8, 3)), from_step=2, to_step=6)
        >>> 0 <= i < 4 and 0 <= j < 4
        True
    """
    _checked(cell, xs, from_step, to_step)
    slopes, R = _slopes(cell, xs, state, from_step, to_step), np.asarray(cell.R, float)
    product = np.eye(len(R))  # entry [j, i], because R acts on row vectors
    for own in slopes[:-1]:
        product = product @ (own[:, None] * R)
    j, i = np.unravel_index(np.argmax(np.abs(product)), product.shape)
    return int(i), int(j)


def toy_contribution(
    w: float | np.ndarray, lags: Sequence[int], *, f: str = "identity", x: float = 1.0
) -> np.ndarray:
    """The effect of the first input on a network of one unit after some steps: `∂h_t/∂x_0`.

    `h_0 = f(x)` and `h_t = f(w h_{t-1})`: all later inputs are zero, and the input and output
    weights are 1. For a linear unit it is `w^lag`, which vanishes for |w| < 1, is constant for
    |w| = 1 and explodes for |w| > 1.

    Source: Lipton et al. (2015), section 3.2, figures 7 and 8.

    Args:
        w: the recurrent weight, or an array of weights.
        lags: the numbers of steps since the input, at least 0.
        f: the activation, `identity` or any other that `Simple` takes.
        x: the first input.

    Returns:
        An array `(lags, *w.shape)` in float64.

    Example:
        >>> toy_contribution(0.5, [0, 1, 4]).tolist()
        [1.0, 0.5, 0.0625]
    """
    wanted = np.asarray(lags)
    if wanted.size and wanted.dtype.kind not in "iu":
        raise BadInput(f"lags must be whole numbers of steps, got {shown(lags)}")
    wanted = wanted.astype(int)
    if wanted.min(initial=0) < 0:
        raise BadInput(f"lags must be at least 0, got {wanted.min()}")
    weights = jnp.asarray(w, float)

    def step(a: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        return weights * activation(f)(a), slope(activation(f), a)

    first = jnp.full(weights.shape, x, weights.dtype)
    _, slopes = jax.lax.scan(step, first, length=int(wanted.max(initial=0)) + 1)
    # Multiply in float64, whose range goes down to 1e-308.
    factors = np.array(slopes, float)
    factors[1:] *= np.asarray(w, float)
    return np.cumprod(factors, axis=0)[wanted]


def _checked(cell: Simple, xs: Any, from_step: int, to_step: int) -> tuple[int, int]:
    """The number of units and the lag."""
    if not cell.is_simple:
        raise BadInput(f"path_sum needs a Simple cell, got {type(cell).__name__}")
    steps, batch = sizes(cell, xs)
    if batch:
        raise BadInput(f"path_sum needs one sequence (T, inputs), got batch axes {batch}")
    if not 0 <= from_step <= to_step < steps:
        raise BadInput(
            f"steps must be 0 <= from_step <= to_step < {steps}, got {from_step} and {to_step}"
        )
    units, lag = len(cell.R), to_step - from_step
    if units ** max(lag - 1, 0) > MAX:
        raise BadInput(
            f"{units} units and a lag of {lag} make {units}^{lag - 1} paths, more than {MAX:,}: "
            "use fewer units or a shorter lag"
        )
    return units, lag


def _slopes(cell: Simple, xs: Any, state: Any, from_step: int, to_step: int) -> np.ndarray:
    """`f'(a_s)` for all steps s from `from_step` to `to_step`, `(t - k + 1, units)`."""
    (_, (a,)), _ = unroll(cell, xs, state, watch="products")
    return np.asarray(slope(activation(cell.f), a[from_step : to_step + 1]), float)


def _along(arcs: list[np.ndarray], i: int, j: int) -> np.ndarray:
    """The product along every path from j to i, in order; the last unit varies fastest."""
    if len(arcs) == 1:
        return arcs[0][j, i].reshape(1)
    products = arcs[0][j]
    for arc in arcs[1:-1]:
        # Extend each path by every unit.
        products = (products.reshape(-1, len(arc), 1) * arc).reshape(-1)
    return (products.reshape(-1, len(arcs[-1])) * arcs[-1][:, i]).reshape(-1)
