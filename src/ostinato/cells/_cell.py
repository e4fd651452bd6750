"""The contract of a cell."""

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax

from ..settings import NoSettings
from .building import check_vectors as check_vectors
from .building import draw as draw
from .building import of_rows as of_rows
from .building import project as project
from .building import rest as rest
from .building import split as split
from .building import zeros as zeros

Pair = tuple[jax.Array, jax.Array]


class Cell(eqx.Module):
    """A recurrent cell. Subclass it and implement `initial`, `inputs` and `step`.

    A cell knows nothing about batch size or sequence length: `batch` is any tuple of axes,
    including `()`, and every array of the state has the batch axes first. All three methods must
    be pure.

    Write recurrent products as `h @ self.R`. The engine finds every product with a weight that is
    constant over time; nothing has to be marked.

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
        >>> ys, h = ostinato.unroll(Mine(jnp.ones((3, 8)), jnp.eye(8)), xs)
        >>> ys.shape
        (10, 4, 8)

    Attributes:
        Settings: a dataclass of the settings that a configuration can change; see
            `ostinato.settings`. A cell is built as `Class(inputs, units, key=key, **options)`, with
            every setting that is not `None` as an option.
        reads_out: whether the cell takes `outputs=` and is used without a readout.
        has_units: whether the number of units is a choice; false if the inputs determine it.
        readout_bias: whether the readout of this cell has a bias by default; `None` if that depends
            on the task.
        has_recurrent_matrix: whether the cell takes an initialiser `recurrent=`.
        factor_reads_input: whether its factor reads only the network's input in a stack with skip
            connections (option `factor_inputs=`).
        fan_in_input: whether the cell's initialiser `input=` is `fan_in()` by default, in place of
            which a network that reads symbols takes `fan_in(symbols)`.
    """

    Settings: ClassVar[type] = NoSettings
    reads_out: ClassVar[bool] = False
    has_units: ClassVar[bool] = True
    readout_bias: ClassVar[bool | None] = True
    has_recurrent_matrix: ClassVar[bool] = True
    factor_reads_input: ClassVar[bool] = False
    fan_in_input: ClassVar[bool] = False

    @property
    def input_axes(self) -> int:
        """How many trailing axes make up one input: 1 for vectors, 0 for symbols."""
        return 1

    @property
    def can_step(self) -> bool:
        """False if a part of it needs the whole sequence; such a cell works with `unroll` only."""
        return True

    def vector_size(self) -> int | None:
        """Size of the vectors that the cell reads, if it knows: by default the rows of its `W`."""
        W: Any = getattr(self, "W", None)
        return int(W.shape[0]) if getattr(W, "ndim", 0) == 2 else None

    def check_inputs(self, xs: Any) -> None:
        """Raise for inputs that compiled code cannot check, such as symbols out of range."""

    @abc.abstractmethod
    def initial(self, batch: tuple[int, ...]) -> Any:
        """The state before the first step: a pytree of arrays `(*batch, ...)`."""

    @abc.abstractmethod
    def inputs(self, x: Any) -> Any:
        """The part of a step that depends only on the input `(..., inputs)`.

        It is called once for all steps, with time as one more leading axis, so it costs one large
        matrix product.
        """

    @abc.abstractmethod
    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        """One step of time: `(state, inputs(x)) -> (state, y)`."""
