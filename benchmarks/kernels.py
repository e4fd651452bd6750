"""Persistent kernels on a GPU: whether they are right, and how fast they are.

    python benchmarks/kernels.py check      agreement with the scan, repeats, a failed launch
    python benchmarks/kernels.py lstm       LSTM against cuDNN in all its modes, 12 shapes

Times are medians and include the input product on both sides; the gradient is that of the sum of
squared outputs with respect to all weights. Ratios are ours over theirs.
"""

import math
import sys
import threading
import warnings
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import ostinato
from measure import milliseconds, publish, table
from ostinato.cells import (
    GRU,
    LSTM,
    LSTM1997,
    MLSTM,
    MRNN,
    Jordan,
    KrauseLSTM,
    Leaky,
    PeepholeLSTM,
    Simple,
    initialisers,
)
from ostinato.through_time.persistent import _kernel
from ostinato.wiring import LayerNorm

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from own_cell import OwnLSTM

BATCHES, UNITS, STEPS = (1, 16, 64, 128), (256, 512, 1024), 512
CELLS = {
    "simple": Simple,
    "jordan": partial(Jordan, outputs=48),
    "lstm": LSTM,
    "peephole": PeepholeLSTM,
    "lstm 1997": LSTM1997,
    "krause": KrauseLSTM,
    "mlstm": MLSTM,
    "mrnn": partial(MRNN, factor_inputs=32),
    "gru": GRU,
    "gru, reset after": partial(GRU, reset="after"),
    "leaky": Leaky,
    "layer norm": lambda *sizes, key: LayerNorm(LSTM(*sizes, key=key)),
    "own cell": OwnLSTM,
}
CHECKED = [(16, 64), (1, 128), (5, 40), (33, 176), (70, 100), (64, 512), (130, 96)]
TOLERANCE = {None: 2e-2, "bfloat16": 5e-2, "float16": 2e-2}


def inputs(batch, steps, units):
    xs = np.random.default_rng(batch + units).standard_normal((steps, batch, units))
    return jnp.asarray(xs, jnp.float32)


def everything(cell, xs, lengths, **options):
    """Outputs, gradient and a Gauss-Newton product."""

    def outputs(cell):
        return ostinato.unroll(cell, xs, lengths=lengths, **options)[0]

    def run(cell):
        gradient = jax.grad(lambda c: jnp.mean(jnp.sin(outputs(c))))(cell)
        ys, push = jax.linearize(outputs, cell)
        (product,) = jax.linear_transpose(push, cell)(push(cell))
        return ys, gradient, product

    return jax.device_get(jax.jit(run)(cell))


def off(found, expected) -> float:
    """The largest difference of an array, for its size."""
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    return max(
        float(np.max(np.abs(a - b)) / (np.max(np.abs(b)) + 1e-12)) for a, b in pairs if np.size(b)
    )


def check():
    failures = 0
    for name, kind in CELLS.items():
        for batch, units in CHECKED:
            cell, xs = kind(24, units, key=jax.random.key(units)), inputs(batch, 50, 24)
            lengths = jnp.asarray(np.arange(batch) * 7 % 51) if batch % 2 else None
            for compute, most in TOLERANCE.items():
                run = partial(everything, cell, xs, lengths, compute=compute)
                expected = run()
                one, two = run(backend="persistent"), run(backend="persistent")
                same = all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(two)))
                error = off(one, expected)
                fine = same and error < most
                failures += not fine
                print(
                    f"{'ok ' if fine else 'BAD'} {name:17} B{batch} h{units} {compute or 'TF32'}: "
                    f"{error:.1e}{'' if same else ', not the same twice'}",
                    flush=True,
                )
    failures += not (many_launches() and a_failed_launch())
    sys.exit(f"{failures} failures" if failures else 0)


def many_launches() -> bool:
    """A hundred in a row, and again while another thread keeps the GPU busy."""
    cell, xs = LSTM(64, 256, key=jax.random.key(0)), inputs(64, 100, 64)
    run = jax.jit(lambda: ostinato.unroll(cell, xs, backend="persistent")[0])
    expected, done = np.asarray(run()), threading.Event()
    large = jnp.ones((4096, 4096))

    def busy():
        work = jax.jit(lambda x: x @ x)
        while not done.is_set():
            work(large).block_until_ready()

    found = [np.array_equal(run(), expected) for _ in range(100)]
    other = threading.Thread(target=busy)
    other.start()
    found += [np.array_equal(run(), expected) for _ in range(100)]
    done.set()
    other.join()
    print(f"{sum(found)} of 200 launches gave the same bits, 100 beside another busy thread")
    return all(found)


def a_failed_launch() -> bool:
    """A kernel that gives up at once: the scan does the work, and a warning says so."""
    cell, xs = LSTM(64, 256, key=jax.random.key(0)), inputs(16, 100, 64)
    kernel = _kernel.run_kernel
    _kernel.run_kernel = partial(kernel, longest=0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = jax.jit(lambda: ostinato.unroll(cell, xs, backend="persistent")[0])()
        jax.effects_barrier()
    _kernel.run_kernel = kernel
    right = off(found, jax.jit(lambda: ostinato.unroll(cell, xs)[0])()) < 1e-5
    print(f"a failed launch: {[str(w.message) for w in said]}; right: {right}")
    return right and len(said) > 0


def forward_and_gradient(cell, xs, **options):
    """Milliseconds of both."""

    @jax.jit
    def forward(cell, xs):
        return ostinato.unroll(cell, xs, **options)[0]

    @jax.jit
    def gradient(cell, xs):
        return jax.grad(lambda c: jnp.sum(forward(c, xs).astype(jnp.float32) ** 2))(cell)

    return [
        milliseconds(lambda f=f: f(cell, xs), jax.block_until_ready, inner=4)
        for f in (forward, gradient)
    ]


def cudnn(batch, units, dtype):
    import torch

    net = torch.nn.LSTM(units, units).to("cuda", dtype)
    xs = torch.randn(STEPS, batch, units, device="cuda", dtype=dtype)

    def forward():
        with torch.no_grad():
            return net(xs)

    def gradient():
        net.zero_grad(set_to_none=True)
        net(xs)[0].float().square().sum().backward()

    def wait(_):
        torch.cuda.synchronize()

    return [milliseconds(f, wait, inner=4) for f in (forward, gradient)]


def mean(ratios) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def lstm():
    import torch

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    dtypes = {"TF32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
    rows, ratios = [], []
    std = initialisers.normal(0.03)
    for units in UNITS:
        cell = LSTM(units, units, key=jax.random.key(0), input=std, recurrent=std)
        for batch in BATCHES:
            theirs = {name: cudnn(batch, units, dtype) for name, dtype in dtypes.items()}
            xs = inputs(batch, STEPS, units).astype(jnp.bfloat16)
            scan = forward_and_gradient(cell, xs, compute="bfloat16")
            ours = forward_and_gradient(cell, xs, compute="bfloat16", backend="persistent")
            best = [min(times[i] for times in theirs.values()) for i in (0, 1)]
            ratios.append([a / b for a, b in zip(ours, best, strict=True)])
            rows.append(
                [
                    f"B{batch} h{units}",
                    *(" / ".join(f"{x:.2f}" for x in times) for times in theirs.values()),
                    " / ".join(f"{x:.2f}" for x in scan),
                    " / ".join(f"{x:.2f}" for x in ours),
                    " / ".join(f"**{x:.2f}**" for x in ratios[-1]),
                ]
            )
            print(rows[-1], flush=True)
    forward, both = (mean([r[i] for r in ratios]) for i in (0, 1))
    worst = max(r[1] for r in ratios)
    header = ["shape", *(f"cuDNN {name}" for name in dtypes), "scan, bf16", "persistent, bf16"]
    publish(
        "Persistent kernels: LSTM against cuDNN (ms)",
        f"T = {STEPS}; forward / forward and backward; the ratio is to the best of cuDNN's modes."
        "\n\n"
        + table([*header, "ratio"], rows)
        + f"\n\nGeometric mean of the ratios: forward **{forward:.2f}**, both **{both:.2f}**; the "
        f"largest of both is {worst:.2f}.",
    )


if __name__ == "__main__":
    {"check": check, "lstm": lstm}[sys.argv[1]]()
