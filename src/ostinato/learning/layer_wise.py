"""Train a stack layer by layer, from the first one up, and then as a whole.

Stage k trains layer k with a linear readout of its own; the layers below are kept as they are, and
those above are left out. The last layer has the readout of the network. After the last stage all
layers are trained together. Every stage begins with a new state of the learner.

Source: Krause (2015), section 2.3, after Hermans and Schrauwen (2013).
"""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Model
from ..cells.building import input_size, output_size
from ..cells.cell import Wrapper
from ..data import Batch
from ..errors import BadInput
from ..weights import trained
from ..wiring import Network, Readout, Stack
from .learner import Learner, LedBy, Stepped


class Held(Wrapper):
    """A cell that is not trained."""

    frozen: ClassVar[tuple[str, ...]] = ("cell",)

    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        return self.cell.step(state, u)


class Upper(Network):
    """A network whose encoding is not trained: that of a stage after the first."""

    frozen: ClassVar[tuple[str, ...]] = ("encoding",)


class State(NamedTuple):
    """The state of layer-wise learning.

    Attributes:
        steps: how many there have been.
        readouts: of all layers but the last.
        stages: the learner's state in each stage, that of all layers together last.
    """

    steps: jax.Array
    readouts: tuple[Readout, ...]
    stages: tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class LayerWise(LedBy):
    """Layers one after the other, each by a learner `alone`, then all of them `together`.

    The loss of a stage is that of its own readout; the network itself, with layers that have not
    been trained yet, is what is validated. The network is a `Network` of a `Stack` of cells.

    Attributes:
        alone: the learner of a single layer.
        together: the learner of all layers; it must have the settings of the other.
        steps: of each layer alone.

    Example:
        >>> objective = Objective(SquaredError())
        >>> alone, together = (FirstOrder("adam", objective, steps) for steps in (100, 300))
        >>> learner = LayerWise(alone, together, steps=100)
        >>> stack = Stack.of(LSTM, 2, [8, 4], key=key)
        >>> learner_state = learner.initial(Network(stack, Readout(4, 1, key=key)))
        >>> [readout.V.shape for readout in learner_state.readouts]
        [(8, 1)]
    """

    alone: Learner
    together: Learner
    steps: int

    def __post_init__(self) -> None:
        if not self.alone.carries_state or not self.together.carries_state:
            raise BadInput("layer-wise training needs --gradient full")
        if self.steps < 1:
            raise BadInput(f"steps must be at least 1, got {self.steps}")
        super().__post_init__()

    @property
    def leader(self) -> Learner:
        return self.together

    @property
    def numbers(self) -> dict[str, float]:
        return self.together.numbers

    def summary(self, reports: list[dict[str, Any]]) -> dict[str, Any]:
        return self.together.summary(reports)

    def initial(self, network: Model) -> State:
        layered = _layered(network)
        stack, encoding = _stack_of(layered), layered.encoding
        inputs = input_size(stack) if encoding is None else encoding.size
        bias = layered.readout.b is not None
        readouts = []
        for k in range(len(stack.layers) - 1):
            below = Stack(stack.layers[: k + 1], skip=stack.skip)
            width, key = output_size(below, inputs), jax.random.key(k)
            readouts.append(Readout(width, layered.outputs, key=key, bias=bias))
        stages = [
            self.alone.initial(_stage(layered, tuple(readouts), k))
            for k in range(len(stack.layers))
        ]
        whole = self.together.initial(layered)
        return State(jnp.zeros((), jnp.int32), tuple(readouts), (*stages, whole))

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
        arrays, static = eqx.partition(network, eqx.is_array)
        layers = len(_stack_of(_layered(network)).layers)

        def branch(k: int) -> Callable[..., Any]:
            def run(arrays: Any, old: State, state: Any) -> Any:
                network, readouts = eqx.combine(arrays, static), old.readouts
                learner, used = self.together, network
                if k < layers:
                    learner, used = self.alone, _stage(network, readouts, k)
                own = state if k == layers else state[: k + 1]
                after, new, final, report = learner.step_with(
                    numbers, used, old.stages[k], own, batch
                )
                report = {**report, "norms": _placed(report["norms"], used, network)}
                if k < layers:
                    final = (*final, *state[k + 1 :])
                    after, readouts = _put_back(after, network, readouts, k)
                stages = (*old.stages[:k], new, *old.stages[k + 1 :])
                learned = State(old.steps + 1, readouts, stages)
                return eqx.filter(after, eqx.is_array), learned, final, report

            return run

        stage = jnp.minimum(learner_state.steps // self.steps, layers)
        branches = [branch(k) for k in range(layers + 1)]
        arrays, learner_state, final, report = jax.lax.switch(
            stage, branches, arrays, learner_state, state
        )
        return eqx.combine(arrays, static), learner_state, final, report

    def after_validation(self, learner_state: State, value: float) -> State:
        *alone, whole = learner_state.stages
        if int(learner_state.steps) < self.steps * len(alone):
            return learner_state
        whole = self.together.after_validation(whole, value)
        return learner_state._replace(stages=(*alone, whole))


def _layered(network: Model) -> Network:
    """A network of a stack, which must have two layers or more."""
    layered = cast(Network, network)
    if len(_stack_of(layered).layers) < 2:
        raise BadInput("layer-wise training needs a stack of two layers or more, got one")
    return layered


def _stack_of(network: Network) -> Stack:
    return cast(Stack, network.cell)


def _stage(network: Network, readouts: tuple[Readout, ...], k: int) -> Network:
    """The layers up to layer k, of which only that one is trained, with its readout."""
    stack = _stack_of(network)
    cells = [*map(Held, stack.layers[:k]), stack.layers[k]]
    readout = readouts[k] if k < len(readouts) else network.readout
    kind = Upper if k else Network
    return kind(Stack(cells, skip=stack.skip), readout, network.encoding)


def _put_back(
    stage: Network, network: Network, readouts: tuple[Readout, ...], k: int
) -> tuple[Network, tuple[Readout, ...]]:
    """The network and the readouts, with what was trained in a stage."""
    stack = _stack_of(network)
    layers = (*stack.layers[:k], _stack_of(stage).layers[k], *stack.layers[k + 1 :])
    readout = network.readout
    if k < len(readouts):
        readouts = (*readouts[:k], stage.readout, *readouts[k + 1 :])
    else:
        readout = stage.readout
    return Network(Stack(layers, skip=stack.skip), readout, stage.encoding), readouts


def _placed(norms: jax.Array, stage: Model, network: Model) -> jax.Array:
    """The norms of a stage's parameters in the places that they have in the network, else 0."""
    leaves = jax.tree.leaves(trained(network)[0])
    places = {id(x): n for n, x in enumerate(leaves)}
    every = jnp.zeros(len(leaves), norms.dtype)
    for norm, x in zip(norms, jax.tree.leaves(trained(stage)[0]), strict=True):
        if id(x) in places:
            every = every.at[places[id(x)]].set(norm)
    return every
