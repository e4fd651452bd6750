"""Encoder-decoders: what a batch gives is what single pairs give, and attention is what it says."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from everyday import some
from ostinato import unroll
from ostinato.cells import GRU, LSTM
from ostinato.runs import Config
from ostinato.runs.build import build_network
from ostinato.tasks import Pairs
from ostinato.weights import trained
from ostinato.wiring import Bidirectional, Stack, outputs_of
from ostinato.wiring.attention import ATTENTION
from ostinato.wiring.encoder_decoder import Bridge, can_hand_over

KEY = jax.random.key(0)
KINDS = {
    "plain": ({"attention": "none"}, {}),
    "both ways": ({"attention": "none"}, {"bidirectional": True}),
    "additive": ({"attention": "additive"}, {"bidirectional": True}),
    "dot": ({"attention": "dot"}, {"bidirectional": True}),
    "stacked": ({"attention": "dot"}, {"layers": 2, "cell": "lstm"}),
    "tied": ({"attention": "additive", "tied": True}, {"cell": "lstm"}),
}


def pairs(**options) -> Pairs:
    rng = np.random.default_rng(0)
    texts = [["".join(rng.choice([*"abc"], n)) for n in rng.integers(1, 9, 20)] for _ in range(2)]
    return Pairs.of_texts(*texts, level="characters", embedding=3, split=(1, 0, 0), **options)


def network(task: Pairs, **options):
    made = build_network(Config(**{"cell": "gru", "units": 4, **options}), task)
    arrays, rest = eqx.partition(made, eqx.is_inexact_array)
    return eqx.combine(jax.tree.map(lambda x: jnp.asarray(np.float64(x)), arrays), rest)


def loss_and_gradient(task, network, batch):
    """The parameters of a network, and a function that gives the loss and its gradient at any."""
    parameters, rest = trained(network)

    def total(parameters):
        outputs, _ = outputs_of(eqx.combine(parameters, rest), batch.arrays)
        return task.loss.total(outputs, batch)

    return parameters, jax.jit(jax.value_and_grad(total))


@pytest.mark.parametrize("kind", some(KINDS, ["additive"]))
def test_a_padded_batch_gives_what_single_pairs_give(kind):
    of_task, of_network = KINDS[kind]
    with jax.enable_x64(True):
        task = pairs(**of_task)
        net = network(task, **of_network)
        every = task.parts["train"]
        which = np.array([0, 1, -1])
        parameters, at = loss_and_gradient(task, net, task.padded(every, which))
        value, gradient = at(parameters)
        found = []
        for n in which[:2]:
            longest, task.longest = task.longest, tuple(len(side[n]) for side in every)
            _, alone = loss_and_gradient(task, net, task.padded(every, np.array([n])))
            found.append(alone(parameters))
            task.longest = longest
        assert len({tuple(len(side[n]) for side in every) for n in which[:2]}) > 1
        np.testing.assert_allclose(value, sum(one for one, _ in found), rtol=1e-10)
        summed = jax.tree.map(np.add, *(gradient for _, gradient in found))
        for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(summed), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", some(["additive", "dot"], ["additive"]))
def test_gradient_by_finite_differences(kind):
    with jax.enable_x64(True):
        task = pairs(attention=kind)
        net = network(task, bidirectional=True)
        batch = task.padded(task.parts["train"], np.arange(3))
        parameters, at = loss_and_gradient(task, net, batch)
        rng = np.random.default_rng(1)
        way = jax.tree.map(lambda x: rng.normal(size=x.shape), parameters)

        def loss(step):
            return at(jax.tree.map(lambda x, d: np.asarray(x) + step * d, parameters, way))[0]

        slope = (loss(1e-5) - loss(-1e-5)) / 2e-5
        _, gradient = at(parameters)
        products = jax.tree.map(np.vdot, gradient, way)
        exact = sum(jax.tree.leaves(products))
        np.testing.assert_allclose(slope, float(exact), rtol=1e-6)


@pytest.mark.parametrize("kind", some(ATTENTION, ["dot"]))
def test_attention_looks_at_the_source_alone(kind):
    """Weights add up to one, are zero in the padding, and are what the context is made of."""
    task = pairs(attention=kind)
    net = build_network(Config(cell="gru", units=4), task)
    batch = task.padded(task.parts["train"], np.arange(5))
    looks = np.asarray(net.looks(unroll, batch.arrays))
    assert looks.shape == (*np.shape(batch.targets), len(batch.inputs.source))
    np.testing.assert_allclose(looks.sum(-1), 1, rtol=1e-5)
    padding = np.arange(looks.shape[-1]) >= batch.inputs.lengths[0][:, None]
    assert not looks[:, padding].any()
    decoder, state = net.read(unroll, batch.inputs.source, jnp.asarray(batch.inputs.lengths[0]))
    read = decoder._encode(batch.inputs.target)
    ys, _ = unroll(decoder.cell, read, state)
    memory = np.asarray(decoder.cell.values)
    context = np.einsum("tbs,bsm->tbm", looks, memory)
    first = np.asarray(ys)[0, :, -memory.shape[-1] :]
    np.testing.assert_allclose(first, context[0], rtol=1e-4, atol=1e-6)


def test_additive_attention_by_hand():
    with jax.enable_x64(True):
        made = ATTENTION["additive"](2, 3, 4, key=KEY)
        made = jax.tree.map(lambda x: jnp.asarray(np.float64(x)), made)
        rng = np.random.default_rng(0)
        q, m = rng.normal(size=2), rng.normal(size=(5, 3))
        Q, K, b, v = (np.asarray(x) for x in (made.Q, made.K, made.b, made.v))
        expected = [v @ np.tanh(q @ Q + row @ K + b) for row in m]
        found = made.scores(jnp.asarray(q), jnp.asarray(m) @ made.K + made.b)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_states_are_handed_over_where_they_fit():
    one, two = jax.random.split(KEY)
    assert can_hand_over(LSTM(3, 4, key=one), LSTM(5, 4, key=two))
    assert not can_hand_over(LSTM(3, 4, key=one), GRU(5, 4, key=two))
    both = Bidirectional(GRU(3, 4, key=one), GRU(3, 4, key=two))
    assert not can_hand_over(both, GRU(5, 4, key=two))
    assert build_network(Config(cell="lstm", units=4), pairs()).bridge is None


def test_a_bridge_joins_both_directions_of_a_layer():
    one, two = jax.random.split(KEY)
    layers = [Bidirectional(LSTM(n, 4, key=one), LSTM(n, 4, key=two)) for n in (3, 8)]
    encoder, decoder = Stack(layers), Stack.of(LSTM, 5, [6, 6], key=two)
    bridge = Bridge(encoder, decoder, key=one)
    assert [x.V.shape for x in bridge.maps] == [(8, 6)] * 4
    final = jax.tree.map(lambda x: x + 1.0, encoder.initial((2,)))
    state = bridge(encoder, final, decoder)
    assert jax.tree.structure(state) == jax.tree.structure(decoder.initial((2,)))
    whole = Bridge(GRU(3, 4, key=one), decoder, key=two)  # other layers: the whole state
    assert [x.V.shape for x in whole.maps] == [(4, 6)] * 4


def test_scheduled_sampling_reads_own_answers():
    task = pairs(attention="dot", sampling=0.5, sampling_steps=10)
    net = build_network(Config(cell="gru", units=4), task)
    first, later = task.batch(0, 8), task.batch(20, 8)
    assert not first.inputs.own.any() and not later.inputs.own[0].any()
    assert 0.3 < later.inputs.own[1:].mean() < 0.7
    assert np.array_equal(later.inputs.own, task.batch(20, 8).inputs.own)
    outputs, _ = outputs_of(net, later.arrays)
    # The same by hand: feed what was most probable where it is marked.
    read = np.array(later.inputs.target)
    answers = np.asarray(outputs).argmax(-1)
    read[1:][later.inputs.own[1:]] = answers[:-1][later.inputs.own[1:]]
    given = later._replace(inputs=later.inputs._replace(target=read, own=None))
    again, _ = outputs_of(net, given.arrays)
    np.testing.assert_allclose(outputs, again, rtol=1e-4, atol=1e-5)


def test_padding_of_outputs_does_not_count():
    """`DeepReadout` gives a bias where there is no step; the loss must not see it."""
    task = pairs(attention="none")
    batch = task.padded(task.parts["train"], np.arange(3))
    weights = np.asarray(batch.counted)
    assert np.array_equal(weights.sum(0), batch.lengths)
