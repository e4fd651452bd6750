"""Ridge regression and recursive least squares against dense solutions."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from everyday import some
from ostinato import unroll
from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.learning import Objective
from ostinato.losses import BinaryCrossEntropy, SquaredError
from ostinato.report.network_charts import activity
from ostinato.reservoir import MLP, OutputFeedback, RecursiveLeastSquares, Reservoir, Ridge, ridge
from ostinato.reservoir.ridge import no_moments, solutions
from ostinato.wiring import Network, Readout

KEY = jax.random.key(5)
errors, with_steps = jax.jit(ridge.errors), jax.jit(ridge.with_steps)
fitted = jax.jit(ridge.fitted, static_argnames="bias")
RANDOM = np.random.default_rng(6)
XS, YS = RANDOM.normal(size=(120, 2, 3)), RANDOM.normal(size=(120, 2, 2))
WEIGHTS = (RANDOM.random((120, 2)) < 0.8).astype(np.float32)
WEIGHTS[:20] = 0


@functools.cache
def network(bias):
    one, two = jax.random.split(KEY)
    return Network(Reservoir(3, 10, key=one), Readout(10, 2, key=two, bias=bias))


def batches(windows):
    for n, (x, y, w) in enumerate(
        zip(*(np.split(a, windows) for a in (XS, YS, WEIGHTS)), strict=True)
    ):
        yield Batch(x, y, w, first=n == 0)


def learned(learner, start, windows):
    found, learner_state, state, step = start, learner.initial(start), None, jax.jit(learner.step)
    for batch in batches(windows):
        state = learner.start(start, batch) if batch.first else state
        found, learner_state, state, report = step(found, learner_state, state, batch.arrays)
    return found.readout, report, learner_state


def dense(bias, strength, penalised=False):
    hs, _ = unroll(network(bias).cell, jnp.asarray(XS))
    x, y = (np.asarray(a)[WEIGHTS > 0] for a in (hs, YS))
    if not bias:
        return np.linalg.solve(x.T @ x + strength * np.eye(10), x.T @ y), None
    x = np.concatenate([x, np.ones((len(x), 1))], axis=1)
    penalty = strength * np.eye(11)
    penalty[-1, -1] *= penalised
    found = np.linalg.solve(x.T @ x + penalty, x.T @ y)
    return found[:-1], found[-1]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("windows", some([1, 8], [8]))
def test_ridge_is_the_dense_solution(bias, windows):
    readout, _, _ = learned(Ridge(Objective(SquaredError()), windows, 0.1), network(bias), windows)
    V, b = dense(bias, 0.1)
    np.testing.assert_allclose(readout.V, V, atol=1e-10)
    if bias:
        np.testing.assert_allclose(readout.b, b, atol=1e-10)


@pytest.mark.parametrize("bias", [False, True])
def test_recursive_least_squares_is_ridge(bias):
    start = jax.tree.map(jnp.zeros_like, network(bias).readout)
    start = eqx.tree_at(lambda n: n.readout, network(bias), start)
    learner = RecursiveLeastSquares(Objective(SquaredError()), strength=0.1)
    readout, _, _ = learned(learner, start, 4)
    V, _ = dense(bias, 0.1, penalised=True)
    np.testing.assert_allclose(readout.V, V, atol=1e-9)


def test_forgetting_weighs_the_past():
    learner = RecursiveLeastSquares(Objective(SquaredError()), forgetting=0.9, strength=1e-8)
    readout, _, _ = learned(learner, network(False), 3)
    hs, _ = unroll(network(False).cell, jnp.asarray(XS))
    counted = WEIGHTS.reshape(-1) > 0
    x, y = (np.asarray(a).reshape(-1, a.shape[-1])[counted] for a in (hs, YS))
    age = 0.9 ** np.arange(len(x))[::-1, None]
    np.testing.assert_allclose(
        readout.V, np.linalg.solve((age * x).T @ x, (age * x).T @ y), atol=1e-6
    )


def test_strength_is_chosen_by_cross_validation():
    """The sums give what fitting without each fold gives."""
    x, folds = RANDOM.normal(size=(60, 8)), np.arange(60) % 3
    y = x[:, :1] + 2 * RANDOM.normal(size=(60, 1))
    strengths = np.array([1e-3, 1.0, 30.0, 1e4])
    wrong = np.zeros(4)
    for n, strength in enumerate(strengths):
        for fold in range(3):
            a, b = x[folds != fold], y[folds != fold]
            found = np.linalg.solve(a.T @ a + strength * np.eye(8), a.T @ b)
            wrong[n] += np.sum((x[folds == fold] @ found - y[folds == fold]) ** 2)
    moments = with_steps(no_moments(3, 8, 1), x, y, np.ones(60), folds)
    best, solution = fitted(moments, strengths, bias=False)
    assert best == strengths[np.argmin(wrong)] == 30
    whole = np.linalg.solve(x.T @ x + 30 * np.eye(8), x.T @ y)
    np.testing.assert_allclose(solution, whole, atol=1e-12)
    total = jax.tree.map(lambda a: a[0], jax.device_get(moments).total)
    np.testing.assert_allclose(errors(solution, total), np.sum((x @ whole - y) ** 2), rtol=1e-10)


def test_learner_chooses_and_reports():
    readout, report, learner_state = learned(Ridge(Objective(SquaredError()), 8), network(True), 8)
    assert report["strength"] > 0  # the targets are noise, so the strength is large
    assert report["strength"] == learner_state.strength >= 10
    V, _ = dense(True, float(report["strength"]))
    np.testing.assert_allclose(readout.V, V, atol=1e-9)
    assert report["norms"].shape == (2,) and report["loss"] > 0


@pytest.mark.slow
def test_classes_are_fitted_as_vectors():
    labels = RANDOM.integers(0, 2, (120, 2)).astype(np.int32)
    batch = Batch(XS, labels, WEIGHTS)
    learner, start = Ridge(Objective(SquaredError()), 1, 0.1), network(False)
    one_hot = Batch(XS, np.eye(2)[labels], WEIGHTS).arrays
    by_vector = learner.step(start, learner.initial(start), None, one_hot)[0]
    from ostinato.losses import CrossEntropy

    learner = Ridge(Objective(CrossEntropy()), 1, 0.1)
    by_label = learner.step(start, learner.initial(start), None, batch.arrays)[0]
    np.testing.assert_allclose(by_label.readout.V, by_vector.readout.V, atol=1e-12)


def test_bits_are_fitted_so_that_the_sign_of_the_logit_is_right():
    bits = (RANDOM.random((120, 2, 2)) < 0.2).astype(np.float32)
    start = network(True)
    for kind in (lambda o: Ridge(o, 1, 0.1), RecursiveLeastSquares):
        signs, plain = kind(Objective(BinaryCrossEntropy())), kind(Objective(SquaredError()))
        found = [
            jax.jit(learner.step)(
                start, learner.initial(start), None, Batch(XS, ys, WEIGHTS).arrays
            )[0]
            for learner, ys in ((signs, bits), (plain, 2 * bits - 1))
        ]
        np.testing.assert_allclose(found[0].readout.V, found[1].readout.V, atol=1e-12)


def test_needs_a_linear_readout():
    start = Network(Reservoir(3, 10, key=KEY), MLP(10, 4, 2, key=KEY))
    with pytest.raises(BadInput, match="need a network with a linear readout"):
        Ridge(Objective(SquaredError()), 1).initial(start)


@pytest.mark.parametrize("kind", [lambda o: Ridge(o, 1), RecursiveLeastSquares])
def test_what_memory_cannot_hold_is_refused(kind):
    wide = eqx.filter_eval_shape(lambda: Network(None, Readout(10**7, 2, key=KEY)))
    with pytest.raises(BadInput, match=r"this needs at least .* TiB of memory .* fewer --units"):
        kind(Objective(SquaredError())).initial(wide)


def test_output_feedback_is_taught_by_targets():
    one, two = jax.random.split(KEY)
    start = OutputFeedback(Reservoir(3 + 2, 10, key=one), Readout(10, 2, key=two, bias=False))
    readout, _, _ = learned(Ridge(Objective(SquaredError()), 8, 0.1), start, 8)
    before = np.concatenate([np.zeros((1, 2, 2)), YS[:-1]])
    hs, _ = unroll(start.cell, jnp.asarray(np.concatenate([XS, before], axis=-1)))
    x, y = (np.asarray(a)[WEIGHTS > 0] for a in (hs, YS))
    V = np.linalg.solve(x.T @ x + 0.1 * np.eye(10), x.T @ y)
    np.testing.assert_allclose(readout.V, V, atol=1e-10)


def test_the_report_shows_the_units_of_the_closed_loop():
    start = OutputFeedback(Reservoir(3 + 2, 10, key=KEY), Readout(10, 2, key=KEY))
    ys, state = unroll(start, jnp.asarray(XS))
    np.testing.assert_allclose(start.readout(activity(start, XS)), ys, atol=1e-12)
    later, _ = unroll(start, jnp.asarray(XS), state)
    np.testing.assert_allclose(start.readout(activity(start, XS, state)), later, atol=1e-12)


def test_output_feedback_closes_the_loop():
    one, two = jax.random.split(KEY)
    network = OutputFeedback(Reservoir(3 + 2, 10, key=one), Readout(10, 2, key=two))
    ys, _ = unroll(network, jnp.asarray(XS))
    before = jnp.concatenate([jnp.zeros((1, 2, 2)), ys[:-1]])
    hs, _ = unroll(network.cell, jnp.concatenate([jnp.asarray(XS), before], axis=-1))
    np.testing.assert_allclose(ys, network.readout(hs), atol=1e-12)


@pytest.mark.parametrize("power", [0, 8, 15, 30])
def test_a_solution_is_known_to_be_right_at_any_condition_number(power):
    """Also where the smallest eigenvalues are nothing but rounding errors."""
    rng = np.random.default_rng(power)
    x = rng.normal(size=(50, 30)) @ (
        np.logspace(0, -power, 30)[:, None] * rng.normal(size=(30, 30))
    )
    y = rng.normal(size=(50, 2))
    with jax.enable_x64(True):
        found = solutions(x.T @ x, x.T @ y, jnp.asarray([0.0, 1e-12, 1.0, 1e6]), bias=False)
    assert np.all(np.isfinite(found))


def test_a_wrong_decomposition_is_not_taken_for_a_solution(monkeypatch):
    """A library that returns one wrong eigenvector must not give a wrong readout."""
    right = jnp.linalg.eigh

    def wrong(xx):
        values, vectors = right(xx)
        return values, vectors.at[:, -1].multiply(1.01)

    x = np.random.default_rng(0).normal(size=(50, 5))
    monkeypatch.setattr(jnp.linalg, "eigh", wrong)
    with jax.enable_x64(True):
        assert np.all(np.isnan(solutions(x.T @ x, x.T @ x[:, :1], jnp.asarray([1e-3]), bias=False)))
