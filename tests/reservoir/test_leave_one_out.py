"""Leave-one-out cross-validation against fits that really leave each example out."""

import jax
import numpy as np
import pytest

from ostinato.reservoir import leave_one_out


def ridge(x, y, strength, bias):
    """The solution and the bias by the normal equations."""
    mean, centre = bias * x.mean(0), bias * y.mean(0)
    x, y = x - mean, y - centre
    solution = np.linalg.solve(x.T @ x + strength * np.eye(x.shape[1]), x.T @ y)
    return solution, centre - mean @ solution


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("examples", "features"), [(8, 20), (20, 5)])
def test_predictions_are_those_of_fits_to_the_others(examples, features, bias):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(examples, features))
    y = x[:, :2] + 0.5 * rng.normal(size=(examples, 2)) + 1
    fit = jax.jit(leave_one_out.fit, static_argnums=3)(x, y, np.ones(examples), bias)
    # The same features in the units that the fit uses.
    mean = bias * x.mean(0)
    scaled = x / np.sqrt(((x - mean) ** 2).mean(0)) / np.sqrt(features)
    solution, offset = ridge(scaled, y, fit.strength, bias)
    np.testing.assert_allclose(x @ fit.weights + fit.bias, scaled @ solution + offset, rtol=1e-6)
    for n in range(examples):
        others = np.arange(examples) != n
        solution, offset = ridge(scaled[others], y[others], fit.strength, bias)
        np.testing.assert_allclose(fit.predicted[n], scaled[n] @ solution + offset, rtol=1e-6)


def test_the_strength_is_the_one_with_the_least_error_on_examples_left_out():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(30, 40))
    noise, signal = rng.normal(size=(30, 1)), x[:, :1]
    ones = np.ones(30)
    strict = leave_one_out.fit(x, noise, ones, True).strength
    assert strict > 100 * leave_one_out.fit(x, 10 * signal, ones, True).strength


def test_examples_without_weight_and_constant_features_change_nothing():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(9, 4)), rng.normal(size=(9, 1))
    plain = leave_one_out.fit(x, y, np.ones(9), True)
    more = np.concatenate([x, 7 * np.ones((9, 1))], axis=1)
    padded = np.concatenate([more, 100 * np.ones((2, 5))]), np.concatenate([y, np.ones((2, 1))])
    same = leave_one_out.fit(*padded, np.array([1.0] * 9 + [0, 0]), True)
    # The penalty is relative to the number of features, of which there is one more.
    np.testing.assert_allclose(same.weights[4], 0, atol=1e-12)
    np.testing.assert_allclose(same.predicted[:9], plain.predicted, rtol=1e-6)


def test_sharpness_makes_probabilities_fit_how_often_outputs_are_right():
    targets = np.eye(2)[[0] * 8 + [1] * 2]  # always the same outputs, right in 8 of 10
    outputs = np.tile([0.5, 0.25], (10, 1))
    factor = leave_one_out.sharpness(outputs, targets, np.ones(10))
    assert jax.nn.softmax(factor * outputs[0])[0] == pytest.approx(0.8, abs=0.02)
