"""A cell of your own in ten lines: check it, and see how far back its gradient reaches.

python examples/own_cell.py [picture.png]    (needs matplotlib: pip install '.[plot]')
"""

import sys
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import ostinato
from ostinato.cells import Simple


class OwnLSTM(ostinato.Cell):
    W: jax.Array
    R: jax.Array
    b: jax.Array

    def __init__(self, inputs, units, *, key):
        w, r = jax.random.split(key)
        self.W = jax.random.normal(w, (inputs, 4 * units)) / inputs**0.5
        self.R = jax.random.normal(r, (units, 4 * units)) / units**0.5
        self.b = jnp.zeros(4 * units).at[units : 2 * units].set(3.0)

    # The ten lines: where it starts, what it takes from the input, and one step of time.
    def initial(self, batch):
        return 2 * (jnp.zeros((*batch, self.R.shape[0]), self.R.dtype),)

    def inputs(self, x):
        return x @ self.W + self.b

    def step(self, state, u):
        h, c = state
        a = u + h @ self.R
        i, f, _, o = jnp.split(jax.nn.sigmoid(a), 4, axis=-1)
        c = f * c + i * jnp.tanh(jnp.split(a, 4, axis=-1)[2])
        h = o * jnp.tanh(c)
        return (h, c), h


def gradient_by_lag(cell, xs):
    """Norm of the error at the pre-activations, for a loss on the last output: one per lag."""

    def last_output(offsets):
        ys, _ = ostinato.unroll(cell, xs, taps=offsets)
        return jnp.sum(ys[-1] ** 2)

    (errors,) = jax.grad(last_output)(ostinato.taps(cell, xs)).values()
    return np.asarray(jnp.sqrt(jnp.sum(errors**2, axis=(1, 2))))[::-1]


def main(picture="gradient_by_lag.png"):
    cell = OwnLSTM(8, 64, key=jax.random.key(0))
    print(f"a cell with {ostinato.count_parameters(cell):,} parameters")
    started = time.perf_counter()
    passed = ostinato.testing.check_cell(OwnLSTM(3, 4, key=jax.random.key(1)))
    print(f"check_cell: {len(passed)} checks passed in {time.perf_counter() - started:.0f} s")

    xs = jax.random.normal(jax.random.key(2), (101, 32, 8))
    curves = {
        "the cell above": gradient_by_lag(cell, xs),
        "simple tanh cell": gradient_by_lag(Simple(8, 64, key=jax.random.key(3)), xs),
    }
    print("\nshare of the gradient that is left after so many steps back (a bar is 10 decades):")
    for name, norms in curves.items():
        print(f"  {name}")
        for lag in (0, 10, 20, 50, 100):
            share = norms[lag] / norms[0]
            bar = "#" * max(0, round(40 + 4 * float(np.log10(max(share, 1e-10)))))
            print(f"    {lag:4d}  {share:9.2e}  {bar}")
    draw(curves, picture)
    print(f"\npicture: {picture}")

    loss = eqx.filter_jit(eqx.filter_grad(lambda c: jnp.sum(ostinato.unroll(c, xs)[0] ** 2)))
    jax.block_until_ready(loss(cell))
    started = time.perf_counter()
    jax.block_until_ready(loss(cell))
    steps = xs.shape[0] * xs.shape[1] / (time.perf_counter() - started)
    print(f"its gradient: {steps:,.0f} steps of a sequence a second on {jax.devices()[0].platform}")


def draw(curves, picture):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    for name, norms in curves.items():
        axes.semilogy(norms / norms[0], label=name)
    axes.set(xlabel="steps back", ylabel="gradient norm, relative to lag 0")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(picture, dpi=150)


if __name__ == "__main__":
    main(*sys.argv[1:2])
