"""Films: the loss of the composite model against a forward pass in NumPy; what is read when."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato import Config, unroll
from ostinato.cells import LSTM
from ostinato.data import Batch
from ostinato.lens import gradient_by_lag
from ostinato.lens.spectrum import recurrent_matrices
from ostinato.losses import BinaryCrossEntropy
from ostinato.runs.build import build_network
from ostinato.tasks import Video, VideoCaptions
from ostinato.weights import trained
from ostinato.wiring import Network, Readout, VideoModel, outputs_of
from ostinato.wiring.captioner import Convolutions
from ostinato.wiring.encoder_decoder import Pair
from ostinato.wiring.video import FrameDecoder, Frames

RANDOM = np.random.default_rng(5)
S, A, B, SIDE, UNITS = 4, 3, 2, 3, 5
PIXELS = SIDE**2
FILM = RANDOM.integers(0, 256, (S + A, B, SIDE, SIDE, 1)).astype(np.uint8)


def made(learn: str, conditional: bool) -> VideoModel:
    keys = iter(jax.random.split(jax.random.key(2), 6))

    def decoder(wanted: bool) -> FrameDecoder | None:
        cell = LSTM(PIXELS if conditional else 1, UNITS, key=next(keys))
        network = Network(cell, Readout(UNITS, PIXELS, key=next(keys)))
        return FrameDecoder(network, None) if wanted else None

    encoder = LSTM(PIXELS, UNITS, key=next(keys))
    again, ahead = decoder(learn != "predict"), decoder(learn != "reconstruct")
    model = VideoModel(Frames(None), encoder, again, ahead, conditional)
    double = eqx.filter(model, eqx.is_inexact_array)
    drawn = jax.tree.map(lambda x: np.asarray(x) + 0.3 * RANDOM.normal(size=x.shape), double)
    return eqx.combine(jax.tree.map(jnp.asarray, drawn), model)


def asked(learn: str) -> Batch:
    frames = {"predict": FILM[S:], "reconstruct": FILM[S - 1 :: -1]}
    frames["both"] = np.concatenate([frames["reconstruct"], frames["predict"]])
    pixels = frames[learn].reshape(-1, B, PIXELS) / 255
    ones = np.ones((len(pixels), B, 1))
    inputs = Pair(ones, FILM[:S], np.full((1, B), S))
    return Batch(inputs, pixels, ones[..., 0], first=None)


# The equations again, a clip at a time, in NumPy alone.


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(cell, state, x):
    h, c = state
    W, R, b = (np.asarray(x) for x in (cell.W, cell.R, cell.b))
    i, f, g, o = np.split(x @ W + h @ R + b, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def drawn(decoder, state, x, steps, conditional):
    """The frames that a decoder draws after a state; it reads x, then its own, or a constant 1."""
    for _ in range(steps):
        state = lstm(decoder.network.cell, state, x if conditional else np.ones(1))
        V, b = np.asarray(decoder.network.readout.V), np.asarray(decoder.network.readout.b)
        x = sigmoid(state[0] @ V + b)
        yield x


@pytest.mark.parametrize("conditional", [False, True])
@pytest.mark.parametrize("learn", ["both", "predict", "reconstruct"])
def test_the_loss_is_that_of_a_forward_pass_in_numpy(learn, conditional):
    model, batch = made(learn, conditional), asked(learn)
    total = 0.0
    for n in range(B):
        film = FILM[:, n].reshape(S + A, PIXELS) / 255
        state = np.zeros(UNITS), np.zeros(UNITS)
        for frame in film[:S]:
            state = lstm(model.encoder, state, frame)
        frames, right = [], []
        if model.again is not None:
            frames += drawn(model.again, state, np.zeros(PIXELS), S, conditional)
            right += [*film[:S][::-1]]
        if model.ahead is not None:
            frames += drawn(model.ahead, state, film[S - 1], A, conditional)
            right += [*film[S:]]
        p, x = np.array(frames), np.array(right)
        total -= np.sum(x * np.log(p) + (1 - x) * np.log(1 - p))
    found = BinaryCrossEntropy()(outputs_of(model, batch)[0], batch)
    assert found.dtype == jnp.float64
    assert float(found) == pytest.approx(total / (B * len(batch.targets)), rel=1e-12)


def test_all_of_the_composite_model_learns_and_the_gradient_is_that_of_finite_differences():
    model, batch = made("both", True), asked("both")
    moving, rest = trained(model)

    @eqx.filter_jit
    def loss(moving):
        return BinaryCrossEntropy()(outputs_of(eqx.combine(moving, rest), batch)[0], batch)

    leaves, tree = jax.tree.flatten(moving)
    gradient = jax.tree.leaves(jax.grad(loss)(moving))
    assert all(float(jnp.abs(x).max()) > 0 for x in gradient)
    step = [RANDOM.normal(size=x.shape) for x in leaves]
    along = sum(jnp.vdot(a, b) for a, b in zip(gradient, step, strict=True))

    def at(size):
        there = [x + size * d for x, d in zip(leaves, step, strict=True)]
        return loss(jax.tree.unflatten(tree, there))

    assert (at(1e-6) - at(-1e-6)) / 2e-6 == pytest.approx(float(along), rel=1e-6)


def test_a_prediction_can_go_on_and_does_not_know_what_follows():
    model, batch = made("both", True), asked("both")
    outputs, _ = outputs_of(model, batch)
    ones = np.ones((S + A + 5, B, 1))
    longer, _ = outputs_of(model, batch._replace(inputs=batch.inputs._replace(target=ones)))
    np.testing.assert_allclose(longer[: S + A], outputs, rtol=1e-12)
    changed = batch.inputs._replace(source=np.roll(FILM[:S], 1, axis=0))
    other, _ = outputs_of(model, batch._replace(inputs=changed))
    assert float(jnp.abs(other - outputs).min(axis=(0, 2)).max()) > 0


def test_frames_are_read_one_by_one_by_convolutions():
    frames = Frames(Convolutions((SIDE, SIDE, 1), key=jax.random.key(1)))
    found = frames(jnp.asarray(FILM), jnp.float32)
    for t, n in ((0, 1), (5, 0)):
        alone = frames.convolutions(jnp.asarray(FILM[t, n])[:, None])
        np.testing.assert_allclose(found[t, n], alone[:, 0].ravel(), rtol=1e-5, atol=1e-6)


CLIPS = RANDOM.integers(0, 256, (20, 6, 6, 6)).astype(np.uint8)
SMALL = {"units": 4, "steps": 1, "batch": 2}


@pytest.mark.parametrize(
    ("settings", "parameters"),
    [
        # LSTM: 4 units (inputs + units + 1); a readout of 36 pixels: 36 (units + 1).
        ({"cell": "lstm"}, 16 * (36 + 5) + 2 * (16 * (1 + 5) + 36 * 5)),
        ({"cell": "lstm", "learn": "predict"}, 16 * (36 + 5) + 16 * (1 + 5) + 36 * 5),
        (
            {"cell": "lstm", "learn": "reconstruct", "conditional": True},
            16 * (36 + 5) + 16 * (36 + 5) + 36 * 5,
        ),
        # Both directions have four units each; a bridge of 4 (8 + 1) for h and for c.
        (
            {"cell": "lstm", "learn": "predict", "bidirectional": True},
            2 * 16 * (36 + 5) + 16 * (1 + 5) + 36 * 5 + 2 * 4 * 9,
        ),
    ],
)
def test_a_configuration_makes_the_model_that_it_says(settings, parameters):
    own = {name: settings.pop(name) for name in ("learn", "conditional") if name in settings}
    task = Video.of(CLIPS, frames=3, ahead=3, **own)
    network = build_network(Config(**SMALL, **settings), task, 4)
    assert sum(x.size for x in jax.tree.leaves(trained(network)[0])) == parameters
    outputs, _ = outputs_of(network, task.batch(0, 2).arrays)
    assert outputs.shape == (task.length, 2, 36)


def test_a_caption_is_written_from_the_frames_in_their_order():
    task = VideoCaptions.of(CLIPS, ["up we go", "down we go"] * 10, attention="dot")
    network = build_network(Config(**SMALL, cell="gru", embedding=3), task, 4)
    batch = task.batch(0, 2).arrays
    outputs, _ = outputs_of(network, batch)
    assert outputs.shape == (*batch.targets.shape, len(task.tokens))
    turned = batch.inputs._replace(source=batch.inputs.source[::-1])
    assert float(jnp.abs(outputs_of(network, batch._replace(inputs=turned))[0] - outputs).max()) > 0


def test_the_lens_looks_into_both_decoders():
    model, batch = made("both", True), asked("both")
    layer, xs, state = model.prepare(unroll, batch)
    assert {name.split(".")[1] for name in recurrent_matrices(layer)} == {"first", "second"}
    found = gradient_by_lag(layer, xs, lambda output: jnp.sum(output**2, axis=-1), state)
    assert {len(profile) for profile in found.values()} == {S + A}
    for name, profile in found.items():  # what is predicted comes from its own decoder alone
        assert bool(profile[0] > 0) == name.startswith(".second") and not np.any(profile[A:])
