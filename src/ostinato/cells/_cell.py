"""The contract of a cell, and the few helpers that the built-in cells share."""

import abc
import operator
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ..settings import NoSettings
from .initialisers import Initialiser


class Cell(eqx.Module):
    """Something that steps through time. Subclass it and write three methods.

    A cell has no batch and no time of its own: `batch` below is any tuple of axes, `()` among
    them, and every array of the state has the batch axes first. All three methods are pure.

    Write recurrent products as `h @ self.R`. The engine finds every product with a weight that
    does not change with time; nothing has to be marked.

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

    Attributes:
        Settings: a dataclass of what a configuration can set; see `ostinato.settings`. The cell is
            made as `Class(inputs, units, key=key, **options)`, with every setting that is not
            `None` as an option.
        reads_out: whether the cell takes `outputs=`, and its output is the network's answer.
        readout_bias: whether a network of this cell reads it with a bias, if the configuration
            does not say; `None` for "as the task does".
        has_recurrent_matrix: whether it takes an initialiser `recurrent=`.
        factor_reads_input: whether, in a stack with skip connections, its factor reads the input
            alone (option `factor_inputs=`).
    """

    Settings: ClassVar[type] = NoSettings
    reads_out: ClassVar[bool] = False
    readout_bias: ClassVar[bool | None] = True
    has_recurrent_matrix: ClassVar[bool] = True
    factor_reads_input: ClassVar[bool] = False

    @property
    def input_axes(self) -> int:
        """How many of the last axes of an input belong to it: 1 for vectors, 0 for symbols."""
        return 1

    @property
    def can_step(self) -> bool:
        """False where a part must see the whole sequence, so that only `unroll` works."""
        return True

    def check_inputs(self, xs: Any) -> None:
        """Refuse inputs that compiled code could not refuse, such as symbols out of range."""

    @abc.abstractmethod
    def initial(self, batch: tuple[int, ...]) -> Any:
        """The state before the first step: a pytree of arrays `(*batch, ...)`."""

    @abc.abstractmethod
    def inputs(self, x: Any) -> Any:
        """What a step needs from the input `(..., inputs)` alone.

        It is called once for all steps, with the time as one more leading axis, so that it costs
        one large product.
        """

    @abc.abstractmethod
    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        """One step of time: `(state, inputs(x)) -> (state, y)`."""


def check_vectors(cell: eqx.Module, x, weight: jax.Array) -> None:
    """Refuse an `x` that is not of shape `(..., inputs)` and of the dtype of `weight`."""
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


def project(cell: eqx.Module, x, weight: jax.Array, bias: jax.Array | None = None) -> jax.Array:
    """`x @ weight + bias` for `x` of shape `(..., inputs)`, after checking that it fits."""
    check_vectors(cell, x, weight)
    u = x @ weight
    return u if bias is None else u + bias


def draw(init: Initialiser, key: jax.Array, rows: int, columns: int, blocks: int = 1) -> jax.Array:
    """`blocks` matrices of shape `(rows, columns)`, drawn one by one and set side by side."""
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
    """A state of zeros for the units that `recurrent` `(units, ...)` reads."""
    return jnp.zeros((*batch, recurrent.shape[0]), recurrent.dtype)


def split(x: jax.Array, count: int) -> list[jax.Array]:
    """The last axis in `count` equal parts."""
    return jnp.split(x, count, axis=-1)


def input_size(cell: Cell) -> int:
    """The size of the vectors that a cell reads, found by trying the sizes of its parameters.

    Where no size fits and the cell raises the same exception for each, that exception is raised.
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
    """The input size that fits a cell, or else what `step` and `inputs` raised for each size.

    A size that `inputs` takes is likely to be right, and the fault in `step`. A cell without
    parameters is tried with the whole numbers among its fields, and with 1.
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
        except Exception as error:  # whatever a cell raises, this size does not fit
            failures[size] = error
            continue
        return size, {}, {}
    return None, in_step, in_inputs


def _whole_numbers(cell: eqx.Module) -> list[int]:
    return sorted({n for n in vars(cell).values() if _is_size(n)})


def output_size(cell: Cell, inputs: int) -> int:
    """The size of a cell's output, for inputs of that size; of the first if it has several."""
    x = jax.ShapeDtypeStruct((inputs,), parameter_dtype(cell))

    def one_step(cell, x):
        return cell.step(cell.initial(()), cell.inputs(x))[1]

    return jax.tree.leaves(eqx.filter_eval_shape(one_step, cell, x))[0].shape[-1]


def parameter_dtype(cell: eqx.Module):
    """The floating dtype of a cell's parameters; JAX's default for a cell without any."""
    return jnp.result_type(*jax.tree.leaves(eqx.filter(cell, eqx.is_inexact_array)) or [float])
