"""Bits, perplexity, learning at test time, and spelling."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.cells import GRU, LSTM
from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.metrics import Bits, NormalisedError, perplexity
from ostinato.runs.analysis.evaluation import (
    dynamic_evaluate,
    evaluate_network,
    measured,
    measured_together,
)
from ostinato.runs.analysis.spelling import word_fail_rate, words_of
from ostinato.tasks import TASKS, MackeyGlass, NTMCopy, Text
from ostinato.tasks.text.text import streams
from ostinato.through_time import unroll
from ostinato.wiring import Dropout, Network, OneHot, Readout

ONE, TWO = jax.random.key(1), jax.random.key(2)
METRIC = (NormalisedError(),)
TEXT = "the cat sat on the mat and the rat ran " * 8


def network(symbols: int, units: int = 8) -> Network:
    cell = LSTM(symbols, units, key=ONE)
    return Network(cell, Readout(units, symbols, key=TWO), OneHot(symbols))


def certain(probabilities) -> Network:
    """A network that gives the same probabilities at every step."""
    made = network(len(probabilities))
    return eqx.tree_at(
        lambda n: (n.readout.V, n.readout.b),
        made,
        (jnp.zeros_like(made.readout.V), jnp.log(jnp.asarray(probabilities))),
    )


def bits_of(made: Network, batches) -> float | None:
    return measured(made, batches, (Bits(),))[0]


def test_bits_of_known_probabilities():
    text = np.array([0, 1, 0, 2, 0, 1])
    batches = streams(text, 1, 4)
    # After the first symbol: 1, 0, 2, 0, 1.
    expected = (2 + 1 + 2 + 1 + 2) / 5
    assert bits_of(certain([0.5, 0.25, 0.25]), batches) == pytest.approx(expected)
    assert perplexity(3.0) == 8.0


def test_the_state_is_carried_where_it_should_be():
    symbols = Text.of(TEXT).parts["train"][:61]
    made = network(12)
    logits, _ = unroll(made, jnp.asarray(symbols[:-1], jnp.int32))
    expected = float(jnp.mean(Bits().score(logits, jnp.asarray(symbols[1:], jnp.int32))))
    for length in (7, 100):
        found = bits_of(made, streams(symbols, 1, length))
        assert found == pytest.approx(expected, rel=1e-12)
    fresh = [batch._replace(first=True) for batch in streams(symbols, 1, 7)]
    parts = [bits_of(made, [batch]) for batch in fresh]
    weights = [batch.weights.sum() for batch in fresh]
    assert bits_of(made, fresh) == pytest.approx(np.average(parts, weights=weights))
    assert bits_of(made, fresh) != pytest.approx(expected, rel=1e-6)


def test_weights_count():
    made, xs = certain([0.5, 0.25, 0.25]), np.zeros((3, 2), np.int32)
    targets = np.array([[0, 0], [1, 1], [1, 1]], np.int32)
    weights = np.array([[1, 1], [0, 1], [0, 0]], np.float32)
    assert bits_of(made, [Batch(xs, targets, weights)]) == pytest.approx(4 / 3)
    assert bits_of(made, []) is None


def test_of_a_text_and_of_another_task():
    task = Text.of(TEXT, length=10, split=(0.5, 0.25, 0.25))
    made = network(task.inputs)
    symbols = task.parts["test"]
    logits, _ = unroll(made, jnp.asarray(symbols[:-1], jnp.int32))
    expected = float(jnp.mean(task.metric.score(logits, jnp.asarray(symbols[1:], jnp.int32))))
    assert evaluate_network(made, task, "test", 1) == pytest.approx(expected, rel=1e-12)

    adding = TASKS["adding"](length=10)
    cell = GRU(adding.inputs, 4, key=ONE)
    value = evaluate_network(Network(cell, Readout(4, adding.outputs, key=TWO)), adding, "valid", 8)
    assert 0 < value < 10

    whole = Text.of(TEXT, split=(1.0, 0.0, 0.0))
    with pytest.raises(BadInput, match="the valid part of text is empty"):
        evaluate_network(made, whole)


def test_noise_is_off():
    task = Text.of(TEXT, length=10)
    plain = network(task.inputs)
    noisy = eqx.tree_at(lambda n: n.cell, plain, Dropout(plain.cell, 0.5, key=ONE))
    assert evaluate_network(noisy, task) == evaluate_network(plain, task)
    symbols = task.parts["train"][:50]
    still = dynamic_evaluate(plain, symbols, rate=0.1, window=10)
    assert dynamic_evaluate(noisy, symbols, rate=0.1, window=10) == pytest.approx(still, rel=1e-12)


def test_compiles_once():
    task, traced = Text.of(TEXT, length=10, split=(0.5, 0.5, 0)), []

    class Traced(Bits):
        def score(self, outputs, targets):
            traced.append(outputs.shape)
            return super().score(outputs, targets)

    task.metrics = (Traced(),)
    made = network(task.inputs)
    first = evaluate_network(made, task, "valid", 2)
    changed = eqx.tree_at(lambda n: n.readout.b, made, made.readout.b + jnp.arange(task.inputs))
    assert evaluate_network(changed, task, "valid", 2) != first
    assert traced == [(10, 2, task.inputs)]


def test_a_network_of_float64_stays_one_where_jax_has_no_float64():
    """From Python, the numbers of a run of float64 are those of the command line."""
    text, series = Text.of(TEXT, length=10), MackeyGlass(samples=400, washout=10, length=20)
    made = network(text.inputs)
    cell = GRU(1, 4, key=ONE)
    forecaster = Network(cell, Readout(4, 1, key=TWO))
    copying = NTMCopy(bits=2, min_items=1, max_items=2)
    copier = Network(GRU(copying.inputs, 4, key=ONE), Readout(4, copying.outputs, key=TWO))

    def numbers():
        return (
            evaluate_network(made, text),
            dynamic_evaluate(made, text.parts["valid"], rate=0.1, window=5),
            evaluate_network(forecaster, series),
            measured_together(_pair(forecaster), [[*series.held_out("valid", 1)]] * 2, METRIC),
            series.scores(forecaster, "valid"),
            copying.scores(copier, "valid"),
        )

    wide = numbers()
    with jax.enable_x64(False):
        assert made.readout.V.dtype == jnp.float64
        assert numbers() == wide


def _pair(one: Network) -> Network:
    return jax.tree.map(lambda x: jnp.stack([x, x]) if eqx.is_array(x) else x, one)


def test_dynamic_at_rate_zero_is_static():
    symbols = Text.of(TEXT).parts["train"][:95]
    static = bits_of(network(12), streams(symbols, 1, 100))
    for window, decay in ((10, 0.0), (10, 0.5), (7, 0.0)):
        found = dynamic_evaluate(network(12), symbols, rate=0.0, window=window, decay=decay)
        assert found == pytest.approx(static, rel=1e-12)


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_dynamic_step_by_step(decay):
    """Against the rule written out: score, then step, with `jax.grad` of a plain loss."""
    symbols, made, rate = Text.of(TEXT).parts["train"][:31].astype(np.int32), network(12), 0.5
    start, static = eqx.partition(made, eqx.is_array)
    now, state, total = start, made.initial(()), 0.0
    for begin in (0, 10, 20):
        xs, targets = symbols[begin : begin + 10], symbols[begin + 1 : begin + 11]

        def loss(arrays, xs=xs, targets=targets, state=state):
            logits, after = unroll(eqx.combine(arrays, static), xs, state)
            picked = jax.nn.log_softmax(logits)[jnp.arange(10), targets]
            return -jnp.mean(picked), after

        (value, state), slope = jax.value_and_grad(loss, has_aux=True)(now)
        total += 10 * float(value)
        now = jax.tree.map(
            lambda w, g, w0: (1 - decay) * w - rate * g + decay * w0, now, slope, start
        )
    found = dynamic_evaluate(made, symbols, rate=rate, window=10, decay=decay)
    assert found == pytest.approx(total / 30 / np.log(2), rel=1e-10)


def test_dynamic_learns_what_repeats_and_leaves_the_network_alone():
    symbols, made = np.tile(Text.of(TEXT).parts["train"], 4), network(12)
    before = [*map(np.array, jax.tree.leaves(eqx.filter(made, eqx.is_array)))]
    static = bits_of(made, streams(symbols, 1, 100))
    assert dynamic_evaluate(made, symbols, rate=1.0, window=10) < static - 0.5
    after = jax.tree.leaves(eqx.filter(made, eqx.is_array))
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"rate": -1.0}, "the rate must be 0 or a positive number, got -1"),
        ({"rate": float("nan")}, "the rate must be 0 or a positive number"),
        ({"window": 0}, "the window must be at least 1, got 0"),
        ({"decay": 2.0}, "the decay must be from 0 to 1, got 2"),
        ({"rate": 1e300}, "with a rate of 1e.300 the dynamic evaluation diverged; try a smaller"),
    ],
)
def test_dynamic_refuses(options, words):
    symbols = Text.of(TEXT).parts["train"][:60]
    with pytest.raises(BadInput, match=words):
        dynamic_evaluate(network(12), symbols, **{"rate": 0.1, "window": 10} | options)


def test_dynamic_refuses_what_is_too_short():
    with pytest.raises(BadInput, match="needs at least 2 symbols, got 1"):
        dynamic_evaluate(network(12), np.array([3]))


def test_words():
    assert words_of("Don’t say 'tis 42 o'clock, x_y Ärger'") == [
        "don't",
        "say",
        "tis",
        "o'clock",
        "x",
        "y",
        "ärger",
    ]


def test_word_fail_rate():
    known = set(words_of("the cat don't"))
    assert word_fail_rate("The cat, the kat: DON'T dont!", known) == pytest.approx(2 / 6)
    assert word_fail_rate("the the", known) == 0.0
    assert word_fail_rate("qq", known) == 1.0
    assert word_fail_rate("42 -- ?", known) is None


@pytest.mark.parametrize(
    ("symbols", "words"),
    [
        ([0, 1, -1], "symbols from 0 to 4, got -1"),
        ([0, 1, 5], "symbols from 0 to 4, got 5"),
        ([0.0, 1.0], "expects integer symbols"),
        ([[0, 1], [1, 0]], r"symbols of shape \(T,\), got \(2, 2\)"),
        ([], "at least 2 symbols, got 0"),
    ],
)
def test_dynamic_refuses_what_are_no_symbols(symbols, words):
    with pytest.raises((ValueError, TypeError), match=words):
        dynamic_evaluate(network(5), np.array(symbols))
