"""Networks to and from the JSON of RTNeural, which audio plug-ins load.

    {"in_shape": [null, null, 1],
     "layers": [{"type": "lstm", "activation": "", "shape": [null, null, 16],
                 "weights": [kernel, recurrent kernel, bias]},
                {"type": "dense", "activation": "", "shape": [null, null, 1],
                 "weights": [kernel, bias]}]}

Weights are laid out as in Keras: kernels `(inputs, blocks * units)`, with the blocks i, f, g, o of
an LSTM and z, r, n of a GRU, whose reset gate acts after the product and whose bias is
`(2, 3 * units)`.

Source: RTNeural, `model_loader.h` and `python/model_utils.py` (Chowdhury, 2021).
"""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Model
from ..cells.operator import BLOCKS, Operator, blocks_of, side_by_side
from ..errors import BadInput
from ..files import read_json
from ..settings import shown
from ..through_time import unroll
from .network import Readout
from .operators import network_of, operators_of, readout_of

KINDS = ("lstm", "gru")
DENSE = ("dense", "time-distributed-dense")
LARGEST = 1 << 28  # bytes of a file
CHECKED = 32  # steps over which what is exported is compared with the network


def to_rtneural(network: Model) -> dict[str, Any]:
    """A network as RTNeural reads it, as plain JSON.

    Args:
        network: reads vectors; one or more layers of `LSTM`, or of `GRU` with `reset="after"`, and
            perhaps a readout.

    Example:
        >>> from ostinato.cells import LSTM
        >>> made = to_rtneural(LSTM(1, 8, key=jax.random.key(0)))
        >>> [(layer["type"], layer["shape"][-1]) for layer in made["layers"]]
        [('lstm', 8)]
    """
    network = eqx.nn.inference_mode(network)
    encoding, cell, readout = network.parts()
    if cell is None:
        raise BadInput(f"RTNeural has no layers for {type(network).__name__}")
    if encoding is not None:
        raise BadInput("RTNeural reads numbers; this network reads symbols")
    layers = [_recurrent(row, type(cell).__name__) for row in operators_of(cell) or [[]]]
    if readout is not None:
        if not isinstance(readout, Readout):
            raise BadInput(f"RTNeural has no readout like {type(readout).__name__}")
        bias = jnp.zeros(readout.V.shape[1]) if readout.b is None else readout.b
        layers.append(_layer("dense", readout.V.shape[1], [readout.V, bias]))
    inputs = len(layers[0]["weights"][0])
    made = {"in_shape": [None, None, inputs], "layers": layers}
    _check_same(network, from_rtneural(made), inputs)
    return made


def _recurrent(row: list[Operator], name: str) -> dict[str, Any]:
    """The layer of one operator; refuses what RTNeural does not have."""
    if not row:
        raise BadInput(f"RTNeural has LSTM, GRU and dense layers, and no {name}")
    if len(row) > 1:
        raise BadInput("RTNeural reads one sample after another; this network reads both ways")
    (one,) = row
    if one.kind not in KINDS or one.p is not None:
        what = "peepholes" if one.p is not None else f"layer like {name}"
        raise BadInput(f"RTNeural has LSTM, GRU and dense layers, and no {what}")
    if one.kind == "gru" and one.reset != "after":
        raise BadInput("RTNeural's GRU resets after the product; train with --reset after")
    bias = side_by_side(one.b + one.d)
    if one.kind == "gru":
        bias = jnp.stack([side_by_side(one.b), side_by_side(one.d)])
    return _layer(one.kind, one.units, [side_by_side(one.W), side_by_side(one.R), bias])


def _layer(kind: str, size: int, weights: list[Any]) -> dict[str, Any]:
    return {
        "type": kind,
        "activation": "",
        "shape": [None, None, size],
        "weights": [np.asarray(x, float).tolist() for x in weights],
    }


def _check_same(network: Model, again: Any, inputs: int) -> None:
    """Refuse a network that does more than its layers say, such as one that reads its outputs."""
    xs = np.random.default_rng(0).normal(size=(CHECKED, 1, inputs)).astype(np.float32)
    try:
        one, two = (np.asarray(unroll(net.as_layer(), xs)[0]) for net in (network, again))
        same = one.shape == two.shape and np.allclose(one, two, rtol=1e-3, atol=1e-3)
    except BadInput:  # it reads more than its cell does
        same = False
    if not same:
        raise BadInput(f"RTNeural's layers do not do what {type(network).__name__} does")


def from_rtneural(given: str | Path | Mapping[str, Any]) -> Any:
    """The network of a JSON file of RTNeural: LSTM and GRU layers, then at most one dense layer.

    Args:
        given: the file, or what is in it.

    Returns:
        A `Network` if there is a dense layer, else a cell, or a `Stack` of them.

    Example:
        >>> from ostinato.cells import GRU
        >>> made = to_rtneural(GRU(1, 8, key=jax.random.key(0), reset="after"))
        >>> type(from_rtneural(made)).__name__
        'GRU'
    """
    where = "the network"
    if not isinstance(given, Mapping):
        where = str(given)
        try:
            given = read_json(given, LARGEST)
        except OSError as error:
            raise BadInput(f"{where} cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise BadInput(f"{where} is not JSON: {error}") from None
    try:
        return _network(given)
    except BadInput as error:
        raise BadInput(f"{where} is not a network of RTNeural that can be read: {error}") from None


def _network(given: Any) -> Any:
    if not isinstance(given, Mapping) or not isinstance(given.get("layers"), list):
        raise BadInput("it has no list of layers")
    size = _last(given.get("in_shape"), "in_shape")
    rows: list[list[Operator]] = []
    readout: Readout | None = None
    for number, layer in enumerate(given["layers"]):
        kind = layer.get("type") if isinstance(layer, Mapping) else None
        if readout is not None:
            raise BadInput(f"layer {number} comes after the dense one")
        if kind not in (*KINDS, *DENSE):
            raise BadInput(f"layer {number} is {shown(kind)}, and neither lstm, gru nor dense")
        units, weights = (
            _last(layer.get("shape"), f"the shape of layer {number}"),
            layer.get("weights"),
        )
        if kind in DENSE:
            if not rows or layer.get("activation"):
                what = "comes first" if not rows else f"has the activation {layer['activation']}"
                raise BadInput(f"the dense layer {number} {what}")
            readout = readout_of(*_arrays(weights, [(size, units), (units,)], number))
            continue
        count = BLOCKS[kind]
        wide, bias = count * units, ((2, 3 * units) if kind == "gru" else (4 * units,))
        W, R, b = _arrays(weights, [(size, wide), (units, wide), bias], number)
        one, two = b if kind == "gru" else (b, jnp.zeros_like(b))
        W, R, one, two = (blocks_of(x, count) for x in (W, R, one, two))
        rows.append([Operator(kind, W, R, one, two)])
        size = units
    if not rows:
        raise BadInput("it has no lstm or gru layer")
    if given.get("in_skip"):
        words = "the plug-in adds the input to what this network gives (in_skip)"
        warnings.warn(words, RuntimeWarning, stacklevel=4)
    return network_of(rows, readout)


def _last(shape: Any, what: str) -> int:
    """The last number of a shape, which is that of the channels."""
    if not isinstance(shape, list) or not shape or type(shape[-1]) is not int or shape[-1] < 1:
        raise BadInput(f"{what} does not end with a number of channels, got {shown(shape)}")
    return shape[-1]


def _arrays(weights: Any, shapes: list[tuple[int, ...]], number: int) -> list[jax.Array]:
    """The weights of a layer, each of its shape and finite."""
    if not isinstance(weights, list) or len(weights) != len(shapes):
        raise BadInput(f"layer {number} must have {len(shapes)} arrays of weights")
    made = []
    for array, shape in zip(weights, shapes, strict=True):
        try:
            numbers = np.array(array, np.float32)
        except (TypeError, ValueError):
            numbers = np.zeros(0, np.float32)
        if numbers.shape != shape or not np.isfinite(numbers).all():
            raise BadInput(
                f"layer {number} must have finite weights of shape {shape}, got {numbers.shape}"
            )
        made.append(jnp.asarray(numbers))
    return made
