"""The settings of a network, and how it is built from them."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax

from ..cells import CELLS, Cell
from ..cells.initialisers import Initialiser, incoming, normal, spectral_radius
from ..errors import BadInput
from ..settings import options, setting
from ..tasks import Task
from ..wiring import (
    Bidirectional,
    Dropout,
    Embedding,
    GatedFeedback,
    LayerNorm,
    Network,
    OneHot,
    Readout,
    Stack,
    WeightNoise,
    Zoneout,
)

READOUTS = ("bias", "plain", "own")
FACTORS = ("input", "all")
UNITS = 128


@dataclasses.dataclass(frozen=True)
class NetworkSettings:
    """How cells are combined into a network."""

    units: int | tuple[int, ...] | None = setting(
        None, "units per layer (128 if no budget is given), or one number for each layer", least=1
    )
    layers: int = setting(1, "number of layers", least=1, most=1000)
    skip: bool = setting(False, "connect every layer to the input and to the output")
    bidirectional: bool = setting(False, "every layer reads the sequence in both directions")
    feedback: bool = setting(False, "gated feedback: every layer reads every layer")
    budget: int | None = setting(
        None, "choose the units for this many parameters", least=1, most=10**18
    )
    embedding: int = setting(0, "size of learned input vectors; 0 for one-hot", least=0)
    readout: str | None = setting(
        None,
        f"how the last layer is read: {', '.join(READOUTS)} (by default as in the cell's source)",
        among=READOUTS,
    )
    factor: str = setting(
        "input", f"mrnn with --skip: what the factor reads, {', '.join(FACTORS)}", among=FACTORS
    )
    layer_norm: bool = setting(False, "normalise each layer's pre-activations")
    dropout: float = setting(0.0, "dropout probability of each layer's outputs", least=0, below=1)
    recurrent_dropout: float = setting(0.0, "dropout probability of the state", least=0, below=1)
    zoneout: float = setting(0.0, "probability that a unit keeps its value", least=0, below=1)
    weight_noise: float = setting(0.0, "standard deviation of the noise on the weights", least=0)
    incoming: int | None = setting(None, "nonzero recurrent weights per unit", least=1)
    spectral_radius: float | None = setting(
        None, "initial spectral radius of the recurrent matrices", least=0
    )
    input_scale: float | None = setting(
        None, "standard deviation of the initial input weights", least=0
    )

    def __post_init__(self) -> None:
        if isinstance(self.units, tuple):
            count = len(self.units)
            if self.layers not in (1, count):
                raise BadInput(
                    f"units has {count} numbers, one per layer, and layers is {self.layers}; "
                    "leave layers out"
                )
            object.__setattr__(self, "layers", count)
        if self.units is not None and self.budget is not None:
            raise BadInput("give either units or budget, not both")
        for one, other in (("feedback", "skip"), ("feedback", "bidirectional")):
            if getattr(self, one) and getattr(self, other):
                raise BadInput(f"{one} cannot be combined with {other}; leave one of them out")

    def sizes(self, units: int | Sequence[int]) -> list[int]:
        """The units of every layer."""
        return [units] * self.layers if isinstance(units, int) else list(units)


class Sizes(NamedTuple):
    """What a network must know about its task."""

    name: str
    inputs: int
    outputs: int
    symbolic: bool
    readout_bias: bool = True

    @classmethod
    def of(cls, task: Task) -> "Sizes":
        return cls(task.name, task.inputs, task.outputs, task.symbolic, task.readout_bias)


def make_network(
    cell: Any,
    settings: NetworkSettings,
    task: Task | Sizes,
    units: int | Sequence[int],
    key: jax.Array,
) -> Network:
    """A newly initialised network.

    Args:
        cell: the configuration's `Member`.
        settings: the network's settings.
        task: determines the sizes of inputs and outputs.
        units: per layer: one number for all layers, or one for each.
        key: random key for the initial weights.
    """
    if settings.bidirectional and getattr(task, "predicts_next", False):
        raise BadInput(
            f"the task {task.name} predicts its own next input, which a bidirectional network "
            "would see; leave out --bidirectional"
        )
    body, out, symbols = jax.random.split(key, 3)
    encoding, size = _encoding(settings, task, symbols)
    kind = readout_kind(cell, settings, task)
    last = {"outputs": task.outputs} if kind == "own" else {}
    if last:
        _check_own(cell, settings)
    given = _options(cell, settings)

    def layer(inputs: int, units: int, *, key: jax.Array, **more: Any) -> Cell:
        make, noise = jax.random.split(key)
        try:
            made = cell.kind(inputs, units, key=make, **given, **more)
        except ValueError as error:  # an initialiser that does not fit the cell's matrices
            raise BadInput(f"the cell {cell.name} cannot be built: {error}") from None
        return _wrapped(settings, made, noise)

    sizes = settings.sizes(units)
    more: dict[str, Any] = {}
    if cell.kind.factor_reads_input and settings.skip and settings.factor == "input":
        more["factor_inputs"] = size
    make: Callable[..., Any] = layer
    if settings.bidirectional:
        make, sizes = _both_ways(layer), [2 * n for n in sizes]
    if settings.feedback:
        if last:
            raise BadInput(f"feedback needs a readout; the output of {cell.name} is the answer")
        made: Any = GatedFeedback.of(make, size, sizes, key=body, **more)
    elif settings.layers > 1 or settings.skip:
        made = Stack.of(make, size, sizes, key=body, skip=settings.skip, last=last, **more)
    else:
        made = make(size, sizes[0], key=body, **last, **more)
    if last:
        return Network(made, None, encoding)
    width = sum(sizes) if settings.skip else sizes[-1]
    return Network(made, Readout(width, task.outputs, key=out, bias=kind == "bias"), encoding)


def readout_kind(cell: Any, settings: NetworkSettings, task: Task | Sizes) -> str:
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
        bias = getattr(task, "readout_bias", True)
    return "bias" if bias else "plain"


def _encoding(
    settings: NetworkSettings, task: Task | Sizes, key: jax.Array
) -> tuple[OneHot | Embedding | None, int]:
    """How symbols become vectors, and the size of the vectors."""
    if not task.symbolic:
        if settings.embedding:
            raise BadInput(f"the task {task.name} reads vectors, so it takes no embedding")
        return None, task.inputs
    if settings.embedding:
        return Embedding(task.inputs, settings.embedding, key=key), settings.embedding
    return OneHot(task.inputs), task.inputs


def _both_ways(layer: Callable[..., Cell]) -> Callable[..., Bidirectional]:
    """Make layers of two cells, each with half of the units."""

    def make(inputs: int, units: int, *, key: jax.Array, **more: Any) -> Bidirectional:
        ahead, behind = jax.random.split(key)
        return Bidirectional(
            layer(inputs, units // 2, key=ahead, **more),
            layer(inputs, units // 2, key=behind, **more),
        )

    return make


def _check_own(cell: Any, settings: NetworkSettings) -> None:
    """Refuse what does not work with a cell whose output is the network's."""
    if not cell.kind.reads_out:
        having = ", ".join(name for name, kind in CELLS.items() if kind.reads_out)
        raise BadInput(f"the readout own needs a cell that has one: {having}; got {cell.name}")
    for name in ("skip", "bidirectional", "dropout", "layer_norm"):
        if getattr(settings, name):
            raise BadInput(
                f"{name} changes the output of the last layer, which in a {cell.name} network is "
                "the network's answer; leave it out, or read that layer with --readout bias"
            )


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


def _options(cell: Any, settings: NetworkSettings) -> dict[str, Any]:
    """The options of the cell's constructor: its own settings, and the network's initialisers."""
    given = options(cell.settings)
    found: dict[str, Initialiser] = {}
    if settings.incoming is not None:
        if "recurrent" in given:
            raise BadInput("give either recurrent or incoming, not both")
        found["recurrent"] = incoming(settings.incoming)
    if settings.spectral_radius is not None:
        base = found.get("recurrent", given.get("recurrent"))
        found["recurrent"] = spectral_radius(settings.spectral_radius, base)
    if settings.input_scale is not None:
        if "input" in given:
            raise BadInput("give either input or input_scale, not both")
        found["input"] = normal(settings.input_scale)
    if "recurrent" in found and not cell.kind.has_recurrent_matrix:
        raise BadInput(
            f"incoming and spectral_radius need a recurrent matrix; {cell.name} has none"
        )
    for name in found:
        if not hasattr(cell.settings, name):
            raise BadInput(
                f"the cell {cell.name} has no setting {name}, which incoming, spectral_radius and "
                "input_scale need"
            )
    return {**given, **found}
