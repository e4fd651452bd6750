"""The contracts of what learns: a model reads batches, a layer sequences, a cell single steps.

Model     turns a batch into outputs (`prepare`)
└ Layer   is unrolled over a sequence (`initial`, `over_time`)
  └ Cell  has a step (`initial`, `inputs`, `step`)
"""

import abc
import dataclasses
import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..constructors import check_arguments
from ..errors import BadInput
from ..settings import NoSettings, shown
from .inherited_claims import drop_claims, keeps_default_input
from .operator import Operator

if TYPE_CHECKING:
    from ..data import Batch

Pair = tuple[jax.Array, jax.Array]
Run = Callable[..., tuple[Any, Any]]  # `unroll` with options


Gates = Mapping[str, str]
Blocks = Mapping[str, tuple[str, ...]]
Rule = Callable[[jax.Array, jax.Array], jax.Array]


class MemoryRules(NamedTuple):
    """What follows the products of a step of memory cells, unit by unit.

    Attributes:
        memory: the new memory, from all pre-activations side by side and the old memory.
        output: h, from the output gate's pre-activation, which is the last, and the new memory.
        weights: `W`, `R` and, where there is one, `b`.
    """

    memory: Rule
    output: Rule
    weights: tuple[jax.Array, ...]


class Parts(NamedTuple):
    """A cell with what comes before and after it in a network, each `None` if there is none."""

    encoding: Any
    cell: Any
    readout: Any


class Model(eqx.Module):
    """Whatever is trained. Subclass it for a network that reads something else than a sequence.

    Attributes:
        frozen: names of the fields that learning does not change, such as the fixed weights of a
            reservoir.
        blocks: what a weight acts on, by its field: one name, or one for each of the blocks of
            columns that stand side by side in it, `{"R": ("forget gate", "candidate")}`.
    """

    frozen: ClassVar[tuple[str, ...]] = ()
    blocks: ClassVar[Blocks] = MappingProxyType({})

    @property
    def can_step(self) -> bool:
        """Whether it has a step; what needs the whole sequence has none."""
        return False

    def initial(self, batch: tuple[int, ...]) -> Any:
        """The state that is carried from batch to batch; none by default."""
        return ()

    @property
    def outputs(self) -> int:
        """The size of an output; a network says it."""
        raise BadInput(f"{type(self).__name__} does not say how many outputs it has")

    def parts(self) -> Parts:
        """The encoding, the cell and the readout, if it is made of them."""
        return Parts(None, None, None)

    def as_layer(self) -> "Layer":
        """The model itself, if it can be unrolled over a sequence."""
        raise BadInput(f"{type(self).__name__} reads more than a sequence, so it is no layer")

    @abc.abstractmethod
    def prepare(self, run: Run, batch: "Batch") -> tuple["Layer", Any, Any]:
        """What is unrolled over the steps of a batch: a layer, its inputs, and its initial state.

        A network that has to read something else first, such as a source sentence or a picture,
        calls `run(part, xs, state, lengths=, resets=, reverse=)`, which is `unroll` with options,
        for each of its parts. Training, evaluation, decoding and the lens all go through here.
        """


class Layer(Model):
    """What `unroll` runs over a sequence. Subclass it for a layer that must see all of it.

    Attributes:
        in_parts: whether `over_time` runs parts of it one by one; false for a cell that is
            unrolled step by step.
        memory_cell: whether it has `memory_rules`.
        is_simple: whether a state reaches the next by `f(u + h R)` and in no other way, so that the
            published bounds on the gradient of simple recurrent networks hold.
        stores_patterns: whether patterns of -1 and 1 can be stored in its `R`, at once.
    """

    in_parts: ClassVar[bool] = True
    memory_cell: ClassVar[bool] = False
    is_simple: ClassVar[bool] = False
    stores_patterns: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        drop_claims(cls, tuple(base for base in cls.__mro__ if base.__module__ == __name__))

    @property
    def input_axes(self) -> int:
        """How many trailing axes make up one input: 1 for vectors, 0 for symbols."""
        return 1

    def vector_size(self) -> int | None:
        """Size of the vectors that it reads, if it knows."""
        return None

    def check_inputs(self, xs: Any) -> None:
        """Raise for inputs that compiled code cannot check, such as symbols out of range."""

    def prepare(self, run: Run, batch: "Batch") -> tuple["Layer", Any, Any]:
        """The layer itself, the inputs of the batch, and `None` for its initial state.

        Example:
            >>> batch = ostinato.data.Batch(np.ones((5, 2, 3)), None, np.ones((5, 2)))
            >>> layer, inputs, state = network.prepare(ostinato.unroll, batch)
            >>> layer is network, inputs.shape, state
            (True, (5, 2, 3), None)
        """
        return self, batch.inputs, None

    def parts(self) -> Parts:
        return Parts(None, self, None)

    def as_layer(self) -> "Layer":
        return self

    def to_cell(self, batch: "Batch", state: Any) -> tuple["Batch", Any]:
        """The batch as the cell within reads it (`parts`), and its state, from a state of this."""
        return batch, state

    def from_cell(self, state: Any, batch: "Batch") -> Any:
        """The state of this, from that of the cell within after the batch."""
        return state

    def memory_rules(self) -> MemoryRules:
        """The rules of a memory cell with state `(h, c)`; `online1997` learns by them."""
        raise BadInput(f"{type(self).__name__} is no memory cell")

    def operators(self) -> list[list[Operator]] | None:
        """The operators of other libraries that it is, if it is nothing else.

        One row for each layer from the first to the last, with one operator, or two for both
        directions.
        """
        return None

    def on_vectors(self, xs: jax.Array) -> tuple[jax.Array, "Layer"]:
        """The inputs as vectors, and the layer that reads vectors; only a network encodes them."""
        return xs, self

    def with_reader(self, change: Callable[["Layer"], "Layer | None"]) -> "Layer | None":
        """The layer with `change(part)` in place of its part that reads the inputs, or `None`."""
        return change(self)

    def stands_for(self) -> "Layer":
        """The layer whose name it bears, if a network puts it around that on the way."""
        return self

    def state_groups(self, state: Any) -> list[list[Any]]:
        """The floating arrays of a state, with those of both directions together."""
        return [[x] for x in jax.tree.leaves(state) if jnp.issubdtype(x.dtype, jnp.floating)]

    @abc.abstractmethod
    def initial(self, batch: tuple[int, ...]) -> Any:
        """The state before the first step: a pytree of arrays `(*batch, ...)`."""

    @abc.abstractmethod
    def over_time(self, run: Run, xs: Any, state: Any) -> tuple[Any, Any]:
        """Outputs and final state, by `run(part, xs, state, reverse=)` for each of its parts.

        Args:
            run: `unroll` with the options that it was given.
            xs: the inputs, time first.
            state: the state before the first step, or `None`.
        """

    def inputs(self, x: Any) -> Any:
        """The part of a step that depends only on the input; see `Cell`."""
        raise BadInput(f"{type(self).__name__} must see the whole sequence, so it has no step")

    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        """One step of time; see `Cell`."""
        raise BadInput(f"{type(self).__name__} must see the whole sequence, so it has no step")


def _check_names(cell: str, own: Mapping[str, Any]) -> None:
    """Refuse `gates` or `blocks` of a class that do not have the form that the lens reads.

    What an instance has, a field or a property of that name, is not looked at.
    """
    of_class = {name: own[name] for name in ("gates", "blocks") if name in own}
    for name, given in of_class.items():
        if isinstance(given, property | dataclasses.Field):
            continue
        words = [*given, *given.values()] if isinstance(given, Mapping) else [None]
        if name == "blocks" and isinstance(given, Mapping):
            tuples = [x if isinstance(x, tuple) else (None,) for x in given.values()]
            words = [*given, *(word for part in tuples for word in part)]
        if not all(isinstance(word, str) for word in words):
            what = "their activations" if name == "gates" else "tuples of names"
            raise BadInput(f"{cell}.{name} must be a dict of names and {what}, got {shown(given)}")


def _checked(cell: type, constructor: Callable[..., None]) -> Callable[..., None]:
    """The constructor of a cell, which refuses arguments that its settings do not allow."""

    @functools.wraps(constructor)
    def checked(self: Any, *given: Any, **named: Any) -> None:
        arguments = check_arguments(cell, constructor, given, named, jax.Array)
        key = arguments.get("key")
        if key is not None and not isinstance(key, jax.Array | np.ndarray):
            raise BadInput(f"key must be a random key such as jax.random.key(0), got {shown(key)}")
        constructor(self, *given, **named)

    return checked


class Cell(Layer):
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
        gates: the names of what a step squashes and the function, `tanh`, `sigmoid` or `relu`, in
            the order in which the step computes them: `{"forget gate": "sigmoid"}`. The lens, the
            report and the studio show them. A subclass whose step differs names its own.
    """

    in_parts: ClassVar[bool] = False
    Settings: ClassVar[type] = NoSettings
    reads_out: ClassVar[bool] = False
    has_units: ClassVar[bool] = True
    readout_bias: ClassVar[bool | None] = True
    has_recurrent_matrix: ClassVar[bool] = True
    factor_reads_input: ClassVar[bool] = False
    fan_in_input: ClassVar[bool] = False
    gates: ClassVar[Gates] = MappingProxyType({})

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = vars(cls)
        if "__init__" in own:
            if "fan_in_input" not in own and not keeps_default_input(own["__init__"]):
                cls.fan_in_input = False
            cls.__init__ = _checked(cls, own["__init__"])  # type: ignore[method-assign]
        _check_names(cls.__name__, own)

    def named_gates(self) -> Gates:
        """`gates`, or those of this instance."""
        return self.gates

    @property
    def can_step(self) -> bool:
        """False if a part of it needs the whole sequence; such a cell works with `unroll` only."""
        return True

    def vector_size(self) -> int | None:
        """Size of the vectors that the cell reads, if it knows: by default the rows of its `W`."""
        W = vars(self).get("W")
        if isinstance(W, jax.Array | np.ndarray | jax.ShapeDtypeStruct) and W.ndim == 2:
            return int(W.shape[0])
        return None

    def over_time(self, run: Run, xs: Any, state: Any) -> tuple[Any, Any]:
        """Step by step; a cell with `in_parts` has another way."""
        return run(self, xs, state)

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


class Wrapper(Cell):
    """A cell around a cell; by default it passes everything on but the step."""

    cell: Layer

    @property
    def input_axes(self) -> int:
        return self.cell.input_axes

    def vector_size(self) -> int | None:
        return self.cell.vector_size()

    def check_inputs(self, xs: Any) -> None:
        self.cell.check_inputs(xs)

    def stands_for(self) -> Layer:
        return self.cell

    def initial(self, batch: tuple[int, ...]) -> Any:
        return self.cell.initial(batch)

    def inputs(self, x: Any) -> Any:
        return self.cell.inputs(x)
