"""Rosenblatt's rule: threshold units that learn from their mistakes."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Model
from ..data import Batch
from ..errors import BadInput
from ..settings import setting
from ..wiring import Network, Readout
from .clipping import norms_of
from .learner import Learner, Stepped, report_of
from .objective import Objective

RATE = 1.0


class State(NamedTuple):
    """How many mistakes were made so far, counted for each output."""

    mistakes: jax.Array


@dataclasses.dataclass(frozen=True)
class Perceptron(Learner):
    """Each output is a threshold unit `y = sign(v · h + b)`, trained by

        v ← v + η (ξ - y) h,    b ← b + η (ξ - y)

    for one step of one sequence after the other, time first, where ξ is the right answer, -1 or 1.
    A symbol is 1 at its own output and -1 at all others; a number is 1 if it is positive, and -1
    otherwise. Only the readout learns: h is what the rest of the network makes of the input.

    If some v* of length 1 separates the answers of an output with margin γ, `ξ v* · (h, 1) ≥ γ`,
    and no `(h, 1)` is longer than R, then a unit that starts at zero makes at most `(R / γ)²`
    mistakes, whatever the order (Novikoff, 1962). If nothing separates them, it never stops.

    Source: Rosenblatt (1958); Delgado del Cerro (2021), section 1.1, which calls it Hebb's rule.

    Attributes:
        objective: its loss is reported, and not minimised.
        rate: η, by default 1.

    Example:
        >>> network = Network(Simple(3, 50, key=key), Readout(50, 2, key=key))
        >>> batch = Batch(xs, (xs[..., 0] > 0).astype(int), jnp.ones((10, 4)))
        >>> learner = Perceptron(Objective(CrossEntropy()))
        >>> learner_state, state = learner.initial(network), learner.start(network, batch)
        >>> step = eqx.filter_jit(learner.step)
        >>> for _ in range(30):
        ...     network, learner_state, _, report = step(network, learner_state, state, batch)
        >>> int(report["mistakes"])
        0
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        rate: float | None = setting(None, "learning rate", min=0)

    objective: Objective
    rate: float | None = None
    exact = True
    readout_only = True

    @property
    def _rate(self) -> float:
        return RATE if self.rate is None else self.rate

    def chosen_values(self) -> dict[str, Any]:
        return {"rate": self._rate}

    def initial(self, network: Model) -> State:
        readout = network.parts().readout
        if not isinstance(readout, Readout) or not network.as_layer().in_parts:
            raise BadInput("the learner perceptron needs a network with a readout to train")
        return State(jnp.zeros(network.outputs, jnp.int32))

    def step(self, network: Model, learner_state: State, state: Any, batch: Batch) -> Stepped:
        encoding, cell, readout = network.parts()
        features = Network(cell, None, encoding)
        answers = _answers(batch, readout.V)
        hs, final = self.objective.outputs(features, batch, state)
        value = self.objective.loss(readout(hs), batch)
        counts = jnp.asarray(batch.counted).reshape(-1) > 0
        examples = hs.reshape(-1, hs.shape[-1]), answers.reshape(len(counts), -1), counts

        def learn(readout: Readout, example: tuple) -> tuple[Readout, jax.Array]:
            h, answer, counted = example
            error = jnp.where(counted, answer - jnp.where(readout(h) > 0, 1, -1), 0)
            change = (self._rate * error).astype(readout.V.dtype)
            b = None if readout.b is None else readout.b + change
            return readout.with_weights(readout.V + jnp.outer(h, change), b), error != 0

        after, wrong = jax.lax.scan(learn, readout, examples)
        pairs = zip(jax.tree.leaves(after), jax.tree.leaves(readout), strict=True)
        norms = norms_of([a - b for a, b in pairs])
        report = report_of(value, norms, self._rate, mistakes=jnp.sum(wrong))
        learner_state = State(learner_state.mistakes + jnp.sum(wrong, axis=0, dtype=jnp.int32))
        network = eqx.tree_at(lambda network: network.parts().readout, network, after)
        return network, learner_state, final, report


def _answers(batch: Batch, V: jax.Array) -> jax.Array:
    """The right answers, -1 and 1, of all outputs: `(T, B, outputs)`."""
    targets = jnp.asarray(batch.targets)
    if jnp.issubdtype(targets.dtype, jnp.integer) and targets.ndim == 2:
        return jnp.where(jax.nn.one_hot(targets, V.shape[1], dtype=V.dtype) > 0, 1, -1)
    if targets.shape[2:] != V.shape[1:]:
        raise BadInput("the learner perceptron needs a target for each output of each step")
    return jnp.where(targets > 0, 1, -1)
