"""The base of learners that fit a linear readout to what the rest of the network computes."""

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Model
from ..data import Batch
from ..errors import BadInput
from ..learning import Learner, Objective, report_of
from ..learning.clipping import norms_of
from ..learning.learner import Stepped
from ..memory import check_memory
from ..weights import trained
from ..wiring import Readout

TOGETHER = 32  # sequences whose features of all steps are in memory
TIP = "fewer --units, no --expand, or a learner such as adam"


class Regression(NamedTuple):
    """What a readout is fitted to: all steps of a batch, the n sequences one after the other.

    Attributes:
        x: features `(n, F)`: what the readout reads, and 1 if it has a bias.
        y: targets `(n, O)`.
        weights: `(n,)`.
    """

    x: jax.Array
    y: jax.Array
    weights: jax.Array


class ReadoutLearner(Learner):
    """A learner that changes nothing but a linear readout; subclasses implement `fit`.

    With output feedback the network is taught: while it learns, it reads the previous targets.

    Attributes:
        objective: its loss is reported, and says what targets mean as numbers.
        single_answer: whether at most one step of each sequence counts; then only its features
            are kept.
    """

    precision = "float64"
    readout_only = True
    usual_batch = 1
    epochs = 1

    objective: Objective
    single_answer: bool = False

    @abc.abstractmethod
    def fit(
        self, learner_state: Any, readout: Readout, steps: Regression, batch: Batch
    ) -> tuple[Any, Readout, dict[str, jax.Array]]:
        """The learner's state and the readout after a batch, and what else it reports."""

    def step(self, network: Model, learner_state: Any, state: Any, batch: Batch) -> Stepped:
        layer, readout = network.as_layer(), linear_readout(network)
        read, inner = layer.to_cell(batch, state)
        if self.single_answer:
            hs, read = self._asked(layer.parts().cell, read)
        else:
            hs, inner = self.objective.outputs(layer.parts().cell, read, inner)
        loss, slope = jax.value_and_grad(lambda readout: self.objective.loss(readout(hs), read))(
            readout
        )
        # The gradient of all that is not the readout is not computed: it counts as zero.
        whole = jax.tree.map(jnp.zeros_like, trained(network)[0])
        norms = norms_of(eqx.tree_at(readout_of, whole, slope))
        report = report_of(loss, norms, jnp.zeros((), loss.dtype))
        steps = self._regression(readout, hs, read)
        learner_state, readout, more = self.fit(learner_state, readout, steps, read)
        network = eqx.tree_at(readout_of, network, readout)
        return network, learner_state, layer.from_cell(inner, batch), {**report, **more}

    def _asked(self, cell: Model, batch: Batch) -> tuple[jax.Array, Batch]:
        """Features and targets at the one step of each sequence that counts, `(1, B, ...)`.

        Some sequences at a time, because the features of all steps need T times the memory.
        """
        which = jnp.arange(-(-batch.sequences // TOGETHER) * TOGETHER) % batch.sequences

        def features(some: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
            part = batch.over_sequences(lambda x, axis: jnp.take(x, some, axis))
            hs, _ = self.objective.outputs(cell, part, None)
            counted = jnp.asarray(part.counted)
            at = jnp.argmax(counted > 0, axis=0), jnp.arange(TOGETHER)
            return hs[at], jnp.asarray(part.targets)[at], counted[at]

        parts = jax.lax.map(features, which.reshape(-1, TOGETHER))
        hs, targets, weights = (x.reshape(1, -1, *x.shape[2:])[:, : batch.sequences] for x in parts)
        return hs, Batch(hs, targets, weights)

    def _regression(self, readout: Readout, hs: jax.Array, batch: Batch) -> Regression:
        outputs = readout.V.shape[1]
        targets, weights = jnp.asarray(batch.targets), jnp.asarray(batch.counted)
        if weights.shape != hs.shape[:2]:
            raise BadInput("the learners ridge and rls need a target at every step of a sequence")
        targets = self.objective.loss.regressed(targets, outputs)
        x = hs.reshape(-1, hs.shape[-1])
        if readout.b is not None:
            x = jnp.concatenate([x, jnp.ones_like(x[:, :1])], axis=1)
        return Regression(x, targets.reshape(-1, outputs).astype(x.dtype), weights.reshape(-1))


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


def count_features(readout: Readout, matrices: int = 1) -> int:
    """F, after refusing so many matrices `(F, F)` in float64 that memory cannot hold them."""
    features = readout.V.shape[0] + (readout.b is not None)
    size = 8 * matrices * features**2
    check_memory({"sums of products of features": size}, {"sums of products of features": TIP})
    return features


def filled(readout: Readout, solution: jax.Array) -> Readout:
    """The readout with a solution `(F, O)` in its weights."""
    rows = readout.V.shape[0]
    b = None if readout.b is None else solution[rows].astype(readout.b.dtype)
    return readout.with_weights(solution[:rows].astype(readout.V.dtype), b)
