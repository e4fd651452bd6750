"""Saddle-free Newton: the absolute value of the Hessian, in a Krylov subspace.

    δ = -(|H| + s λ₀ I)⁻¹ g          |H| = Σ |λ_i| u_i u_iᵀ,  where H = Σ λ_i u_i u_iᵀ

A Newton step moves towards any stationary point, saddle points included. With |λ| in place of λ it
descends along directions of negative curvature, too. There is no cheap product of |H| with a
vector, so H is restricted to the Krylov subspace of g, H g, …, H^(k-1) g. With an orthonormal basis
V of it, the rows of a `(k, N)` matrix, and T = V H Vᵀ,

    δ = -Vᵀ (|T| + s λ₀ I)⁻¹ V g

which is exact for k = N, and for smaller k if the subspace is invariant. At a saddle point itself
g is zero, and so is the step. One step:

    1. f and g on the batch; the exact Hessian on the curvature batch, a part of it.
    2. V and T by the Lanczos algorithm from g; the eigenvalues of the small matrix T.
    3. A backtracking line search along δ, on the true objective.
    4. ρ = (f(θ + δ) - f(θ)) / q(δ) adapts the scale s of the damping by the rule of
       `hessian_free.damping`. q(δ) = ½ δᵀ |H| δ + gᵀ δ within the subspace, without damping: ρ is 1
       for a convex quadratic f, and above 1 along negative curvature. A rejected step leaves the
       weights unchanged and raises s.

The paper chooses λ in every step by trying several values; here ρ adapts it.

Sources: Dauphin et al. (2014), Identifying and attacking the saddle point problem in
high-dimensional non-convex optimization, algorithm 1; Lipton et al. (2015), section 3.2.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..cells import Model
from ..data import Batch
from ..errors import BadInput
from ..settings import setting
from ..weights import as_reals, trained
from .clipping import norm_of
from .hessian_free.curvature_batch import CurvatureSettings, Curved
from .hessian_free.damping import Damping, reduction_ratio
from .hessian_free.searches import Choice, backtrack, finite
from .learner import Passes, RunSize, Stepped, report_of
from .objective import Objective

# Multiples of the machine epsilon: a Lanczos vector shorter than LEFT, relative to the largest
# product, counts as zero; FLAT, relative to the largest eigenvalue, is the least damped curvature.
LEFT, FLAT = 100, 10


def lanczos(
    product: Callable[[jax.Array], jax.Array], start: jax.Array, count: int
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    """An orthonormal basis of `start, H start, …, H^(k-1) start`, in which H is tridiagonal.

        v_1 = start / ‖start‖
        α_j = v_jᵀ H v_j,   w = H v_j - Σ_{i≤j} v_i v_iᵀ H v_j,   β_j = ‖w‖,   v_{j+1} = w / β_j

    In exact arithmetic two terms of the sum would do; because of rounding, w is orthogonalised
    against all vectors, twice. If w vanishes, the subspace is invariant, and the remaining v, α and
    β are zero.

    Args:
        product: `v -> H v` for vectors `(N,)`; H is symmetric and may be indefinite.
        start: `(N,)`; if it is zero, so is everything returned.
        count: k, the number of vectors and of products.

    Returns:
        V `(k, N)`, whose rows are the v_j, and T as its diagonal α `(k,)` and its off-diagonal
        β `(k - 1,)`.

    Example:
        >>> H, g = jnp.diag(jnp.array([1.0, -2.0, 3.0])), jnp.ones(3)
        >>> V, (diagonal, beside) = lanczos(lambda v: H @ v, g, 3)
        >>> T = jnp.diag(diagonal) + jnp.diag(beside, 1) + jnp.diag(beside, -1)
        >>> bool(jnp.allclose(V @ H @ V.T, T, atol=1e-5))
        True
    """
    nothing = LEFT * jnp.finfo(start.dtype).eps

    def unit(w: jax.Array, smallest: jax.Array | float) -> jax.Array:
        size = jnp.linalg.norm(w)
        # NaN is propagated, so that the caller notices.
        return jnp.where(size > smallest, w / size, jnp.where(jnp.isnan(size), size, 0))

    def body(now: Any, j: jax.Array) -> Any:
        basis, v, largest = now
        basis = basis.at[j].set(v)
        w = product(v)
        alpha = jnp.vdot(v, w)
        largest = jnp.maximum(largest, jnp.linalg.norm(w))
        for _ in range(2):
            w = w - (basis @ w) @ basis
        v = unit(w, nothing * largest)
        return (basis, v, largest), (alpha, jnp.vdot(v, w))

    begin = (
        jnp.zeros((count, start.size), start.dtype),
        unit(start, 0),
        jnp.zeros((), start.dtype),
    )
    (basis, _, _), (alpha, beta) = jax.lax.scan(body, begin, jnp.arange(count))
    return basis, (alpha, beta[:-1])


class State(NamedTuple):
    """The learner's state: the scale s, and the number of steps done."""

    scale: jax.Array
    steps: jax.Array


@dataclasses.dataclass(frozen=True)
class SaddleFree(Curved):
    """A saddle-free Newton learner.

    Attributes:
        objective: what to minimise, in float32.
        count: k, the dimension of the subspace; a step holds k copies of the parameters.
        damping: λ₀. With 0, a rejected step stays rejected for ever.
        curvature: sequences of the curvature batch; the whole batch by default.
        draw: how the curvature batch is chosen: `"fresh"` samples it at random, `"turn"` cycles
            through the parts of the batch.
        chunk: how many sequences to process at once, to save memory; the result is the same.

    Example:
        >>> network = Network(LSTM(2, 4, key=key), Readout(4, 1, key=key))  # for the adding problem
        >>> learner = SaddleFree(Objective(SquaredError()), count=5, curvature=2)
        >>> learner_state, state = learner.initial(network), learner.start(network, batch)
        >>> step = eqx.filter_jit(learner.step)
        >>> network, learner_state, state, report = step(network, learner_state, state, batch)
        >>> bool(report["after"] < report["loss"])
        True
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(CurvatureSettings):
        krylov: int = setting(50, "dimension of the Krylov subspace", min=1)

    objective: Objective
    count: int = 50
    damping: float = 0.1
    curvature: int | None = None
    draw: str = "fresh"
    chunk: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.count < 1:
            raise BadInput(f"the subspace must have at least one dimension, got {self.count}")
        if self.damping < 0:
            raise BadInput("damping cannot be negative")

    @classmethod
    def from_settings(
        cls, name: str, settings: Any, objective: Objective, size: RunSize
    ) -> "SaddleFree":
        damping = {} if settings.tikhonov is None else {"damping": settings.tikhonov}
        return cls(
            objective, settings.krylov, **damping, **settings.sizes(size.batch, size.devices)
        )

    @property
    def copies(self) -> int:
        return self.count

    @property
    def fewer_copies(self) -> str:
        return "a smaller --krylov"

    def passes(self, batch: int) -> list[Passes]:
        """A gradient, Hessian products, which cost two of their part, and a value."""
        curved = self._curved(batch)
        return [
            Passes(1, batch),
            Passes(self.count, curved, 2),
            Passes(1, batch, 1 / 3, of_weights=False),
        ]

    def initial(self, network: Model) -> State:
        dtype = jnp.result_type(*jax.tree.leaves(as_reals(trained(network)[0])))
        return State(jnp.ones((), dtype), jnp.zeros((), jnp.int32))

    def exact_step(self, network: Model, learner_state: State, state: Any, batch: Batch) -> Stepped:
        whole, part = self.whole_and_part(network, batch, state, learner_state.steps)
        sequences, size = (on.batch.sequences for on in (whole, part))
        theta = whole.start
        value, gradient, final = whole.gradient(theta)

        count = min(self.count, theta.size)
        basis, (diagonal, beside) = lanczos(part.hessian(theta), gradient, count)
        damping = learner_state.scale * self.damping
        minimum = _minimise(basis, diagonal, beside, gradient, damping)
        broken = ~(jnp.isfinite(value) & jnp.all(jnp.isfinite(minimum.step)))
        delta = jnp.where(broken, 0, minimum.step)

        def after(d: jax.Array) -> jax.Array:
            return whole.value(theta + d)

        chosen = Choice(delta, finite(after(delta)), jnp.asarray(1))
        moved, length = backtrack(after, chosen, value, jnp.vdot(gradient, delta))
        ratio = reduction_ratio(chosen.value - value, minimum.promised)
        refused = broken | (length == 0) | ~jnp.isfinite(moved.value)
        rule = Damping(tikhonov=self.damping, structural=0.0)
        scale = rule.next_scale(learner_state.scale, ratio, refused)

        norms = whole.norms(gradient)
        # Work in gradients of the whole batch: a Hessian product costs two gradients of its part, a
        # value a third of one.
        work = 1 + 2 * count * size / sequences + (chosen.evaluations + moved.evaluations) / 3
        report = report_of(
            value,
            (norms, norm_of(norms)),
            jnp.where(refused, 0, length),
            after=moved.value,
            damping=damping,
            ratio=ratio,
            negative=minimum.negative,
            lowest=minimum.lowest,
            refused=refused,
            gradients=work,
        )
        network = whole.at(theta + jnp.where(refused, 0, moved.vector))
        return network, State(scale, learner_state.steps + 1), final, report

    def summary(self, reports: list[dict[str, Any]]) -> dict[str, Any]:
        entry = super().summary(reports)
        for name in ("rate", "damping", "ratio", "negative", "lowest"):
            entry[name] = float(reports[-1][name])
        return entry


class _Minimum(NamedTuple):
    """δ `(N,)`, q(δ), the number of negative eigenvalues of T, and the smallest eigenvalue."""

    step: jax.Array
    promised: jax.Array
    negative: jax.Array
    lowest: jax.Array


def _minimise(
    basis: jax.Array,
    diagonal: jax.Array,
    beside: jax.Array,
    gradient: jax.Array,
    damping: jax.Array,
) -> _Minimum:
    """Minimise `q(δ) + ½ damping ‖δ‖²` over δ in the span of the basis; NaN if T is not finite."""
    sound = jnp.all(jnp.isfinite(diagonal)) & jnp.all(jnp.isfinite(beside))
    # Zero rows of the basis get an eigenvalue that is neither negative nor the smallest.
    there = jnp.any(basis != 0, axis=1)
    filled = jnp.where(there, diagonal, jnp.max(jnp.abs(diagonal)))
    T = jnp.diag(filled) + jnp.diag(beside, 1) + jnp.diag(beside, -1)
    values, vectors = jnp.linalg.eigh(jnp.where(sound, T, 0))

    size = jnp.abs(values)
    flat = FLAT * jnp.finfo(size.dtype).eps * jnp.max(size)
    along = vectors.T @ (basis @ gradient)
    y = -along / jnp.maximum(size + damping, flat)
    promised = jnp.vdot(along, y) + 0.5 * jnp.vdot(y, size * y)
    step = jnp.where(sound, (vectors @ y) @ basis, jnp.nan)
    return _Minimum(step, promised, jnp.sum(values < -flat), values[0])
