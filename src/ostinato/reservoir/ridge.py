"""Ridge regression of the readout, as a learner: linear regression from accumulated sums.

With features X `(n, F)`, targets Y `(n, O)` and weights w, the sums

    Σ w x xᵀ,   Σ w x yᵀ,   Σ w y²,   Σ w

determine the ridge solution `(XᵀX + λ I)⁻¹ XᵀY` and its error on the same steps. So a stream of any
length is fitted in constant memory, and with separate sums per fold the strength λ is chosen by
cross-validation without a second look at the data.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg

from ..cells import Model
from ..data import Batch
from ..learning import Objective, RunSize
from ..settings import options, setting
from ..wiring import Readout
from . import leave_one_out
from .readout_learner import ReadoutLearner, Regression, count_features, filled, linear_readout

STRENGTHS = tuple(10.0**power for power in range(-12, 4))  # that cross-validation tries
SOLUTIONS = 5  # per run, the last of them after its last step


class Moments(NamedTuple):
    """Sums over weighted steps, separate for each fold.

    Attributes:
        xx: `(folds, F, F)`.
        xy: `(folds, F, O)`.
        yy: `(folds, O)`.
        weight: `(folds,)`.

    Example:
        >>> moments = no_moments(5, 3, 1)
        >>> x = np.random.default_rng(0).normal(size=(100, 3))
        >>> y = x @ np.array([[1.0], [2.0], [3.0]])
        >>> moments = jax.jit(with_steps)(moments, x, y, np.ones(100), np.arange(100) % 5)
        >>> best = jax.jit(fitted, static_argnames="bias")
        >>> strength, solution = best(moments, np.array([1e-6, 1.0]), bias=False)
        >>> [round(v, 3) for v in np.ravel(solution).tolist()]
        [1.0, 2.0, 3.0]
    """

    xx: jax.Array
    xy: jax.Array
    yy: jax.Array
    weight: jax.Array

    @property
    def total(self) -> "Moments":
        """The sums over all folds, as a single fold."""
        return Moments(*(jnp.sum(x, axis=0, keepdims=True) for x in self))


def no_moments(folds: int, features: int, outputs: int) -> Moments:
    """Sums of nothing."""
    shapes = (features, features), (features, outputs), (outputs,), ()
    return Moments(*(jnp.zeros((folds, *shape), jnp.result_type(float)) for shape in shapes))


def with_steps(
    moments: Moments, x: jax.Array, y: jax.Array, weights: jax.Array, folds: jax.Array
) -> Moments:
    """The sums with further steps: x `(n, F)`, y `(n, O)`, weights and folds `(n,)`."""

    def of(fold: jax.Array) -> Moments:
        return _sums(x, y, jnp.where(folds == fold, weights, 0), moments.xx.dtype)

    added = jax.lax.map(of, jnp.arange(len(moments.weight)))
    return Moments(*(old + new for old, new in zip(moments, added, strict=True)))


def with_block(
    moments: Moments, x: jax.Array, y: jax.Array, weights: jax.Array, fold: jax.Array
) -> Moments:
    """The sums with further steps that all belong to one fold."""
    new = _sums(x, y, weights, moments.xx.dtype)
    return Moments(*(old.at[fold].add(part) for old, part in zip(moments, new, strict=True)))


def _sums(x: jax.Array, y: jax.Array, weights: jax.Array, dtype: Any) -> Moments:
    """The sums over some steps, without an axis of folds."""
    x, y, w = x.astype(dtype), y.astype(dtype), weights.astype(dtype)[:, None]
    return Moments((w * x).T @ x, (w * x).T @ y, jnp.sum(w * y * y, axis=0), jnp.sum(w))


def solutions(xx: jax.Array, xy: jax.Array, strengths: jax.Array, bias: bool) -> jax.Array:
    """The ridge solutions `(strengths, F, O)` of one matrix of sums, by its eigenvectors.

    With a bias the last feature is 1, and its weight is not penalised: the other features and the
    targets are centred first. A solution that does not solve its equations is not a number, so that
    a fault of the linear algebra cannot pass for a fit.
    """
    if bias:
        return _with_bias(solutions, xx, xy, strengths)
    values, vectors = jnp.linalg.eigh(xx)
    rotated = vectors.T @ xy
    # Rounding leaves errors of this size in the smallest eigenvalues, which may be negative.
    smallest = jnp.finfo(xx.dtype).eps * jnp.max(jnp.abs(values))
    values = jnp.maximum(values, 0) + smallest
    scaled = rotated / (values[:, None] + strengths[:, None, None])
    weights = vectors @ scaled
    return jnp.where(_solve(xx, xy, strengths, weights)[:, None, None], weights, jnp.nan)


def _solve(xx: jax.Array, xy: jax.Array, strengths: jax.Array, weights: jax.Array) -> jax.Array:
    """Whether solutions are those of equations that differ from the given ones by rounding.

    That is what a stable method achieves for any matrix: the residual is small beside the terms
    from which it is computed, even where the solution itself is uncertain.
    """
    norm = jnp.linalg.norm
    residual = xx @ weights + strengths[:, None, None] * weights - xy
    terms = (norm(xx) + strengths) * norm(weights, axis=(1, 2)) + norm(xy)
    return norm(residual, axis=(1, 2)) <= jnp.sqrt(jnp.finfo(xx.dtype).eps) * terms


def solution(xx: jax.Array, xy: jax.Array, strength: jax.Array, bias: bool) -> jax.Array:
    """The ridge solution `(F, O)` for one strength, by a Cholesky decomposition.

    It is cheaper than `solutions`, and not a number where the strength is too small for the
    precision.
    """
    if bias:
        return _with_bias(solution, xx, xy, strength)
    factor = jax.scipy.linalg.cho_factor(xx + strength * jnp.eye(len(xx), dtype=xx.dtype))
    return jax.scipy.linalg.cho_solve(factor, xy)


def _with_bias(
    solve: Callable[..., jax.Array], xx: jax.Array, xy: jax.Array, strength: jax.Array
) -> jax.Array:
    """A solution for centred features and targets, and the bias; the last feature is 1."""
    count = jnp.maximum(xx[-1, -1], jnp.finfo(xx.dtype).tiny)
    mean, centre = xx[-1, :-1] / count, xy[-1] / count
    inner = (
        xx[:-1, :-1] - count * jnp.outer(mean, mean),
        xy[:-1] - count * jnp.outer(mean, centre),
    )
    weights = solve(*inner, strength, False)
    return jnp.concatenate([weights, (centre - mean @ weights)[..., None, :]], axis=-2)


def errors(solution: jax.Array, moments: Moments) -> jax.Array:
    """The summed squared errors `(..., O)` of solutions `(..., F, O)` on one fold's steps."""
    product = moments.xx @ solution
    crossed = jnp.sum(solution * (product - 2 * moments.xy), axis=-2)
    return jnp.maximum(moments.yy + crossed, 0)


def fitted(moments: Moments, strengths: jax.Array, bias: bool) -> tuple[jax.Array, jax.Array]:
    """The strength with the least cross-validation error, and the solution for all steps.

    The error of each output counts relative to its power. With a single strength or a single fold
    nothing is chosen: the first strength is used.
    """
    total = moments.total
    whole = Moments(*(x[0] for x in total))
    if len(strengths) == 1 or len(moments.weight) == 1:
        return strengths[0], solutions(whole.xx, whole.xy, strengths[:1], bias)[0]

    def left_out(fold: Moments) -> jax.Array:
        xx, xy = whole.xx - fold.xx, whole.xy - fold.xy
        own = errors(solutions(xx, xy, strengths, bias), fold)
        return jnp.where(fold.weight < whole.weight, own, 0)

    wrong = jnp.sum(jax.lax.map(left_out, moments), axis=0)
    scale = jnp.maximum(whole.yy, jnp.finfo(whole.yy.dtype).tiny)
    total_error = jnp.sum(wrong / scale, axis=-1)
    # Where a fold has no solution its error is no number, which `argmin` would take for the least.
    best = strengths[jnp.argmin(jnp.where(jnp.isnan(total_error), jnp.inf, total_error))]
    return best, solutions(whole.xx, whole.xy, best[None], bias)[0]


class State(NamedTuple):
    """The state of `Ridge`: sums, the number of batches, and the strength that was used last."""

    moments: Moments
    batches: jax.Array
    strength: jax.Array


@dataclasses.dataclass(frozen=True)
class Ridge(ReadoutLearner):
    """Fit the readout: `V = (Σ h hᵀ + λ I)⁻¹ Σ h yᵀ`, where λ is the strength.

    Nothing but the readout changes; its bias is not penalised. The sums are what the learner
    remembers, in float64, so a run uses constant memory however long its data are. A step adds a
    batch to them. Five times in a run, and always after the last step, the readout is solved for.
    Without a given strength it is the one of `STRENGTHS` with the least error in cross-validation,
    computed from the same sums: batches belong to the folds in turn, or the sequences of a batch if
    there are enough of them; a single batch is divided in time. Where one batch holds all examples
    and each has a single answer, every example is left out in turn instead (`leave_one_out`).
    Classes are fitted as vectors of zeros with a single one, bits as -1 and 1.

    One epoch is enough, so a run ends there.

    Sources: Hoerl and Kennard (1970); for reservoirs, Jaeger (2001) and Lukoševičius (2012).

    Attributes:
        objective: its loss is reported, and says what targets mean as numbers.
        steps: the number of steps of the run.
        strength: λ, or `None` to choose it.
        folds: of the cross-validation.
        single_answer: see `ReadoutLearner`.

    Example:
        >>> cell = Reservoir(2, 50, key=key)
        >>> network = Network(cell, Readout(50, 1, key=key))
        >>> learner = Ridge(Objective(SquaredError()), steps=1, strength=1e-6)
        >>> learner_state, state = learner.initial(network), learner.start(network, batch)
        >>> step = eqx.filter_jit(learner.step)
        >>> after, learner_state, state, report = step(network, learner_state, state, batch)
        >>> value = eqx.filter_jit(Objective(SquaredError()).value)
        >>> bool(value(after, batch, None)[0] < report["loss"])
        True
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        strength: float | None = setting(
            None, "ridge strength λ (chosen by cross-validation)", min=0
        )
        folds: int = setting(5, "folds of the cross-validation", min=2, max=100)

    can_vmap = False
    log_every_step = True

    objective: Objective
    steps: int
    strength: float | None = None
    folds: int = 5
    single_answer: bool = False

    @classmethod
    def from_settings(
        cls, name: str, settings: Any, objective: Objective, size: RunSize
    ) -> "Ridge":
        return cls(objective, size.steps, **options(settings), single_answer=size.single_answer)

    def advice(self, rate: float) -> str:
        return "a larger --strength"

    def initial(self, network: Model) -> State:
        readout = linear_readout(network)
        if self._at_once:
            moments = no_moments(1, 0, 0)
            return State(moments, jnp.zeros((), jnp.int32), jnp.zeros((), moments.xx.dtype))
        folds = 1 if self.strength is not None else self.folds
        moments = no_moments(folds, count_features(readout, folds), readout.V.shape[1])
        return State(moments, jnp.zeros((), jnp.int32), jnp.zeros((), moments.xx.dtype))

    def fit(
        self, learner_state: State, readout: Readout, steps: Regression, batch: Batch
    ) -> tuple[State, Readout, dict[str, jax.Array]]:
        if self._at_once:
            return self._fit_at_once(learner_state, readout, steps)
        moments = self._added(learner_state, steps, batch)
        count = learner_state.batches + 1
        strengths = STRENGTHS if self.strength is None else (self.strength,)
        every = max(1, self.steps // SOLUTIONS)
        due = (count % every == 0) | (count == self.steps)
        strength, readout = jax.lax.cond(
            due,
            lambda: _solved(readout, moments, jnp.asarray(strengths, steps.x.dtype)),
            lambda: (learner_state.strength, readout),
        )
        return State(moments, count, strength), readout, {"strength": strength}

    @property
    def _at_once(self) -> bool:
        """Whether the only batch holds all examples, with a single answer each."""
        return self.single_answer and self.steps == 1 and self.strength is None

    def _fit_at_once(
        self, learner_state: State, readout: Readout, steps: Regression
    ) -> tuple[State, Readout, dict[str, jax.Array]]:
        biased = readout.b is not None
        x = steps.x[:, :-1] if biased else steps.x
        made = leave_one_out.fit(x, steps.y, steps.weights, biased)
        factor = jnp.ones((), x.dtype)
        if self.objective.loss.of_classes:
            factor = leave_one_out.sharpness(made.predicted, steps.y, steps.weights)
        solution = factor * jnp.concatenate([made.weights, made.bias[None]])
        after = learner_state._replace(batches=learner_state.batches + 1, strength=made.strength)
        return after, filled(readout, solution), {"strength": made.strength}

    def _added(self, learner_state: State, steps: Regression, batch: Batch) -> Moments:
        """The sums with a batch: in the fold whose turn it is, or divided among all folds."""
        moments, times, sequences = learner_state.moments, batch.steps, batch.sequences
        folds = len(moments.weight)
        if sequences >= folds > 1:
            which = jnp.broadcast_to(jnp.arange(sequences) % folds, (times, sequences))
        elif self.steps == 1:
            which = jnp.repeat(jnp.arange(times) * folds // times, sequences)
        else:
            return with_block(moments, *steps, learner_state.batches % folds)
        return with_steps(moments, *steps, which.reshape(-1))


def _solved(readout: Readout, moments: Moments, strengths: jax.Array) -> tuple[jax.Array, Readout]:
    strength, solution = fitted(moments, strengths, readout.b is not None)
    return strength, filled(readout, solution)
