"""The sLSTM (Beck et al., 2024, xLSTM) as a cell of your own, compared with the LSTM.

    python examples/slstm.py
    ostinato train --cell examples/slstm.py:SLSTM --task adding

The input gate is an exponential. The state m keeps its exponent small, and n normalises:

    m_t = max(log σ(f̃) + m_{t-1}, ĩ),  i = exp(ĩ - m_t),  f = exp(log σ(f̃) + m_{t-1} - m_t)
    c_t = f c_{t-1} + i tanh(z̃),  n_t = f n_{t-1} + i,  h_t = σ(õ) c_t / n_t
"""

import tempfile

import jax
import jax.numpy as jnp

from ostinato import Cell, Config, Network, Readout, evaluate, train
from ostinato.cells import LSTM
from ostinato.tasks import TemporalOrder
from ostinato.wiring import OneHot


class SLSTM(Cell):
    W: jax.Array
    R: jax.Array
    b: jax.Array

    def __init__(self, inputs, units, *, key):
        w, r = jax.random.split(key)
        self.W = jax.random.normal(w, (inputs, 4 * units)) / inputs**0.5
        self.R = jax.random.normal(r, (units, 4 * units)) / units**0.5
        self.b = jnp.zeros(4 * units).at[2 * units : 3 * units].set(3.0)  # remember at first

    def initial(self, batch):
        return 4 * (jnp.zeros((*batch, self.R.shape[0]), self.R.dtype),)

    def inputs(self, x):
        return x @ self.W + self.b

    def step(self, state, u):
        h, c, n, m = state
        z, i, f, o = jnp.split(u + h @ self.R, 4, axis=-1)
        kept = jax.nn.log_sigmoid(f) + m
        m = jnp.maximum(kept, i)
        c = jnp.exp(kept - m) * c + jnp.exp(i - m) * jnp.tanh(z)
        n = jnp.exp(kept - m) * n + jnp.exp(i - m)
        h = jax.nn.sigmoid(o) * c / n
        return (h, c, n, m), h


def main():
    task, config = TemporalOrder(length=15), Config(batch=32, steps=300, rate=0.01)
    for cell in (SLSTM, LSTM):
        body, out = jax.random.split(jax.random.key(1))
        network = Network(
            cell(task.inputs, 16, key=body), Readout(16, 4, key=out), OneHot(task.inputs)
        )
        with tempfile.TemporaryDirectory() as folder:
            run = train(config, folder, task=task, network=network)
            network = run.network(like=network)
            accuracy = evaluate(run, "test", task=task, network=network)["accuracy"]
        print(f"{cell.__name__}: accuracy {accuracy:.2f}, chance {task.chance:.2f}")


if __name__ == "__main__":
    main()
