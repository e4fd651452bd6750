"""Gated feedback: every layer reads every layer, through one gate per connection."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Cell
from ..cells.building import check_vectors, draw, input_size, output_size
from ..cells.initialisers import glorot
from ..errors import BadInput
from ..through_time import with_connections


class GatedFeedback(Cell):
    """Fully connected layers of any cells, each connection scaled by one gate.

    What layer i was at t-1 reaches layer j at t scaled by the single number
    `g^{i→j} = σ(w^{i→j} · h_t^{j-1} + u^{i→j} · h*_{t-1})`, where `h_t^0 = x_t` and `h*_{t-1}`
    are the outputs of all layers at t-1. Layer j reads `[h_t^{j-1}, g^{i→j} h_{t-1}^i for i ≠ j]`
    as its input, and its own connections from t-1 are scaled by `g^{j→j}`: whatever a weight takes
    from its state before the step, in a matrix product (`R h_{t-1}`) or unit by unit (the context
    `r ⊙ h_{t-1}` of `Elman`, the peepholes `p ⊙ c_{t-1}` of `PeepholeLSTM`).

    Not scaled is what passes a state on without a weight: the memory `f ⊙ c_{t-1}` of an LSTM,
    `(1 - z) ⊙ h_{t-1}` of a GRU, a leak that is one number for all units. Neither is what reads the
    new state, such as the peephole of the output gate.

    Source: Chung et al. (2015); Galvan (2015) section 2.1.3 (2.10). (Chung et al. leave the gates
    of LSTM and GRU layers unscaled; here all connections from t-1 are scaled.)

    Shapes: x `(..., inputs)`; state `(states, outputs)`, tuples with one entry per layer;
    y the last layer's output.

    Example:
        >>> cell = GatedFeedback.of(LSTM, 3, [16, 16], key=jax.random.key(0))
    """

    layers: tuple[Cell, ...]
    w: tuple[jax.Array, ...]
    u: tuple[jax.Array, ...]
    units: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, layers: Sequence[Cell], inputs: int, *, key: jax.Array):
        """
        Args:
            layers: the cells; layer j reads the size of what is below it and the sizes of all
                other layers, added up.
            inputs: size of `x_t`.
            key: random key for the initial weights of the gates.
        """
        self.layers = tuple(layers)
        read = [input_size(layer) for layer in layers]
        units = [output_size(layer, size) for layer, size in zip(layers, read, strict=True)]
        self.units = tuple(units)
        below = [inputs, *units[:-1]]
        for j, size in enumerate(read):
            expected = below[j] + sum(units) - units[j]
            if size != expected:
                raise BadInput(f"GatedFeedback's layer {j} must read {expected}, got {size}")
        keys = jax.random.split(key, 2 * len(units))
        init = glorot()
        self.w = tuple(draw(init, k, n, len(units)) for k, n in zip(keys, below, strict=False))
        self.u = tuple(draw(init, k, sum(units), len(units)) for k in keys[len(units) :])

    @classmethod
    def of(
        cls,
        make: Callable[..., Cell],
        inputs: int,
        units: Sequence[int],
        *,
        key: jax.Array,
        first: Mapping[str, Any] = MappingProxyType({}),
        **options: Any,
    ) -> "GatedFeedback":
        """Layers of one kind of cell, the sizes worked out: `make(inputs, units, key=...)`.

        The `options` are those of every layer, `first` those of the first one alone.
        """
        if not units:
            raise BadInput("gated feedback needs at least one layer, got none")
        *keys, last = jax.random.split(key, len(units) + 1)
        below = [inputs, *units[:-1]]
        cells = [
            make(
                below[j] + sum(units) - units[j],
                units[j],
                key=keys[j],
                **options,
                **({} if j else first),
            )
            for j in range(len(units))
        ]
        return cls(cells, inputs, key=last)

    def named_gates(self) -> dict[str, str]:
        layers = range(len(self.layers))
        return {f"gate {i} to {j}": "sigmoid" for j in layers for i in layers}

    def vector_size(self) -> int | None:
        return self.w[0].shape[0]

    def initial(self, batch: tuple[int, ...]) -> Any:
        outputs = tuple(jnp.zeros((*batch, n), self.w[0].dtype) for n in self.units)
        return tuple(layer.initial(batch) for layer in self.layers), outputs

    def inputs(self, x: Any) -> Any:
        check_vectors(self, x, self.w[0])
        return x

    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        states, before = state
        everything = jnp.concatenate(before, axis=-1)
        below, new_states, outputs = u, [], []
        for j, layer in enumerate(self.layers):
            gates = jax.nn.sigmoid(below @ self.w[j] + everything @ self.u[j])
            gate = [gates[..., i : i + 1] for i in range(len(self.layers))]
            others = [gate[i] * before[i] for i in range(len(self.layers)) if i != j]
            read = jnp.concatenate([below, *others], axis=-1)
            new, below = _scaled_step(layer, gate[j], states[j], read)
            new_states.append(new)
            outputs.append(below)
        return (tuple(new_states), tuple(outputs)), below


def _scaled_step(layer: Cell, gate: jax.Array, state: Any, x: jax.Array) -> tuple[Any, Any]:
    """A step whose connections from the previous state are scaled by `gate`."""

    def step(layer: Cell, state: Any, u: Any) -> tuple[Any, Any]:
        return layer.step(state, u)

    return with_connections(lambda x: gate * x, step, layer, state, layer.inputs(x))
