"""The JSON of RTNeural, beside an interpreter of its published equations in NumPy."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ostinato
from ostinato import Config
from ostinato.cells import CELLS, GRU, LSTM, MLSTM, PeepholeLSTM, Simple
from ostinato.errors import BadInput
from ostinato.export.run_export import export_run
from ostinato.reservoir.feedback import OutputFeedback
from ostinato.tasks import Audio
from ostinato.wiring import (
    Bidirectional,
    Dropout,
    Network,
    OneHot,
    Readout,
    Stack,
    from_rtneural,
    to_rtneural,
)
from untrained import untrained_run

unroll = eqx.filter_jit(ostinato.unroll)  # one program instead of one for each operation
KEY = jax.random.key(3)
RNG = np.random.default_rng(0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def interpreted(model, xs):
    """What RTNeural computes from samples `(T, inputs)`: `lstm.h`, `gru.h` and `dense.h`."""
    for layer in model["layers"]:
        units, ys = layer["shape"][-1], []
        h, c = np.zeros(units), np.zeros(units)
        first, *rest = (np.array(x) for x in layer["weights"])
        if layer["type"] == "dense":
            xs = xs @ first + rest[0]
            continue
        U, b = rest
        for x in xs:
            if layer["type"] == "lstm":
                i, f, g, o = np.split(x @ first + h @ U + b, 4)
                c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
                h = sigmoid(o) * np.tanh(c)
            else:
                (wz, wr, wc), (uz, ur, uc) = (np.split(m, 3, axis=1) for m in (first, U))
                (bz, br, bc), (dz, dr, dc) = np.split(b[0], 3), np.split(b[1], 3)
                z = sigmoid(x @ wz + h @ uz + bz + dz)
                r = sigmoid(x @ wr + h @ ur + br + dr)
                h = (1 - z) * np.tanh(x @ wc + r * (h @ uc + dc) + bc) + z * h
            ys.append(h)
        xs = np.array(ys)
    return xs


def shaken(network):
    """A network with random biases too."""
    leaves, tree = jax.tree.flatten(network)
    drawn = [np.asarray(x) + 0.3 * RNG.normal(size=x.shape) for x in leaves]
    return jax.tree.unflatten(tree, [*map(jnp.asarray, drawn)])


def read(cell, outputs=2, bias=True):
    width = 5
    return Network(cell, Readout(width, outputs, key=KEY, bias=bias))


MEMBERS = {
    "lstm": lambda: LSTM(1, 5, key=KEY),
    "gru": lambda: GRU(3, 5, key=KEY, reset="after"),
    "lstm, read": lambda: read(LSTM(1, 5, key=KEY)),
    "gru, read": lambda: read(GRU(1, 5, key=KEY, reset="after")),
    "two of them": lambda: read(Stack([GRU(1, 4, key=KEY, reset="after"), LSTM(4, 5, key=KEY)])),
    "without a bias": lambda: read(LSTM(2, 5, key=KEY), bias=False),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_rtneural_computes_the_same(name):
    network = shaken(MEMBERS[name]())
    model = json.loads(json.dumps(to_rtneural(network)))
    size = model["in_shape"][-1]
    xs = RNG.normal(size=(300, 1, size))
    ys, _ = unroll(network, xs)
    np.testing.assert_allclose(interpreted(model, xs[:, 0]), np.asarray(ys)[:, 0], atol=1e-6)
    again = from_rtneural(model)
    single = xs.astype(np.float32)
    np.testing.assert_allclose(unroll(again, single)[0], ys, atol=1e-5)
    for one, two in zip(to_rtneural(again)["layers"], model["layers"], strict=True):
        for x, y in zip(one["weights"], two["weights"], strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-6)


def test_keras_and_rtneural_have_one_layout():
    """A layer as `model_utils.py` writes it, with the activation that Keras names."""
    weights = [RNG.normal(size=(1, 12)), RNG.normal(size=(3, 12)), RNG.normal(size=12)]
    dense = [RNG.normal(size=(3, 1)), RNG.normal(size=1)]
    model = {
        "in_shape": [None, None, 1],
        "layers": [
            {
                "type": "lstm",
                "activation": "tanh",
                "shape": [None, None, 3],
                "weights": [w.tolist() for w in weights],
            },
            {
                "type": "time-distributed-dense",
                "activation": "",
                "shape": [None, None, 1],
                "weights": [w.tolist() for w in dense],
            },
        ],
    }
    xs = RNG.normal(size=(50, 1, 1)).astype(np.float32)
    expected = interpreted(
        {"layers": [model["layers"][0], {**model["layers"][1], "type": "dense"}]}, xs[:, 0]
    )
    np.testing.assert_allclose(
        ostinato.unroll(from_rtneural(model), xs)[0][:, 0], expected, atol=1e-5
    )


class Louder(LSTM):
    """A cell of one's own that is an LSTM by its class alone."""

    def step(self, state, u):
        state, h = super().step(state, u)
        return state, 2 * h


@pytest.mark.parametrize(
    "network, words",
    [
        (lambda: PeepholeLSTM(1, 3, key=KEY), "no peepholes"),
        (lambda: GRU(1, 3, key=KEY), "resets after the product; train with --reset after"),
        (lambda: Simple(1, 3, key=KEY), "no layer like Simple"),
        (lambda: MLSTM(1, 3, key=KEY), "no MLSTM"),
        (lambda: Bidirectional(LSTM(1, 3, key=KEY), LSTM(1, 3, key=KEY)), "reads both ways"),
        (lambda: Stack([LSTM(1, 3, key=KEY), LSTM(4, 3, key=KEY)], skip=True), "no Stack"),
        (lambda: Network(LSTM(4, 3, key=KEY), None, OneHot(4)), "reads symbols"),
        (lambda: Network(LSTM(1, 3, key=KEY), jax.nn.relu), "no readout like"),
        (lambda: OutputFeedback(LSTM(3, 5, key=KEY), Readout(5, 2, key=KEY)), "OutputFeedback"),
        (lambda: Louder(1, 3, key=KEY), "no Louder"),
    ],
)
def test_what_rtneural_does_not_have_is_refused_by_its_name(network, words):
    with pytest.raises(BadInput, match=words) as refused:
        to_rtneural(network())
    assert "\n" not in str(refused.value)


def test_no_other_cell_slips_through():
    """Of all cells only these two are RTNeural's, whatever they are derived from."""
    through = set()
    for name, kind in CELLS.items():
        try:
            to_rtneural(kind(3, 4, key=KEY))
            through.add(name)
        except (BadInput, TypeError):
            continue
    assert through == {"lstm"}  # a GRU resets before the product by default


def test_dropout_is_left_out():
    cell = LSTM(1, 5, key=KEY)
    assert to_rtneural(Dropout(cell, 0.5, key=KEY)) == to_rtneural(cell)


GOOD = to_rtneural(read(LSTM(1, 5, key=KEY)))


def changed(**layer):
    return {**GOOD, "layers": [{**GOOD["layers"][0], **layer}, GOOD["layers"][1]]}


WRONG = {
    "nothing": ({}, "no list of layers"),
    "a list": ([], "no list of layers"),
    "no shape": ({"layers": []}, "in_shape does not end"),
    "no layers": ({**GOOD, "layers": []}, "no lstm or gru layer"),
    "a convolution": (changed(type="conv1d"), "layer 0 is 'conv1d'"),
    "no type": (changed(type=None), "layer 0 is None"),
    "a word": ({**GOOD, "layers": ["lstm"]}, "layer 0 is None"),
    "no weights": (changed(weights=None), "must have 3 arrays"),
    "few weights": (changed(weights=[]), "must have 3 arrays"),
    "other weights": (changed(weights=[[1.0], [2.0], [3.0]]), r"of shape \(1, 20\), got \(1,\)"),
    "ragged weights": (changed(weights=[[[1.0], []], 1, 2]), r"of shape \(1, 20\)"),
    "words": (changed(weights=["a", "b", "c"]), r"of shape \(1, 20\)"),
    "NaN": (
        changed(weights=[[[float("nan")] * 20], *GOOD["layers"][0]["weights"][1:]]),
        "finite",
    ),
    "another kind": (changed(type="gru"), r"of shape \(1, 15\)"),
    "another size": (changed(shape=[None, None, 6]), r"of shape \(1, 24\)"),
    "no size": (changed(shape=[]), "the shape of layer 0"),
    "half a size": (changed(shape=[1.5]), "the shape of layer 0"),
    "dense first": ({**GOOD, "layers": GOOD["layers"][1:]}, "dense layer 0 comes first"),
    "dense twice": ({**GOOD, "layers": [*GOOD["layers"], GOOD["layers"][1]]}, "after the dense"),
    "an activation": (
        {**GOOD, "layers": [GOOD["layers"][0], {**GOOD["layers"][1], "activation": "tanh"}]},
        "has the activation tanh",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_in_one_line(name, tmp_path):
    content, words = WRONG[name]
    (tmp_path / "a.json").write_text(json.dumps(content))
    with pytest.raises(BadInput, match=words) as refused:
        from_rtneural(tmp_path / "a.json")
    assert "\n" not in str(refused.value) and "a.json" in str(refused.value)


def test_another_format_with_this_ending_is_refused(tmp_path):
    for content in (b"", b"\x89PNG\r\n", b"RIFF", b"{", b'{"layers": 3}', b"[" * 99999):
        (tmp_path / "a.json").write_bytes(content)
        with pytest.raises(BadInput) as refused:
            from_rtneural(tmp_path / "a.json")
        assert "\n" not in str(refused.value) and "a.json" in str(refused.value)
    with pytest.raises(BadInput, match="No such file"):
        from_rtneural(tmp_path / "none.json")
    with pytest.raises(BadInput, match="cannot be read"):
        from_rtneural(tmp_path)


def test_an_effect_becomes_a_file_for_plug_ins(tmp_path):
    dry = np.sin(np.arange(900) / 7)
    small = {"cell": "lstm", "units": 4, "batch": 2}
    for residual in (False, True):
        task = Audio(dry, np.tanh(3 * dry), 8000, residual=residual, length=50, washout=10)
        run = untrained_run(Config(**small), tmp_path / f"run-{residual}", task=task)
        (path,) = export_run(run, "rtneural", tmp_path / f"effect-{residual}")
        model = json.loads(path.read_text())
        assert model["samplerate"] == 8000 and model["in_skip"] == residual
        made = interpreted(model, dry[:, None]) + residual * dry[:, None]
        np.testing.assert_allclose(made, run.render(dry), atol=1e-5)
    with pytest.warns(RuntimeWarning, match="in_skip"):
        assert from_rtneural(path).readout.V.shape == (4, 1)
