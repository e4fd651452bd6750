"""Saddle-free Newton: the Hessian with its eigenvalues made positive, in a Krylov subspace.

    δ = -(|H| + s λ₀ I)⁻¹ g          |H| = Σ |λ_i| u_i u_iᵀ,  where H = Σ λ_i u_i u_iᵀ

Newton's step goes towards any stationary point, saddles included; with |λ| in place of λ it goes
downhill along directions of negative curvature too, as far as their curvature says. |H| has no
cheap product with a vector, so it is taken within the space of g, H g, H² g, …, of k dimensions:
with an orthonormal basis V of it, the rows of a `(k, N)` matrix, and T = V H Vᵀ,

    δ = -Vᵀ (|T| + s λ₀ I)⁻¹ V g

which is exact for k = N, and as soon as H leads nowhere new. At a saddle itself g is zero, and so
is the step. One step:

    1. f, g on the batch, and the Hessian, exact, on the curvature batch, a part of it.
    2. V and T by Lanczos from g; the eigenvalues of the small matrix T.
    3. A backtracking line search along δ, on the true objective.
    4. ρ = (f(θ + δ) - f(θ)) / q(δ) moves the scale s of the damping, by the rule of
       `hessian_free.damping`. q(δ) = ½ δᵀ |H| δ + gᵀ δ, within the subspace and without the
       damping: ρ is one where f is a convex quadratic, and above one along negative curvature. A
       step that is refused raises s, and leaves the weights as they are.

The paper chooses λ anew at every step, by trying several; here it follows ρ.

Sources: Dauphin et al. (2014), Identifying and attacking the saddle point problem in
high-dimensional non-convex optimization, algorithm 1; Lipton et al. (2015) section 3.2.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..data import Batch
from ..errors import BadInput
from ..settings import setting
from ..weights import trained
from .hessian_free.curvature_batch import CurvatureSettings, Curved, check_exact, whole_and_part
from .hessian_free.damping import Damping, reduction_ratio
from .hessian_free.searches import Choice, backtrack, finite
from .objective import Objective

# In units of rounding, next to the largest product or eigenvalue: below LEFT nothing is left of a
# vector of Lanczos; FLAT is the least curvature that a step counts on, with its damping.
LEFT, FLAT = 100, 10


def lanczos(
    product: Callable[[jax.Array], jax.Array], start: jax.Array, count: int
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    """An orthonormal basis of `start, H start, …, H^(k-1) start`, in which H is tridiagonal.

        v_1 = start / ‖start‖
        α_j = v_jᵀ H v_j,   w = H v_j - Σ_{i≤j} v_i v_iᵀ H v_j,   β_j = ‖w‖,   v_{j+1} = w / β_j

    The sum would need two terms only, but rounding soon makes the others matter; all are taken,
    and taken twice. Where nothing is left of w, the subspace is invariant: V H Vᵀ = T is then all
    that `start` can reach, and the further v, α and β are zero.

    Args:
        product: `v -> H v` for vectors `(N,)`, H symmetric and possibly indefinite.
        start: `(N,)`; zero gives zeros.
        count: k, the number of vectors and of products.

    Returns:
        V `(k, N)`, whose rows are the v_j, and T as its diagonal α `(k,)` and the one beside it,
        β `(k - 1,)`.

    Example:
        >>> V, (diagonal, beside) = lanczos(lambda v: H @ v, g, 10)
        >>> T = jnp.diag(diagonal) + jnp.diag(beside, 1) + jnp.diag(beside, -1)
    """
    nothing = LEFT * jnp.finfo(start.dtype).eps

    def unit(w, least):
        size = jnp.linalg.norm(w)
        # A size that is not a number is passed on, so that it is noticed.
        return jnp.where(size > least, w / size, jnp.where(jnp.isnan(size), size, 0))

    def body(now, j):
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


class Memory(NamedTuple):
    """What the learner remembers: s, and the steps done."""

    scale: jax.Array
    steps: jax.Array


@dataclasses.dataclass(frozen=True)
class SaddleFree(Curved):
    """A saddle-free Newton learner.

    Attributes:
        objective: what is minimised, in float32.
        count: k, the dimensions of the subspace; so many copies of the parameters are held.
        damping: λ₀. Without any, 0, a step that is refused is refused for ever.
        curvature: sequences of the curvature batch; all of the batch by default.
        draw: the part of the batch that the curvature sees: `"fresh"` at random, `"turn"` one part
            after the other.
        chunk: at most so many sequences at once, to save memory; exact.

    Example:
        >>> learner = SaddleFree(Objective(CrossEntropy()), count=50, curvature=100)
        >>> memory = learner.initial(network)
        >>> network, memory, state, report = learner.step(network, memory, state, batch)
        >>> report["damping"], report["ratio"], report["negative"], report["lowest"]
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(CurvatureSettings):
        krylov: int = setting(50, "dimensions of the subspace", least=1)

    objective: Objective
    count: int = 50
    damping: float = 0.1
    curvature: int | None = None
    draw: str = "fresh"
    chunk: int | None = None

    def __post_init__(self):
        check_exact(self.objective, self.draw)
        if self.count < 1:
            raise BadInput(f"the subspace must have at least one dimension, got {self.count}")
        if self.damping < 0:
            raise BadInput("damping cannot be negative")

    @classmethod
    def from_settings(cls, name, settings, objective, steps, batch):
        damping = {} if settings.tikhonov is None else {"damping": settings.tikhonov}
        return cls(objective, settings.krylov, **damping, **settings.sizes(batch))

    @property
    def copies(self) -> int:
        return self.count

    def initial(self, network):
        dtype = jnp.result_type(*jax.tree.leaves(trained(network)[0]))
        return Memory(jnp.ones((), dtype), jnp.zeros((), jnp.int32))

    def step(self, network, memory, state, batch: Batch):
        with jax.default_matmul_precision("highest"):
            return self._step(network, memory, state, batch)

    def _step(self, network, memory: Memory, state, batch: Batch):
        whole, part = whole_and_part(self, network, batch, state, memory.steps)
        sequences, size = (on.batch.sequences for on in (whole, part))
        theta = whole.start
        value, gradient, final = whole.gradient(theta)

        count = min(self.count, theta.size)
        basis, (diagonal, beside) = lanczos(part.hessian(theta), gradient, count)
        damping = memory.scale * self.damping
        found = _minimise(basis, diagonal, beside, gradient, damping)
        broken = ~(jnp.isfinite(value) & jnp.all(jnp.isfinite(found.step)))
        delta = jnp.where(broken, 0, found.step)

        def after(d):
            return whole.value(theta + d)

        chosen = Choice(delta, finite(after(delta)), jnp.asarray(1))
        moved, length = backtrack(after, chosen, value, jnp.vdot(gradient, delta))
        ratio = reduction_ratio(chosen.value - value, found.promised)
        refused = broken | (length == 0) | ~jnp.isfinite(moved.value)
        rule = Damping(tikhonov=self.damping, structural=0.0)
        scale = rule.next_scale(memory.scale, ratio, refused)

        norms = whole.norms(gradient)
        report = {
            "loss": value,
            "norm": jnp.linalg.norm(norms),
            "norms": norms,
            "rate": jnp.where(refused, 0, length),
            "clipped": jnp.zeros_like(value),
            "after": moved.value,
            "damping": damping,
            "ratio": ratio,
            "negative": found.negative,
            "lowest": found.lowest,
            "refused": refused,
            # In gradients of the whole batch: a product counts as two of its part, a value a third.
            "gradients": 1
            + 2 * count * size / sequences
            + (chosen.evaluations + moved.evaluations) / 3,
        }
        network = whole.at(theta + jnp.where(refused, 0, moved.vector))
        return network, Memory(scale, memory.steps + 1), final, report

    def summary(self, reports):
        found = super().summary(reports)
        for name in ("rate", "damping", "ratio", "negative", "lowest"):
            found[name] = float(reports[-1][name])
        return found


class _Found(NamedTuple):
    """δ `(N,)`, q(δ), the number of negative eigenvalues of T, and the lowest."""

    step: jax.Array
    promised: jax.Array
    negative: jax.Array
    lowest: jax.Array


def _minimise(basis, diagonal, beside, gradient, damping) -> _Found:
    """Minimise `q(δ) + ½ damping ‖δ‖²` over δ in the span of the basis; NaN where T is."""
    sound = jnp.all(jnp.isfinite(diagonal)) & jnp.all(jnp.isfinite(beside))
    # Vectors that are not there get an eigenvalue that is neither negative nor the lowest.
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
    return _Found(step, promised, jnp.sum(values < -flat), values[0])
