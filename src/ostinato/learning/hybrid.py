"""A first-order learner combined with a second-order one.

    after    the first for a number of steps, then the second: first-order steps approach a minimum
             cheaply, second-order steps converge to it (Galvan, 2015, section 2.2.2)
    stuck    the first, and a single step of the second whenever that number of steps has brought no
             improvement (Dauphin et al., 2014, cited by Lipton et al., 2015, section 3.2)

An improvement is a running mean of the loss below 0.999 times the lowest so far.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Model
from ..data import Batch
from ..errors import BadInput
from .learner import Learner, LedBy, Stepped

WHERE = ("after", "stuck")
EVERY_LEARNERS = ("loss", "norm", "norms", "rate", "clipped", "moved")
KEEPS = 0.9
GAIN = 0.999


class State(NamedTuple):
    """The states of both learners, and the progress of the first.

    Attributes:
        first, second: the states of the two learners.
        waited: steps of the first since the start or, with `"stuck"`, since its last improvement.
        mean, best: the running mean of the loss, and its lowest value so far.
    """

    first: Any
    second: Any
    waited: jax.Array
    mean: jax.Array
    best: jax.Array


@dataclasses.dataclass(frozen=True)
class Hybrid(LedBy):
    """A first-order learner and a second-order one.

    Attributes:
        first, second: the learners. Both must carry only the network's state between batches.
        steps: how many steps of the first come before the second takes over.
        where: `"after"` or `"stuck"`; see the module's docstring.

    Example:
        >>> objective = Objective(SquaredError())
        >>> learner = Hybrid(FirstOrder("adam", objective, 1000), HessianFree(objective), steps=500)
        >>> learner.exact, learner.usual_batch
        (True, 1000)
    """

    first: Learner
    second: Learner
    steps: int
    where: str = "after"

    @property
    def leader(self) -> Learner:
        return self.second

    def __post_init__(self) -> None:
        if self.where not in WHERE:
            raise BadInput(f"where must be one of {', '.join(WHERE)}; got {self.where}")
        if self.steps < 1:
            raise BadInput(f"steps must be at least 1, got {self.steps}")
        super().__post_init__()

    def initial(self, network: Model) -> State:
        nothing = jnp.full_like(jnp.ones(()), jnp.inf)
        begin = jnp.zeros((), jnp.int32)
        return State(
            self.first.initial(network), self.second.initial(network), begin, nothing, nothing
        )

    def step(self, network: Model, learner_state: State, state: Any, batch: Batch) -> Stepped:
        arrays, static = eqx.partition(network, eqx.is_array)

        def with_first(arrays: Any, learner_state: State) -> Any:
            after, new, final, report = self.first.step(
                eqx.combine(arrays, static), learner_state.first, state, batch
            )
            learner_state = self._going(learner_state._replace(first=new), report["loss"])
            return eqx.filter(after, eqx.is_array), learner_state, final, report

        def with_second(arrays: Any, learner_state: State) -> Any:
            after, new, final, report = self.second.step(
                eqx.combine(arrays, static), learner_state.second, state, batch
            )
            waited = (
                jnp.zeros_like(learner_state.waited)
                if self.where == "stuck"
                else learner_state.waited
            )
            learner_state = learner_state._replace(second=new, waited=waited)
            return eqx.filter(after, eqx.is_array), learner_state, final, report

        # Both branches must report the same entries; those of the other learner are zero.
        told = [jax.eval_shape(do, arrays, learner_state)[3] for do in (with_first, with_second)]

        def filled(do: Callable[..., Any]) -> Callable[..., Any]:
            def run(arrays: Any, learner_state: State) -> Any:
                *after, report = do(arrays, learner_state)
                rest = {k: jnp.zeros(x.shape, x.dtype) for part in told for k, x in part.items()}
                return *after, {k: jnp.asarray(report.get(k, x), x.dtype) for k, x in rest.items()}

            return run

        turn = learner_state.waited >= self.steps
        arrays, learner_state, final, report = jax.lax.cond(
            turn, filled(with_second), filled(with_first), arrays, learner_state
        )
        return eqx.combine(arrays, static), learner_state, final, {**report, "second": turn}

    def after_validation(self, learner_state: State, value: float) -> State:
        return learner_state._replace(first=self.first.after_validation(learner_state.first, value))

    def summary(self, reports: list[dict[str, Any]]) -> dict[str, Any]:
        """The last learner's summary of its own steps, and the share of steps by the second."""
        last = bool(reports[-1]["second"])
        own = [r for r in reports if bool(r["second"]) == last]
        if not last:  # the entries of the second learner are all zero
            own = [{k: v for k, v in r.items() if k in EVERY_LEARNERS} for r in own]
        entry = (self.second if last else self.first).summary(own)
        return {**entry, "second": float(np.mean([r["second"] for r in reports]))}

    def _going(self, learner_state: State, loss: jax.Array) -> State:
        """The state after a step of the first learner with this loss."""
        mean = jnp.where(
            jnp.isinf(learner_state.mean), loss, KEEPS * learner_state.mean + (1 - KEEPS) * loss
        )
        waited = learner_state.waited + 1
        if self.where == "stuck":
            waited = jnp.where(mean < GAIN * learner_state.best, 0, waited)
        new = learner_state._replace(
            waited=waited, mean=mean, best=jnp.minimum(learner_state.best, mean)
        )
        return jax.tree.map(lambda x, old: jnp.asarray(x, old.dtype), new, learner_state)
