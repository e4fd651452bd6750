"""How a learner computes the gradient of its objective.

    full         exact backpropagation through the whole batch, optionally with the term Ω
    truncated    backpropagation that stops at the borders of windows within the batch
    rtrl         real-time recurrent learning, forwards in time, for small networks
    lstm1997     the algorithm of Hochreiter and Schmidhuber (1997), forwards in time, for LSTMs
                 without peepholes

For a text in carried streams a batch is itself a window, so "full" is what is usually called
truncated backpropagation through time. The last two carry their derivatives from batch to batch:
with a length of 1 they learn online.
"""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Model
from ..data import Batch
from ..errors import BadInput
from ..settings import setting
from ..through_time import online1997, online1997_start, rtrl, rtrl_start, truncated_bptt
from ..weights import trained
from .learner import Learner
from .norm_preserving_term import omega
from .objective import Objective


class Gradient(abc.ABC):
    """A method that computes the gradient.

    Attributes:
        carries_state: whether the network's state is what is carried from batch to batch.
    """

    carries_state: ClassVar[bool] = True

    def start(self, network: Model, batch: Batch) -> Any:
        """What is carried from batch to batch, at the start: the network's initial state."""
        return network.initial((batch.sequences,))

    def __call__(
        self, objective: Objective, network: Model, batch: Batch, state: Any
    ) -> tuple[jax.Array, Any, Any]:
        """The objective's value, its gradient as a module, and what the next batch gets.

        The gradient points uphill, as `conjugate` says.
        """
        value, slope, final = self.own(objective, network, batch, state)
        gradient = conjugate(slope)
        value, gradient = objective.joined(batch, (value, gradient))
        return value, gradient, final

    @abc.abstractmethod
    def own(
        self, objective: Objective, network: Model, batch: Batch, state: Any
    ) -> tuple[jax.Array, Any, Any]:
        """The value, JAX's derivative and the state, for this device's own sequences."""


@dataclasses.dataclass(frozen=True)
class Full(Gradient):
    """The exact gradient of the objective plus `omega` times Ω."""

    omega: float = 0.0

    def own(
        self, objective: Objective, network: Model, batch: Batch, state: Any
    ) -> tuple[jax.Array, Any, Any]:
        parameters, rest = trained(network)

        def total(parameters: Any) -> tuple[jax.Array, tuple[jax.Array, Any]]:
            network = eqx.combine(parameters, rest)
            value, final = objective.own_value(network, batch, state)
            if not self.omega:
                return value, (value, final)
            term = omega(
                network,
                lambda outputs, _: objective.loss(outputs, batch),
                batch.inputs,
                batch.targets,
                state,
                **batch.marks,
            )
            return value + self.omega * objective.unweighted(batch, term), (value, final)

        gradient, (value, final) = jax.grad(total, has_aux=True)(parameters)
        return value, gradient, final


@dataclasses.dataclass(frozen=True)
class Truncated(Gradient):
    """Backpropagation that stops at the beginning of each window of `window` steps."""

    window: int

    def own(
        self, objective: Objective, network: Model, batch: Batch, state: Any
    ) -> tuple[jax.Array, Any, Any]:
        loss, targets = objective.per_step(batch, "the truncated gradient")
        layer, how = network.as_layer(), {"window": self.window, **batch.marks}
        value, gradient, final = truncated_bptt(layer, loss, batch.inputs, targets, state, **how)
        return value, _trained_part(gradient, network), final


@dataclasses.dataclass(frozen=True)
class Forwards(Gradient):
    """A method of `through_time` that goes forwards in time.

    Attributes:
        method: computes the gradient.
        begin: gives what the method carries, before the first batch.
    """

    method: Callable
    begin: Callable
    carries_state: ClassVar[bool] = False

    def start(self, network: Model, batch: Batch) -> Any:
        return self.begin(network, jnp.asarray(batch.inputs))

    def own(
        self, objective: Objective, network: Model, batch: Batch, state: Any
    ) -> tuple[jax.Array, Any, Any]:
        loss, targets = objective.per_step(batch, "a gradient that goes forwards in time")
        value, gradient, final = self.method(
            network, loss, batch.inputs, targets, state, **batch.marks
        )
        return value, _trained_part(gradient, network), final


def conjugate(tree: Any) -> Any:
    """From JAX's derivative of a real number to the direction in which it rises, and back.

    They differ for complex parameters: JAX's derivative of |z|² is 2 z̄, and it rises along 2 z.
    """
    return jax.tree.map(jnp.conj, tree)


def _trained_part(gradient: Any, network: Model) -> Any:
    """The gradient of the trained parameters only."""
    return eqx.filter(gradient, jax.tree.map(eqx.is_array, trained(network)[0]))


# What makes each, from the window of truncated gradients and the weight of Ω.
GRADIENTS: dict[str, Callable[[int, float], Gradient]] = {
    "full": lambda window, omega: Full(omega),
    "truncated": lambda window, omega: Truncated(window),
    "rtrl": lambda window, omega: Forwards(rtrl, rtrl_start),
    "lstm1997": lambda window, omega: Forwards(online1997, online1997_start),
}


def gradient_named(name: str, *, window: int = 20, omega: float = 0.0) -> Gradient:
    """The gradient method with this name; see the module's docstring."""
    if name not in GRADIENTS:
        raise BadInput(f"there is no gradient {name!r}; there are {', '.join(GRADIENTS)}")
    if omega and name != "full":
        raise BadInput(f"the term omega needs the full gradient, got {name}")
    return GRADIENTS[name](window, omega)


@dataclasses.dataclass(frozen=True)
class GradientSettings:
    """The settings of the gradient."""

    omega: float = setting(0.0, "weight of the norm-preserving term", min=0)
    gradient: str = setting("full", f"how the gradient is computed: {', '.join(GRADIENTS)}")
    window: int = setting(20, "window of truncated gradients, in steps", min=1)

    def method(self) -> Gradient:
        """The gradient method that the settings describe."""
        return gradient_named(self.gradient, window=self.window, omega=self.omega)


class GradientLearner(Learner):
    """The base of learners that follow a gradient, which its method may carry on.

    Attributes:
        gradient: how to compute the objective's gradient.
    """

    splits_batch = splits_vocabulary = True
    gradient: Gradient

    @property
    def carries_state(self) -> bool:
        return self.gradient.carries_state

    def start(self, network: Model, batch: Batch) -> Any:
        return self.gradient.start(network, batch)
