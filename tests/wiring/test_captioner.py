"""The captioner: each picture alone gives the same as a batch, and the convolutions by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato import unroll
from ostinato.cells import GRU, LSTM
from ostinato.data import Batch
from ostinato.decoding import beam_answers
from ostinato.errors import BadInput
from ostinato.losses import CrossEntropy
from ostinato.weights import trained
from ostinato.wiring import Captioner, Embedding, Readout, outputs_of
from ostinato.wiring.attention import ATTENTION
from ostinato.wiring.captioner import Convolutions
from ostinato.wiring.encoder_decoder import Bridge, DeepReadout, Pair

PICTURE, SYMBOLS, WIDTH, UNITS = (6, 9, 3), 7, 4, 5
KEYS = jax.random.split(jax.random.key(3), 8)
RANDOM = np.random.default_rng(4)
CAPTIONS = [[2, 0], [4, 5, 6, 2, 0], [3, 1, 1, 2, 0], [6, 0]]  # two lengths, two compilations
PICTURES = RANDOM.integers(0, 256, (6, 4, 9, 3)).astype(np.uint8)


def made(attention=None, cell=GRU):
    pictures = Convolutions(PICTURE, key=KEYS[0])
    more = pictures.size if attention == "additive" else 0
    decoder = cell(WIDTH + more, UNITS, key=KEYS[1])
    looking = attention and ATTENTION[attention](UNITS, pictures.size, 6, key=KEYS[2])
    hidden = Readout(UNITS + (pictures.size if attention else 0), WIDTH, key=KEYS[3])
    readout = DeepReadout(hidden, None, jnp.zeros(SYMBOLS), None)
    bridge, words = Bridge(pictures, decoder, key=KEYS[4]), Embedding(SYMBOLS, WIDTH, key=KEYS[5])
    captioner = Captioner(pictures, decoder, words, bridge, looking, readout)
    double = eqx.filter(captioner, eqx.is_inexact_array)
    # Biases of 0 would leave some of the equation untested.
    drawn = jax.tree.map(lambda x: np.asarray(x) + 0.1 * RANDOM.normal(size=x.shape), double)
    return eqx.combine(jax.tree.map(jnp.asarray, drawn), captioner)


def batch_of(which, steps):
    lengths = np.array([len(CAPTIONS[n]) for n in which], np.int32)
    targets = np.zeros((steps, len(which)), np.int32)
    for column, n in enumerate(which):
        targets[: lengths[column], column] = CAPTIONS[n]
    read = np.concatenate([np.zeros_like(targets[:1]), targets[:-1]])
    weights = (np.arange(steps)[:, None] < lengths).astype(float)
    inputs = Pair(read, PICTURES[:, which], np.full((1, len(which)), 6))
    return Batch(inputs, targets, weights, lengths, first=None)


@eqx.filter_jit
def loss_and_gradient(captioner, batch):
    moving, rest = trained(captioner)

    def total(moving):
        return CrossEntropy().total(outputs_of(eqx.combine(moving, rest), batch)[0], batch)

    return jax.value_and_grad(total)(moving)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attention", "cell"),
    [(None, LSTM), ("additive", GRU), ("dot", GRU)],
)
def test_a_padded_batch_equals_its_pictures_one_by_one(attention, cell):
    captioner = made(attention, cell)
    value, gradient = loss_and_gradient(captioner, batch_of([0, 1, 2, 3], 8))
    assert value.dtype == jnp.float64
    alone = [loss_and_gradient(captioner, batch_of([n], len(CAPTIONS[n]))) for n in range(4)]
    total, slopes = jax.tree.map(lambda *x: sum(x), *alone)
    assert float(jnp.abs(value - total)) < 1e-10
    for one, other in zip(jax.tree.leaves(gradient), jax.tree.leaves(slopes), strict=True):
        assert float(jnp.abs(one - other).max()) < 1e-10
        assert float(jnp.abs(one).max()) > 0


@pytest.mark.slow
def test_the_gradient_is_that_of_finite_differences():
    captioner, batch = made("additive"), batch_of([0, 1, 2, 3], 6)
    moving, rest = trained(captioner)
    _, gradient = loss_and_gradient(captioner, batch)
    leaves, tree = jax.tree.flatten(moving)
    step = [RANDOM.normal(size=x.shape) for x in leaves]
    along = sum(jnp.vdot(a, b) for a, b in zip(jax.tree.leaves(gradient), step, strict=True))

    def at(size):
        there = [x + size * d for x, d in zip(leaves, step, strict=True)]
        return loss_and_gradient(eqx.combine(jax.tree.unflatten(tree, there), rest), batch)[0]

    assert abs((at(1e-6) - at(-1e-6)) / 2e-6 - along) < 1e-5 * abs(along)


def test_convolutions_are_their_equation():
    convolutions = made().encoder
    assert len(convolutions.layers) == 2 and convolutions.cells == 6
    found = convolutions(jnp.asarray(PICTURES))
    x = np.moveaxis(PICTURES, 1, 0) / 127.5 - 1.0
    for layer in convolutions.layers:
        weight, bias = np.asarray(layer.weight), np.asarray(layer.bias)[:, 0, 0]
        padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        height, width = -(-x.shape[1] // 2), -(-x.shape[2] // 2)
        x = np.zeros((4, height, width, len(weight)))
        for i in range(height):
            for j in range(width):
                patch = padded[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
                sums = np.einsum("nyxc,ocyx->no", patch, weight)
                x[:, i, j] = np.maximum(sums + bias, 0)
    right = np.moveaxis(x.reshape(4, 6, -1), 1, 0)
    np.testing.assert_allclose(found, right, atol=1e-10)


@pytest.mark.slow
def test_a_beam_scores_captions_by_the_models_own_probabilities():
    captioner = made("additive")
    found = beam_answers(captioner, PICTURES, np.full(4, 6), width=3, max_symbols=5, count=3)
    assert found.symbols.shape == (4, 3, 5)
    for n in range(4):
        symbols = found.symbols[n, 1][: found.lengths[n, 1]]
        read = np.zeros((5, 1), np.int32)
        read[1 : len(symbols), 0] = symbols[:-1]
        batch = Batch(Pair(read, PICTURES[:, [n]], np.full((1, 1), 6)), None, np.ones(read.shape))
        logs = jax.nn.log_softmax(outputs_of(captioner, batch)[0])[:, 0]
        score = sum(logs[t, symbol] for t, symbol in enumerate(symbols))
        assert abs(float(score) - found.scores[n, 1]) < 1e-10


def test_attention_looks_at_cells_and_pictures_of_another_size_are_refused():
    captioner, batch = made("dot"), batch_of([0, 1, 2, 3], 6)
    looks = captioner.looks(unroll, batch)
    assert looks.shape == (6, 4, 6)
    np.testing.assert_allclose(looks.sum(-1), 1, rtol=1e-12)
    with pytest.raises(BadInput, match="6 × 9 pixels with 3 channels, got 6 × 8 pixels with 3"):
        captioner.encoder(jnp.zeros((6, 1, 8, 3), jnp.uint8))
