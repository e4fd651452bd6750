"""How much of the error that an LSTM's memory carries back in time the forget gates explain.

Delgado del Cerro (2021), section 4.4, splits one step of the error at the memory c,

    ∂δc(t-1)/∂δc(t) = Q + diag(f),   δc = ∂L/∂c,

into the forget gate f, which involves no weight, and the rest Q. With row vectors,
`a = u + h R + p ⊙ c` (peepholes p, zero for the plain LSTM), and ′ for the derivative with respect
to the pre-activation (`i′ = i (1 - i)`, `g′ = 1 - g²`):

    Q = diag(s_{t-1}) M_t + diag(p_i i′ g + p_f f′ c_{t-1})
    M_t = R_g diag(i g′) + R_i diag(i′ g) + R_f diag(f′ c_{t-1})     how c_t depends on h_{t-1}
    s_t = o (1 - tanh² c_t) + p_o o′ tanh c_t                        how h_t depends on c_t

Every matrix here maps the unit of its row to the unit of its column. Equation (4.16) as printed is
the transpose, ∂c(t)/∂c(t-1) for column vectors.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..cells import LSTM, Layer, PeepholeLSTM
from ..errors import BadInput
from ..through_time import unroll
from ..through_time.running import starting_state

EDGE = 0.05  # closer than this to an end of its range, a unit is saturated or off


class MemorySplit(NamedTuple):
    """`∂δc(t-1)/∂δc(t) = Q + diag(f)` for t = 1, …, T-1.

    Attributes:
        Q: `(T - 1, *batch, units, units)`; entry (i, j) is for unit i at t-1 and unit j at t.
        f: the forget gates, `(T - 1, *batch, units)`.
    """

    Q: np.ndarray
    f: np.ndarray


class ForgetShare(NamedTuple):
    """Norms of long products by lag; every array but `lags` is `(lags, *batch)`.

    Attributes:
        lags: t - τ, where t is the last step.
        forget: `‖∏ diag(f)‖`, the largest product of forget gates of any unit.
        product: `‖∏ (Q + diag(f))‖`, Delgado del Cerro (2021) (4.18).
        exact: `‖∂c_t/∂c_τ‖`. (4.18) omits the path from h through the output gate to the next h,
            which bypasses c; without recurrent weights at the output gate the two are equal.
        unexplained: `‖∏ (Q + diag(f)) - ∏ diag(f)‖ / ‖∏ (Q + diag(f))‖`: 0 if the forget gates
            explain everything.
        left_out: `‖∂c_t/∂c_τ - ∏ (Q + diag(f))‖ / ‖∂c_t/∂c_τ‖`.
    """

    lags: np.ndarray
    forget: np.ndarray
    product: np.ndarray
    exact: np.ndarray
    unexplained: np.ndarray
    left_out: np.ndarray


class Condition(NamedTuple):
    """Whether a condition holds at every step of every sequence, and the numbers it rests on."""

    holds: bool
    numbers: dict[str, float]


def memory_split(cell: LSTM, xs: Any, state: Any = None) -> MemorySplit:
    """One backward step of the error at the memory, split into Q and the forget gate.

    This is the exact derivative with the recurrent part of the output gate held fixed: `c_{t-1}`
    affects `c_t` directly and through `h_{t-1} = o tanh(c_{t-1})`.

    Source: Delgado del Cerro (2021), (4.16) and (4.17), with Rᵀ where (4.13) prints R.

    Args:
        cell: an `LSTM` or a `PeepholeLSTM`.
        xs: the inputs, `(T, *batch, inputs)`.
        state: the state before the first step.

    Example:
        >>> cell = LSTM(3, 16, key=jax.random.key(0))
        >>> xs = jax.random.normal(jax.random.key(1), (20, 4, 3))
        >>> Q, f = memory_split(cell, xs)
        >>> bool(np.linalg.norm(Q, 2, axis=(-2, -1)).max() < 1)  # the usual regime
        True
    """
    run = _Run(cell, xs, state)
    Qs = [run.rest(t) for t in range(1, run.steps)]
    return MemorySplit(np.stack(Qs), run.f[1:])


def forget_share(
    cell: LSTM, xs: Any, state: Any = None, *, lags: Sequence[int] | None = None
) -> ForgetShare:
    """How much of the long product back from the last step the forget gates alone explain.

    Norms are largest singular values, in float64. If a product underflows to zero, the ratios to it
    are NaN.

    Source: Delgado del Cerro (2021), (4.18) and the end of section 4.4, which concludes from
    ‖Q‖ < 1 that the forget gates govern long dependencies. It does not follow, because the norm of
    Q + diag(f) may exceed 1 where those of Q and f do not: a freshly initialised `LSTM(3, 32)` with
    ‖Q‖ < 0.5 at every step passes on 10⁴ times what its forget gates do after 50 steps.

    Args:
        cell, xs, state: as for `memory_split`.
        lags: lags from 1 to T - 1; by default all.

    Example:
        >>> cell = LSTM(3, 16, key=jax.random.key(0))
        >>> xs = jax.random.normal(jax.random.key(1), (20, 4, 3))
        >>> found = forget_share(cell, xs, lags=[1, 5, 10])
        >>> (found.forget / found.product).shape  # lags, batch
        (3, 4)
    """
    run = _Run(cell, xs, state)
    wanted = np.arange(1, run.steps) if lags is None else np.asarray(lags)
    if np.any((wanted < 1) | (wanted >= run.steps)):
        raise BadInput(f"lags must be from 1 to T - 1 = {run.steps - 1}, got {wanted.tolist()}")
    units = run.f.shape[-1]
    forget = np.ones(run.f.shape[1:])
    product = np.broadcast_to(np.eye(units), (*forget.shape, units))
    from_h, from_c = np.zeros_like(product), product  # ∂c_t/∂h_τ, and ∂c_t/∂c_τ with h_τ held
    shares = {}
    for lag in range(1, int(np.max(wanted)) + 1):
        t = run.steps - lag
        forget = run.f[t] * forget
        product = (run.rest(t) + _diagonal(run.f[t])) @ product
        through = from_c + run.s[t][..., None] * from_h
        from_h = run.M(t) @ through + run.to_output(t) @ from_h
        from_c = (run.e[t] + run.f[t])[..., None] * through
        if lag in wanted:
            exact = from_c + run.s[t - 1][..., None] * from_h
            shares[lag] = (
                np.max(forget, axis=-1),
                _norm(product),
                _norm(exact),
                _relative(product - _diagonal(forget), product),
                _relative(exact - product, exact),
            )
    columns = zip(*(shares[lag] for lag in wanted.tolist()), strict=True)
    return ForgetShare(wanted, *(np.stack(column) for column in columns))


def memory_conditions(cell: LSTM, xs: Any, state: Any = None) -> dict[str, Condition]:
    """The conditions of Delgado del Cerro (2021), section 4.4, for a network and its inputs.

    First come the conditions under which `∂δc(t-1)/∂δc(t)` vanishes, then `small Q`, meaning
    `‖Q‖ < 1`, and the six sets of restrictions that are said to imply it. They need not: the source
    assumes that c is bounded, but a large c can make `p_f f′ c` arbitrarily large. So check
    `small Q` as well.

    A unit is saturated within 0.05 of either end of its range, and off below 0.05. The norm of a
    peephole vector is that of its diagonal matrix, which is its largest absolute entry.

    Args: as for `memory_split`.

    Example:
        >>> cell = LSTM(3, 16, key=jax.random.key(0))
        >>> xs = jax.random.normal(jax.random.key(1), (20, 4, 3))
        >>> memory_conditions(cell, xs)["small Q"].holds
        True
    """
    run = _Run(cell, xs, state)
    q, radius, sums = 0.0, 0.0, []
    for t in range(1, run.steps):
        Q = run.rest(t)
        whole = Q + _diagonal(run.f[t])
        q = max(q, float(_norm(Q).max()))
        radius = max(radius, float(np.abs(np.linalg.eigvals(whole)).max()))
        sums.append(_norm(whole))
    d = np.stack(sums)
    cancelled = float(np.maximum(1 - run.f[1:].min(axis=-1), d).min())
    R = {f"‖R_{name}‖": float(np.linalg.norm(x, 2)) for name, x in run.R.items()}
    p_i, p_f, p_o = (
        {f"‖p_{n}‖": float(np.abs(x).max())} for n, x in zip("ifo", run.p, strict=True)
    )
    inner = {name: R[name] for name in ("‖R_i‖", "‖R_f‖", "‖R_g‖")}
    # The distance of the least saturated value from the nearer end.
    end_c = {"1 - |tanh c|": float(np.max(1 - np.abs(np.tanh(run.c[:-1]))))}
    end_g = {"1 - |g|": float(np.max(1 - np.abs(run.g[1:])))}
    gates = {"i": run.i[1:], "f": run.f[1:], "o": run.o[:-1]}
    end_i, end_f, end_o = (
        {f"min({n}, 1 - {n})": float(np.max(np.minimum(x, 1 - x)))} for n, x in gates.items()
    )
    i, f, o = ({n: float(np.max(x))} for n, x in gates.items())
    half, edge = 0.5, EDGE
    small = {**p_i, **p_f}
    return {
        "at rest: Q and f zero": _below(edge, {"‖Q‖": q}, f),
        "cancelled at some step: f near 1, Q near -diag(f)": _below(
            edge, {"max(1 - f, ‖Q + diag(f)‖)": cancelled}
        ),
        "spectral radius of Q + diag(f) below 1": _below(1, {"radius": radius}),
        "‖Q + diag(f)‖ below 1": _below(1, {"‖Q + diag(f)‖": float(d.max())}),
        "small Q": _below(1, {"‖Q‖": q}),
        "small weights": _below(half, inner, small),
        "memory saturated, small peepholes": _both(_below(edge, end_c), _below(half, small, p_o)),
        "memory and output gate saturated, small peepholes": _both(
            _below(edge, end_c, end_o), _below(half, small)
        ),
        "output gate off, small peepholes": _both(_below(edge, o), _below(half, small)),
        "input gate, forget gate and block input saturated": _below(edge, end_i, end_f, end_g),
        "input gate and forget gate off": _below(edge, i, f),
    }


def has_split(cell: Layer) -> bool:
    """Whether the split is derived for the equations of this cell."""
    return type(cell) in (LSTM, PeepholeLSTM)


def _below(limit: float, *numbers: dict[str, float]) -> Condition:
    all_of_them = {name: value for some in numbers for name, value in some.items()}
    return Condition(all(value < limit for value in all_of_them.values()), all_of_them)


def _both(one: Condition, other: Condition) -> Condition:
    return Condition(one.holds and other.holds, one.numbers | other.numbers)


class _Run:
    """The signals of an LSTM at every step, `(T, *batch, units)` in float64, named as above."""

    def __init__(self, cell: LSTM, xs: Any, state: Any):
        if not has_split(cell):
            raise BadInput(f"expected an LSTM or a PeepholeLSTM, got {type(cell).__name__}")
        start = starting_state(cell, xs, state)
        (_, (h, c)), _ = unroll(cell, xs, start, watch="states")
        h, self.c = np.asarray(h, float), np.asarray(c, float)
        self.steps = len(h)
        if self.steps < 2:
            raise BadInput(f"xs must have at least two steps, got {self.steps}")
        h_before, c_before = (
            np.concatenate([np.asarray(first, float)[None], x[:-1]])
            for first, x in zip(start, (h, self.c), strict=True)
        )
        from scipy.special import expit  # SciPy is slow to import, and only needed here

        R = np.asarray(cell.R, float)
        self.R = dict(zip("ifgo", np.split(R, 4, axis=1), strict=True))
        self.p = np.asarray(cell.peepholes(), float)
        a = np.split(np.asarray(cell.inputs(xs), float) + h_before @ R, 4, axis=-1)
        self.i, self.f = expit(a[0] + self.p[0] * c_before), expit(a[1] + self.p[1] * c_before)
        self.g, self.o = np.tanh(a[2]), expit(a[3] + self.p[2] * self.c)
        squashed = np.tanh(self.c)
        self.to_o = self.o * (1 - self.o) * squashed
        self.s = self.o * (1 - squashed**2) + self.p[2] * self.to_o
        by_i, by_f = self.i * (1 - self.i) * self.g, self.f * (1 - self.f) * c_before
        self.e = self.p[0] * by_i + self.p[1] * by_f
        self.by = {"i": by_i, "f": by_f, "g": self.i * (1 - self.g**2)}

    def M(self, t: int) -> np.ndarray:
        """How c_t depends on h_{t-1}."""
        return sum(self.R[name] * x[t][..., None, :] for name, x in self.by.items())

    def to_output(self, t: int) -> np.ndarray:
        """How h_t depends on h_{t-1} through the output gate."""
        return self.R["o"] * self.to_o[t][..., None, :]

    def rest(self, t: int) -> np.ndarray:
        """Q at step t."""
        return self.s[t - 1][..., None] * self.M(t) + _diagonal(self.e[t])


def _diagonal(x: np.ndarray) -> np.ndarray:
    """`diag(x)` for `(..., units)`."""
    return x[..., None] * np.eye(x.shape[-1])


def _norm(x: np.ndarray) -> np.ndarray:
    return np.linalg.norm(x, 2, axis=(-2, -1))


def _relative(difference: np.ndarray, to: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return _norm(difference) / _norm(to)
