"""How a learner finds the gradient of its objective.

    full         backpropagation through the whole batch: exact; with the term Ω if it has a weight
    truncated    errors stop at the border of a window within the batch
    rtrl         real-time recurrent learning, forwards in time: for small nets
    lstm1997     the first LSTM's own algorithm, forwards in time, for LSTMs without peepholes

With a text in carried streams a batch is itself a window, so that "full" is what is usually called
truncated backpropagation through time. The two that go forwards carry their derivatives from batch
to batch, so that with a length of 1 they learn online.
"""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ..data import Batch
from ..errors import BadInput
from ..through_time import online1997, online1997_start, rtrl, rtrl_start, truncated_bptt
from ..weights import trained
from .norm_preserving import omega
from .objective import Objective


class Gradient(abc.ABC):
    """A way to find the gradient.

    Attributes:
        carries_state: whether what is carried from batch to batch is the network's state.
    """

    carries_state: ClassVar[bool] = True

    def start(self, network: Any, batch: Batch) -> Any:
        """What is carried from batch to batch, before the first: the network's state."""
        return network.initial((batch.sequences,))

    @abc.abstractmethod
    def __call__(
        self, objective: Objective, network: Any, batch: Batch, state: Any
    ) -> tuple[jax.Array, Any, Any]:
        """The objective's value, its gradient as a module, and what is carried on."""


@dataclasses.dataclass(frozen=True)
class Full(Gradient):
    """The exact gradient by the engine, of the objective and `omega` times Ω."""

    omega: float = 0.0

    def __call__(self, objective, network, batch, state):
        parameters, rest = trained(network)

        def total(parameters):
            network = eqx.combine(parameters, rest)
            value, final = objective.value(network, batch, state)
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
            return value + self.omega * term, (value, final)

        gradient, (value, final) = jax.grad(total, has_aux=True)(parameters)
        return value, gradient, final


@dataclasses.dataclass(frozen=True)
class Truncated(Gradient):
    """Errors go back at most to the beginning of a window of `window` steps."""

    window: int

    def __call__(self, objective, network, batch, state):
        loss, targets = objective.per_step(batch, "the truncated gradient")
        value, gradient, final = truncated_bptt(
            network, loss, batch.inputs, targets, state, window=self.window, **batch.marks
        )
        return value, _trained_part(gradient, network), final


@dataclasses.dataclass(frozen=True)
class Forwards(Gradient):
    """A method of `through_time` that goes forwards, and how what it carries begins."""

    method: Callable
    begin: Callable
    carries_state: ClassVar[bool] = False

    def start(self, network, batch):
        return self.begin(network, jnp.asarray(batch.inputs))

    def __call__(self, objective, network, batch, state):
        loss, targets = objective.per_step(batch, "a gradient that goes forwards in time")
        value, gradient, final = self.method(
            network, loss, batch.inputs, targets, state, **batch.marks
        )
        return value, _trained_part(gradient, network), final


def _trained_part(gradient: Any, network: Any) -> Any:
    """A gradient without what is not trained."""
    return eqx.filter(gradient, jax.tree.map(eqx.is_array, trained(network)[0]))


GRADIENTS = ("full", "truncated", "rtrl", "lstm1997")


def gradient_named(name: str, *, window: int = 20, omega: float = 0.0) -> Gradient:
    """The way to find the gradient that has this name; see the module's docstring."""
    if name not in GRADIENTS:
        raise BadInput(f"there is no gradient {name!r}; there are {', '.join(GRADIENTS)}")
    if omega and name != "full":
        raise BadInput(f"the term omega needs the full gradient, got {name}")
    found = {
        "full": Full(omega),
        "truncated": Truncated(window),
        "rtrl": Forwards(rtrl, rtrl_start),
        "lstm1997": Forwards(online1997, online1997_start),
    }
    return found[name]
