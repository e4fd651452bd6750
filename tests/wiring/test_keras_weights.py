"""Models of Keras, saved in both of its formats, compute the same as networks here."""

import io
import json
import os
import zipfile

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato import unroll
from ostinato.cells import GRU, LSTM
from ostinato.errors import BadInput
from ostinato.wiring import Bidirectional, Network, Stack, from_keras

STEPS, BATCH, INPUTS = 6, 2, 3


@pytest.fixture(scope="module")
def keras():
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import keras

    return keras


def sequential(keras, *layers, symbols=None):
    keras.utils.set_random_seed(1)
    shape = keras.Input((None,) if symbols else (None, INPUTS))
    model = keras.Sequential([shape, *layers])
    for x in model.weights:  # biases too
        x.assign(np.random.default_rng(len(x.shape)).normal(size=x.shape) / 2)
    return model


def stacked(keras):
    rnn = keras.layers
    return sequential(
        keras,
        rnn.Bidirectional(rnn.LSTM(4, return_sequences=True)),
        rnn.GRU(5, return_sequences=True),
        rnn.Dropout(0.1),
        rnn.GRU(4, return_sequences=True, reset_after=False),
        rnn.SimpleRNN(2, return_sequences=True, activation="relu", use_bias=False),
        rnn.LSTM(3, return_sequences=True, use_bias=False),
    )


def language(keras):
    x = keras.Input((None,), dtype="int32")
    y = keras.layers.Embedding(7, 3)(x)
    y = keras.layers.GRU(4, return_sequences=True, use_bias=False)(y)
    return keras.Model(x, keras.layers.Dense(7)(y))


MODELS = {"stacked": stacked, "language": language}


@pytest.fixture(scope="module")
def saved(keras, tmp_path_factory):
    """Each model in both formats, with what it computes."""
    with jax.enable_x64(False):
        return _saved(keras, tmp_path_factory)


def _saved(keras, tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("keras"), {}
    for name, make in MODELS.items():
        model = make(keras)
        rng = np.random.default_rng(0)
        xs = rng.normal(size=(BATCH, STEPS, INPUTS)).astype(np.float32)
        xs = xs if name == "stacked" else rng.integers(0, 7, (BATCH, STEPS))
        for end in ("keras", "h5"):
            model.save(folder / f"{name}.{end}")
        made[name] = xs, np.asarray(jax.jit(model)(xs))
    return folder, made


@pytest.mark.parametrize("end", ["keras", "h5"])
@pytest.mark.parametrize("name", MODELS)
def test_the_same_as_keras(name, end, saved):
    folder, made = saved
    xs, expected = made[name]
    network = from_keras(folder / f"{name}.{end}")
    ys, _ = unroll(network, jnp.asarray(xs.swapaxes(0, 1)))
    np.testing.assert_allclose(np.swapaxes(ys, 0, 1), expected, atol=1e-5)


def test_parts(saved):
    network = from_keras(saved[0] / "stacked.keras")
    assert type(network) is Stack and type(network.layers[0]) is Bidirectional
    assert [type(layer) for layer in network.layers[1::3]] == [GRU, LSTM]
    assert [layer.reset for layer in network.layers[1:3]] == ["after", "before"]
    network = from_keras(saved[0] / "language.h5")
    assert type(network) is Network and network.encoding.symbols == network.outputs == 7


def changed(folder, change):
    """The model `language` with another configuration."""
    raw = io.BytesIO()
    with zipfile.ZipFile(folder / "language.keras") as old, zipfile.ZipFile(raw, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "config.json":
                config = json.loads(data)
                change(config)
                data = json.dumps(config)
            new.writestr(name, data)
    return raw.getvalue()


def gru(config):
    return config["config"]["layers"][2]["config"]


def set_(where, **values):
    return lambda config: where(config).update(values)


WRONG = {
    "activation": (set_(gru, activation="elu"), "activations elu and sigmoid"),
    "squash": (set_(gru, recurrent_activation="hard_sigmoid"), "hard_sigmoid, which are not read"),
    "backwards": (set_(gru, go_backwards=True), "reads backwards"),
    "units": (set_(gru, units=5), "of 5 units needs a weight of"),
    "bias": (set_(gru, use_bias=True), "the weight 2 is not in the file"),
    "a layer of another kind": (
        lambda config: config["config"]["layers"][2].update(class_name="ConvLSTM2D"),
        "is a ConvLSTM2D; those that are read",
    ),
    "code": (
        lambda config: config["config"]["layers"][3].update(class_name="Lambda"),
        "is a Lambda; those that are read",
    ),
    "another model": (set_(lambda c: c, class_name="Mine"), "is a Mine, not Sequential"),
    "a fork": (
        lambda config: config["config"]["layers"][2]["inbound_nodes"].append("input_layer"),
        None,
    ),
    "no layers": (lambda config: config["config"].update(layers=[]), "has no LSTM"),
    "no configuration": (lambda config: config.clear(), "is a None"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_not_read_is_refused(what, saved, tmp_path):
    change, message = WRONG[what]
    if what == "a fork":
        with zipfile.ZipFile(saved[0] / "language.keras") as file:
            first = json.loads(file.read("config.json"))["config"]["layers"][0]["config"]["name"]
        message = "reads another than the one before it"

        def change(config):
            config["config"]["layers"][2]["inbound_nodes"].append(first)

    (tmp_path / "x.keras").write_bytes(changed(saved[0], change))
    with pytest.raises(BadInput, match=message) as error:
        from_keras(tmp_path / "x.keras")
    assert "\n" not in str(error.value)


def bomb():
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("config.json", "{}" + " " * 10_000_000)
        file.writestr("model.weights.h5", b"")
    return raw.getvalue()


@pytest.mark.parametrize("end", ["keras", "h5"])
def test_a_damaged_file_is_refused_in_one_line(end, saved, tmp_path):
    """Cut off or with wrong bytes it is refused, or it is a model with other numbers."""
    whole = (saved[0] / f"language.{end}").read_bytes()
    rng, refused = np.random.default_rng(0), 0
    for n in range(60):
        raw = bytearray(whole)
        if n % 2:
            raw = raw[: rng.integers(1, len(raw))]
        else:
            for place in rng.integers(0, len(raw), 20):
                raw[place] = rng.integers(0, 256)
        (tmp_path / "x").write_bytes(raw)
        try:
            from_keras(tmp_path / "x")
        except BadInput as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 30


def test_other_files_are_refused(saved, tmp_path):
    others = {
        b"": "no Keras model",
        b"Once upon a time": "no Keras model",
        b"PK\x03\x04": "damaged",
        b"\x89HDF\r\n\x1a\n" + bytes(100): "damaged",
        bomb(): "would be 10,000,002 bytes",
    }
    with zipfile.ZipFile(saved[0] / "language.keras") as file:
        others[file.read("model.weights.h5")] = "weights alone"
    for raw, message in others.items():
        (tmp_path / "x").write_bytes(raw)
        with pytest.raises(BadInput, match=message):
            from_keras(tmp_path / "x")
    with pytest.raises(BadInput, match="cannot be read"):
        from_keras(tmp_path / "none")
