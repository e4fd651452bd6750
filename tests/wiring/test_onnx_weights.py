"""The node tests of ONNX for RNN, GRU and LSTM, and our own exports, through `from_onnx`."""

import functools
import importlib

import jax
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from ostinato import unroll
from ostinato.cells import GRU, LSTM, PeepholeLSTM, Simple
from ostinato.errors import BadInput
from ostinato.export import to_onnx
from ostinato.wiring import Bidirectional, Embedding, Network, OneHot, Readout, Stack, from_onnx

ONE, TWO, THREE = jax.random.split(jax.random.key(0), 3)


def node_tests():
    """The cases that the package `onnx` has for these operators."""
    from onnx.backend.test.case import node

    for kind in ("rnn", "gru", "lstm"):
        importlib.import_module(f"onnx.backend.test.case.node.{kind}")
    names = ("test_rnn", "test_simple_rnn", "test_gru", "test_lstm")
    return {case.name: case for case in node._NodeTestCases if case.name.startswith(names)}


CASES = node_tests()


def attributes(case):
    (node,) = case.model.graph.node
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


@pytest.mark.parametrize("name", CASES)
def test_the_node_tests_of_onnx(name):
    case = CASES[name]
    ((inputs, outputs),) = case.data_sets
    names = [x.name for x in case.model.graph.input]
    given = dict(zip(names, inputs, strict=True))
    xs, lengths = given.pop("X"), given.pop("sequence_lens", None)
    model = case.model.SerializeToString()
    network, state, reverse = from_onnx(model, given)
    first_batch = attributes(case).get("layout", 0)
    xs = xs.swapaxes(0, 1) if first_batch else xs
    ys, final = unroll(network, xs, state, reverse=reverse, lengths=lengths)
    ways = 2 if attributes(case).get("direction") == b"bidirectional" else 1
    ys = np.asarray(ys).reshape(*ys.shape[:2], ways, -1)  # time, batch, directions, units
    leaves = jax.tree.leaves(final)
    per_way = len(leaves) // ways
    hs, cs = (np.stack([leaves[n * per_way + k] for n in range(ways)]) for k in (0, per_way - 1))
    if first_batch:
        ys, hs = ys.swapaxes(0, 1), hs.swapaxes(0, 1)
    else:
        ys = ys.transpose(0, 2, 1, 3)
    expected = dict(zip([x.name for x in case.model.graph.output], outputs, strict=True))
    assert {*expected} <= {"Y", "Y_h", "Y_c"} and expected
    for name, made in {"Y": ys, "Y_h": hs, "Y_c": cs}.items():
        if name in expected:
            np.testing.assert_allclose(made, expected[name], rtol=1e-5, atol=1e-6)


def test_all_kinds_of_node_tests_are_there():
    assert len(CASES) >= 18
    ways = [attributes(case).get("direction", b"forward") for case in CASES.values()]
    assert {*ways} == {b"forward", b"reverse", b"bidirectional"}
    assert any(attributes(case).get("layout") for case in CASES.values())
    assert any("P" in [x.name for x in case.model.graph.input] for case in CASES.values())


NETWORKS = {
    "stack": lambda: Stack([LSTM(3, 4, key=ONE), GRU(4, 2, key=TWO)]),
    "relu": lambda: Simple(3, 4, key=ONE, f="relu"),
    "identity": lambda: Simple(3, 4, key=ONE, f="identity"),
    "reset after": lambda: GRU(3, 4, key=ONE, reset="after"),
    "both ways": lambda: Stack(
        [
            Bidirectional(PeepholeLSTM(3, 2, key=ONE), PeepholeLSTM(3, 2, key=TWO)),
            GRU(4, 2, key=THREE),
        ]
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_what_we_export_comes_back(name):
    network = NETWORKS[name]()
    with jax.enable_x64(False):
        again = from_onnx(to_onnx(network))
    assert again.state is None and not again.reverse
    pairs = zip(jax.tree.leaves(again.network), jax.tree.leaves(network), strict=True)
    assert all(np.array_equal(one, np.asarray(other, np.float32)) for one, other in pairs)


WHOLE = {
    "a readout": lambda: Network(LSTM(3, 4, key=ONE), Readout(4, 2, key=TWO)),
    "one-hot symbols": lambda: Network(
        Stack([LSTM(5, 4, key=ONE), GRU(4, 4, key=TWO)]),
        Readout(4, 2, key=THREE, bias=False), OneHot(5),
    ),
    "embedded symbols": lambda: Network(
        Bidirectional(GRU(3, 4, key=ONE), GRU(3, 4, key=TWO)), Readout(8, 5, key=THREE),
        Embedding(5, 3, key=THREE),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_network_comes_back(name):
    network = WHOLE[name]()
    rng = np.random.default_rng(0)
    xs = rng.integers(0, 5, (6, 2)) if network.input_axes == 0 else rng.normal(size=(6, 2, 3))
    with jax.enable_x64(False):
        again = from_onnx(to_onnx(network)).network
        xs = jax.numpy.asarray(xs)
        np.testing.assert_allclose(
            unroll(again, xs)[0], unroll(network, xs)[0], rtol=1e-5, atol=1e-6
        )


@functools.cache
def with_readout():
    with jax.enable_x64(False):
        network = WHOLE["a readout"]()
        return network, to_onnx(network)


def of_others(change):
    """A model of another producer: the LSTM of ours, then what `change` makes of its nodes."""
    model = onnx.load_from_string(with_readout()[1])
    model.producer_name = "another"
    (product,) = [x for x in model.graph.node if x.op_type == "MatMul"]
    (add,) = [x for x in model.graph.node if x.op_type == "Add"]
    change(model.graph, product, add)
    return model.SerializeToString()


def to_gemm(graph, product, add, **how):
    graph.node.remove(product)
    gemm = helper.make_node("Gemm", [*product.input, add.input[1]], [add.output[0]], **how)
    place = [*graph.node].index(add)
    graph.node.remove(add)
    graph.node.insert(place, gemm)


def test_a_gemm_is_a_readout():
    network = from_onnx(of_others(to_gemm)).network
    expected = with_readout()[0].readout
    np.testing.assert_array_equal(network.readout.V, expected.V)
    np.testing.assert_array_equal(network.readout.b, expected.b)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda graph, product, add: to_gemm(graph, product, add, alpha=2.0), "alpha or a beta"),
        (lambda graph, product, add: to_gemm(graph, product, add, transB=1), "has weights of the"),
        (lambda graph, product, add: graph.node.append(product), "the operation MatMul"),
        (lambda graph, product, add: setattr(product, "op_type", "Einsum"), "operation Einsum"),
        (lambda graph, product, add: setattr(add, "op_type", "Mul"), "the operation Mul"),
        (lambda graph, product, add: product.input.__setitem__(1, add.input[1]), "has weights of"),
        (lambda graph, product, add: product.input.reverse(), "the operation MatMul"),
    ],
)
def test_another_layer_at_the_top_is_refused(change, words):
    with pytest.raises(BadInput, match=words) as error:
        from_onnx(of_others(change))
    assert "\n" not in str(error.value)


def model(kind="LSTM", inputs=3, units=2, nodes=(), **changes):
    """A model of one operator, whose parts can be changed."""
    blocks = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
    weights = {"W": np.ones((1, blocks * units, inputs)), "R": np.ones((1, blocks * units, units))}
    weights |= {name: changes.pop(name) for name in ("W", "R", "B", "h") if name in changes}
    own = helper.make_node(
        kind, ["X", *(x if x in weights else "" for x in ("W", "R", "B"))], ["Y"]
    )
    own.attribute.extend(helper.make_attribute(*pair) for pair in changes.items())
    tensors = [numpy_helper.from_array(x.astype(np.float32), n) for n, x in weights.items()]
    value = helper.make_tensor_value_info("X", onnx.TensorProto.FLOAT, [None, None, inputs])
    out = helper.make_tensor_value_info("Y", onnx.TensorProto.FLOAT, None)
    return helper.make_model(
        helper.make_graph([own, *nodes], "g", [value], [out], tensors)
    ).SerializeToString()


WRONG = {
    "clip": (lambda: model(clip=3.0), "has clip"),
    "input forget": (lambda: model(input_forget=1), "input_forget"),
    "activations": (lambda: model(activations=["Sigmoid", "Relu", "Tanh"]), "relu.* not read"),
    "no activation of ours": (lambda: model("RNN", activations=["Elu"]), "activations elu"),
    "shape of W": (lambda: model(W=np.ones((1, 7, 3))), r"W of a LSTM has the shape \(1, 8, 3\)"),
    "shape of R": (lambda: model(R=np.ones((1, 8, 5))), "has the shape"),
    "units": (lambda: model(hidden_size=5), "has the shape"),
    "shape of B": (lambda: model(B=np.ones((1, 9))), "B of a LSTM"),
    "directions": (lambda: model(direction="bidirectional"), r"\(2, 8, 3\)"),
    "not finite": (lambda: model(W=np.full((1, 8, 3), np.nan)), "W must be finite"),
    "another operation": (
        lambda: model(nodes=[helper.make_node("Relu", ["Y"], ["Z"])]),
        "the operation Relu",
    ),
    "transposed": (
        lambda: model(nodes=[helper.make_node("Transpose", ["Y"], ["Z"], perm=[3, 2, 1, 0])]),
        r"transposes by \[3, 2, 1, 0\]",
    ),
    "no operator": (lambda: to_onnx(Simple(3, 4, key=ONE, f="step")), "the operation Shape"),
    "nothing": (lambda: b"", "no RNN, GRU or LSTM"),
    "text": (lambda: b"Once upon a time", "damaged or no ONNX model"),
    "a zip": (lambda: b"PK\x03\x04" + bytes(50), "damaged or no ONNX model"),
    "weights that are inputs": (lambda: CASES["test_lstm_defaults"].model.SerializeToString(), "W"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_not_read_is_refused(what):
    make, message = WRONG[what]
    with pytest.raises(BadInput, match=message) as error:
        from_onnx(make())
    assert "\n" not in str(error.value)


def test_a_model_of_torch_is_refused_with_what_to_do_instead():
    """Its exporter computes the initial state from the shape of the input."""
    written = onnx.load_from_string(model())
    written.graph.node.insert(0, helper.make_node("Shape", ["X"], ["shape"]))
    written.producer_name = "pytorch"
    with pytest.raises(BadInput, match=r"operation Shape; models that torch\.onnx\.export") as no:
        from_onnx(written.SerializeToString())
    assert str(no.value).endswith("or its state dict, to ostinato.wiring.from_torch")
    assert "torch.onnx.export" in from_onnx.__doc__


def test_a_damaged_file_is_refused_in_one_line(tmp_path):
    """Cut off or with wrong bytes it is refused, or it is a model with other numbers."""
    whole = model("GRU")
    rng = np.random.default_rng(0)
    refused = 0
    for n in range(60):
        raw = bytearray(whole)
        if n % 2:
            raw = raw[: rng.integers(1, len(raw))]
        else:
            for place in rng.integers(0, len(raw), 3):
                raw[place] = rng.integers(0, 256)
        try:
            from_onnx(bytes(raw))
        except BadInput as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 30
    with pytest.raises(BadInput, match="cannot be read"):
        from_onnx(tmp_path / "none.onnx")
    with pytest.raises(BadInput, match=r"x\.onnx: it has the operation"):
        (tmp_path / "x.onnx").write_bytes(to_onnx(Simple(3, 4, key=ONE, f="step")))
        from_onnx(tmp_path / "x.onnx")
