"""Learners that follow the gradient: SGD and its relatives, from optax.

    sgd          θ ← θ - α_t g
    heavy-ball   v ← γ v + α_t g,  θ ← θ - v                Galvan (2015), (1.60-1.61)
    nesterov     v ← γ v + α_t g,  θ ← θ - (γ v + α_t g)
    adagrad      v ← v + g²,  θ ← θ - α_t g / √(v + ε)       v starts at `accumulator`
    adadelta, rmsprop, adam, adamw                          as in optax, times α_t

α_t = rate · schedule(t), and g is clipped first. Krause (2015), (3.1-3.2), writes heavy ball with
-v. Nesterov's method is `v ← γ v + α_t ∇f(θ - γ v)`, `θ ← θ - v`; here θ is the point `θ - γ v` at
which it evaluates the gradient (Bengio et al., 2013).

With `velocity="raw"` v does not include the rate, as in torch: `v ← γ v + g`, and α_t multiplies
the step. The two are equal for a constant rate; with a decreasing rate, earlier steps count for
less.
With `schedule="line-search"` the search shortens the step and leaves v unchanged.

AdaGrad's sum of squares starts at 0.1, as in optax, which shortens the first steps. With
`accumulator=0` it is that of Duchi et al. (2011), as Lipton et al. (2015), section 3.2, describes
it: ε is 0, and every weight begins with a step of α_t.

Weight decay is decoupled from the gradient: every learner subtracts `α_t · decay · θ`.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Model
from ..data import Batch
from ..errors import BadInput
from ..settings import as_number_text, options, setting
from ..weights import trained
from .clipping import Average, check_clip, clip_factor, no_average, norms_of, times_average
from .gradients import Full, Gradient, GradientLearner, GradientSettings, conjugate
from .learner import RunSize, Stepped, report_of
from .objective import Objective
from .schedules import SCHEDULES, factor

PATIENCE = 2  # validations without improvement before the rate is halved
# The schedules that go by validations, and the factor of the rate after one with improvement.
RISES = {"plateau": 1.0, "adaptive": 1.1}


class Method(NamedTuple):
    """A first-order method.

    Attributes:
        direction: the transformation, as a function of optax, which only training imports, of
            the momentum and of the initial accumulator.
        rate: the default learning rate.
        has_velocity: whether the direction is a velocity that can include the rate.
        decay: the default weight decay.
        width: the units of a layer for which `rate` is meant, if it depends on them.
    """

    direction: Callable[[Any, float, float], Any]
    rate: float
    has_velocity: bool = False
    decay: float = 0.0
    width: int | None = None

    def usual_rate(self, units: int) -> float:
        """The default rate for layers of so many units.

        If the method has a `width` n, it is `rate · n / units`, at most `rate`: Adam moves
        every weight by about the rate, so what a unit receives changes by the rate times the number
        of its inputs (Yang et al., 2021). `benchmarks/defaults.py` measures it.
        """
        return self.rate if self.width is None else self.rate * min(self.width / units, 1.0)


FIRST_ORDER = {
    "sgd": Method(lambda optax, momentum, start: optax.identity(), 0.5),
    "heavy-ball": Method(
        lambda optax, momentum, start: optax.trace(momentum), 0.1, has_velocity=True
    ),
    "nesterov": Method(
        lambda optax, momentum, start: optax.trace(momentum, nesterov=True), 0.1, has_velocity=True
    ),
    "adagrad": Method(
        lambda optax, momentum, start: optax.scale_by_rss(start, 1e-7 if start else 0.0), 0.02
    ),
    "adadelta": Method(lambda optax, momentum, start: optax.scale_by_adadelta(), 1.0),
    "rmsprop": Method(lambda optax, momentum, start: optax.scale_by_rms(), 1e-3),
    "adam": Method(lambda optax, momentum, start: optax.scale_by_adam(), 4e-3, width=512),
    "adamw": Method(
        lambda optax, momentum, start: optax.scale_by_adam(), 4e-3, decay=0.01, width=512
    ),
}
VELOCITIES = ("scaled", "raw")


def _optax() -> Any:
    import optax

    return optax


class Plateau(NamedTuple):
    """The best validation so far, how many since then were no better, and the rate's factor."""

    best: jax.Array
    waited: jax.Array
    scale: jax.Array


class State(NamedTuple):
    """The state of a first-order learner."""

    steps: jax.Array
    direction: Any
    search: Any
    average: Average
    plateau: Plateau


@dataclasses.dataclass(frozen=True)
class FirstOrder(GradientLearner):
    """A learner that follows the gradient.

    Attributes:
        name: one of `FIRST_ORDER`.
        objective: what to minimise.
        steps: the number of steps of the run, for the schedules.
        gradient: how to compute the objective's gradient.
        rate: the learning rate; by default the learner's own, see `FIRST_ORDER`.
        momentum, velocity: γ, and whether v is `"scaled"` by the rate or `"raw"`.
        accumulator: where AdaGrad's sum of squared gradients starts.
        schedule, warmup, clip: see the module's docstring.
        weight_decay: see the module's docstring; by default the learner's own, which is 0.01 for
            adamw and 0 for the others.
        epoch: the steps of an epoch, for the schedule `halving`.

    Example:
        >>> network = Network(LSTM(2, 8, key=key), Readout(8, 1, key=key))  # for the adding problem
        >>> learner = FirstOrder("adam", Objective(SquaredError()), steps=1000)
        >>> learner_state, state = learner.initial(network), learner.start(network, batch)
        >>> step = eqx.filter_jit(learner.step)
        >>> network, learner_state, state, report = step(network, learner_state, state, batch)
        >>> sorted(report)
        ['clipped', 'loss', 'norm', 'norms', 'rate']
    """

    title: ClassVar[str] = "first order"

    @dataclasses.dataclass(frozen=True)
    class Settings(GradientSettings):
        rate: float | None = setting(None, "learning rate", min=0)
        momentum: float = setting(0.9, "momentum of heavy ball and Nesterov", min=0, below=1)
        velocity: str = setting(
            "scaled",
            "whether their velocity includes the rate (scaled) or not (raw)",
            among=VELOCITIES,
        )
        accumulator: float = setting(0.1, "initial sum of squared gradients of adagrad", min=0)
        schedule: str = setting("cosine", f"how the rate changes: {', '.join(SCHEDULES)}")
        warmup: int = setting(0, "steps over which the rate rises from zero", min=0)
        clip: str = setting(
            "1",
            "largest gradient norm: a number, '2x' the average (or 'auto'), or 'off'",
            number=True,
        )
        weight_decay: float | None = setting(
            None,
            "fraction of each weight subtracted per step, times the rate (adamw 0.01, others 0)",
            min=0,
        )

        def __post_init__(self) -> None:
            check_clip(self.clip)

    name: str
    objective: Objective
    steps: int
    gradient: Gradient = dataclasses.field(default_factory=Full)
    rate: float | None = None
    momentum: float = 0.9
    velocity: str = "scaled"
    accumulator: float = 0.1
    schedule: str = "cosine"
    warmup: int = 0
    clip: str = "1"
    weight_decay: float | None = None
    epoch: float | None = None

    def __post_init__(self) -> None:
        if self.name not in FIRST_ORDER:
            raise BadInput(f"there is no learner {self.name!r}; there are {', '.join(FIRST_ORDER)}")
        object.__setattr__(self, "clip", as_number_text(self.clip))
        check_clip(self.clip)
        factor(self.schedule, self.steps, epoch=self.epoch or 1.0)

    @classmethod
    def from_settings(
        cls, name: str, settings: Any, objective: Objective, size: RunSize
    ) -> "FirstOrder":
        given = options(settings)
        for field in dataclasses.fields(GradientSettings):
            del given[field.name]
        if settings.rate is None:
            given["rate"] = FIRST_ORDER[name].usual_rate(size.units)
        return cls(name, objective, size.steps, settings.method(), epoch=size.epoch, **given)

    def chosen_values(self) -> dict[str, Any]:
        return {"rate": self._rate}

    def advice(self, rate: float) -> str:
        tries = [f"a smaller --rate (it was {rate if self.rate is None else self.rate:.3g})"]
        if self.clip == "off":
            tries.append("--clip 1 (clipping was off)")
        elif self.clip != "auto":
            tries.append(f"a tighter --clip (it was {self.clip}) or --clip auto")
        if not self.warmup:
            tries.append("--warmup 100")
        return ", ".join(tries)

    @property
    def can_vmap(self) -> bool:  # type: ignore[override]
        return self.schedule != "line-search"

    @property
    def numbers(self) -> dict[str, float]:
        values = {"rate": self._rate, "momentum": self.momentum, "weight_decay": self._decay}
        constant = self.clip != "off" and times_average(self.clip) is None
        return {**values, "clip": float(self.clip)} if constant else values

    def initial(self, network: Model) -> State:
        parameters, _ = trained(network)
        start = Plateau(jnp.asarray(jnp.inf), jnp.zeros((), jnp.int32), jnp.ones(()))
        state = State(
            jnp.zeros((), jnp.int32),
            self._direction(self.momentum).init(parameters),
            self._search.init(parameters) if self.schedule == "line-search" else (),
            no_average(),
            start,
        )
        # No weak types, or the state after the first step would have the step compiled again.
        return jax.tree.map(lambda x: jnp.asarray(x, x.dtype), state)

    def step(self, network: Model, learner_state: State, state: Any, batch: Batch) -> Stepped:
        return self.step_with(self.numbers, network, learner_state, state, batch)

    def step_with(
        self,
        numbers: dict[str, Any],
        network: Model,
        learner_state: State,
        state: Any,
        batch: Batch,
    ) -> Stepped:
        parameters, rest = trained(network)
        value, gradient, final = self.gradient(self.objective, network, batch, state)
        norms, norm = norms_of(gradient)
        scale, average = clip_factor(numbers.get("clip", self.clip), norm, learner_state.average)
        rate = numbers["rate"] * self._factor(learner_state.steps)
        rate = rate * learner_state.plateau.scale
        inside = self._method.has_velocity and self.velocity == "scaled"
        before, after = (rate, 1.0) if inside else (1.0, rate)
        seen = jax.tree.map(lambda x: (x * scale * before).astype(x.dtype), gradient)
        method = self._direction(numbers["momentum"])
        updates, direction = method.update(seen, learner_state.direction, parameters)
        decay = rate * numbers["weight_decay"]
        updates = jax.tree.map(lambda u, p: -(after * u + decay * p), updates, parameters)
        search = learner_state.search
        if self.schedule == "line-search":
            updates, search = self._search.update(
                updates,
                search,
                parameters,
                value=value,
                grad=conjugate(gradient),  # as optax expects it
                value_fn=lambda p: self.objective.value(eqx.combine(p, rest), batch, state)[0],
            )
            rate = rate * search.learning_rate
        network = eqx.combine(_optax().apply_updates(parameters, updates), rest)
        learner_state = State(
            learner_state.steps + 1, direction, search, average, learner_state.plateau
        )
        report = report_of(value, (norms, norm), rate, (scale < 1).astype(norm.dtype))
        return network, learner_state, final, report

    def after_validation(self, learner_state: State, value: float) -> State:
        if self.schedule not in RISES:
            return learner_state
        (best, waited, scale), rise = learner_state.plateau, RISES[self.schedule]
        if value < best:
            plateau = Plateau(jnp.asarray(value, best.dtype), jnp.zeros_like(waited), scale * rise)
        elif waited + 1 >= PATIENCE:
            plateau = Plateau(best, jnp.zeros_like(waited), scale / 2)
        else:
            plateau = Plateau(best, waited + 1, scale)
        return learner_state._replace(plateau=plateau)

    @property
    def _method(self) -> Method:
        return FIRST_ORDER[self.name]

    @property
    def _factor(self) -> Callable[[jax.Array], jax.Array]:
        return factor(self.schedule, self.steps, self.warmup, self.epoch)

    def _direction(self, momentum: Any) -> Any:
        return self._method.direction(_optax(), momentum, self.accumulator)

    @property
    def _rate(self) -> float:
        return self._method.rate if self.rate is None else self.rate

    @property
    def _decay(self) -> float:
        return self._method.decay if self.weight_decay is None else self.weight_decay

    @property
    def _search(self) -> Any:
        # Armijo's rule, starting from the full step.
        return _optax().scale_by_backtracking_linesearch(
            max_backtracking_steps=15, max_learning_rate=1.0, increase_factor=2.0
        )
