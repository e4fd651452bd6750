"""Layers made of layers: on top of each other, and from both ends."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Cell, Layer
from ..cells.cell import Run
from ..cells.operator import Operator
from ..errors import BadInput


class Stack(Cell):
    """Layers: each reads the output of the one below at the same time.

    With `skip=True` every layer also reads the input, and the outputs of all layers together are
    the output: layer l reads `[x_t, h_t^{l-1}]` and `y_t = [h_t^1, …, h_t^L]` (Krause,
    2015, section 2.3 and equations 4.4 to 4.6).

    A stack of cells is a cell. A stack may also hold layers without a step, such as
    `Bidirectional`; then it can be unrolled but not stepped.

    Shapes: x as the first layer's; state a tuple with one state per layer; y as the last layer's,
    or with `skip` the sizes of all outputs added up.

    Example:
        >>> one, two = jax.random.split(jax.random.key(0))
        >>> mixed = Stack([LSTM(3, 16, key=one), GRU(16, 8, key=two)])
        >>> skipping = Stack.of(LSTM, 3, [16, 16], key=one, skip=True)
        >>> ys, states = ostinato.unroll(skipping, jnp.ones((10, 2, 3)))
        >>> ys.shape
        (10, 2, 32)
    """

    in_parts: ClassVar[bool] = True

    layers: tuple[Layer, ...]
    skip: bool = eqx.field(static=True)

    def __init__(self, layers: Sequence[Layer], *, skip: bool = False):
        """
        Args:
            layers: cells, from the one that reads the input upwards.
            skip: connect every layer to the input and to the output.
        """
        if not layers:
            raise BadInput("Stack needs at least one layer, got none")
        self.layers = tuple(layers)
        self.skip = skip

    @classmethod
    def of(
        cls,
        make: Callable[..., Cell],
        inputs: int,
        units: Sequence[int],
        *,
        key: jax.Array,
        skip: bool = False,
        first: Mapping[str, Any] = MappingProxyType({}),
        last: Mapping[str, Any] = MappingProxyType({}),
        **options: Any,
    ) -> "Stack":
        """A stack of one kind of cell, the sizes worked out: `make(inputs, units, key=...)`.

        The `options` are those of every layer, `first` and `last` those of that layer alone.
        """
        if not len(units):
            raise BadInput("Stack.of needs the units of at least one layer, got none")
        keys = jax.random.split(key, len(units))
        below = [0, *units[:-1]] if skip else [inputs, *units[:-1]]
        sizes = [inputs + size for size in below] if skip else below
        each: list[dict[str, Any]] = [dict(options) for _ in units]
        each[0] |= first
        each[-1] |= last
        cells = [
            make(size, count, key=k, **more)
            for size, count, k, more in zip(sizes, units, keys, each, strict=True)
        ]
        return cls(cells, skip=skip)

    @property
    def input_axes(self) -> int:
        return self.layers[0].input_axes

    @property
    def can_step(self) -> bool:
        return all(layer.can_step for layer in self.layers)

    def vector_size(self) -> int | None:
        return self.layers[0].vector_size()

    def initial(self, batch: tuple[int, ...]) -> Any:
        return tuple(layer.initial(batch) for layer in self.layers)

    def inputs(self, x: Any) -> Any:
        first = self.layers[0].inputs(x)
        return (first, x) if self.skip else first

    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        u, x = u if self.skip else (u, None)
        new, y = self.layers[0].step(state[0], u)
        states, ys = [new], [y]
        for layer, old in zip(self.layers[1:], state[1:], strict=True):
            new, y = layer.step(old, layer.inputs(self._below(x, y)))
            states.append(new)
            ys.append(y)
        return tuple(states), self._output(ys)

    def over_time(self, run: Run, xs: Any, state: Any) -> tuple[Any, Any]:
        """Layer by layer, so that the input product of each is one product for all steps."""
        state = (None,) * len(self.layers) if state is None else state
        y, states, ys = None, [], []
        for layer, old in zip(self.layers, state, strict=True):
            y, new = run(layer, xs if y is None else self._below(xs, y), old)
            states.append(new)
            ys.append(y)
        return self._output(ys), tuple(states)

    def with_reader(self, change: Callable[[Layer], Layer | None]) -> Layer | None:
        first = None if self.skip else self.layers[0].with_reader(change)
        return None if first is None else Stack([first, *self.layers[1:]])

    def operators(self) -> list[list[Operator]] | None:
        parts = [layer.operators() for layer in self.layers]
        if self.skip or any(part is None for part in parts):
            return None
        return [row for part in parts for row in part or ()]

    def state_groups(self, state: Any) -> list[list[Any]]:
        pairs = zip(self.layers, state, strict=True)
        return [group for layer, own in pairs for group in layer.state_groups(own)]

    def _below(self, x: Any, y: jax.Array) -> jax.Array:
        return jnp.concatenate([x, y], axis=-1) if self.skip else y

    def _output(self, ys: list[jax.Array]) -> jax.Array:
        return jnp.concatenate(ys, axis=-1) if self.skip else ys[-1]


class Bidirectional(Layer):
    """`y_t = [→h_t, ←h_t]`: one cell reads the sequence forwards, another backwards.

    It must see the whole sequence, so it is a layer for `unroll` and not a cell. With `lengths` and
    `resets` the backward cell starts at each sequence's own end.

    Source: Schuster and Paliwal (1997); Lipton et al. (2015), section 4.2.

    Shapes: x as the cells'; state `(forward state, backward state)`; y `(..., units + units)`.

    Example:
        >>> one, two = jax.random.split(jax.random.key(0))
        >>> layer = Bidirectional(LSTM(3, 16, key=one), LSTM(3, 16, key=two))
        >>> ys, states = ostinato.unroll(layer, jnp.ones((10, 2, 3)), lengths=[10, 7])
        >>> ys.shape
        (10, 2, 32)
    """

    forward: Layer
    backward: Layer

    @property
    def input_axes(self) -> int:
        return self.forward.input_axes

    def vector_size(self) -> int | None:
        return self.forward.vector_size()

    def initial(self, batch: tuple[int, ...]) -> Any:
        return self.forward.initial(batch), self.backward.initial(batch)

    def over_time(self, run: Run, xs: Any, state: Any) -> tuple[Any, Any]:
        """Both directions; `run` is given by `unroll`."""
        ahead, behind = (None, None) if state is None else state
        ys, ahead = run(self.forward, xs, ahead)
        zs, behind = run(self.backward, xs, behind, reverse=True)
        return jnp.concatenate([ys, zs], axis=-1), (ahead, behind)

    def operators(self) -> list[list[Operator]] | None:
        ahead, behind = self.forward.operators(), self.backward.operators()
        if ahead is None or behind is None or [len(x) for x in (*ahead, *behind)] != [1, 1]:
            return None
        return [[ahead[0][0], behind[0][0]]]

    def state_groups(self, state: Any) -> list[list[Any]]:
        ahead, behind = self.forward.state_groups(state[0]), self.backward.state_groups(state[1])
        return [one + two for one, two in zip(ahead, behind, strict=True)]
