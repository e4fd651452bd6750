"""Hidden Markov models of characters, against the enumeration of all paths."""

import itertools

import numpy as np
import pytest

from ostinato.errors import BadInput
from ostinato.tasks.handwriting.hidden_markov import (
    CharacterModels,
    fit_characters,
    forward,
    most_probable_words,
    posteriors,
)

T, N = 6, 3


def paths():
    """All paths of a chain from its first to its last state."""
    for path in itertools.product(range(N), repeat=T):
        steps = np.diff(path)
        if path[0] == 0 and path[-1] == N - 1 and set(steps) <= {0, 1}:
            yield np.array(path)


@pytest.fixture(params=range(3))
def chain(request):
    rng = np.random.default_rng(request.param)
    return rng.normal(size=(T, N)), rng.uniform(0.2, 0.8, N)


def weight(path, logs, stay):
    moves = [
        np.log(stay[a]) if a == b else np.log(1 - stay[a]) for a, b in itertools.pairwise(path)
    ]
    return logs[np.arange(T), path].sum() + sum(moves)


def test_posteriors_are_sums_over_all_paths(chain):
    logs, stay = chain
    every = [*paths()]
    weights = np.exp([weight(path, logs, stay) for path in every])
    value, gamma, repeats = posteriors(logs, stay)
    assert value == pytest.approx(np.log(weights.sum()))
    shares = weights / weights.sum()
    expected = sum(share * np.eye(N)[path] for share, path in zip(shares, every, strict=True))
    np.testing.assert_allclose(gamma, expected, atol=1e-12)
    repeated = np.zeros(N)
    for share, path in zip(shares, every, strict=True):
        np.add.at(repeated, path[:-1][path[1:] == path[:-1]], share)
    np.testing.assert_allclose(repeats, repeated, atol=1e-12)
    assert forward(logs, stay)[-1, -1] == pytest.approx(value)
    both = forward(np.stack([logs, logs], 1), np.stack([stay, stay]))
    np.testing.assert_allclose(both[:, 1], forward(logs, stay))


def test_densities_are_gaussian():
    rng = np.random.default_rng(0)
    models = CharacterModels(
        rng.normal(size=(2, 2, 3)), rng.uniform(0.5, 2, (2, 2, 3)), np.full((2, 2), 0.5)
    )
    steps = rng.normal(size=(4, 3))
    for t, k, s in itertools.product(range(4), range(2), range(2)):
        mean, variance = models.means[k, s], models.variances[k, s]
        density = np.exp(-((steps[t] - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
        assert models.logs(steps)[t, 2 * k + s] == pytest.approx(np.log(density).sum())
    assert models.chain([1, 0]).tolist() == [2, 3, 0, 1]


def written(rng, word, means):
    """Each character as three states, each of two to five steps."""
    return np.concatenate(
        [
            rng.normal(means[character, s], 0.3, (rng.integers(2, 6), 2))
            for character in word
            for s in range(3)
        ]
    )


def test_words_are_learned_without_a_segmentation():
    rng = np.random.default_rng(0)
    means = rng.normal(size=(4, 3, 2))
    lexicon = [(0, 1), (1, 0), (2, 3, 0), (3, 2), (0, 2, 1), (1, 3)]
    which = rng.integers(6, size=60)
    drawings = [written(rng, lexicon[n], means) for n in which]
    models, values = fit_characters([lexicon[n] for n in which], drawings, 4, states=3, rounds=6)
    assert np.all(np.diff(values) > -1e-6)  # Baum-Welch never makes the data less probable
    np.testing.assert_allclose(models.means, means, atol=0.25)
    others = rng.integers(6, size=40)
    found = most_probable_words(models, lexicon, [written(rng, lexicon[n], means) for n in others])
    assert np.mean(found == others) > 0.95


def test_one_round_is_that_of_the_formulas():
    """Means, variances and repetitions of two words of one character, by loops."""
    rng = np.random.default_rng(1)
    drawings = [rng.normal(size=(7, 2)), rng.normal(size=(5, 2))]
    start, _ = fit_characters([(0,), (0,)], drawings, 1, states=2, rounds=0)
    models, _ = fit_characters([(0,), (0,)], drawings, 1, states=2, rounds=1)
    found = [posteriors(start.logs(steps), start.stay[0]) for steps in drawings]
    for s in range(2):
        weights = [gamma[:, s] for _, gamma, _ in found]
        total = sum(w.sum() for w in weights)
        mean = sum(w @ x for w, x in zip(weights, drawings, strict=True)) / total
        spread = sum(w @ (x - mean) ** 2 for w, x in zip(weights, drawings, strict=True)) / total
        np.testing.assert_allclose(models.means[0, s], mean)
        np.testing.assert_allclose(models.variances[0, s], spread)
        stay = sum(repeats[s] for _, _, repeats in found) / total
        assert models.stay[0, s] == pytest.approx(np.clip(stay, 0.01, 0.99))


def test_drawings_that_are_too_short():
    with pytest.raises(BadInput, match="no drawing has 8 steps for each of its characters"):
        fit_characters([(0,)], [np.zeros((3, 2))], 1)
    with pytest.raises(BadInput, match="states must be at least 1"):
        fit_characters([(0,)], [np.zeros((3, 2))], 1, states=0)
