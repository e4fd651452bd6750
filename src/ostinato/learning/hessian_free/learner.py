"""The Hessian-free learner: conjugate gradient on the damped Gauss-Newton quadratic.

A step is one compiled function:

    1. Compute f and g on the gradient batch, and linearise the network on the curvature batch, a
       part of it.
    2. Minimise q(δ) = ½ δᵀ B δ + gᵀ δ, B = G + s (λ₀ I + μ₀ S), by conjugate gradient, starting
       from 0.95 times the last iterate of the previous step.
    3. Choose the best of the kept iterates by the true objective, followed by a backtracking line
       search. With line-search damping, instead, move along each conjugate direction only as far as
       that lowers the objective.
    4. Adapt s by ρ. A step that does not lower the objective is rejected, and raises s. With
       `adapt="iteration"` ρ(i) adapts s in every iteration of conjugate gradient, which stops when
       s has tripled.

Noise is fixed during a step, because it is part of the network. All products are in full float32,
whatever the device's default: products rounded to TensorFloat-32 ruin conjugate gradient.

Sources: Krause (2015), chapter 3 and section 4.1; Martens (2010); Martens and Sutskever (2011).
"""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from ...cells import Model
from ...data import Batch
from ...errors import BadInput
from ...settings import setting
from ...weights import as_reals, trained
from ..clipping import norm_of
from ..learner import Passes, RunSize, Stepped, report_of
from ..objective import Objective
from .conjugate_gradient import (
    NOT_FINITE,
    REASONS,
    Solution,
    Taken,
    conjugate_gradient,
    kept_iterations,
)
from .curvature_batch import CurvatureSettings, Curved
from .damping import ADAPTS, RATIOS, Adapted, Damping, by_iteration, reduction_ratio
from .on_batch import FORMS, OnBatch
from .searches import Choice, Greedy, backtrack, best_iterate, finite, follow, shorten

WARM = 0.95
EXPONENT = 0.75
# For a plan: the values that searches compare in a usual step, and what one costs, in gradients.
SEARCHED, VALUE = 7, 1 / 3
JUDGES = ("gradient", "curvature")
DAMPINGS = ("structural", "tikhonov", "line-search")


class State(NamedTuple):
    """The learner's state: the last conjugate gradient iterate, the scale s, and the steps done."""

    last: jax.Array
    scale: jax.Array
    steps: jax.Array


@dataclasses.dataclass(frozen=True)
class HessianFree(Curved):
    """A Hessian-free learner.

    Attributes:
        objective: what to minimise, in float32.
        damping: see `Damping`.
        line_search: line-search damping instead of a choice among the iterates; the scale s then
            rises only after a rejected step, and falls back to 1.
        curvature: sequences of the curvature batch; the whole gradient batch by default.
        draw: how the curvature batch is chosen: `"fresh"` samples it at random, `"turn"` cycles
            through the parts of the gradient batch.
        judge: the batch on which the objective is evaluated to choose the iterate and the step
            length and to compute ρ: `"gradient"` or `"curvature"`. With the latter, the quadratic
            of ρ has that batch's own gradient.
        iterations, tolerance: the limit and the tolerance of conjugate gradient.
        adapt: when ρ adapts the scale s: once per `"step"`, or in every `"iteration"` of conjugate
            gradient, as in Krause (2015), section 4.1, which evaluates the objective in each.
        precondition: use the diagonal preconditioner `(mean of squared gradients + s λ₀)^0.75`.
        chunk: how many sequences to process at once, to save memory; the result is the same.

    Example:
        >>> network = Network(LSTM(2, 4, key=key), Readout(4, 1, key=key))  # for the adding problem
        >>> learner = HessianFree(Objective(SquaredError()), Damping(0.01, 0.003), curvature=2)
        >>> learner_state, state = learner.initial(network), learner.start(network, batch)
        >>> step = eqx.filter_jit(learner.step)
        >>> network, learner_state, state, report = step(network, learner_state, state, batch)
        >>> bool(report["after"] < report["loss"]), REASONS[report["reason"]]
        (True, 'progress')
    """

    title: ClassVar[str] = "Hessian-free (hf)"

    @dataclasses.dataclass(frozen=True)
    class Settings(CurvatureSettings):
        damping: str = setting(
            "structural", f"kind of damping: {', '.join(DAMPINGS)}", among=DAMPINGS
        )
        structural: float = setting(0.003, "initial μ", min=0)
        form: str = setting(
            "pre-activation", f"form of structural damping: {', '.join(FORMS)}", among=tuple(FORMS)
        )
        ratio: str = setting(
            "damped", f"quadratic that ρ compares with: {', '.join(RATIOS)}", among=RATIOS
        )
        judge: str = setting(
            "gradient", f"batch on which steps are judged: {', '.join(JUDGES)}", among=JUDGES
        )
        iterations: int = setting(100, "most iterations of conjugate gradient", min=1)
        adapt: str = setting(
            "step", f"when ρ adapts the damping: {', '.join(ADAPTS)}", among=ADAPTS
        )
        precondition: bool = setting(False, "precondition conjugate gradient by a diagonal")

    objective: Objective
    damping: Damping = dataclasses.field(default_factory=Damping)
    line_search: bool = False
    curvature: int | None = None
    draw: str = "fresh"
    judge: str = "gradient"
    iterations: int = 100
    tolerance: float = 5e-4
    adapt: str = "step"
    precondition: bool = False
    chunk: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.adapt == "iteration" and self.line_search:
            raise BadInput("line-search damping has its own rule; leave adapt at step")

    @classmethod
    def from_settings(
        cls, name: str, settings: Any, objective: Objective, size: RunSize
    ) -> "HessianFree":
        damping = Damping(
            structural=settings.structural if settings.damping == "structural" else 0.0,
            form=settings.form,
            ratio=settings.ratio,
        )
        if settings.tikhonov is not None:
            damping = dataclasses.replace(damping, tikhonov=settings.tikhonov)
        return cls(
            objective,
            damping,
            line_search=settings.damping == "line-search",
            judge=settings.judge,
            iterations=settings.iterations,
            adapt=settings.adapt,
            precondition=settings.precondition,
            **settings.sizes(size.batch, size.devices),
        )

    @property
    def copies(self) -> int:
        """The iterates of conjugate gradient that are kept."""
        return len(kept_iterations(self.iterations))

    @property
    def fewer_copies(self) -> str:
        return "fewer --iterations"

    def initial(self, network: Model) -> State:
        parameters = jax.tree.leaves(as_reals(trained(network)[0]))
        size, dtype = sum(x.size for x in parameters), jnp.result_type(*parameters)
        return State(jnp.zeros(size, dtype), jnp.ones((), dtype), jnp.zeros((), jnp.int32))

    def exact_step(self, network: Model, learner_state: State, state: Any, batch: Batch) -> Stepped:
        whole, part = self.whole_and_part(network, batch, state, learner_state.steps)
        sequences, size = (on.batch.sequences for on in (whole, part))
        theta, damping, scale = whole.start, self.damping, learner_state.scale
        value, gradient, final = whole.gradient(theta)
        judge = _Judge(whole, theta, value, gradient)
        if self.judge == "curvature":
            judge = _Judge(part, theta, *part.gradient(theta)[:2])

        curve = part.gauss_newton(theta, damping.form if damping.structural else None)

        def product(v: jax.Array) -> jax.Array:
            return curve(v, scale * damping.structural) + scale * damping.tikhonov * v

        diagonal = None
        if self.precondition:
            floor = jnp.maximum(scale * damping.tikhonov, jnp.finfo(theta.dtype).tiny)
            diagonal = (part.squares(theta) + floor) ** EXPONENT
        solve = partial(
            conjugate_gradient,
            product,
            gradient,
            WARM * learner_state.last,
            iterations=self.iterations,
            tolerance=self.tolerance,
            diagonal=diagonal,
        )
        if self.line_search:
            solution, chosen, along = _along_directions(
                solve, part, judge, WARM * learner_state.last
            )
        else:
            solution, along = solve(**self._adapting(scale, gradient, judge)), jnp.asarray(0)
            chosen = best_iterate(judge.after, solution.iterates, solution.last)
        delta = chosen.vector
        moved, length = backtrack(judge.after, chosen, judge.value, jnp.vdot(judge.gradient, delta))

        curved = product(delta) if damping.ratio == "damped" else curve(delta)
        promised = 0.5 * jnp.vdot(delta, curved) + jnp.vdot(judge.gradient, delta)
        ratio = reduction_ratio(chosen.value - judge.value, promised)
        broken = (
            (solution.reason == NOT_FINITE)
            | ~jnp.isfinite(chosen.value)
            | jnp.logical_not(chosen.sound)
        )
        refused = ~(moved.value < judge.value)
        trust, now, seen = ratio, scale, jnp.asarray(0)
        if self.line_search:  # the scale only falls back to 1 after a rejected step
            trust = jnp.where(scale > 1, jnp.inf, 0.5)
        elif self.adapt == "iteration":  # conjugate gradient has adapted it already
            trust, (now, seen) = jnp.asarray(0.5), solution.observed
        new_scale = damping.next_scale(now, trust, refused | broken)
        last = jnp.where(broken, 0, solution.iterates[solution.last])

        norms = whole.norms(gradient)
        judged = judge.on.batch.sequences
        work = (
            sequences  # the gradient
            + (solution.done + 2) * size  # products: iterations, the start, and ρ
            + (chosen.evaluations + moved.evaluations + seen) * judged / 3
            + along * size / 3
        )
        report = report_of(
            value,
            (norms, norm_of(norms)),
            jnp.where(refused, 0, length),
            after=jnp.where(refused, judge.value, moved.value),
            damping=scale * damping.tikhonov,
            structural=scale * damping.structural,
            ratio=ratio,
            iterations=solution.done,
            reason=solution.reason,
            refused=refused,
            broken=broken,
            gradients=work / sequences,
        )
        network = whole.at(theta + jnp.where(refused, 0, moved.vector))
        return network, State(last, new_scale, learner_state.steps + 1), final, report

    def passes(self, batch: int) -> list[Passes]:
        """A gradient, products for all iterations, the start and ρ, and values of the searches."""
        curved, each = self._curved(batch), self.line_search or self.adapt == "iteration"
        judged = batch if self.judge == "gradient" else curved
        along = curved if self.line_search else judged
        return [
            Passes(1, batch),
            Passes(self.iterations + 2, curved),
            Passes(SEARCHED, judged, VALUE, of_weights=False),
            Passes(self.iterations if each else 0, along, VALUE, of_weights=False),
        ]

    def _adapting(self, scale: jax.Array, gradient: jax.Array, judge: "_Judge") -> dict[str, Any]:
        """Options of conjugate gradient; with `adapt="iteration"`, the observer."""
        if self.adapt == "step":
            return {}
        # If the judge is the curvature batch, it has its own gradient.
        other = judge.gradient - gradient
        observe = by_iteration(
            self.damping,
            scale,
            lambda delta: judge.after(delta) - judge.value,
            lambda taken: taken.q + jnp.vdot(other, taken.x),
        )
        return {"observe": observe, "observed": Adapted(scale, jnp.asarray(0))}

    def summary(self, reports: list[dict[str, Any]]) -> dict[str, Any]:
        entry = super().summary(reports)
        last = reports[-1]
        entry["reason"] = REASONS[int(last["reason"])]
        for name in ("rate", "damping", "structural", "ratio", "iterations"):
            entry[name] = float(last[name])
        if broken := [r for r in reports if r["broken"]]:
            entry["remark"] = (
                "the objective was not finite during conjugate gradient; damping was raised from "
                f"λ {float(broken[-1]['damping']):.3g}, μ {float(broken[-1]['structural']):.3g}"
            )
        return entry


class _Judge(NamedTuple):
    """The batch on which the true objective is evaluated, with value and gradient at θ."""

    on: OnBatch
    theta: jax.Array
    value: jax.Array
    gradient: jax.Array

    def after(self, delta: jax.Array) -> jax.Array:
        """`f(θ + δ)`."""
        return self.on.value(self.theta + delta)


def _along_directions(
    solve: Callable[..., Solution], part: OnBatch, judge: _Judge, start: jax.Array
) -> tuple[Solution, Choice, jax.Array]:
    """Line-search damping; the warm start is the first direction.

    Returns:
        The solution of conjugate gradient, the network's step, shortened by the judge, and the
        number of evaluations of the objective on the curvature batch.
    """
    theta = judge.theta
    observe = follow(lambda delta: part.value(theta + delta))
    none = Greedy(jnp.zeros_like(theta), part.value(theta), jnp.asarray(0), jnp.asarray(1))
    first, _ = observe(none, Taken(start, start, jnp.zeros_like(none.value)))
    solution = solve(observe=observe, observed=first._replace(failures=jnp.asarray(0)))
    best = solution.observed
    whole = Choice(best.x, finite(judge.after(best.x)), jnp.asarray(1))
    return solution, shorten(judge.after, whole), best.evaluations
