"""Learners that follow the gradient: SGD and its relatives, from optax.

    sgd          θ ← θ - α_t g
    heavy-ball   v ← γ v + α_t g,  θ ← θ - v                Galvan (2015), (1.60-1.61)
    nesterov     v ← γ v + α_t g,  θ ← θ - (γ v + α_t g)
    adagrad, adadelta, rmsprop, adam, adamw                 as in optax, times α_t

α_t = rate · schedule(t), and the gradient's norm is clipped before. Krause (2015), (3.1-3.2),
writes heavy ball with -v. Nesterov's method is `v ← γ v + α_t ∇f(θ - γ v)`, `θ ← θ - v`; here θ is
the point `θ - γ v` at which it takes the gradient (Bengio et al., 2013).

With `velocity="raw"` v leaves the rate out, as in torch: `v ← γ v + g`, and α_t multiplies the
step. That is the same where the rate is constant; where it falls, earlier steps count for less.
With `schedule="line-search"` the search shortens the step and leaves v as it is.

Weight decay takes `α_t · decay · θ` off, apart from the gradient, whichever the learner.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from ..data import Batch
from ..errors import BadInput
from ..settings import options, setting
from ..weights import trained
from ._learner import Learner
from .clipping import Average, check_clip, clip_factor, no_average
from .gradients import GRADIENTS, Full, Gradient, gradient_named
from .objective import Objective
from .schedules import SCHEDULES, factor

PATIENCE = 2


def _momentum(nesterov: bool) -> Callable[[float], optax.GradientTransformation]:
    return lambda momentum: optax.trace(momentum, nesterov=nesterov)


# The direction that each learner takes for the momentum, and its usual rate.
FIRST_ORDER: dict[str, tuple[Callable[[float], optax.GradientTransformation], float]] = {
    "sgd": (lambda momentum: optax.identity(), 0.5),
    "heavy-ball": (_momentum(nesterov=False), 0.1),
    "nesterov": (_momentum(nesterov=True), 0.1),
    "adagrad": (lambda momentum: optax.scale_by_rss(), 0.02),
    "adadelta": (lambda momentum: optax.scale_by_adadelta(), 1.0),
    "rmsprop": (lambda momentum: optax.scale_by_rms(), 1e-3),
    "adam": (lambda momentum: optax.scale_by_adam(), 4e-3),
    "adamw": (lambda momentum: optax.scale_by_adam(), 4e-3),
}
ADAMW_DECAY = 0.01
MOMENTUM = ("heavy-ball", "nesterov")
VELOCITIES = ("scaled", "raw")


@dataclasses.dataclass(frozen=True)
class GradientSettings:
    """The settings of how a gradient is found."""

    omega: float = setting(0.0, "weight of the norm-preserving term", least=0)
    gradient: str = setting("full", f"how the gradient is found: {', '.join(GRADIENTS)}")
    window: int = setting(20, "steps of the window of truncated gradients", least=1)

    def method(self) -> Gradient:
        """The way to find the gradient that they name."""
        return gradient_named(self.gradient, window=self.window, omega=self.omega)


class Plateau(NamedTuple):
    """The best validation so far, how many since were no better, and the rate's factor."""

    best: jax.Array
    waited: jax.Array
    scale: jax.Array


class Memory(NamedTuple):
    """What a first-order learner remembers."""

    steps: jax.Array
    direction: Any
    search: Any
    average: Average
    plateau: Plateau


@dataclasses.dataclass(frozen=True)
class FirstOrder(Learner):
    """A learner that follows the gradient.

    Attributes:
        name: one of `FIRST_ORDER`.
        objective: what is minimised.
        steps: the length of the run, which the schedules need.
        gradient: how the objective's gradient is found.
        rate: the learner's usual one by default.
        momentum, velocity: γ, and whether v is `"scaled"` by the rate or `"raw"`.
        schedule, warmup, clip, weight_decay: see the module's docstring.

    Example:
        >>> learner = FirstOrder("adam", Objective(CrossEntropy()), steps=1000)
        >>> memory = learner.initial(network)
        >>> network, memory, state, report = learner.step(network, memory, None, batch)
    """

    title: ClassVar[str] = "first order"

    @dataclasses.dataclass(frozen=True)
    class Settings(GradientSettings):
        rate: float | None = setting(None, "learning rate", least=0)
        momentum: float = setting(0.9, "momentum of heavy ball and Nesterov", least=0, below=1)
        velocity: str = setting(
            "scaled", "their velocity, with the rate in it (scaled) or not (raw)", among=VELOCITIES
        )
        schedule: str = setting("cosine", f"how the rate changes: {', '.join(SCHEDULES)}")
        warmup: int = setting(0, "steps in which the rate rises from zero", least=0)
        clip: str = setting(
            "1", "largest gradient norm: a number, '2x' the average (or 'auto'), or 'off'"
        )
        weight_decay: float = setting(
            0.0, "share of each weight taken off, times the rate", least=0
        )

        def __post_init__(self):
            check_clip(self.clip)

    name: str
    objective: Objective
    steps: int
    gradient: Gradient = dataclasses.field(default_factory=Full)
    rate: float | None = None
    momentum: float = 0.9
    velocity: str = "scaled"
    schedule: str = "constant"
    warmup: int = 0
    clip: str = "1"
    weight_decay: float = 0.0

    def __post_init__(self):
        if self.name not in FIRST_ORDER:
            raise BadInput(f"there is no learner {self.name!r}; there are {', '.join(FIRST_ORDER)}")
        if self.velocity not in VELOCITIES:
            raise BadInput(f"velocity must be one of {', '.join(VELOCITIES)}; got {self.velocity}")
        factor(self.schedule, self.steps)

    @classmethod
    def from_settings(cls, name, settings, objective, steps, batch):
        given = options(settings)
        for field in dataclasses.fields(GradientSettings):
            del given[field.name]
        return cls(name, objective, steps, settings.method(), **given)

    @property
    def carries_state(self) -> bool:
        return self.gradient.carries_state

    def found(self) -> dict[str, Any]:
        return {"rate": self._rate}

    def advice(self, rate: float) -> str:
        tries = [f"a smaller --rate (it was {self.rate or rate:.3g})"]
        if self.clip == "off":
            tries.append("--clip 1 (clipping was off)")
        elif self.clip != "auto":
            tries.append(f"a tighter --clip (it was {self.clip}) or --clip auto")
        if not self.warmup:
            tries.append("--warmup 100")
        return ", ".join(tries)

    def initial(self, network):
        parameters, _ = trained(network)
        start = Plateau(jnp.asarray(jnp.inf), jnp.zeros((), jnp.int32), jnp.ones(()))
        return Memory(
            jnp.zeros((), jnp.int32),
            self._direction.init(parameters),
            self._search.init(parameters) if self.schedule == "line-search" else (),
            no_average(),
            start,
        )

    def start(self, network, batch):
        return self.gradient.start(network, batch)

    def step(self, network, memory, state, batch: Batch):
        parameters, rest = trained(network)
        value, gradient, final = self.gradient(self.objective, network, batch, state)
        norms = jnp.stack([jnp.linalg.norm(x.reshape(-1)) for x in jax.tree.leaves(gradient)])
        norm = jnp.linalg.norm(norms)
        scale, average = clip_factor(self.clip, norm, memory.average)
        rate = self._rate * factor(self.schedule, self.steps, self.warmup)(memory.steps)
        rate = rate * memory.plateau.scale
        inside = self.name in MOMENTUM and self.velocity == "scaled"
        before, after = (rate, 1.0) if inside else (1.0, rate)
        seen = jax.tree.map(lambda x: (x * scale * before).astype(x.dtype), gradient)
        updates, direction = self._direction.update(seen, memory.direction, parameters)
        decay = rate * self._decay
        updates = jax.tree.map(lambda u, p: -(after * u + decay * p), updates, parameters)
        search = memory.search
        if self.schedule == "line-search":
            updates, search = self._search.update(
                updates,
                search,
                parameters,
                value=value,
                grad=gradient,
                value_fn=lambda p: self.objective.value(eqx.combine(p, rest), batch, state)[0],
            )
            rate = rate * search.learning_rate
        network = eqx.combine(optax.apply_updates(parameters, updates), rest)
        memory = Memory(memory.steps + 1, direction, search, average, memory.plateau)
        report = {
            "loss": value,
            "norm": norm,
            "norms": norms,
            "rate": jnp.asarray(rate),
            "clipped": (scale < 1).astype(norm.dtype),
        }
        return network, memory, final, report

    def heard(self, memory, value):
        if self.schedule != "plateau":
            return memory
        best, waited, scale = memory.plateau
        if value < best:
            plateau = Plateau(jnp.asarray(value, best.dtype), jnp.zeros_like(waited), scale)
        elif waited + 1 >= PATIENCE:
            plateau = Plateau(best, jnp.zeros_like(waited), scale / 2)
        else:
            plateau = Plateau(best, waited + 1, scale)
        return memory._replace(plateau=plateau)

    @property
    def _rate(self) -> float:
        return FIRST_ORDER[self.name][1] if self.rate is None else self.rate

    @property
    def _decay(self) -> float:
        return self.weight_decay or (ADAMW_DECAY if self.name == "adamw" else 0.0)

    @property
    def _direction(self) -> optax.GradientTransformation:
        return FIRST_ORDER[self.name][0](self.momentum)

    @property
    def _search(self) -> optax.GradientTransformationExtraArgs:
        # Armijo's rule, from the whole step downwards.
        return optax.scale_by_backtracking_linesearch(
            max_backtracking_steps=15, max_learning_rate=1.0, increase_factor=2.0
        )
