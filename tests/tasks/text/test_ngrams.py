"""The n-gram yardstick against a slow implementation, its sums, and a known entropy."""

import math
from collections import defaultdict

import numpy as np
import pytest

from ostinato.data import find_data
from ostinato.tasks.text import ngrams
from ostinato.tasks.text.ngrams import ngram_bits, ngram_probabilities


def slow_probability(train, context, symbol, symbols, order):
    """Modified Kneser-Ney by dictionaries, straight from the formula."""
    train, context = tuple(train), tuple(context)

    def table(k):
        count = defaultdict(int)
        if k == order:
            for i in range(k, len(train)):
                count[train[i - k : i + 1]] += 1
        else:
            longer = {train[i - k - 1 : i + 1] for i in range(k + 1, len(train))}
            for gram in longer:
                count[gram[1:]] += 1
        return count

    def probability(k):
        if k < 0:
            return 1 / symbols
        count = table(k)
        n = [0, *(sum(c == i for c in count.values()) for i in (1, 2, 3, 4))]
        if all(n[1:]):
            y = n[1] / (n[1] + 2 * n[2])
            d = [0] + [min(max(i - (i + 1) * y * n[i + 1] / n[i], 0.1), i) for i in (1, 2, 3)]
        else:
            d = [0, 0.5, 1, 1.5]
        h = context[len(context) - k :]
        c = [count.get((*h, s), 0) for s in range(symbols)]
        if sum(c) == 0:
            return probability(k - 1)
        taken = [d[min(x, 3)] for x in c]
        kept = c[symbol] - taken[symbol]
        return (kept + sum(taken) * probability(k - 1)) / sum(c)

    return probability(min(order, len(context)))


def markov(length, seed):
    """A chain over three symbols, and its entropy rate in bits."""
    moves = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.3, 0.4, 0.3]])
    values, vectors = np.linalg.eig(moves.T)
    rest = np.real(vectors[:, np.argmax(np.real(values))])
    rest /= rest.sum()
    rate = float(-np.sum(rest[:, None] * moves * np.log2(moves)))
    draws, borders = np.random.default_rng(seed).random(length), np.cumsum(moves, axis=1).tolist()
    chain = [0]
    for draw in draws:
        low, high, _ = borders[chain[-1]]
        chain.append(int(draw > low) + int(draw > high))
    return np.array(chain), rate


def text(length, symbols, seed):
    """Skewed symbols, so that there are both rare and common grams."""
    return np.minimum(np.random.default_rng(seed).geometric(0.4, length) - 1, symbols - 1)


@pytest.mark.parametrize("order", [0, 1, 2, 5])
def test_agrees_with_dictionaries(order):
    train, test = text(150, 6, seed=0), text(40, 6, seed=1)
    wanted = [
        slow_probability(train, test[max(0, i - order) : i], test[i], 7, order)
        for i in range(len(test))
    ]
    np.testing.assert_allclose(ngram_probabilities(train, test, 7, order), wanted, rtol=1e-12)
    assert math.isclose(ngram_bits(train, test, 7, order), -np.mean(np.log2(wanted)), rel_tol=1e-12)


@pytest.mark.parametrize("order", [0, 1, 3, 5])
def test_sums_to_one_and_is_positive(order):
    train = text(400, 6, seed=2)
    for context in np.random.default_rng(3).integers(0, 8, (20, order)):
        all_symbols = [
            ngram_probabilities(train, np.append(context, s), 8, order)[-1] for s in range(8)
        ]
        assert math.isclose(sum(all_symbols), 1, rel_tol=1e-12)
        assert min(all_symbols) > 0


def test_bigrams_of_a_markov_chain_reach_its_entropy_rate():
    (train, rate), (test, _) = markov(50_000, seed=0), markov(50_000, seed=1)
    assert abs(ngram_bits(train, test, 3, order=1) - rate) < 0.01
    # One symbol back is all that such a chain remembers, and none is not enough.
    assert abs(ngram_bits(train, test, 3, order=3) - rate) < 0.01
    assert ngram_bits(train, test, 3, order=0) > rate + 0.1


def test_contexts_do_not_collide_with_many_symbols():
    # 40,000 symbols to the fifth would not fit into 64 bits.
    period = np.random.default_rng(0).permutation(40_000)[:500]
    train = np.tile(period, 6)
    assert ngram_bits(train, train[500:1000], 40_000, order=5) < 1
    assert ngram_bits(train, np.roll(train[500:1000], 1)[::-1], 40_000, order=5) > 5


@pytest.mark.parametrize("train", [[], [1], [0, 1, 1]])
def test_short_texts(train):
    train = np.array(train, int)
    assert 0 < ngram_probabilities(train, np.array([1]), 4, 5)[0] < 1
    assert ngram_probabilities(train, np.array([], int), 4, 5).shape == (0,)
    assert math.isnan(ngram_bits(train, np.array([], int), 4, 5))


def test_only_the_end_of_a_long_text_is_counted(monkeypatch):
    train, test = text(500, 6, seed=4), text(50, 6, seed=5)
    wanted = ngram_bits(train[-100:], test, 6, 2)
    monkeypatch.setattr(ngrams, "LARGEST", 100)
    assert ngram_bits(train, test, 6, 2) == wanted


@pytest.mark.data("tinyshakespeare/input.txt")
def test_tiny_shakespeare():
    raw = np.fromfile(find_data("tinyshakespeare/input.txt"), np.uint8)
    known, symbols = np.unique(raw, return_inverse=True)
    border = round(0.9 * len(symbols))
    bits = ngram_bits(symbols[:border], symbols[border:], len(known), order=5)
    assert abs(bits - 2.197) < 0.001
