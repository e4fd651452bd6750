"""Summaries of all steps so far, against their definitions in NumPy."""

import jax
import numpy as np
import pytest

import ostinato
from ostinato.errors import BadInput
from ostinato.wiring import Pool
from ostinato.wiring.pool import POOLS, pools


def attention(xs, w):
    scores = np.exp(xs @ w - np.max(xs @ w))
    return (scores[:, None] * xs).sum(axis=0) / scores.sum()


def test_each_summary_is_that_of_the_steps_of_its_own_sequence():
    rng = np.random.default_rng(0)
    xs, w, lengths = rng.normal(size=(6, 2, 3)), rng.normal(size=3), [6, 4]
    pool = Pool(3, POOLS)
    pool = jax.tree.map(lambda _: w, pool)  # the only array
    ys, _ = ostinato.unroll(pool, xs, lengths=lengths)
    for n, steps in enumerate(lengths):
        for t in range(steps):
            past = xs[: t + 1, n]
            wanted = [past[-1], past.mean(0), past.max(0), (past > 0).mean(0), attention(past, w)]
            np.testing.assert_allclose(ys[t, n], np.concatenate(wanted), rtol=1e-12)


def test_attention_does_not_overflow_where_its_scores_are_large():
    xs = 1e4 * np.ones((5, 1, 1)) * np.arange(1, 6)[:, None, None]
    pool = jax.tree.map(lambda _: np.ones(1), Pool(1, ["attention"]))
    ys, _ = ostinato.unroll(pool, xs)
    np.testing.assert_allclose(ys[:, 0, 0], xs[:, 0, 0])


@pytest.mark.parametrize("words", ["median", "mean,", "mean mean", "mean,mean", ""])
def test_other_summaries_are_refused(words):
    with pytest.raises(BadInput, match="pool"):
        pools(words)
