"""The engine as users have it: compiled with all optimisations, which other tests do without."""

import os
import subprocess
import sys

PROGRAM = """
import equinox as eqx, jax, jax.numpy as jnp, numpy as np
from ostinato import unroll
from ostinato.cells import LSTM, MLSTM

jax.config.update("jax_enable_x64", True)

@eqx.filter_jit
def gradient(cell, xs, lengths, **options):
    def loss(cell):
        return jnp.sum(unroll(cell, xs, lengths=lengths, **options)[0] ** 2)
    return eqx.filter_grad(loss)(cell)

for kind, steps, count, options in [
    (LSTM, 2, 2, {}), (MLSTM, 2, 2, {}), (LSTM, 3, 2, {}), (LSTM, 2, 4, {}), (LSTM, 4, 4, {}),
    (LSTM, 2, 2, {"memory": 1}), (LSTM, 4, 2, {"memory": 2}), (LSTM, 4, 4, {"memory": 2}),
]:
    cell = kind(3, 4, key=jax.random.key(0))
    xs = jax.random.normal(jax.random.key(1), (steps, count, 3))
    lengths = jnp.full(count, steps)
    whole = gradient(cell, xs, lengths, **options)
    alone = [gradient(cell, xs[:, n : n + 1], lengths[:1], **options) for n in range(count)]
    total = jax.tree.map(lambda *parts: sum(parts), *alone)
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(total), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12, err_msg=f"{kind} {steps} {count} {options}")
"""


def test_a_batch_has_the_gradient_of_its_sequences():
    """XLA 0.10 made wrong code for a loop of two steps over two sequences with lengths."""
    usual = {name: x for name, x in os.environ.items() if name != "XLA_FLAGS"}
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, env=usual
    )
    assert found.returncode == 0, found.stderr
