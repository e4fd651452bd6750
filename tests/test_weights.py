"""Weights in a file: exact, whole, and refused in one line where they do not fit."""

import json
import os

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

from ostinato import Network, Readout, load_weights, save_weights
from ostinato.cells import GRU, LSTM, KrauseLSTM, Simple
from ostinato.weights import CorruptFile, trained
from ostinato.wiring import Embedding, Stack, Zoneout

ONE, TWO = jax.random.split(jax.random.key(5))


def arrays(module):
    return [np.asarray(x) for x in jax.tree.leaves(eqx.filter(module, eqx.is_array))]


def assert_same_bits(one, other):
    """The same arrays, bit for bit: shapes, dtypes and even the kinds of NaN and zero."""
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(arrays(one), arrays(other), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()


def noisy_network(key):
    cell = Stack([Zoneout(LSTM(3, 4, key=key), 0.25, key=key), GRU(4, 2, key=key)])
    return Network(cell, Readout(2, 5, key=key), Embedding(5, 3, key=key))


def test_a_network_comes_back_bit_for_bit_with_its_noise(tmp_path):
    network, other = noisy_network(ONE), noisy_network(TWO)
    assert network.cell.layers[0].seed.data.tolist() != other.cell.layers[0].seed.data.tolist()
    save_weights(tmp_path / "network", network)
    loaded = load_weights(tmp_path / "network", other)
    assert_same_bits(loaded, network)
    assert loaded.cell.layers[0].seed.data.tolist() == network.cell.layers[0].seed.data.tolist()


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_odd_numbers_and_every_dtype_come_back(tmp_path, dtype):
    odd = jnp.asarray([np.nan, np.inf, -np.inf, -0.0, 1e-310, 1 / 3], dtype)
    cell = Simple(6, 6, key=ONE)
    cell = jax.tree.map(lambda x: jnp.broadcast_to(odd, x.shape), cell)
    save_weights(str(tmp_path / "cell"), cell)
    blank = jax.tree.map(jnp.ones_like, cell)
    assert_same_bits(load_weights(str(tmp_path / "cell"), blank), cell)


def test_what_is_loaded_keeps_its_own_options(tmp_path):
    """A file holds arrays only: noise turned off stays off."""
    save_weights(tmp_path / "cell", Zoneout(LSTM(3, 4, key=ONE), 0.25, key=ONE))
    like = Zoneout(LSTM(3, 4, key=TWO), 0.5, key=TWO, inference=True)
    loaded = load_weights(tmp_path / "cell", like)
    assert loaded.inference is True and loaded.rate == 0.5


def test_names_in_the_file_are_paths_in_the_module(tmp_path):
    save_weights(tmp_path / "stack", Stack([Simple(3, 4, key=ONE), KrauseLSTM(4, 2, key=ONE)]))
    found = safetensors.numpy.load_file(tmp_path / "stack")
    paths = ["layers[0].R", "layers[0].W", "layers[0].b", "layers[1].R", "layers[1].W"]
    assert sorted(found) == paths


# A crash while writing


def fails(*_):
    raise OSError("no space left")


CRASHES = {"half written": (os, "fsync", fails), "not renamed": (os, "replace", fails)}


@pytest.mark.parametrize("name", CRASHES)
def test_after_a_crash_the_old_file_is_whole(tmp_path, monkeypatch, name):
    place, old, new = tmp_path / "cell", Simple(3, 4, key=ONE), Simple(3, 4, key=TWO)
    save_weights(place, old)
    with monkeypatch.context() as patch:
        patch.setattr(*CRASHES[name])
        with pytest.raises(OSError):
            save_weights(place, new)
    assert_same_bits(load_weights(place, new), old)
    save_weights(place, new)  # what the crash left behind is in nobody's way
    assert_same_bits(load_weights(place, old), new)
    assert os.listdir(tmp_path) == ["cell"]


# What does not fit


def refusal(path, like):
    with pytest.raises(ValueError) as caught:
        load_weights(path, like)
    return str(caught.value)


def test_a_missing_array_is_named(tmp_path):
    path = tmp_path / "cell"
    save_weights(path, KrauseLSTM(3, 4, key=ONE))
    assert refusal(path, LSTM(3, 4, key=ONE)) == f"{path} has no b, which LSTM needs"


def test_an_extra_array_is_named(tmp_path):
    path = tmp_path / "cell"
    save_weights(path, LSTM(3, 4, key=ONE))
    line = f"{path} has b, which KrauseLSTM does not have"
    assert refusal(path, KrauseLSTM(3, 4, key=ONE)) == line


def test_a_wrong_shape_is_named(tmp_path):
    path = tmp_path / "cell"
    save_weights(path, Stack([Simple(3, 4, key=ONE), Simple(4, 5, key=ONE)]))
    line = f"layers[1].W in {path} must be float64(4, 6), got float64(4, 5)"
    assert refusal(path, Stack([Simple(3, 4, key=ONE), Simple(4, 6, key=ONE)])) == line


def test_a_wrong_dtype_is_named(tmp_path):
    path, cell = tmp_path / "cell", Simple(3, 4, key=ONE)
    save_weights(path, jax.tree.map(lambda x: x.astype(jnp.float32), cell))
    assert refusal(path, cell) == f"W in {path} must be float64(3, 4), got float32(3, 4)"


@pytest.mark.parametrize("content", [b"", b"a text, and no weights at all", b"\0" * 100])
def test_another_kind_of_file_is_refused(tmp_path, content):
    path = tmp_path / "cell"
    path.write_bytes(content)
    line = refusal(path, Simple(3, 4, key=ONE))
    assert line.startswith(f"{path} is not a safetensors file: ") and "\n" not in line


def test_a_file_cut_short_is_refused(tmp_path):
    path, cell = tmp_path / "cell", Simple(3, 4, key=ONE)
    save_weights(path, cell)
    path.write_bytes(path.read_bytes()[:-8])
    assert refusal(path, cell) == f"{path} is damaged: its checksum is wrong"


def test_every_flipped_bit_is_noticed(tmp_path):
    path, cell = tmp_path / "cell", Simple(2, 2, key=ONE)
    save_weights(path, cell)
    whole = path.read_bytes()
    for place in range(0, 8 * len(whole), 3):  # three is no divisor of eight: all bits in turn
        changed = bytearray(whole)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(CorruptFile):
            load_weights(path, cell)


def test_a_huge_sparse_file_is_refused_by_its_header(tmp_path):
    """Nothing of its four gigabytes is read into memory."""
    path, size = tmp_path / "cell", 1 << 32
    header = json.dumps({"W": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + size)
    line = refusal(path, Wrapped(jnp.ones(3)))
    assert line == f"W in {path} must be float64(3,), got uint8({size},)"


class Wrapped(eqx.Module):
    W: jax.Array


def test_numbers_of_the_other_byte_order_are_kept(tmp_path):
    """They were written as they lie in memory, and read back as other numbers."""
    there = {"w": np.arange(4.0), "n": np.arange(3, dtype=np.int16)}
    swapped = {name: x.astype(x.dtype.newbyteorder(">")) for name, x in there.items()}
    save_weights(tmp_path / "w.safetensors", swapped)
    read = load_weights(tmp_path / "w.safetensors", like=there)
    assert all(np.array_equal(read[name], there[name]) for name in there)


def test_a_partial_function_as_a_field_is_trained():
    """Its arguments are parameters, by position and by name; what is `frozen` is not."""

    class Scaled(eqx.Module):
        frozen = ("fixed",)
        f: jax.tree_util.Partial
        fixed: jax.tree_util.Partial

    function = jax.tree_util.Partial(lambda w, x, b: w * x + b, jnp.ones(2), b=jnp.zeros(2))
    parameters, rest = trained(Scaled(function, function))
    assert [x.shape for x in jax.tree.leaves(parameters.f)] == [(2,), (2,)]
    assert jax.tree.leaves(parameters.fixed) == [] and jax.tree.leaves(rest.f) == []


def test_complex_arrays_come_back_with_the_same_bits(tmp_path):
    """Of complex128 too, which the format does not have; signed zeros, infinities and NaN."""
    parts = np.array([[1.5, -0.0], [np.inf, np.nan]])
    wide = {"R": jax.lax.complex(*jnp.asarray(parts)), "n": jnp.arange(2)}
    wide["narrow"] = wide["R"].astype(jnp.complex64)
    save_weights(tmp_path / "complex.safetensors", wide)
    assert_same_bits(load_weights(tmp_path / "complex.safetensors", like=wide), wide)
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), wide)
    assert_same_bits(load_weights(tmp_path / "complex.safetensors", like=shapes), wide)
