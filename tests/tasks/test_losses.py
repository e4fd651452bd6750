"""The losses' Hessians, against JAX's own."""

import jax
import numpy as np
import pytest

from ostinato.tasks.losses import Sigmoid, Softmax, Squared

OUTPUTS = 5


@pytest.mark.parametrize("loss", [Softmax(), Sigmoid(), Squared()], ids=lambda x: type(x).__name__)
def test_hessian(loss):
    random = np.random.default_rng(0)
    outputs = 2 * random.standard_normal((3, 2, OUTPUTS))
    v = random.standard_normal(outputs.shape)
    targets = random.random(outputs.shape)
    if isinstance(loss, Softmax):
        targets = random.integers(0, OUTPUTS, outputs.shape[:-1])
    product = loss.hessian(outputs)(v)
    for at in np.ndindex(3, 2):
        dense = jax.hessian(lambda o, at=at: loss(o, targets[at]))(outputs[at])
        np.testing.assert_allclose(product[at], dense @ v[at], rtol=1e-10, atol=1e-12)
