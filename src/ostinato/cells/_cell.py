"""The contract of a cell."""

import abc
from typing import Any

import equinox as eqx

from .building import check_vectors as check_vectors
from .building import draw as draw
from .building import project as project
from .building import rest as rest
from .building import split as split
from .building import zeros as zeros


class Cell(eqx.Module):
    """Something that steps through time. Subclass it and write three methods.

    A cell knows neither batch nor time: `batch` below is any tuple of axes, including `()`, and
    every array of the state begins with the batch axes. All three methods are pure.

    Write recurrent products as `h @ self.R`. The engine finds every product with a weight that
    does not change with time; you mark nothing.

    Example:
        >>> class Mine(Cell):
        ...     W: jax.Array
        ...     R: jax.Array
        ...
        ...     def initial(self, batch):
        ...         return jnp.zeros((*batch, self.R.shape[0]), self.R.dtype)
        ...
        ...     def inputs(self, x):
        ...         return x @ self.W
        ...
        ...     def step(self, h, u):
        ...         h = jnp.tanh(u + h @ self.R)
        ...         return h, h
        >>> cell = Mine(jnp.ones((3, 4)), jnp.eye(4))
        >>> state, y = cell.step(cell.initial((8,)), cell.inputs(jnp.ones((8, 3))))
        >>> y.shape
        (8, 4)
    """

    @property
    def input_axes(self) -> int:
        """How many trailing axes make up one input: 1 for vectors, 0 for symbols."""
        return 1

    @property
    def can_step(self) -> bool:
        """False where a part must see the whole sequence, so that only `unroll` works."""
        return True

    def vector_size(self) -> int | None:
        """Size of the vectors that the cell reads, if it knows: by default the rows of its `W`."""
        W: Any = getattr(self, "W", None)
        return int(W.shape[0]) if getattr(W, "ndim", 0) == 2 else None

    def check_inputs(self, xs: Any) -> None:
        """Refuse inputs that compiled code could not refuse, such as symbols out of range."""

    @abc.abstractmethod
    def initial(self, batch: tuple[int, ...]) -> Any:
        """The state before the first step: a pytree of arrays `(*batch, ...)`."""

    @abc.abstractmethod
    def inputs(self, x: Any) -> Any:
        """What a step needs from the input `(..., inputs)` alone.

        It is called once for all steps, with time as another leading axis, so it costs one large
        product.
        """

    @abc.abstractmethod
    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        """One step of time: `(state, inputs(x)) -> (state, y)`."""
