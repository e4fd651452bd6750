"""A network as ONNX: one step with its state, and a whole sequence, both for any batch.

A cell that ONNX has as an operator (RNN, LSTM also with peepholes, GRU, of one or both directions)
is that operator in the sequence. Any other is a `Scan` over its traced step.
"""

import functools
import json
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..cells import Layer, Model
from ..cells.operator import Operator
from ..errors import BadInput, needing
from ..wiring.operators import operators_of
from ..wiring.program import Equation, Part, Program, trace, trace_sequence
from .loops import unknown
from .primitives import PRIMITIVES, X, Y
from .tensors import Writer, typed, write

OPSET = 18
LIMIT = 2**31  # bytes of a file of protocol buffers
ACTIVATIONS = {"tanh": "Tanh", "sigmoid": "Sigmoid", "relu": "Relu", "identity": "Affine"}
# The blocks of an `Operator` in ONNX's order, and the peepholes i, f, o.
BLOCKS = {"rnn": (0,), "lstm": (0, 3, 1, 2), "gru": (0, 1, 2)}
PEEPHOLES = (0, 2, 1)


def onnx_package() -> Any:
    with needing("ONNX", "onnx", "onnx"):
        import onnx
    return onnx


def to_onnx(
    network: Model,
    inputs: int | None = None,
    *,
    step: bool = False,
    about: Mapping[str, str] | None = None,
) -> bytes:
    """A network as an ONNX model.

    A sequence has the input `x` `(time, batch, inputs)`, or symbols `(time, batch)`. Its outputs
    are `next_state_0` and so on, the arrays of the state after the last step, and then `y` `(time,
    batch, outputs)`. A step has the inputs `state_0` and so on, and then `x` `(batch, inputs)`; its
    outputs are `next_state_0` and so on, and then `y`. Its metadata `start` has the first state of
    one sequence as JSON.

    Args:
        network: what is exported; one without a step only as a sequence.
        inputs: the size of an input vector, for a network that does not know it.
        step: one step in place of a sequence.
        about: what is put into the metadata.

    Example:
        >>> from ostinato.cells import LSTM
        >>> model = to_onnx(LSTM(3, 16, key=jax.random.key(0)))
        >>> nodes = onnx_package().load_from_string(model).graph.node
        >>> [node.op_type for node in nodes]
        ['LSTM', 'Squeeze', 'Squeeze', 'Squeeze', 'Identity', 'Identity', 'Identity']
    """
    kept = dict(about or {})
    if step:
        program = trace(network, inputs)
        kept["start"] = json.dumps([x.tolist() for x in program.start])
        return _model(_Graph(1), program, ["batch"], kept)
    program, parts = trace_sequence(network, inputs, _is_operator)
    return _model(_Graph(2, parts), program, ["time", "batch"], kept)


def _is_operator(layer: Layer) -> bool:
    return _row(eqx.filter_eval_shape(lambda: layer.operators())) is not None


def _row(rows: list[list[Operator]] | None) -> list[Operator] | None:
    """One operator, or both directions of one, if a layer has such rows and ONNX has it."""
    if rows is None or len(rows) > 1:
        return None
    kinds = {(one.kind, one.units, one.f, one.reset, one.p is None) for one in rows[0]}
    return rows[0] if len(kinds) == 1 and rows[0][0].f in ACTIVATIONS else None


class _Graph(Writer):
    """Nodes as they are written; constants are those of the outermost graph."""

    def __init__(self, lead: int, parts: list[Part] | None = None, within: "_Graph | None" = None):
        self.onnx = onnx_package()
        self.lead, self.parts = lead, parts or []
        self.nodes: list[Any] = []
        self.constants: list[Any] = [] if within is None else within.constants
        self.names: _Graph = self if within is None else within.names
        self.count = 0
        self.x = ""

    def named(self) -> str:
        self.names.count += 1
        return f"v{self.names.count}"

    def node(self, operation: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [self.named() for _ in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(operation, [*inputs], names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value: Any) -> str:
        name = self.named()
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def whole(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def spread(self, x: str, shape: tuple[int, ...]) -> str:
        free = self.node("Shape", self.x, start=0, end=self.lead)
        return self.node("Expand", x, self.node("Concat", free, self.whole(*shape), axis=0))

    def apply(self, equation: Equation, given: list[str], kind: str) -> str:
        name, params = equation.primitive, equation.params
        if name == "convert_element_type":
            return self.node("Cast", given[0], to=self.type(np.dtype(params["new_dtype"])))
        if name == "select_n" and len(given) == 3:
            return self.node("Where", given[0], given[2], given[1])
        if name == "integer_pow" and kind == "i" and params["y"] > 0:  # Pow does not wrap around
            return functools.reduce(lambda x, y: self.node("Mul", x, y), [given[0]] * params["y"])
        if name == "integer_pow":
            return self.node("Pow", given[0], self.number(params["y"]))
        if name not in PRIMITIVES:
            raise unknown(name)
        operation, *inputs = PRIMITIVES[name].onnx
        bits = kind != "b" and name in ("and", "or", "xor")
        known = dict(zip((X, Y), given, strict=False))
        return self.written((f"{'Bitwise' * bits}{operation}", *inputs), known)

    def written(self, function: Any, known: Mapping[Any, str]) -> str:
        """The nodes of a function in the form of `primitives.py`, of inputs that are known."""
        if isinstance(function, int):
            return self.number(function)
        if function in known:
            return known[function]
        operation, *inputs = function
        return self.node(operation, *(self.written(x, known) for x in inputs))

    def number(self, value: float) -> str:
        return self.constant(np.float32(value))

    def product(self, x: str, matrix: str) -> str:
        return self.node("MatMul", x, matrix)

    def einsum(self, spec: str, a: str, b: str) -> str:
        return self.node("Einsum", a, b, equation=spec)

    def reshape(self, x: str, shape: tuple[int, ...]) -> str:
        return self.node("Reshape", x, self.whole(*(0,) * self.lead, *shape))

    def expand(self, x: str, shape: tuple[int, ...]) -> str:
        return self.node("Expand", x, self.whole(*(1,) * self.lead, *shape))

    def cut(self, x: str, first: int, last: int) -> str:
        return self.node("Slice", x, self.whole(first), self.whole(last), self.whole(self.lead))

    def take(self, x: str, places: np.ndarray) -> str:
        return self.node("Gather", x, self.whole(*places.tolist()), axis=self.lead)

    def reduce(self, how: str, x: str, axes: tuple[int, ...], rank: int) -> str:
        over = self.whole(*(axis + self.lead for axis in axes))
        return self.node(f"Reduce{how.title()}", x, over, keepdims=0)

    def join(self, xs: list[str], axis: int, rank: int) -> str:
        return self.node("Concat", *xs, axis=axis + self.lead)

    def lookup(self, table: str, row: str, last: int) -> str:
        bounds = (self.constant(np.int32(n)) for n in (0, last))
        return self.node("Gather", table, self.node("Clip", row, *bounds), axis=0)

    def type(self, dtype: np.dtype) -> int:
        kinds = self.onnx.TensorProto
        return {"f": kinds.FLOAT, "b": kinds.BOOL}.get(dtype.kind, kinds.INT32)

    def unroll(self, equation: Equation, x: str) -> list[str]:
        part = self.parts[equation.params["part"]]
        row = _row(operators_of(part.layer)) if part.at_rest else None
        return self.scan(part, x) if row is None else self.operator(row, part.reverse, x)

    def operator(self, row: list[Operator], reverse: bool, x: str) -> list[str]:
        """An operator of ONNX: outputs `(time, directions, batch, units)`, then its state."""
        first, both = row[0], len(row) == 2
        order = [*BLOCKS[first.kind]]
        W, R = (
            np.stack([np.concatenate([w.T for w in np.asarray(x)[order]]) for x in weights])
            for weights in zip(*((one.W, one.R) for one in row), strict=True)
        )
        biases = [[np.asarray(b)[order].ravel() for b in (one.b, one.d)] for one in row]
        B = np.stack([np.concatenate(pair) for pair in biases])
        given = [x, *map(self.constant, (W, R, B))]
        if first.p is not None:
            P = np.stack([np.asarray(one.p)[[*PEEPHOLES]].ravel() for one in row])
            given += ["", "", "", self.constant(P)]
        how: dict[str, Any] = {"hidden_size": first.units}
        how["direction"] = "bidirectional" if both else "reverse" if reverse else "forward"
        if first.kind == "gru":
            how["linear_before_reset"] = int(first.reset == "after")
        if first.kind == "rnn":
            how["activations"] = [ACTIVATIONS[first.f]] * len(row)
            if first.f == "identity":
                how |= {"activation_alpha": [1.0] * len(row), "activation_beta": [0.0] * len(row)}
        outputs = 3 if first.kind == "lstm" else 2
        y, *state = self.node(first.kind.upper(), *given, outputs=outputs, **how)
        if not both:
            y = self.node("Squeeze", y, self.whole(1))
            return [y, *(self.node("Squeeze", one, self.whole(0)) for one in state)]
        y = self.node("Transpose", y, perm=[0, 2, 1, 3])
        y = self.node("Reshape", y, self.whole(0, 0, 2 * first.units))
        ends = [
            [self.node("Gather", s, self.constant(np.int64(n)), axis=0) for s in state]
            for n in (0, 1)
        ]
        return [y, *ends[0], *ends[1]]

    def scan(self, part: Part, x: str) -> list[str]:
        """A loop over the traced step of a cell."""
        program = trace(part.layer, part.inputs)
        body = _graph(_Graph(1, within=self), program, ["batch"], f"{self.named()}_")
        batch = self.node("Shape", x, start=1, end=2)
        start = [
            self.node(
                "Expand",
                self.constant(first),
                self.node("Concat", batch, self.whole(*shape), axis=0),
            )
            for first, shape in ((typed(s), s.shape) for s in jax.tree.leaves(part.start))
        ]
        way = [int(part.reverse)]
        out = self.node(
            "Scan", *start, x, outputs=len(start) + 1, body=body, num_scan_inputs=1,
            scan_input_directions=way, scan_output_directions=way,
        )  # fmt: skip
        *state, y = out if start else [out]
        return [y, *state]


def _graph(graph: _Graph, program: Program, free: list[str], prefix: str = "") -> Any:
    """The graph of a program, all inputs and outputs of which have names with this prefix."""
    helper = graph.onnx.helper

    def value(name: str, number: int, axes: list[str], kind: int | None = None) -> Any:
        kind = graph.type(program.dtypes[number]) if kind is None else kind
        return helper.make_tensor_value_info(prefix + name, kind, [*axes, *program.shapes[number]])

    graph.x = x = f"{prefix}x"
    symbols = None if program.symbols is None else graph.onnx.TensorProto.INT64
    if symbols is not None:
        x = graph.node("Cast", x, to=graph.onnx.TensorProto.INT32)
    before = [f"state_{n}" for n in range(len(program.state))]
    state, y = write(program, graph, x, [prefix + name for name in before])
    after = [f"next_state_{n}" for n in range(len(state))]
    for word, name in zip([*state, y], [*after, "y"], strict=True):
        graph.nodes.append(helper.make_node("Identity", [word], [prefix + name]))
    batch = free[-1:]
    given = [value(name, n, batch) for name, n in zip(before, program.state, strict=True)]
    made = [value(name, n, batch) for name, n in zip(after, program.next_state, strict=True)]
    given.append(value("x", program.x, free, symbols))
    made.append(value("y", program.y, free))
    constants = [] if prefix else graph.constants
    return helper.make_graph(graph.nodes, f"{prefix}network", given, made, constants)


def _model(graph: _Graph, program: Program, free: list[str], about: Mapping[str, str]) -> bytes:
    helper = graph.onnx.helper
    model = helper.make_model(
        _graph(graph, program, free),
        producer_name="ostinato",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=8,
    )
    helper.set_model_props(model, dict(about))
    if model.ByteSize() >= LIMIT:
        raise BadInput(
            f"the model has {model.ByteSize():,} bytes, and one of ONNX at most {LIMIT:,}"
        )
    return model.SerializeToString()
