"""Memory and time of the gradient with `memory="sqrt"` against `"all"`, over the length.

    python benchmarks/memory.py

The loss stands at every step. It is computed within the step, by a cell around the network whose
output is the loss itself, so that no array of the outputs of all steps exists.
"""

import os
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "2")

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import ostinato
from measure import milliseconds, publish, table
from ostinato.cells import LSTM
from ostinato.wiring import Network, OneHot, Readout

BATCH, UNITS, SYMBOLS = 8, 64, 32
LENGTHS = (256, 1024, 4096, 16384)


class CrossEntropy(ostinato.Cell):
    """A network whose output is its loss: `x = (symbol, target)`, `y = -log p(target)`."""

    network: Network

    @property
    def input_axes(self):
        return 0

    def initial(self, batch):
        return self.network.initial(batch)

    def inputs(self, x):
        symbol, target = x
        return self.network.inputs(symbol), target

    def step(self, state, u):
        u, target = u
        state, logits = self.network.step(state, u)
        log_p = jax.nn.log_softmax(logits)
        return state, -jnp.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]


def gradient_with(memory):
    def loss(cell, xs):
        return jnp.mean(ostinato.unroll(cell, xs, memory=memory)[0])

    return jax.jit(lambda cell, xs: eqx.filter_grad(loss)(cell, xs))


def main():
    one, two = jax.random.split(jax.random.key(0))
    network = Network(
        LSTM(SYMBOLS, UNITS, key=one), Readout(UNITS, SYMBOLS, key=two), OneHot(SYMBOLS)
    )
    cell = CrossEntropy(network)
    rows, bytes_used = [], {"all": [], "sqrt": []}
    for steps in LENGTHS:
        text = np.random.default_rng(0).integers(SYMBOLS, size=(steps + 1, BATCH), dtype=np.int32)
        xs, row = (text[:-1], text[1:]), [steps]
        times = {}
        for memory in ("all", "sqrt"):
            compiled = gradient_with(memory).lower(cell, xs).compile()
            size = compiled.memory_analysis().temp_size_in_bytes
            bytes_used[memory].append(size)
            run = partial(compiled, cell, xs)
            times[memory] = milliseconds(run, jax.block_until_ready, repeats=5)
            row += [f"{size / 2**20:.2f}", f"{times[memory]:.0f}"]
        rows.append([*row, f"**{times['sqrt'] / times['all']:.2f}**"])
    growth = {
        memory: np.log(sizes[-1] / sizes[0]) / np.log(LENGTHS[-1] / LENGTHS[0])
        for memory, sizes in bytes_used.items()
    }
    header = ["T", "all: MiB", "all: ms", "sqrt: MiB", "sqrt: ms", "time, sqrt over all"]
    publish(
        "Memory of the gradient",
        f"LSTM of {UNITS} units, {BATCH} sequences, cross-entropy over {SYMBOLS} symbols at every "
        "step; temporary memory of the compiled gradient:\n\n"
        + table(header, rows)
        + f"\n\nFrom T = {LENGTHS[0]} to {LENGTHS[-1]} memory grows as T^{growth['all']:.2f} with "
        f"`all` and as **T^{growth['sqrt']:.2f}** with `sqrt`.",
    )


if __name__ == "__main__":
    main()
