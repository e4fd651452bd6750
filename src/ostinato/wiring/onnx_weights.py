"""Networks from the operators RNN, GRU and LSTM of ONNX, with what stands below and above them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Layer
from ..cells.operator import BLOCKS, Operator
from ..errors import BadInput, needing
from .encodings import Embedding, OneHot
from .network import Readout
from .operators import embedding_of, network_of, reading, readout_of

# The blocks of ONNX in the order of `Operator`: of an LSTM i, f, g, o from i, o, f, g.
_ORDER = {"rnn": (0,), "lstm": (0, 2, 3, 1), "gru": (0, 1, 2)}
_PEEPHOLES = (0, 2, 1)
_FUNCTIONS = {"rnn": ["tanh"], "lstm": ["sigmoid", "tanh", "tanh"], "gru": ["sigmoid", "tanh"]}
_OURS = {"tanh": "tanh", "sigmoid": "sigmoid", "relu": "relu", "affine": "identity"}
_MOVES = ("Squeeze", "Transpose", "Reshape", "Identity", "Dropout")
_INDEXING = ("Less", "Add", "Where", "Clip")
_SWAPS = ([0, 2, 1, 3], [1, 0, 2])  # transpositions between one layer and the next


class Imported(NamedTuple):
    """`unroll(network, xs, state, reverse=reverse)` computes what the model does.

    Attributes:
        network: its layers.
        state: the initial state in the model, or `None` if it begins with zeros.
        reverse: whether all layers read from the last step to the first.
    """

    network: Layer
    state: Any
    reverse: bool


def from_onnx(
    source: str | Path | bytes, values: Mapping[str, np.ndarray] | None = None
) -> Imported:
    """The network of an ONNX model of RNN, GRU and LSTM operators, one above the other.

    Peepholes, both directions and both places of the reset (`linear_before_reset`) are read; so are
    a table of symbols (`Gather`, `OneHot`) below them and one dense layer (`Gemm`, or `MatMul` and
    `Add`) above. Between them there may be what only moves numbers: `Squeeze`, `Transpose`,
    `Reshape`. All else is refused with its name. What `to_onnx` writes of such a network is read
    back as a whole. Time comes first here, whatever `layout` says, and `sequence_lens` are the
    `lengths` of `unroll`.

    Models that `torch.onnx.export` writes are not read yet. They compute the initial state from the
    shape of the input and, for several layers, slice and join states (`Shape`, `Expand`, `Slice`,
    `Concat`). Only a single layer whose initial state is an input has none of these. Import the
    module itself with `from_torch`.

    Args:
        source: a file, or its bytes.
        values: arrays for inputs of the model that are weights or initial states, by name.

    Example:
        >>> network, state, reverse = from_onnx("model.onnx")  # doctest: +SKIP
    """
    name = "the model" if isinstance(source, bytes) else str(source)
    try:
        raw = source if isinstance(source, bytes) else Path(source).read_bytes()
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}") from None
    with needing("an ONNX model", "onnx", "onnx"):
        import onnx
    with reading(name, "ONNX model"):
        return _Reader(onnx, onnx.load_from_string(raw), dict(values or {})).read()


class _Row(NamedTuple):
    operators: list[Operator]
    states: list[np.ndarray | None]  # h, and of an LSTM c, each (directions, batch, units)
    reverse: bool


class _Reader:
    def __init__(self, onnx: Any, model: Any, values: dict[str, np.ndarray]):
        self.onnx, self.graph, self.values = onnx, model.graph, values
        self.producer = model.producer_name
        self.own = self.producer == "ostinato"
        self.encoding: Embedding | OneHot | None = None
        self.dense: list[np.ndarray] = []  # the matrix of the dense layer, and its bias
        for tensor in model.graph.initializer:
            self.values[tensor.name] = self._array(tensor)

    def _array(self, tensor: Any) -> np.ndarray:
        if tensor.data_location == self.onnx.TensorProto.EXTERNAL:
            raise BadInput(f"{tensor.name} is in another file; save the model as one")
        return self.onnx.numpy_helper.to_array(tensor)

    def read(self) -> Imported:
        rows: list[_Row] = []
        given = [x.name for x in self.graph.input if x.name not in self.values]
        flowing, side = {*given}, set[str]()  # what the next layer may read; states
        for node in self.graph.node:
            kind = node.op_type
            reads = [x for x in node.input if x and x not in self.values]
            if kind == "Constant" and node.attribute[0].name == "value":
                self.values[node.output[0]] = self._array(node.attribute[0].t)
            elif kind in ("RNN", "GRU", "LSTM"):
                if node.input[0] not in flowing or self.dense:
                    raise BadInput(
                        f"the {kind} {node.name} reads something else than the layer below"
                    )
                rows.append(self._row(node, {*given}))
                flowing = {node.output[0]}
                side |= {*node.output[1:]} - {""}
            elif kind in _MOVES and node.input and node.input[0] in flowing:
                self._check_move(node, rows)
                flowing.add(node.output[0])
            elif not rows and reads and {*reads} <= flowing and self._encodes(node):
                flowing = {*node.output} if self.encoding is not None else flowing | {*node.output}
            elif rows and {*reads} <= flowing and self._reads_out(node):
                flowing = {node.output[0]}
            elif reads and {*reads} <= side:
                side |= {*node.output}
            else:
                if self.producer == "pytorch":
                    raise BadInput(
                        f"it has the operation {kind}; models that torch.onnx.export writes are "
                        "not read yet: give the module itself, or its state dict, to "
                        "ostinato.wiring.from_torch"
                    )
                raise BadInput(
                    f"it has the operation {kind}; those that are read are RNN, GRU, LSTM, between "
                    f"them {', '.join(_MOVES)}, below them Gather or OneHot, and above them one "
                    "Gemm, or MatMul and Add"
                )
        if not rows:
            raise BadInput("it has no RNN, GRU or LSTM")
        ways = {row.reverse for row in rows}
        if len(ways) > 1:
            raise BadInput("some of its layers read forwards, others backwards")
        below, inputs = self.encoding, rows[0].operators[0].W.shape[1]
        if below is not None and below.size != inputs:
            raise BadInput(f"its symbols are {below.size} numbers, the layer above reads {inputs}")
        readout = self._readout(sum(one.units for one in rows[-1].operators))
        network = network_of([row.operators for row in rows], readout, below)
        return Imported(network, _state(network, rows), ways.pop())

    def _encodes(self, node: Any) -> bool:
        """Whether a node is a part of how symbols become vectors, and if so note it."""
        kind, constants = node.op_type, [self.values.get(x) for x in node.input]
        if kind == "Cast" or (kind in _INDEXING and self.own):
            return True  # to another type; ours also counts from the end, and keeps within a table
        if self.encoding is not None:
            return False
        known = {a.name: self.onnx.helper.get_attribute_value(a) for a in node.attribute}
        if kind == "Gather" and constants[0] is not None and known.get("axis", 0) == 0:
            self.encoding = embedding_of(self._value(node.input[0]))
        elif kind == "OneHot" and all(x in self.values for x in node.input[1:]):
            depth, values = (self.values[x].ravel() for x in node.input[1:])
            if known.get("axis", -1) != -1 or values.tolist() != [0, 1]:
                raise BadInput("its OneHot is not of zeros and a one along the last axis")
            self.encoding = OneHot(int(depth[0]))
        elif kind == "Equal" and self.own and constants[1] is not None:
            self.encoding = OneHot(len(constants[1]))
        return self.encoding is not None

    def _reads_out(self, node: Any) -> bool:
        """Whether a node is a part of the dense layer at the top, and if so note it."""
        known = {a.name: self.onnx.helper.get_attribute_value(a) for a in node.attribute}
        kind, names = node.op_type, [x for x in node.input if x in self.values]
        if kind == "Gemm" and not self.dense and names == [*node.input[1:]]:
            if known.get("alpha", 1.0) != 1.0 or known.get("beta", 1.0) != 1.0:
                raise BadInput("its Gemm has an alpha or a beta, which are not read")
            V, *b = map(self._value, names)
            self.dense = [V.T if known.get("transB") else V, *b]
        elif kind == "MatMul" and not self.dense and names == [*node.input[1:]]:
            self.dense = [self._value(names[0])]
        elif kind == "Add" and len(self.dense) == 1 and len(names) == 1:
            self.dense.append(self._value(names[0]))
        else:
            return False
        return True

    def _readout(self, units: int) -> Readout | None:
        if not self.dense:
            return None
        V, *b = self.dense
        if V.ndim != 2 or len(V) != units or any(x.shape != (V.shape[1],) for x in b):
            shapes = " and ".join(str(x.shape) for x in self.dense)
            raise BadInput(f"its dense layer of {units} inputs has weights of the shape {shapes}")
        return readout_of(V, *b)

    def _check_move(self, node: Any, rows: list[_Row]) -> None:
        """Refuse another order of axes than time, batch, directions and units."""
        perm = next((list(a.ints) for a in node.attribute if a.name == "perm"), None)
        if node.op_type == "Transpose" and perm not in _SWAPS:
            raise BadInput(f"it transposes by {perm}, which is not read")

    def _row(self, node: Any, given: set[str]) -> _Row:
        kind = node.op_type.lower()
        known = {a.name: self.onnx.helper.get_attribute_value(a) for a in node.attribute}
        direction = known.get("direction", b"forward").decode()
        ways = 2 if direction == "bidirectional" else 1
        if "clip" in known or known.get("input_forget"):
            what = "clip" if "clip" in known else "input_forget"
            raise BadInput(f"the {node.op_type} has {what}, which is not read")
        inputs = [*node.input, *[""] * 8][:8]
        _, w, r, b, lengths, h, c, p = inputs
        if lengths and lengths not in given:
            raise BadInput("its sequence_lens are constants; give lengths to unroll instead")
        W, R = self._value(w), self._value(r)
        count, units = BLOCKS[kind], int(known.get("hidden_size") or R.shape[-1])
        rows, inputs_ = count * units, W.shape[-1]
        B = self._value(b) if b else np.zeros((ways, 2 * rows), np.float32)
        P = self._value(p) if p else None
        shapes = [(ways, rows, inputs_), (ways, rows, units), (ways, 2 * rows), (ways, 3 * units)]
        for what, x, shape in zip("WRBP", (W, R, B, P), shapes, strict=True):
            if x is not None and x.shape != shape:
                raise BadInput(f"{what} of a {node.op_type} has the shape {shape}, got {x.shape}")
        functions = self._functions(known, kind, ways)
        reset = "after" if known.get("linear_before_reset") else "before"
        order, operators = [*_ORDER[kind]], []
        for way in range(ways):
            A, C = (x[way].reshape(count, units, -1)[order].swapaxes(1, 2) for x in (W, R))
            b_, d = (x.reshape(count, units)[order] for x in np.split(B[way], 2))
            peeps = None if P is None else P[way].reshape(3, units)[[*_PEEPHOLES]]
            A, C, b_, d, peeps = jax.tree.map(jnp.asarray, (A, C, b_, d, peeps))
            operators.append(Operator(kind, A, C, b_, d, peeps, functions[way], reset))
        names = (h, c) if kind == "lstm" else (h,)
        states = [self._start(name, known) if name else None for name in names]
        return _Row(operators, states, direction == "reverse")

    def _value(self, name: str) -> np.ndarray:
        if name not in self.values:
            raise BadInput(f"it is given {name} when it runs; give its value")
        array = np.asarray(self.values[name])
        if array.dtype.kind != "f" or not np.isfinite(array).all():
            raise BadInput(f"{name} must be finite numbers")
        return array

    def _start(self, name: str, known: Mapping[str, Any]) -> np.ndarray:
        array = self._value(name)
        return array.swapaxes(0, 1) if known.get("layout") else array

    def _functions(self, known: Mapping[str, Any], kind: str, ways: int) -> list[str]:
        """The activation of each direction; those of an LSTM and a GRU are what they always are."""
        usual = _FUNCTIONS[kind] * ways
        names = [x.decode().lower() for x in known.get("activations", [])] or usual
        alphas = known.get("activation_alpha", [1.0] * ways)
        betas = known.get("activation_beta", [0.0] * ways)
        slopes = {*alphas, *betas} - {1.0, 0.0} if "affine" in names else set()
        if (names != usual if kind != "rnn" else any(x not in _OURS for x in names)) or slopes:
            raise BadInput(f"its activations {', '.join(names)} are not read")
        return [_OURS[x] for x in names] if kind == "rnn" else ["tanh"] * ways


def _state(network: Layer, rows: list[_Row]) -> Any:
    """The initial state that the operators have; zeros where they have none."""
    batches = {x.shape[1] for row in rows for x in row.states if x is not None}
    if not batches:
        return None
    zeros = network.initial((batches.pop(),))
    leaves, structure = jax.tree.flatten(zeros)
    given = iter(range(len(leaves)))
    for row in rows:
        for way in range(len(row.operators)):
            for first in row.states:
                place = next(given)
                if first is not None:
                    leaves[place] = jnp.asarray(first[way])
    return jax.tree.unflatten(structure, leaves)
