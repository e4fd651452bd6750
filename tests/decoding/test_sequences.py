"""Whole answers: beam search against trying everything, and against the model's own scores."""

import itertools
from functools import cache

import jax
import numpy as np
import pytest

from ostinato.decoding import beam_answers, sampled_answers
from ostinato.errors import BadInput
from ostinato.runs import Config
from ostinato.runs.build import build_network
from ostinato.tasks import Pairs
from ostinato.tasks.pairs.write_answers import log_probabilities

MAX = 3


@cache
def made(attention):
    rng = np.random.default_rng(0)
    texts = [["".join(rng.choice([*"ab"], n)) for n in rng.integers(1, 5, 12)] for _ in range(2)]
    task = Pairs.of_texts(*texts, level="characters", embedding=4, attention=attention)
    net = build_network(Config(cell="gru", units=6, input_scale=2.0), task)
    sources = task.parts["train"][0][:3]
    padded = np.zeros((6, 3), np.int32)
    for n, symbols in enumerate(sources):
        padded[: len(symbols), n] = symbols
    return net, sources, padded, np.array([len(x) for x in sources])


@pytest.fixture(params=["additive", "dot", "none"])
def model(request):
    return made(request.param)


@pytest.fixture
def attending():
    """For what does not depend on the attention."""
    return made("additive")


def every_answer(symbols: int) -> list[tuple[int, ...]]:
    """All answers of up to `MAX` symbols with their end."""
    inner = range(1, symbols)
    return [x for n in range(MAX) for x in itertools.product(inner, repeat=n)]


def test_a_wide_beam_is_an_exhaustive_search(model):
    net, sources, padded, lengths = model
    every = every_answer(net.outputs)
    width = net.outputs**MAX
    found = beam_answers(net, padded, lengths, width=width, max_symbols=MAX, count=len(every))
    repeated = [source for source in sources for _ in every]
    scores = np.reshape(log_probabilities(net, repeated, every * len(sources)), (len(sources), -1))
    for n in range(len(sources)):
        order = np.argsort(scores[n])[::-1]
        assert found.ended[n].all()
        np.testing.assert_allclose(found.scores[n], scores[n][order], rtol=1e-4, atol=1e-5)
        best = tuple(int(x) for x in found.symbols[n, 0][: found.lengths[n, 0] - 1])
        assert best == every[order[0]]


def assert_scores_are_the_models_own(answers, net, sources):
    ended = np.argwhere(answers.ended)
    symbols = [answers.symbols[n, k][: answers.lengths[n, k] - 1].tolist() for n, k in ended]
    scores = log_probabilities(net, [sources[n] for n, _ in ended], symbols)
    np.testing.assert_allclose(answers.scores[answers.ended], scores, rtol=1e-4, atol=1e-5)


def test_scores_of_samples_are_the_models_own(model):
    net, sources, padded, lengths = model
    drawn = sampled_answers(net, padded, lengths, key=jax.random.key(1), max_symbols=MAX, count=4)
    assert_scores_are_the_models_own(drawn, net, sources)


def test_scores_of_a_narrow_beam_are_the_models_own(attending):
    """Those of a wide one are compared above."""
    net, sources, padded, lengths = attending
    found = beam_answers(net, padded, lengths, width=4, max_symbols=MAX, count=4)
    assert_scores_are_the_models_own(found, net, sources)


def test_a_beam_of_one_is_greedy(attending):
    net, _, padded, lengths = attending
    found = beam_answers(net, padded, lengths, width=1, max_symbols=8)
    cold = sampled_answers(
        net, padded, lengths, key=jax.random.key(0), max_symbols=8, temperature=0.0
    )
    assert np.array_equal(found.symbols, cold.symbols)
    np.testing.assert_allclose(found.scores, cold.scores, rtol=1e-5)


def test_a_penalty_prefers_longer_answers(attending):
    net, _, padded, lengths = attending
    plain, long = (
        beam_answers(net, padded, lengths, width=27, max_symbols=MAX, penalty=penalty)
        for penalty in (0.0, 20.0)
    )
    assert (long.lengths >= plain.lengths).all() and (long.lengths > plain.lengths).any()


def test_answers_that_were_cut_off_come_last(attending):
    net, _, padded, lengths = attending
    found = beam_answers(net, padded, lengths, width=8, max_symbols=1, count=4)
    assert found.ended[:, 0].all() and not found.ended[:, 1:].any()
    assert (found.lengths == 1).all()


def test_samples_have_the_frequencies_of_the_model(attending):
    net, sources, padded, lengths = attending
    count = 4000
    drawn = sampled_answers(
        net, padded[:, :1], lengths[:1], key=jax.random.key(2), max_symbols=MAX, count=count
    )
    (score,) = log_probabilities(net, [sources[0]], [[]])
    share = np.mean((drawn.lengths[0] == 1) & drawn.ended[0])
    expected = np.exp(score)
    assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / count) + 1e-3


def test_what_cannot_be_searched_is_said(attending):
    net, _, padded, lengths = attending
    with pytest.raises(BadInput, match="at least 1"):
        beam_answers(net, padded, lengths, width=0, max_symbols=3)
    with pytest.raises(BadInput, match="at most 2 answers"):
        beam_answers(net, padded, lengths, width=2, max_symbols=3, count=3)
    with pytest.raises(BadInput, match="temperature"):
        sampled_answers(
            net, padded, lengths, key=jax.random.key(0), max_symbols=3, temperature=-1.0
        )
