"""The interface of a cell, and helpers that the built-in cells share."""

import abc
import operator
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ..settings import NoSettings
from .initialisers import Initialiser

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
        readout_bias: whether the readout of this cell has a bias by default; `None` if that depends
            on the task.
        has_recurrent_matrix: whether the cell takes an initialiser `recurrent=`.
        factor_reads_input: whether its factor reads only the network's input in a stack with skip
            connections (option `factor_inputs=`).
    """

    Settings: ClassVar[type] = NoSettings
    reads_out: ClassVar[bool] = False
    readout_bias: ClassVar[bool | None] = True
    has_recurrent_matrix: ClassVar[bool] = True
    factor_reads_input: ClassVar[bool] = False

    @property
    def input_axes(self) -> int:
        """How many trailing axes one input has: 1 for vectors, 0 for symbols."""
        return 1

    @property
    def can_step(self) -> bool:
        """False if a part of it needs the whole sequence; such a cell works with `unroll` only."""
        return True

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
        """One time step: `(state, inputs(x)) -> (new state, output)`."""


def check_vectors(cell: eqx.Module, x: Any, weight: jax.Array) -> None:
    """Raise unless `x` has the shape `(..., inputs)` and the dtype of `weight`."""
    name, size = type(cell).__name__, weight.shape[0]
    if not hasattr(x, "dtype") or not hasattr(x, "shape"):
        raise TypeError(f"{name} expects an array of shape (..., {size}), got {type(x).__name__}")
    if not jnp.issubdtype(jnp.result_type(x), jnp.inexact):
        raise TypeError(
            f"{name} expects floating-point inputs of shape (..., {size}), got "
            f"{jnp.result_type(x)} of shape {jnp.shape(x)}"
        )
    if jnp.promote_types(x.dtype, weight.dtype) != weight.dtype:
        raise TypeError(
            f"{name} has {weight.dtype} parameters and expects inputs of that dtype, got "
            f"{x.dtype} of shape {x.shape}"
        )
    if x.ndim == 0 or x.shape[-1] != size:
        raise ValueError(f"{name} expects inputs of shape (..., {size}), got {x.shape}")


def project(
    cell: eqx.Module, x: Any, weight: jax.Array, bias: jax.Array | None = None
) -> jax.Array:
    """`x @ weight + bias`, after checking that `x` has the shape `(..., inputs)`."""
    check_vectors(cell, x, weight)
    u = x @ weight
    return u if bias is None else u + bias


def draw(init: Initialiser, key: jax.Array, rows: int, columns: int, blocks: int = 1) -> jax.Array:
    """Initialise `blocks` matrices `(rows, columns)` independently and concatenate the columns."""
    if not (_is_size(rows) and _is_size(columns)):
        raise ValueError(
            "the sizes of a cell must be positive whole numbers, got a weight matrix of "
            f"{rows!r} rows and {columns!r} columns"
        )
    dtype = jnp.result_type(float)
    keys = jax.random.split(key, blocks)
    return jnp.concatenate([init(k, (rows, columns), dtype) for k in keys], axis=1)


def _is_size(n: Any) -> bool:
    try:
        return operator.index(n) > 0 and not isinstance(n, bool)
    except TypeError:
        return False


def zeros(*shape: int) -> jax.Array:
    return jnp.zeros(shape, jnp.result_type(float))


def rest(batch: tuple[int, ...], recurrent: jax.Array) -> jax.Array:
    """A zero state `(*batch, units)` for a recurrent weight `(units, ...)`."""
    return jnp.zeros((*batch, recurrent.shape[0]), recurrent.dtype)


def split(x: jax.Array, count: int) -> list[jax.Array]:
    """Split the last axis into `count` equal parts."""
    return jnp.split(x, count, axis=-1)


def input_size(cell: Cell) -> int:
    """The size of a cell's input vectors, found by trying the sizes of its parameters.

    If no size fits and the cell raises the same exception for each, that exception is raised.
    """
    size, in_step, in_inputs = try_input_sizes(cell)
    if size is not None:
        return size
    errors = list((in_step or in_inputs).values())
    if len({(type(error), str(error)) for error in errors}) == 1:
        raise errors[0]
    raise ValueError(
        f"{type(cell).__name__} was expected to be a cell that reads vectors; it takes none of the "
        f"sizes of its parameters, {sorted(in_step | in_inputs)}"
    ) from errors[0]


def try_input_sizes(
    cell: Cell, batch: tuple[int, ...] = ()
) -> tuple[int | None, dict[int, Exception], dict[int, Exception]]:
    """The input size that fits a cell, or the exceptions of `step` and `inputs` for each size.

    If `inputs` accepts a size, the size is probably right and the fault is in `step`. A cell
    without parameters is tried with the integers among its fields, and with 1.
    """
    shapes = [x.shape for x in jax.tree.leaves(eqx.filter(cell, eqx.is_array))]
    sizes = sorted({n for shape in shapes for n in shape}) or [*_whole_numbers(cell), 1]
    in_step: dict[int, Exception] = {}
    in_inputs: dict[int, Exception] = {}
    for size in sizes:
        x = jax.ShapeDtypeStruct((*batch, size), parameter_dtype(cell))
        failures = in_inputs
        try:
            u = eqx.filter_eval_shape(lambda cell, x: cell.inputs(x), cell, x)
            failures = in_step
            eqx.filter_eval_shape(lambda cell, u: cell.step(cell.initial(batch), u), cell, u)
        except Exception as error:  # any exception means that this size does not fit
            failures[size] = error
            continue
        return size, {}, {}
    return None, in_step, in_inputs


def _whole_numbers(cell: eqx.Module) -> list[int]:
    return sorted({n for n in vars(cell).values() if _is_size(n)})


def output_size(cell: Cell, inputs: int) -> int:
    """The size of a cell's output for inputs of size `inputs`; of its first output if several."""
    x = jax.ShapeDtypeStruct((inputs,), parameter_dtype(cell))

    def one_step(cell: Cell, x: Any) -> Any:
        return cell.step(cell.initial(()), cell.inputs(x))[1]

    return jax.tree.leaves(eqx.filter_eval_shape(one_step, cell, x))[0].shape[-1]


def parameter_dtype(cell: eqx.Module) -> jnp.dtype:
    """The floating-point dtype of a cell's parameters; JAX's default if it has none."""
    return jnp.result_type(*jax.tree.leaves(eqx.filter(cell, eqx.is_inexact_array)) or [float])
