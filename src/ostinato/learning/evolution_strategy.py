"""An evolution strategy: the weights move towards random neighbours with a smaller loss.

    ε_1 … ε_n ~ N(0, I),   f_i^± = f(θ ± σ ε_i)
    g = 1 / (2 n σ) Σ_i (r(f_i^+) - r(f_i^-)) ε_i
    θ ← θ - α_t Adam(g)

r is the rank of a loss among all 2 n, scaled to -½ … ½, so that no outlier dominates and only the
order of the losses matters; one that is not finite has the last rank. With r the identity, g
estimates the gradient of f averaged over neighbours. It needs no derivative of f, and no memory for
backpropagation, but the noise of g grows with the number of weights. All 2 n networks are evaluated
by one `vmap`.

Sources: Salimans et al. (2017), Evolution strategies as a scalable alternative to reinforcement
learning (antithetic pairs, ranks and Adam); Lipton et al. (2015), section 2.3, on evolution in
place of gradients.
"""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from ..cells import Model
from ..data import Batch
from ..errors import BadInput
from ..settings import options, setting
from ..weights import trained
from .clipping import norms_of
from .learner import Learner, RunSize, Stepped, report_of
from .objective import Objective
from .schedules import BY_STEP, SCHEDULES, factor


class State(NamedTuple):
    """The number of steps, which also numbers the noise, and the moments of Adam."""

    steps: jax.Array
    direction: Any


@dataclasses.dataclass(frozen=True)
class EvolutionStrategy(Learner):
    """An evolution strategy: the weights move towards neighbours with a smaller loss.

    Attributes:
        objective: what to minimise.
        steps: the number of steps of the run, for the schedule.
        directions: n, the number of random directions, each tried both ways.
        sigma: σ, the standard deviation of the noise on the weights.
        rate: the learning rate of Adam.
        schedule: how the rate changes.

    Example:
        >>> from ostinato.losses import SquaredError
        >>> network = Network(LSTM(2, 8, key=key), Readout(8, 1, key=key))  # for the adding problem
        >>> learner = EvolutionStrategy(Objective(SquaredError()), steps=100, directions=4)
        >>> learner_state, state = learner.initial(network), learner.start(network, batch)
        >>> step = eqx.filter_jit(learner.step)
        >>> network, learner_state, state, report = step(network, learner_state, state, batch)
        >>> int(learner_state.steps)
        1
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        directions: int = setting(64, "random directions per step, each tried both ways", min=1)
        sigma: float = setting(0.05, "standard deviation of the noise on the weights", min=1e-12)
        rate: float = setting(0.02, "learning rate", min=0)
        schedule: str = setting("cosine", f"how the rate changes: {', '.join(SCHEDULES)}")

    splits_batch = True

    objective: Objective
    steps: int
    directions: int = 64
    sigma: float = 0.05
    rate: float = 0.02
    schedule: str = "cosine"

    def __post_init__(self) -> None:
        factor(self.schedule, self.steps, epoch=1.0)
        if self.schedule not in BY_STEP or self.schedule == "halving":
            raise BadInput(f"the learner es does not support the schedule {self.schedule}")

    @classmethod
    def from_settings(
        cls, name: str, settings: Any, objective: Objective, size: RunSize
    ) -> "EvolutionStrategy":
        return cls(objective, size.steps, **options(settings))

    @property
    def copies(self) -> int:
        return 3 * self.directions  # the noise, and the two networks of each pair

    @property
    def fewer_copies(self) -> str:
        return "fewer --directions"

    def chosen_values(self) -> dict[str, Any]:
        return {"rate": self.rate}

    def advice(self, rate: float) -> str:
        return f"a smaller --rate (it was {self.rate:.3g}) or --sigma (it was {self.sigma:.3g})"

    def initial(self, network: Model) -> State:
        return State(jnp.zeros((), jnp.int32), optax.scale_by_adam().init(trained(network)[0]))

    def step(self, network: Model, learner_state: State, state: Any, batch: Batch) -> Stepped:
        parameters, rest = trained(network)
        value, final = self.objective.value(network, batch, state)
        noise = self._noise(learner_state.steps, parameters)

        def loss(signed: jax.Array, noise: Any) -> jax.Array:
            moved = jax.tree.map(lambda p, e: (p + signed * e).astype(p.dtype), parameters, noise)
            return self.objective.value(eqx.combine(moved, rest), batch, state)[0]

        both = jax.vmap(loss, in_axes=(None, 0))
        signs = jnp.asarray([self.sigma, -self.sigma], value.dtype)
        losses = jax.vmap(both, in_axes=(0, None))(signs, noise)
        up, down = centred_ranks(losses)
        scale = (up - down) / (2 * self.directions * self.sigma)
        gradient = jax.tree.map(
            lambda e, p: jnp.tensordot(scale.astype(e.dtype), e, 1).astype(p.dtype),
            noise,
            parameters,
        )
        updates, direction = optax.scale_by_adam().update(
            gradient, learner_state.direction, parameters
        )
        rate = self.rate * factor(self.schedule, self.steps)(learner_state.steps)
        after = jax.tree.map(lambda p, u: (p - rate * u).astype(p.dtype), parameters, updates)
        report = report_of(value, norms_of(gradient), rate)
        return eqx.combine(after, rest), State(learner_state.steps + 1, direction), final, report

    def _noise(self, step: jax.Array, parameters: Any) -> Any:
        """The noise of a step: for each parameter an array `(directions, …)`."""
        leaves, tree = jax.tree.flatten(parameters)
        keys = jax.random.split(jax.random.fold_in(jax.random.key(0), step), len(leaves))
        drawn = [
            jax.random.normal(key, (self.directions, *x.shape), x.dtype)
            for key, x in zip(keys, leaves, strict=True)
        ]
        return jax.tree.unflatten(tree, drawn)


def centred_ranks(losses: jax.Array) -> jax.Array:
    """The ranks of all losses, scaled to -½ … ½; those that are not finite come last.

    Example:
        >>> centred_ranks(jnp.array([[3.0, 1.0], [jnp.nan, 2.0]])).tolist()
        [[0.16..., -0.5], [0.5, -0.16...]]
    """
    flat = jnp.where(jnp.isfinite(losses), losses, jnp.inf).reshape(-1)
    ranks = jnp.argsort(jnp.argsort(flat))
    return (ranks / (flat.size - 1) - 0.5).reshape(losses.shape).astype(losses.dtype)
