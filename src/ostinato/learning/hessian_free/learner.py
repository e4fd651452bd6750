"""The Hessian-free learner: conjugate gradient on the Gauss-Newton quadratic, damped.

One step, all of it one compiled function:

    1. f, g on the gradient batch; the network linearised on the curvature batch, a part of it.
    2. Conjugate gradient on q(δ) = ½ δᵀ B δ + gᵀ δ, B = G + s (λ₀ I + μ₀ S), from 0.95 times the
       last iterate of the step before.
    3. Of the iterates that were kept the best by the true objective, and a backtracking line search
       along it. With line-search damping instead: the network's own steps along the directions.
    4. ρ moves s; a step that does not lower the objective is refused, and raises s. With
       `adapt="iteration"` ρ(i) moves s in every iteration of conjugate gradient instead, which ends
       when s has grown to three times what it was.

The noise of a network stands still during a step, as the network that comes in holds it. All
products are in full float32, whatever the device does by default: rounded to TensorFloat-32,
curvature products ruin conjugate gradient.

Sources: Krause (2015), chapter 3 and section 4.1; Martens (2010); Martens and Sutskever (2011).
"""

import dataclasses
from functools import partial
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from ...data import Batch
from ...errors import BadInput
from ...settings import setting
from ...weights import trained
from ..objective import Objective
from .conjugate_gradient import NOT_FINITE, REASONS, Solution, Taken, conjugate_gradient
from .curvature_batch import CurvatureSettings, Curved, check_exact, whole_and_part
from .damping import ADAPTS, RATIOS, Adapted, Damping, by_iteration, reduction_ratio
from .on_batch import FORMS, OnBatch
from .searches import Choice, Greedy, backtrack, best_iterate, finite, follow, shorten

WARM = 0.95
EXPONENT = 0.75
JUDGES = ("gradient", "curvature")
DAMPINGS = ("structural", "tikhonov", "line-search")


class Memory(NamedTuple):
    """What the learner remembers: the last conjugate gradient iterate, s, and the steps done."""

    last: jax.Array
    scale: jax.Array
    steps: jax.Array


@dataclasses.dataclass(frozen=True)
class HessianFree(Curved):
    """A Hessian-free learner.

    Attributes:
        objective: what is minimised, in float32.
        damping: see `Damping`.
        line_search: line-search damping instead of choosing among the iterates; the scale s then
            moves only where a step is refused, and back.
        curvature: sequences of the curvature batch; all of the gradient batch by default.
        draw: the part of the gradient batch that the curvature sees: `"fresh"` at random, `"turn"`
            one part after the other.
        judge: where the objective is measured that chooses the iterate, the length of the step and
            ρ: on the `"gradient"` batch or on the `"curvature"` batch. There the quadratic has that
            batch's own gradient too.
        iterations, tolerance: of conjugate gradient.
        adapt: when ρ moves the scale s: once per `"step"`, or with every `"iteration"` of conjugate
            gradient, as in Krause (2015), section 4.1; that takes an evaluation of the objective
            each.
        precondition: with the diagonal `(mean of squared gradients + s λ₀)^0.75`.
        chunk: at most so many sequences at once, to save memory; exact.

    Example:
        >>> learner = HessianFree(Objective(CrossEntropy()), Damping(0.01, 0.003), curvature=100)
        >>> memory = learner.initial(network)
        >>> network, memory, state, report = learner.step(network, memory, state, batch)
        >>> report["damping"], report["ratio"], REASONS[report["reason"]]
    """

    title: ClassVar[str] = "Hessian-free (hf)"

    @dataclasses.dataclass(frozen=True)
    class Settings(CurvatureSettings):
        damping: str = setting(
            "structural", f"kind of damping: {', '.join(DAMPINGS)}", among=DAMPINGS
        )
        structural: float = setting(0.003, "initial μ", least=0)
        form: str = setting(
            "pre-activation", f"of structural damping: {', '.join(FORMS)}", among=tuple(FORMS)
        )
        ratio: str = setting("damped", f"the quadratic of ρ: {', '.join(RATIOS)}", among=RATIOS)
        judge: str = setting(
            "gradient", f"batch that steps are judged on: {', '.join(JUDGES)}", among=JUDGES
        )
        iterations: int = setting(100, "of conjugate gradient, at most", least=1)
        adapt: str = setting("step", f"when ρ moves the damping: {', '.join(ADAPTS)}", among=ADAPTS)
        precondition: bool = setting(False, "conjugate gradient with a diagonal preconditioner")

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

    def __post_init__(self):
        check_exact(self.objective, self.draw)
        if self.judge not in JUDGES:
            raise BadInput(f"judge must be one of {', '.join(JUDGES)}; got {self.judge}")
        if self.adapt not in ADAPTS:
            raise BadInput(f"adapt must be one of {', '.join(ADAPTS)}; got {self.adapt}")
        if self.adapt == "iteration" and self.line_search:
            raise BadInput("line-search damping has a rule of its own; leave adapt at step")

    @classmethod
    def from_settings(cls, name, settings, objective, steps, batch):
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
            **settings.sizes(batch),
        )

    def initial(self, network):
        parameters, _ = trained(network)
        size = sum(x.size for x in jax.tree.leaves(parameters))
        dtype = jnp.result_type(*jax.tree.leaves(parameters))
        return Memory(jnp.zeros(size, dtype), jnp.ones((), dtype), jnp.zeros((), jnp.int32))

    def step(self, network, memory, state, batch: Batch):
        with jax.default_matmul_precision("highest"):
            return self._step(network, memory, state, batch)

    def _step(self, network, memory: Memory, state, batch: Batch):
        whole, part = whole_and_part(self, network, batch, state, memory.steps)
        sequences, size = (on.batch.sequences for on in (whole, part))
        theta, damping, scale = whole.start, self.damping, memory.scale
        value, gradient, final = whole.gradient(theta)
        judge = _Judge(whole, theta, value, gradient)
        if self.judge == "curvature":
            judge = _Judge(part, theta, *part.gradient(theta)[:2])

        curve = part.gauss_newton(theta, damping.form if damping.structural else None)

        def product(v):
            return curve(v, scale * damping.structural) + scale * damping.tikhonov * v

        diagonal = None
        if self.precondition:
            floor = jnp.maximum(scale * damping.tikhonov, jnp.finfo(theta.dtype).tiny)
            diagonal = (part.squares(theta) + floor) ** EXPONENT
        solve = partial(
            conjugate_gradient,
            product,
            gradient,
            WARM * memory.last,
            iterations=self.iterations,
            tolerance=self.tolerance,
            diagonal=diagonal,
        )
        if self.line_search:
            solution, chosen, along = _along_directions(solve, part, judge, WARM * memory.last)
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
        if self.line_search:  # the scale only comes back to one after a refusal
            trust = jnp.where(scale > 1, jnp.inf, 0.5)
        elif self.adapt == "iteration":  # it has moved already
            trust, (now, seen) = jnp.asarray(0.5), solution.observed
        new_scale = damping.next_scale(now, trust, refused | broken)
        last = jnp.where(broken, 0, solution.iterates[solution.last])

        norms = whole.norms(gradient)
        judged = judge.on.batch.sequences
        work = (
            sequences  # the gradient
            + (solution.done + 2) * size  # products, one of them for the start and one for ρ
            + (chosen.evaluations + moved.evaluations + seen) * judged / 3
            + along * size / 3
        )
        report = {
            "loss": value,
            "norm": jnp.linalg.norm(norms),
            "norms": norms,
            "rate": jnp.where(refused, 0, length),
            "clipped": jnp.zeros_like(value),
            "after": jnp.where(refused, judge.value, moved.value),
            "damping": scale * damping.tikhonov,
            "structural": scale * damping.structural,
            "ratio": ratio,
            "iterations": solution.done,
            "reason": solution.reason,
            "refused": refused,
            "broken": broken,
            "gradients": work / sequences,
        }
        network = whole.at(theta + jnp.where(refused, 0, moved.vector))
        return network, Memory(last, new_scale, memory.steps + 1), final, report

    def _adapting(self, scale, gradient, judge: "_Judge") -> dict:
        """What conjugate gradient is told where its iterations move the scale."""
        if self.adapt == "step":
            return {}
        # Another batch than the gradient's has its own gradient too.
        other = judge.gradient - gradient
        observe = by_iteration(
            self.damping,
            scale,
            lambda delta: judge.after(delta) - judge.value,
            lambda taken: taken.q + jnp.vdot(other, taken.x),
        )
        return {"observe": observe, "observed": Adapted(scale, jnp.asarray(0))}

    def summary(self, reports):
        found = super().summary(reports)
        last = reports[-1]
        found["reason"] = REASONS[int(last["reason"])]
        for name in ("rate", "damping", "structural", "ratio", "iterations"):
            found[name] = float(last[name])
        if broken := [r for r in reports if r["broken"]]:
            found["remark"] = (
                "the objective was not finite within conjugate gradient; damping was raised from "
                f"λ {float(broken[-1]['damping']):.3g}, μ {float(broken[-1]['structural']):.3g}"
            )
        return found


class _Judge(NamedTuple):
    """Where the true objective is measured, with its value and gradient before the step."""

    on: OnBatch
    theta: jax.Array
    value: jax.Array
    gradient: jax.Array

    def after(self, delta: jax.Array) -> jax.Array:
        """`f(θ + δ)`."""
        return self.on.value(self.theta + delta)


def _along_directions(
    solve, part: OnBatch, judge: _Judge, start: jax.Array
) -> tuple[Solution, Choice, jax.Array]:
    """Line-search damping; the warm start is the first direction.

    Returns:
        What conjugate gradient found, the network's own step, shortened by the judge, and how
        often the objective was evaluated on the curvature batch.
    """
    theta = judge.theta
    observe = follow(lambda delta: part.value(theta + delta))
    none = Greedy(jnp.zeros_like(theta), part.value(theta), jnp.asarray(0), jnp.asarray(1))
    first, _ = observe(none, Taken(start, start, jnp.zeros_like(none.value)))
    solution = solve(observe=observe, observed=first._replace(failures=jnp.asarray(0)))
    found = solution.observed
    whole = Choice(found.x, finite(judge.after(found.x)), jnp.asarray(1))
    return solution, shorten(judge.after, whole), found.evaluations
