"""The engine as users have it: compiled with all optimisations, which other tests do without."""

import os
import subprocess
import sys

PROGRAM = """
import equinox as eqx, jax, jax.numpy as jnp, numpy as np
from ostinato import unroll
from ostinato.cells import LSTM, MLSTM

jax.config.update("jax_enable_x64", True)

def gradient(cell, xs, options):
    def loss(cell):
        lengths = jnp.full(xs.shape[1], len(xs))
        return jnp.sum(unroll(cell, xs, lengths=lengths, **dict(options))[0] ** 2)
    return jax.grad(loss)(cell)

optimised = jax.jit(gradient, static_argnums=2)
plain = jax.jit(gradient, static_argnums=2, compiler_options={"xla_backend_optimization_level": 0})

for kind, steps, count, *options in [
    (LSTM, 2, 2), (MLSTM, 2, 2), (LSTM, 3, 2), (LSTM, 2, 4), (LSTM, 4, 4),
    (LSTM, 2, 2, ("memory", 1)), (LSTM, 4, 2, ("memory", 2)), (LSTM, 4, 4, ("memory", 2)),
]:
    draw = np.random.default_rng(0).normal
    shapes = eqx.filter_eval_shape(kind, 3, 4, key=jax.random.key(0))
    cell = jax.tree.map(lambda x: draw(size=x.shape), shapes)
    xs = draw(size=(steps, count, 3))
    whole = optimised(cell, xs, tuple(options))
    alone = [plain(cell, xs[:, n : n + 1], ()) for n in range(count)]
    case = str([kind, steps, count, *options])
    for a, *parts in zip(*map(jax.tree.leaves, [whole, *alone]), strict=True):
        total = np.sum(parts, axis=0)
        np.testing.assert_allclose(a, total, atol=1e-12, err_msg=case)
"""


def test_a_batch_has_the_gradient_of_its_sequences():
    """XLA 0.10 made wrong code for a loop of two steps over two sequences with lengths."""
    usual = {name: x for name, x in os.environ.items() if name != "XLA_FLAGS"}
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, env=usual
    )
    assert found.returncode == 0, found.stderr
