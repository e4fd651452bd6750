"""Learners that store patterns in a Hopfield network.

    hebb              R = (1/P) Σ_μ ξ_μ ξ_μᵀ                      Hebb's rule
    pseudo-inverse    R = Ξ Ξ⁺, the projection on the patterns     Personnaz et al. (1985)

A pattern is the target of a step that counts. Hebb's rule usually has 1/N in place of 1/P, one over
the number of patterns seen; the factor changes no sign, and with 1/P a second epoch ends with the
same weights. Of random patterns it stores about 0.138 N; the pseudo-inverse stores any N linearly
independent ones. It is built up by the recursion of Greville (1960),

    r = ξ - R ξ,    R ← R + r rᵀ / ‖r‖²    where r ≠ 0,

so nothing is inverted, and a pattern that is already stored changes nothing.

Sources: Hopfield (1982), Neural networks and physical systems with emergent collective
computational abilities; Personnaz, Guyon and Dreyfus (1985), Information storage and retrieval in
spin-glass like neural networks; Lipton et al. (2015), section 3.1.
"""

import abc
import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Model
from ..data import Batch
from ..errors import BadInput
from ..weights import trained
from .clipping import norms_of
from .learner import Learner, Stepped, report_of
from .objective import Objective

KNOWN = 1e-5  # a pattern whose distance from those stored is less, relative to its size, is stored


class State(NamedTuple):
    """How many patterns were seen."""

    seen: jax.Array


@dataclasses.dataclass(frozen=True)
class Storage(Learner):
    """A learner that stores the targets of a batch; subclasses implement `stored`."""

    objective: Objective
    exact = True

    @abc.abstractmethod
    def stored(
        self, R: jax.Array, patterns: jax.Array, counts: jax.Array, seen: jax.Array
    ) -> jax.Array:
        """The weights with more patterns in them.

        Args:
            R: the weights `(N, N)`.
            patterns: `(P, N)`.
            counts: `(P,)`, 1 for those to store and 0 for the others.
            seen: how many patterns were stored before.
        """

    def advice(self, rate: float) -> str:
        return "patterns of -1 and 1"

    def initial(self, network: Model) -> State:
        cell = network.parts().cell
        if cell is None or not cell.stores_patterns:
            raise BadInput(
                "this learner stores patterns in a Hopfield network: use --cell hopfield, without "
                "noise or normalisation"
            )
        return State(jnp.zeros((), jnp.int32))

    def step(self, network: Model, learner_state: State, state: Any, batch: Batch) -> Stepped:
        value, final = self.objective.value(network, batch, state)
        R = network.parts().cell.R
        if jnp.shape(batch.targets)[2:] != R.shape[:1]:
            raise BadInput("this learner stores targets of -1 and 1 per unit: use --task recall")
        patterns = jnp.asarray(batch.targets).reshape(-1, R.shape[0]).astype(R.dtype)
        counts = (jnp.asarray(batch.counted).reshape(-1) > 0).astype(R.dtype)
        stored = self.stored(R, patterns, counts, learner_state.seen)
        after = eqx.tree_at(lambda network: network.parts().cell.R, network, stored)
        change = jax.tree.map(jnp.subtract, trained(after)[0], trained(network)[0])
        report = report_of(value, norms_of(change), jnp.ones(()))
        return after, State(learner_state.seen + jnp.sum(counts).astype(jnp.int32)), final, report


class Hebb(Storage):
    """Hebb's rule: store patterns in the network as the sum of their outer products.

    Example:
        >>> from ostinato.tasks import Recall
        >>> task = Recall(patterns=5, bits=100)
        >>> network = Network(Hopfield(100, 100, key=key), None)
        >>> learner, batch = Hebb(Objective(task.loss)), task.batch(0, 5).on_device().arrays
        >>> learner_state, state = learner.initial(network), learner.start(network, batch)
        >>> step = eqx.filter_jit(learner.step)
        >>> network, *_, report = step(network, learner_state, state, batch)
        >>> ys, _ = ostinato.unroll(network, batch.inputs)
        >>> np.array_equal(ys[-1], batch.targets[-1])
        True
    """

    def stored(
        self, R: jax.Array, patterns: jax.Array, counts: jax.Array, seen: jax.Array
    ) -> jax.Array:
        total = seen + jnp.sum(counts)
        more = (patterns * counts[:, None]).T @ patterns
        return (R * seen + more) / jnp.maximum(total, 1)


class PseudoInverse(Storage):
    """The projection rule: store patterns so that each is a fixed point exactly."""

    def stored(
        self, R: jax.Array, patterns: jax.Array, counts: jax.Array, seen: jax.Array
    ) -> jax.Array:
        def one(R: jax.Array, of: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
            pattern, count = of
            new = pattern - R @ pattern
            new = new - R @ new  # again, because of rounding
            size = new @ new
            apart = (count > 0) & (size > KNOWN * (pattern @ pattern))
            return R + jnp.where(apart, 1 / jnp.where(apart, size, 1), 0) * jnp.outer(
                new, new
            ), None

        return jax.lax.scan(one, R, (patterns, counts))[0]
