"""Ridge regression of the readout, as a learner: linear regression from accumulated sums.

With features X `(n, F)`, targets Y `(n, O)` and weights w, the sums

    Σ w x xᵀ,   Σ w x yᵀ,   Σ w y²,   Σ w

determine the ridge solution `(XᵀX + λ I)⁻¹ XᵀY` and its error on the same steps. So a stream of any
length is fitted in constant memory, and with separate sums per fold the strength λ is chosen by
cross-validation without a second look at the data.
"""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg

from ..cells import Model
from ..data import Batch
from ..errors import BadInput
from ..learning import Learner, Objective, RunSize, report_of
from ..learning.clipping import norms_of
from ..learning.learner import Stepped
from ..memory import check_memory
from ..settings import options, setting
from ..weights import trained
from ..wiring import Readout

STRENGTHS = tuple(10.0**power for power in range(-12, 4))  # that cross-validation tries
TIP = "fewer --units, no --expand, or a learner such as adam"
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
        >>> x = jax.random.normal(jax.random.key(0), (100, 3))
        >>> y = x @ jnp.array([[1.0], [2.0], [3.0]])
        >>> moments = with_steps(moments, x, y, jnp.ones(100), jnp.arange(100) % 5)
        >>> strength, solution = fitted(moments, jnp.array([1e-6, 1.0]), bias=False)
        >>> [round(v, 3) for v in solution[:, 0].tolist()]
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
    count, dtype = len(moments.weight), moments.xx.dtype
    x, y = x.astype(dtype), y.astype(dtype)

    def of(fold: jax.Array) -> Moments:
        w = jnp.where(folds == fold, weights, 0).astype(dtype)
        wx, wy = w[:, None] * x, w[:, None] * y
        return Moments(wx.T @ x, wx.T @ y, jnp.sum(wy * y, axis=0), jnp.sum(w))

    added = jax.lax.map(of, jnp.arange(count))
    return Moments(*(old + new for old, new in zip(moments, added, strict=True)))


def with_block(
    moments: Moments, x: jax.Array, y: jax.Array, weights: jax.Array, fold: jax.Array
) -> Moments:
    """The sums with further steps that all belong to one fold."""
    dtype = moments.xx.dtype
    x, y, w = x.astype(dtype), y.astype(dtype), weights.astype(dtype)[:, None]
    new = (w * x).T @ x, (w * x).T @ y, jnp.sum(w * y * y, axis=0), jnp.sum(w)
    return Moments(*(old.at[fold].add(part) for old, part in zip(moments, new, strict=True)))


def solutions(xx: jax.Array, xy: jax.Array, strengths: jax.Array, bias: bool) -> jax.Array:
    """The ridge solutions `(strengths, F, O)` of one matrix of sums, by its eigenvectors.

    With a bias the last feature is 1, and its weight is not penalised: the other features and the
    targets are centred first. A solution that does not solve its equations is not a number, so that
    a fault of the linear algebra cannot pass for a fit.
    """
    if bias:
        inner, mean, centre = _centred(xx, xy)
        weights = solutions(*inner, strengths, False)
        return jnp.concatenate([weights, (centre - mean @ weights)[:, None]], axis=1)
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
        inner, mean, centre = _centred(xx, xy)
        weights = solution(*inner, strength, False)
        return jnp.concatenate([weights, (centre - mean @ weights)[None]])
    factor = jax.scipy.linalg.cho_factor(xx + strength * jnp.eye(len(xx), dtype=xx.dtype))
    return jax.scipy.linalg.cho_solve(factor, xy)


def _centred(xx: jax.Array, xy: jax.Array) -> tuple[tuple[jax.Array, jax.Array], Any, Any]:
    """The sums of centred features and targets, and the means; the last feature is 1."""
    count = jnp.maximum(xx[-1, -1], jnp.finfo(xx.dtype).tiny)
    mean, centre = xx[-1, :-1] / count, xy[-1] / count
    inner = (
        xx[:-1, :-1] - count * jnp.outer(mean, mean),
        xy[:-1] - count * jnp.outer(mean, centre),
    )
    return inner, mean, centre


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
    best = strengths[jnp.argmin(jnp.sum(wrong / scale, axis=-1))]
    return best, solutions(whole.xx, whole.xy, best[None], bias)[0]


class State(NamedTuple):
    """The state of `Ridge`: sums, the number of batches, and the strength that was used last."""

    moments: Moments
    batches: jax.Array
    strength: jax.Array


@dataclasses.dataclass(frozen=True)
class Ridge(Learner):
    """Fit the readout: `V = (Σ h hᵀ + λ I)⁻¹ Σ h yᵀ`, where λ is the strength.

    Nothing but the readout changes; its bias is not penalised. The sums are what the learner
    remembers, in float64, so a run uses constant memory however long its data are. A step adds a
    batch to them. Five times in a run, and always after the last step, the readout is solved for.
    Without a given strength it is the one of `STRENGTHS` with the least error in cross-validation,
    computed from the same sums: batches belong to the folds in turn, or the sequences of a batch if
    there are enough of them; a single batch is divided in time. Classes are fitted as vectors of
    zeros with a single one, bits as -1 and 1.

    One epoch is enough, so a run ends there.

    Sources: Hoerl and Kennard (1970); for reservoirs, Jaeger (2001) and Lukoševičius (2012).

    Attributes:
        objective: its loss is reported, and says what targets mean as numbers.
        steps: the number of steps of the run.
        strength: λ, or `None` to choose it.
        folds: of the cross-validation.

    Example:
        >>> cell = Reservoir(2, 50, key=key)
        >>> network = Network(cell, Readout(50, 1, key=key))
        >>> learner = Ridge(Objective(SquaredError()), steps=1, strength=1e-6)
        >>> learner_state, state = learner.initial(network), learner.start(network, batch)
        >>> step = eqx.filter_jit(learner.step)
        >>> after, learner_state, state, report = step(network, learner_state, state, batch)
        >>> bool(Objective(SquaredError()).value(after, batch, None)[0] < report["loss"])
        True
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        strength: float | None = setting(
            None, "ridge strength λ (chosen by cross-validation)", min=0
        )
        folds: int = setting(5, "folds of the cross-validation", min=2, max=100)

    precision = "float64"
    usual_batch = 1
    epochs = 1
    readout_only = True
    can_vmap = False
    log_every_step = True

    objective: Objective
    steps: int
    strength: float | None = None
    folds: int = 5

    @classmethod
    def from_settings(
        cls, name: str, settings: Any, objective: Objective, size: RunSize
    ) -> "Ridge":
        return cls(objective, size.steps, **options(settings))

    def advice(self, rate: float) -> str:
        return "a larger --strength"

    def initial(self, network: Model) -> State:
        readout = linear_readout(network)
        rows, outputs = readout.V.shape
        features = rows + (readout.b is not None)
        folds = 1 if self.strength is not None else self.folds
        check_square(features, folds)
        moments = no_moments(folds, features, outputs)
        return State(moments, jnp.zeros((), jnp.int32), jnp.zeros((), moments.xx.dtype))

    def step(self, network: Model, learner_state: State, state: Any, batch: Batch) -> Stepped:
        hs, final = states_of(network, batch, state, self.objective)
        report = reported(network, hs, batch, self.objective)
        readout = linear_readout(network)
        x, y, weights = regression(readout, hs, batch, self.objective)
        moments = self._added(learner_state, x, y, weights, batch)
        count = learner_state.batches + 1
        strengths = STRENGTHS if self.strength is None else (self.strength,)
        every = max(1, self.steps // SOLUTIONS)
        due = (count % every == 0) | (count == self.steps)
        strength, solved = jax.lax.cond(
            due,
            lambda: _solved(readout, moments, jnp.asarray(strengths, x.dtype)),
            lambda: (learner_state.strength, readout),
        )
        network = eqx.tree_at(readout_of, network, solved)
        report["strength"] = strength
        return network, State(moments, count, strength), final, report

    def _added(
        self, learner_state: State, x: jax.Array, y: jax.Array, weights: jax.Array, batch: Batch
    ) -> Moments:
        """The sums with a batch: in the fold whose turn it is, or divided among all folds."""
        folds, steps, sequences = len(learner_state.moments.weight), batch.steps, batch.sequences
        if sequences >= folds > 1:
            which = jnp.broadcast_to(jnp.arange(sequences) % folds, (steps, sequences))
        elif self.steps == 1:
            which = jnp.repeat(jnp.arange(steps) * folds // steps, sequences)
        else:
            return with_block(learner_state.moments, x, y, weights, learner_state.batches % folds)
        return with_steps(learner_state.moments, x, y, weights, which.reshape(-1))


def readout_of(network: Model) -> Any:
    """What turns the outputs of the network's cell into its own, or `None`."""
    return network.parts().readout


def linear_readout(network: Model) -> Readout:
    """The readout of a network, which must be linear."""
    readout = readout_of(network)
    if not isinstance(readout, Readout):
        raise BadInput(
            "the learners ridge and rls need a network with a linear readout; give another learner "
            "such as adam, or leave out what replaces the readout"
        )
    return readout


def check_square(features: int, count: int = 1) -> None:
    """Refuse matrices `(count, features, features)` in float64 that memory cannot hold."""
    size = 8 * count * features**2
    check_memory({"sums of products of features": size}, {"sums of products of features": TIP})


def states_of(
    network: Model, batch: Batch, state: Any, objective: Objective
) -> tuple[jax.Array, Any]:
    """What the readout reads, `(T, B, units)`, and the final state.

    With output feedback the network is taught: it reads the previous targets.
    """
    layer = network.as_layer()
    read, inner = layer.to_cell(batch, state)
    hs, inner = objective.outputs(layer.parts().cell, read, inner)
    return hs, layer.from_cell(inner, batch)


def regression(
    readout: Readout, hs: jax.Array, batch: Batch, objective: Objective
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Features `(n, F)`, targets `(n, O)` and weights `(n,)` of all steps of a batch."""
    outputs = readout.V.shape[1]
    targets, weights = jnp.asarray(batch.targets), jnp.asarray(batch.counted)
    if weights.shape != hs.shape[:2]:
        raise BadInput("the learners ridge and rls need a target at every step of a sequence")
    targets = objective.loss.regressed(targets, outputs)
    x = hs.reshape(-1, hs.shape[-1])
    if readout.b is not None:
        x = jnp.concatenate([x, jnp.ones_like(x[:, :1])], axis=1)
    return x, targets.reshape(-1, outputs).astype(x.dtype), weights.reshape(-1)


def filled(readout: Readout, solution: jax.Array) -> Readout:
    """The readout with a solution `(F, O)` in its weights."""
    rows = readout.V.shape[0]
    fitted = eqx.tree_at(lambda r: r.V, readout, solution[:rows].astype(readout.V.dtype))
    if readout.b is None:
        return fitted
    return eqx.tree_at(lambda r: r.b, fitted, solution[rows].astype(readout.b.dtype))


def reported(
    network: Model, hs: jax.Array, batch: Batch, objective: Objective
) -> dict[str, jax.Array]:
    """The loss before the step and the norms of its gradient, which is zero but in the readout."""
    loss, slope = jax.value_and_grad(lambda readout: objective.loss(readout(hs), batch))(
        readout_of(network)
    )
    whole = jax.tree.map(jnp.zeros_like, trained(network)[0])
    whole = eqx.tree_at(readout_of, whole, slope)
    return report_of(loss, norms_of(whole), jnp.zeros((), loss.dtype))


def _solved(readout: Readout, moments: Moments, strengths: jax.Array) -> tuple[jax.Array, Readout]:
    strength, solution = fitted(moments, strengths, readout.b is not None)
    return strength, filled(readout, solution)
