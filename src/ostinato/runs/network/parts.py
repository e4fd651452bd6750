"""The parts of a configured network: encodings, layers and readouts."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

import jax
import msgspec

from ...cells import Cell
from ...cells.initialisers import fan_in, incoming, normal, spectral_radius
from ...errors import BadInput
from ...settings import options
from ...tasks import Task
from ...tasks.task import TaskSizes
from ...wiring import (
    Bidirectional,
    Changes,
    Dropout,
    Embedding,
    FixedEmbedding,
    GatedFeedback,
    LayerNorm,
    NeuralTuringMachine,
    OneHot,
    Readout,
    Stack,
    WeightNoise,
    WordEmbedding,
    Zoneout,
)
from ..config.members import Member
from ..config.sections import NetworkSettings, memory_size

Size = Annotated[int, msgspec.Meta(ge=1, lt=2**31)]


class Sizes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a network must know about its task, as a run keeps it; see `Task` for the fields."""

    name: str
    inputs: Size
    outputs: Size
    symbolic: bool
    readout_bias: bool = True
    model: dict[str, Any] | None = None
    predicts_next: bool = False

    @classmethod
    def of(cls, task: Task) -> "Sizes":
        return cls(**{name: getattr(task, name) for name in cls.__struct_fields__})


def model_of(task: TaskSizes) -> Mapping[str, Any]:
    """The kind of model that a task needs, with its numbers; see `Task.model`.

    Example:
        >>> model_of(Sizes("adding", 2, 1, False))
        {'kind': 'network'}
    """
    return {"kind": "network"} if task.model is None else task.model


class Parts:
    """Makes the parts of a network.

    Attributes:
        cell: the configuration's `Member`.
        settings: the network's settings.
        task: the task, or its sizes.
        model: the numbers of the task's model.
        units: of all layers, or of each.
    """

    def __init__(
        self,
        cell: Member,
        settings: NetworkSettings,
        task: TaskSizes,
        units: int | Sequence[int],
    ) -> None:
        self.cell, self.settings, self.task, self.units = cell, settings, task, units
        self.model = model_of(task)

    def encoding(
        self, symbols: int, key: jax.Array, std: float = 1.0, fixed: str = "fixed"
    ) -> tuple[OneHot | Embedding, int]:
        """How symbols become vectors, and the size of the vectors.

        Args:
            symbols: how many there are.
            key: random key for the first vectors.
            std: the standard deviation of their numbers.
            fixed: the number of the model that says whether they are not learned.
        """
        size = self.settings.embedding
        if size is None:
            size = self.model.get("embedding", 0)
        if size:
            kind = FixedEmbedding if self.model.get(fixed) else Embedding
            return kind(symbols, size, key=key, init=normal(std)), size
        return OneHot(symbols), symbols

    def words(self, key: jax.Array) -> WordEmbedding | None:
        """How the one-hot words within vectors become learned vectors; `None` if they stay."""
        places, size = self.model.get("words"), self.settings.embedding
        return WordEmbedding(self.task.inputs, places, size, key=key) if places and size else None

    def changes(self, size: int) -> Changes | None:
        """What adds the changes of the inputs to them; `None` if the layers read them as they are.

        Without numbers of the task, changes are not rescaled.
        """
        if not self.settings.changes:
            return None
        return Changes(self.model.get("spreads") or [1.0] * size)

    def layers(
        self,
        inputs: int,
        key: jax.Array,
        *,
        symbols: int = 0,
        both_ways: bool | None = None,
        last: Mapping[str, Any] = MappingProxyType({}),
    ) -> tuple[Any, int]:
        """The layers of recurrent cells, and the size of their output.

        Args:
            inputs: size of the vectors that they read.
            key: random key for the initial weights.
            symbols: how many of the inputs, from the first, are a one-hot vector.
            both_ways: whether they are bidirectional; by default as configured.
            last: options of the last layer alone.
        """
        settings = self.settings
        given = _options(self.cell, settings)
        read, heads = 0, key
        if settings.turing is not None:
            rows, columns = memory_size(settings.turing)
            read = settings.heads * columns
            inputs += read
            key, heads = jax.random.split(key)

        def layer(inputs: int, units: int, *, key: jax.Array, **more: Any) -> Cell:
            make, noise = jax.random.split(key)
            try:
                made = self.cell.kind(inputs, units, key=make, **given, **more)
            except ValueError as error:  # an initialiser that does not fit the cell's matrices
                raise BadInput(f"the cell {self.cell.name} cannot be built: {error}") from None
            return _wrapped(settings, made, noise)

        sizes = settings.sizes(self.units)
        more: dict[str, Any] = {}
        first: dict[str, Any] = {}
        if symbols and self.cell.kind.fan_in_input and "input" not in given:
            (more if settings.skip else first)["input"] = fan_in(symbols)
        if self.cell.kind.factor_reads_input and settings.skip and settings.factor == "input":
            more["factor_inputs"] = inputs
        make: Callable[..., Any] = layer
        if settings.bidirectional if both_ways is None else both_ways:
            make, sizes = _both_ways(layer), [2 * n for n in sizes]
        if settings.feedback:
            made: Any = GatedFeedback.of(make, inputs, sizes, key=key, first=first, **more)
        elif settings.layers > 1 or settings.skip:
            made = Stack.of(
                make, inputs, sizes, key=key, skip=settings.skip, first=first, last=last, **more
            )
        else:
            made = make(inputs, sizes[0], key=key, **first, **last, **more)
        if settings.turing is not None:
            made = NeuralTuringMachine(
                made,
                rows,
                columns,
                key=heads,
                heads=settings.heads,
                shift=settings.head_shift,
                read_gate=settings.read_gate,
                write_gate=settings.write_gate,
                strength=settings.head_strength,
                read_stay=settings.read_stay,
                read_onward=settings.read_onward,
            )
        return made, (sum(sizes) if settings.skip else sizes[-1]) + read

    def readout(self, width: int, outputs: int, key: jax.Array) -> Readout:
        """From the output of the layers to the network's."""
        bias = readout_kind(self.cell, self.settings, self.task) == "bias"
        scale = self.settings.output_scale
        given = {} if scale is None else {"init": normal(scale)}
        return Readout(width, outputs, key=key, bias=bias, **given)


def readout_kind(cell: Member, settings: NetworkSettings, task: TaskSizes) -> str:
    """How the last layer is read: `"bias"`, `"plain"` (without one) or `"own"`.

    By default, a cell with its own readout is the output itself, and `readout_bias` of the other
    cells determines whether there is a bias.
    """
    if settings.readout is not None:
        return settings.readout
    if cell.kind.reads_out:
        return "own"
    bias = cell.kind.readout_bias
    if bias is None:
        bias = task.readout_bias
    return "bias" if bias else "plain"


def _both_ways(layer: Callable[..., Cell]) -> Callable[..., Bidirectional]:
    """Make layers of two cells, each with half of the units."""

    def make(inputs: int, units: int, *, key: jax.Array, **more: Any) -> Bidirectional:
        ahead, behind = jax.random.split(key)
        return Bidirectional(
            layer(inputs, units // 2, key=ahead, **more),
            layer(inputs, units // 2, key=behind, **more),
        )

    return make


def _wrapped(settings: NetworkSettings, cell: Cell, key: jax.Array) -> Cell:
    """A layer with the normalisation and noise of the settings."""
    zone, drop, noise = jax.random.split(key, 3)
    if settings.layer_norm:
        cell = LayerNorm(cell)
    if settings.weight_noise:
        cell = WeightNoise(cell, settings.weight_noise, key=noise)
    if settings.zoneout:
        cell = Zoneout(cell, settings.zoneout, key=zone)
    if settings.dropout or settings.recurrent_dropout:
        cell = Dropout(cell, settings.dropout, recurrent=settings.recurrent_dropout, key=drop)
    return cell


def _options(cell: Member, settings: NetworkSettings) -> dict[str, Any]:
    """The options of the cell's constructor: its own settings, and the network's initialisers."""
    given = options(cell.settings)
    if settings.incoming is not None:
        given["recurrent"] = incoming(settings.incoming)
    if settings.spectral_radius is not None:
        given["recurrent"] = spectral_radius(settings.spectral_radius, given.get("recurrent"))
    if settings.input_scale is not None:
        given["input"] = normal(settings.input_scale)
    return given
