"""Statistics of a contrast, against scipy and on simulated results with known truth."""

import itertools

import numpy as np
import pytest
from scipy import stats

from ostinato.contrast.statistics import (
    LEVEL,
    UNBOUNDED,
    Summary,
    compare,
    holm,
    paired_t,
    power,
    seeds_needed,
    sign_flip,
    smallest_effect,
    summary,
    within,
)
from ostinato.errors import BadInput
from ostinato.tasks import TASKS
from ostinato.tasks.metrics import Metric, NatsPerStep, Ratio, StepMean


def test_summary_is_that_of_scipy():
    values = [2.0, 3.5, 3.0, 4.25]
    found = summary(values)
    low, high = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert found.mean == np.mean(values) and found.sd == pytest.approx(np.std(values, ddof=1))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert summary([2.0]) == Summary(1, 2.0, None, None, None)


def test_paired_t_is_that_of_scipy_and_ignores_what_a_seed_shares():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=5), rng.normal(size=5)
    p = stats.ttest_rel(one, other).pvalue
    assert paired_t(one, other) == pytest.approx(p)
    shared = 100 * rng.normal(size=5)
    assert paired_t(one + shared, other + shared) == pytest.approx(p)


def test_differences_without_spread_are_not_infinitely_significant():
    assert paired_t([1.0, 1.0], [1.0, 1.0]) == 1.0
    assert paired_t([1.0, 1.0, 1.0], [0.5, 0.5, 0.5]) == 0.25
    # Constant up to rounding: 0.3 - 0.2 is not 0.2 - 0.1 in binary.
    assert paired_t([0.3, 0.2], [0.2, 0.1]) == 0.5


def test_sign_flip_is_that_of_scipy():
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=6), rng.normal(0.5, size=6)
    found = stats.permutation_test(
        (one, other), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=1000
    )
    assert sign_flip(one, other) == pytest.approx(found.pvalue)
    assert sign_flip(range(5), range(5, 10)) == 2 / 2**5


def test_sign_flip_of_many_seeds_is_near_the_exact_value():
    rng = np.random.default_rng(2)
    one, other = rng.normal(0.4, size=18), rng.normal(size=18)
    signs = np.array(list(itertools.product([1, -1], repeat=18)), np.int8)
    means = np.abs(signs @ (one - other))
    assert sign_flip(one, other) == pytest.approx(np.mean(means >= means[0] - 1e-12), abs=0.005)


def test_holm_by_hand():
    assert holm([0.005, 0.03, 0.02, 0.6]) == pytest.approx([0.02, 0.06, 0.06, 0.6])
    assert holm([0.9, 0.8]) == [1.0, 1.0] and holm([]) == []


def test_false_positives_are_at_their_level():
    """Of 4,000 families of six equal pairs: each test is at 5 %, and any in a family at most."""
    rng = np.random.default_rng(3)
    shared = rng.normal(size=(4000, 1, 5))  # what all entries of a seed have in common
    results = shared + rng.normal(size=(4000, 4, 5))
    pairs = itertools.combinations(range(4), 2)
    differences = np.stack([results[:, i] - results[:, j] for i, j in pairs], axis=1)
    raw = stats.ttest_1samp(differences, 0, axis=-1).pvalue
    (family,) = compare([dict(zip("abcd", results[0], strict=True))])
    assert [pair.p for pair in family] == pytest.approx(raw[0])
    assert [pair.adjusted for pair in family] == holm(raw[0])
    adjusted = np.array([holm(row) for row in raw])
    assert np.mean(raw < LEVEL) == pytest.approx(LEVEL, abs=0.006)
    assert np.mean(np.any(raw < LEVEL, axis=1)) > 0.15  # what the correction is for
    assert 0.03 < np.mean(np.any(adjusted < LEVEL, axis=1)) < LEVEL + 0.01  # three standard errors


def test_holm_over_two_tasks_counts_all_comparisons():
    rows = {"a": [1.0, 2.0, 3.5], "b": [1.5, 2.75, 4.0]}
    (alone,), (both, other) = compare([rows])[0], [x for (x,) in compare([rows, rows])]
    assert alone.adjusted == alone.p
    assert both.adjusted == other.adjusted == pytest.approx(2 * alone.p)


@pytest.mark.parametrize(("effect", "seeds", "count"), [(1.0, 5, 1), (2.0, 5, 6), (1.0, 10, 3)])
def test_power_is_what_simulations_give(effect, seeds, count):
    rng = np.random.default_rng(4)
    p = stats.ttest_1samp(rng.normal(effect, 1, size=(20_000, seeds)), 0, axis=1).pvalue
    assert power(effect, seeds, count) == pytest.approx(np.mean(p < LEVEL / count), abs=0.012)


def test_power_without_a_difference_is_the_level():
    assert power(0.0, 5) == pytest.approx(LEVEL, abs=1e-3)
    assert power(smallest_effect(4, 6), 4, 6) == pytest.approx(0.8)
    assert smallest_effect(2, 6) > 50 > smallest_effect(3, 6) > smallest_effect(5, 6)


def test_one_seed_cannot_be_tested():
    with pytest.raises(BadInput, match="at least two seeds"):
        compare([{"a": [1.0], "b": [2.0]}])


SHARE, POSITIVE, BELOW_ONE = (0.0, 1.0), (0.0, np.inf), (-np.inf, 1.0)


@pytest.mark.parametrize("bounds", [SHARE, POSITIVE, BELOW_ONE, (-1.0, 1.0)])
def test_an_interval_stays_within_the_bounds_of_its_metric(bounds):
    rng = np.random.default_rng(5)
    for count in (2, 3, 8):
        values = rng.uniform(0.01, 0.999, size=count)
        found = summary(values, bounds)
        assert bounds[0] <= found.low < found.mean < found.high <= bounds[1]
    exact = summary([1.0, 1.0, 1.0], SHARE)
    assert (exact.low, exact.high) == (1.0, 1.0)


def test_an_interval_is_that_of_the_logit_and_far_from_the_bounds_that_of_student():
    low, high = within(0.9, 0.02, SHARE)
    logit = np.log(0.9 / 0.1) + np.array([-1, 1]) * 0.02 / (0.9 * 0.1)
    assert (low, high) == pytest.approx(tuple(1 / (1 + np.exp(-logit))))
    assert within(0.5, 1e-4, SHARE) == pytest.approx((0.4999, 0.5001), abs=1e-9)
    assert within(2.0, 0.1, POSITIVE) == pytest.approx((2 * np.exp(-0.05), 2 * np.exp(0.05)))
    assert within(2.0, 3.0, UNBOUNDED) == (-1.0, 5.0)


def test_intervals_of_accuracies_hold_their_mean_as_often_as_they_say():
    rng = np.random.default_rng(6)
    values = rng.beta(18, 2, size=(4000, 5))
    found = [summary(row, SHARE) for row in values]
    assert np.mean([one.low <= 0.9 <= one.high for one in found]) == pytest.approx(0.95, abs=0.02)


def test_no_verdict_is_stronger_than_the_sign_flip_test():
    """Two seeds with p = 0.0499 by the t-test, and 0.5 by the test that assumes nothing."""
    one, other = [0.9, 0.9], [0.5, 0.4317]
    ((pair,),) = compare([{"a": one, "b": other}], [SHARE])
    assert pair.p == pair.adjusted < LEVEL < pair.sign_flip == 0.5 and not pair.different
    assert -1 < pair.low < pair.high < 1
    rng = np.random.default_rng(7)
    for seeds, apart in ((5, False), (6, True)):
        better = rng.normal(size=seeds)
        ((pair,),) = compare([{"a": better, "b": better + 5 + 0.1 * rng.normal(size=seeds)}])
        assert pair.adjusted < 1e-4 and pair.different == apart


def test_seeds_needed_are_those_of_the_sign_flip_test():
    for comparisons in range(1, 200):
        count = seeds_needed(comparisons)
        assert comparisons * 2 / 2**count < LEVEL <= comparisons * 2 / 2 ** (count - 1)
        rows = np.random.default_rng(8).normal(5, 1, size=count)
        assert sign_flip(rows, 0 * rows) == 2 / 2**count


def test_every_metric_has_bounds_but_a_loss_that_may_be_negative():
    assert [*TASKS.values()]  # imports them all
    metrics, open_ended = [Metric], set()
    for metric in metrics:
        metrics += [x for x in metric.__subclasses__() if x.__module__.startswith("ostinato.")]
        if metric.bounds == UNBOUNDED:
            open_ended.add(metric)
    assert open_ended == {Metric, Ratio, StepMean, NatsPerStep}
