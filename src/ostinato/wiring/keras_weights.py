"""Networks from Keras: `.keras` files and the older `.h5`; nothing in them is run."""

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..cells import Layer
from ..cells.operator import BLOCKS, Operator, blocks_of
from ..errors import BadInput, needing
from .operators import embedding_of, network_of, reading, readout_of

_KINDS = {"SimpleRNN": "rnn", "LSTM": "lstm", "GRU": "gru"}
_SKIPPED = ("InputLayer", "Dropout", "SpatialDropout1D", "Activation")
_TIMES = 20  # how much larger what a file holds may be than the file
_ZIP, _HDF5 = b"PK\x03\x04", b"\x89HDF\r\n\x1a\n"


class _KerasModel(NamedTuple):
    """The layers of a file, as Keras describes them, and their weights by the name of a layer."""

    layers: list[dict[str, Any]]
    weights: Callable[[dict[str, Any], int], list[np.ndarray]]


def from_keras(path: str | Path) -> Layer:
    """The network of a Keras model of `LSTM`, `GRU` and `SimpleRNN` layers.

    They may be stacked and within `Bidirectional`; an `Embedding` may stand first and a `Dense`
    layer last, whose softmax is left out: outputs are logits. Dropout is left out. The last layer
    gives its outputs at all steps, whatever `return_sequences` says, and where sequences end is
    said by `lengths` of `unroll`, not by `mask_zero`.

    Args:
        path: a `.keras` file, or one in the older HDF5 format; what is in it decides, not its name.

    Returns:
        A cell, `Bidirectional` or a `Stack` of them; a `Network` around it if there is an
        embedding or a dense layer. Time comes first here.

    Example:
        >>> network = from_keras("model.keras")  # doctest: +SKIP
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    with reading(path, "Keras model"):
        if raw[:4] == _ZIP:
            model = _of_zip(raw)
        elif raw[:8] == _HDF5:
            model = _of_hdf5(raw)
        else:
            raise BadInput("it is no Keras model: neither a .keras file nor one of HDF5")
        return _network(model)


def _of_zip(raw: bytes) -> _KerasModel:
    archive = zipfile.ZipFile(io.BytesIO(raw))
    if not {"config.json", "model.weights.h5"} <= {*archive.namelist()}:
        raise BadInput("a .keras file has config.json and model.weights.h5, this has not")
    config = json.loads(_member(archive, "config.json", len(raw)))
    file = _opened(_member(archive, "model.weights.h5", len(raw)))
    groups = file["layers"]
    by_name = {groups[key]["vars"].attrs.get("name", key): key for key in groups}
    seen: Counter[str] = Counter()

    def weights(layer: dict[str, Any], count: int) -> list[np.ndarray]:
        kind = layer["class_name"]
        plain = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", kind).lower()
        place = plain if not seen[plain] else f"{plain}_{seen[plain]}"
        seen[plain] += 1
        group = groups[by_name.get(layer["config"]["name"], place)]
        cells = [group]
        if kind == "Bidirectional":
            cells = [group[f"{way}_layer"]["cell"] for way in ("forward", "backward")]
        elif kind in _KINDS:
            cells = [group["cell"]]
        each = count // len(cells)
        return [_numbers(cell["vars"], str(n), len(raw)) for cell in cells for n in range(each)]

    return _KerasModel(_layers(config), weights)


def _member(archive: zipfile.ZipFile, name: str, size: int) -> bytes:
    if archive.getinfo(name).file_size > _TIMES * size:
        raise BadInput(f"{name} would be {archive.getinfo(name).file_size:,} bytes when unpacked")
    return archive.read(name)


def _of_hdf5(raw: bytes) -> _KerasModel:
    file = _opened(raw)
    if "model_config" not in file.attrs or "model_weights" not in file:
        raise BadInput("the file holds weights alone; save the whole model")
    groups = file["model_weights"]

    def weights(layer: dict[str, Any], count: int) -> list[np.ndarray]:
        group = groups[layer["config"]["name"]]
        names = [x.decode() if isinstance(x, bytes) else x for x in group.attrs["weight_names"]]
        if len(names) != count:
            raise BadInput(f"a layer has {count} weights, got {len(names)}")
        return [_numbers(group, name, len(raw)) for name in names]

    return _KerasModel(_layers(json.loads(file.attrs["model_config"])), weights)


def _opened(raw: bytes) -> Any:
    with needing("a Keras model", "h5py", "keras"):
        import h5py
    return h5py.File(io.BytesIO(raw), "r")


def _numbers(group: Any, name: str, size: int) -> np.ndarray:
    """An array of the file itself: not one of another file, nor one that unpacks to far more."""
    import h5py

    at = group
    for part in name.split("/"):
        if not isinstance(at.get(part, getlink=True), h5py.HardLink):
            raise BadInput(f"the weight {name} is not in the file")
        at = at[part]
    if at.is_virtual or at.external or at.nbytes > _TIMES * size:
        raise BadInput(f"the weight {name} is not in the file")
    array = np.asarray(at, np.float32)
    if not np.isfinite(array).all():
        raise BadInput(f"the weight {name} has numbers that are not finite")
    return array


def _layers(config: dict[str, Any]) -> list[dict[str, Any]]:
    """The layers of a model, each of which reads the one before."""
    if config.get("class_name") not in ("Sequential", "Functional", "Model"):
        raise BadInput(f"the model is a {config.get('class_name')}, not Sequential or Functional")
    inner = config["config"]
    layers = inner["layers"] if isinstance(inner, dict) else inner  # of old: a list
    names = [layer["config"].get("name") for layer in layers]
    for n, layer in enumerate(layers):
        read = {x for x in _strings(layer.get("inbound_nodes", [])) if x in names}
        if n and layer.get("inbound_nodes") is not None and read != {names[n - 1]}:
            raise BadInput(f"the layer {names[n]} reads another than the one before it")
    return [layer for layer in layers if layer["class_name"] not in _SKIPPED or _acts(layer)]


def _acts(layer: dict[str, Any]) -> bool:
    return layer["class_name"] == "Activation" and layer["config"]["activation"] != "softmax"


def _strings(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    for one in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _strings(one)


def _network(model: _KerasModel) -> Layer:
    layers, encoding, readout = model.layers, None, None
    rows: list[list[Operator]] = []
    for n, layer in enumerate(layers):
        kind, config = layer["class_name"], layer["config"]
        if kind == "Embedding" and n == 0:
            (E,) = model.weights(layer, 1)
            encoding = embedding_of(E)
        elif kind == "Dense" and n == len(layers) - 1 and rows:
            if config["activation"] not in ("linear", "softmax"):
                raise BadInput(f"a dense layer is linear or softmax, got {config['activation']}")
            readout = readout_of(*model.weights(layer, 1 + config["use_bias"]))
        elif kind in _KINDS or kind == "Bidirectional":
            if readout is None and not config.get("return_sequences", True) and _after(layers, n):
                raise BadInput(f"{config['name']} gives only its last output to the layer above it")
            rows.append(_row(layer, model))
        else:
            raise BadInput(
                f"the layer {config.get('name')} is a {kind}; those that are read are LSTM, GRU, "
                "SimpleRNN, Bidirectional, an Embedding first and a Dense layer last"
            )
    if not rows:
        raise BadInput("the model has no LSTM, GRU or SimpleRNN")
    return network_of(rows, readout, encoding)


def _after(layers: list[dict[str, Any]], n: int) -> bool:
    """Whether a recurrent layer follows."""
    return any(layer["class_name"] in (*_KINDS, "Bidirectional") for layer in layers[n + 1 :])


def _row(layer: dict[str, Any], model: _KerasModel) -> list[Operator]:
    config, ways = layer["config"], [layer]
    if layer["class_name"] == "Bidirectional":
        if config.get("merge_mode") != "concat":
            raise BadInput(
                f"{config['name']} has the merge mode {config.get('merge_mode')}, not concat"
            )
        ways = [config["layer"], config.get("backward_layer") or config["layer"]]
    elif config.get("go_backwards"):
        raise BadInput(f"{config['name']} reads backwards; only Bidirectional does so here")
    each = [2 + bool(way["config"]["use_bias"]) for way in ways]
    weights = iter(model.weights(layer, sum(each)))
    return [
        _operator(way, [next(weights) for _ in range(count)])
        for way, count in zip(ways, each, strict=True)
    ]


def _operator(layer: dict[str, Any], weights: list[np.ndarray]) -> Operator:
    config, name = layer["config"], layer["config"]["name"]
    if layer["class_name"] not in _KINDS:
        raise BadInput(f"{name} is a {layer['class_name']}, not an LSTM, GRU or SimpleRNN")
    kind = _KINDS[layer["class_name"]]
    count, units, f = BLOCKS[kind], config["units"], config["activation"]
    after = kind == "gru" and config.get("reset_after", False)
    functions = {"tanh", "relu", "sigmoid", "linear"} if kind == "rnn" else {"tanh"}
    squash = config.get("recurrent_activation", "sigmoid")
    if f not in functions or squash != "sigmoid":
        raise BadInput(f"{name} has the activations {f} and {squash}, which are not read")
    W, R = weights[:2]
    b = weights[2] if len(weights) > 2 else np.zeros((2, count * units) if after else count * units)
    bias = (2, count * units) if after else (count * units,)
    for x, shape in ((W, (len(W), count * units)), (R, (units, count * units)), (b, bias)):
        if x.shape != shape:
            raise BadInput(f"{name} of {units} units needs a weight of {shape}, got {x.shape}")
    b, d = b if after else (b, np.zeros_like(b))
    f, reset = "identity" if f == "linear" else f, "after" if after else "before"
    A, B, p, q = (blocks_of(np.asarray(x, np.float32), count) for x in (W, R, b, d))
    return Operator(kind, A, B, p, q, f=f, reset=reset)
