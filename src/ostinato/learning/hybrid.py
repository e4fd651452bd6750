"""A first-order learner, and one that uses the curvature where it is worth its price.

    after    the first for so many steps, then the second: gradients lead near a minimum, curvature
             converges there (Galvan, 2015, section 2.2.2)
    stuck    the first, and a single step of the second wherever the first has gone so many steps
             without gain (Dauphin et al., 2014, by Lipton et al., 2015, section 3.2)

A gain is a running mean of the loss that falls below 0.999 of the lowest so far.
"""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..data import Batch
from ..errors import BadInput
from ._learner import Learner

WHERE = ("after", "stuck")
EVERY_LEARNERS = ("loss", "norm", "norms", "rate", "clipped", "moved")
KEEPS = 0.9
GAIN = 0.999


class Memory(NamedTuple):
    """What both learners remember, and how the first is getting on.

    Attributes:
        first, second: the learners' own.
        waited: steps of the first since it began or, where it may be stuck, since its last gain.
        mean, best: the running mean of the loss, and the lowest so far.
    """

    first: Any
    second: Any
    waited: jax.Array
    mean: jax.Array
    best: jax.Array


@dataclasses.dataclass(frozen=True)
class Hybrid(Learner):
    """A first-order learner and a second-order one.

    Attributes:
        first, second: the learners. Both carry the network's state and nothing else.
        steps: of the first, before the second has its turn.
        where: `"after"` or `"stuck"`; see the module's docstring.

    Example:
        >>> learner = Hybrid(FirstOrder("adam", objective, 1000), HessianFree(objective), steps=500)
    """

    first: Learner
    second: Learner
    steps: int
    where: str = "after"

    @property
    def exact(self) -> bool:  # type: ignore[override]
        return self.second.exact

    @property
    def usual_batch(self) -> int:  # type: ignore[override]
        return self.second.usual_batch

    @property
    def log_every_step(self) -> bool:  # type: ignore[override]
        return self.second.log_every_step

    @property
    def chunk(self) -> int | None:  # type: ignore[override]
        return self.second.chunk

    @property
    def copies(self) -> int:
        return self.second.copies

    def found(self) -> dict[str, Any]:
        return self.second.found()

    def advice(self, rate: float) -> str:
        return self.second.advice(rate)

    def __post_init__(self):
        if self.where not in WHERE:
            raise BadInput(f"where must be one of {', '.join(WHERE)}; got {self.where}")
        if self.steps < 1:
            raise BadInput(f"steps must be at least 1, got {self.steps}")

    def initial(self, network):
        nothing = jnp.asarray(jnp.inf)
        begin = jnp.zeros((), jnp.int32)
        return Memory(
            self.first.initial(network), self.second.initial(network), begin, nothing, nothing
        )

    def step(self, network, memory: Memory, state, batch: Batch):
        arrays, static = eqx.partition(network, eqx.is_array)

        def with_first(arrays, memory):
            after, new, final, report = self.first.step(
                eqx.combine(arrays, static), memory.first, state, batch
            )
            memory = self._going(memory._replace(first=new), report["loss"])
            return eqx.filter(after, eqx.is_array), memory, final, report

        def with_second(arrays, memory):
            after, new, final, report = self.second.step(
                eqx.combine(arrays, static), memory.second, state, batch
            )
            waited = jnp.zeros_like(memory.waited) if self.where == "stuck" else memory.waited
            memory = memory._replace(second=new, waited=waited)
            return eqx.filter(after, eqx.is_array), memory, final, report

        # A report has an entry for everything that either learner tells, zero from the other.
        told = [jax.eval_shape(do, arrays, memory)[3] for do in (with_first, with_second)]

        def filled(do):
            def run(arrays, memory):
                *found, report = do(arrays, memory)
                rest = {k: jnp.zeros(x.shape, x.dtype) for part in told for k, x in part.items()}
                return *found, {k: jnp.asarray(report.get(k, x), x.dtype) for k, x in rest.items()}

            return run

        turn = memory.waited >= self.steps
        arrays, memory, final, report = jax.lax.cond(
            turn, filled(with_second), filled(with_first), arrays, memory
        )
        return eqx.combine(arrays, static), memory, final, {**report, "second": turn}

    def heard(self, memory: Memory, value):
        return memory._replace(first=self.first.heard(memory.first, value))

    def summary(self, reports):
        """What the learner of the last step says of its own steps, and the share of the second."""
        last = bool(reports[-1]["second"])
        own = [r for r in reports if bool(r["second"]) == last]
        if not last:  # of the second's entries there is nothing to tell
            own = [{k: v for k, v in r.items() if k in EVERY_LEARNERS} for r in own]
        found = (self.second if last else self.first).summary(own)
        return {**found, "second": float(np.mean([r["second"] for r in reports]))}

    def _going(self, memory: Memory, loss: jax.Array) -> Memory:
        """The memory after a step of the first learner with this loss."""
        mean = jnp.where(jnp.isinf(memory.mean), loss, KEEPS * memory.mean + (1 - KEEPS) * loss)
        waited = memory.waited + 1
        if self.where == "stuck":
            waited = jnp.where(mean < GAIN * memory.best, 0, waited)
        new = memory._replace(waited=waited, mean=mean, best=jnp.minimum(memory.best, mean))
        return jax.tree.map(lambda x, old: jnp.asarray(x, old.dtype), new, memory)
