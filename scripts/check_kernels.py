"""Persistent kernels on a GPU, where alone they can be tested: are they right, and safe?

    python scripts/check_kernels.py

For every built-in cell and one of a user's own: outputs, gradients and Gauss-Newton products
against the scan, on shapes that divide and shapes that do not, with lengths, in all kinds of
products; and a second run, which must give the same bits. Beside these a hundred launches in a row,
a hundred more with a thread that keeps the GPU busy, a launch that fails, and outputs and gradients
within `jax.shard_map`, which must have the bits of those without. Cells are checked each in a
process, as compiling takes most of the time. Exits with 1 where anything failed.

    python scripts/check_kernels.py shard_map      only what is within `jax.shard_map`
    python scripts/check_kernels.py gru            only this cell
"""

import os
import subprocess
import sys
import threading
import warnings
from functools import partial
from pathlib import Path

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the processes share the memory
# Else XLA's own products after the kernels may differ from run to run.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_deterministic_ops=true"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import ostinato
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
)
from ostinato.through_time.backends.persistent import _kernel
from ostinato.wiring import LayerNorm

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from own_cell import OwnLSTM

INPUTS, STEPS = 24, 50
CELLS = {
    "simple": Simple,
    "jordan": partial(Jordan, outputs=48),
    "lstm": LSTM,
    "peephole": PeepholeLSTM,
    "lstm 1997": LSTM1997,
    "krause": KrauseLSTM,
    "mlstm": MLSTM,
    "mrnn": partial(MRNN, factor_inputs=16),
    "gru": GRU,
    "gru, reset after": partial(GRU, reset="after"),
    "leaky": Leaky,
    "layer norm": lambda *sizes, key: LayerNorm(LSTM(*sizes, key=key)),
    "own cell": OwnLSTM,
}
# Batch, units and products; small nets have programs on their own, larger ones share the units.
CASES = [
    (16, 64, "bfloat16"),
    (20, 100, "float32"),
    (1, 128, "TF32"),
    (64, 768, "bfloat16"),
    (33, 176, "float32"),
    (130, 544, "float16"),
]
# Where the largest number of an array is 1. TF32 has 11 bits, as float16; bfloat16 has 8.
TOLERANCES = {"bfloat16": 5e-2, "TF32": 1e-2, "float16": 1e-2, "float32": 1e-4}


def sequences(batch, steps, size):
    xs = np.random.default_rng(batch + size).standard_normal((steps, batch, size))
    return jnp.asarray(xs, jnp.float32)


def everything(xs, lengths, **options):
    """A compiled function of a cell: outputs, gradient and a Gauss-Newton product."""

    def outputs(cell):
        return ostinato.unroll(cell, xs, lengths=lengths, **options)[0]

    @jax.jit
    def run(cell):
        gradient = jax.grad(lambda c: jnp.sum(jnp.sin(outputs(c))))(cell)
        ys, push = jax.linearize(outputs, cell)
        (product,) = jax.linear_transpose(push, cell)(push(cell))
        return ys, gradient, product

    return lambda cell: jax.tree.leaves(jax.device_get(run(cell)))


def off(results, expected) -> float:
    """The largest difference of an array, for its size; NaN is infinite."""
    pairs = zip(results, expected, strict=True)
    ratios = [np.max(np.abs(a - b)) / (np.max(np.abs(b)) + 1e-12) for a, b in pairs if np.size(b)]
    return float(np.nan_to_num(np.max(ratios), nan=np.inf))


def agrees(name: str, batch: int, units: int, products: str) -> bool:
    # With half the weights no net is chaotic; in one that is, any rounding grows without bound.
    cell = jax.tree.map(lambda w: w / 2, CELLS[name](INPUTS, units, key=jax.random.key(units)))
    xs = sequences(batch, STEPS, INPUTS)
    lengths = jnp.asarray((np.arange(batch) * 7 + STEPS) % (STEPS + 1)) if batch % 2 else None
    compute = products if products.endswith("16") else None
    with jax.default_matmul_precision("highest" if products == "float32" else "default"):
        expected = everything(xs, lengths, compute=compute, backend="scan")(cell)
        run = everything(xs, lengths, compute=compute, backend="persistent")
        one, two = run(cell), run(cell)
    same, error = all(map(np.array_equal, one, two)), off(one, expected)
    fine = same and error < TOLERANCES[products]
    print(
        f"{'ok ' if fine else 'BAD'} {name:17} B{batch} h{units} {products}: "
        f"{error:.1e}{'' if same else ', not the same twice'}",
        flush=True,
    )
    return fine


def many_launches() -> bool:
    """A hundred in a row, and again while another thread keeps the GPU busy."""
    cell, xs = LSTM(64, 256, key=jax.random.key(0)), sequences(64, 100, 64)
    run = jax.jit(lambda: ostinato.unroll(cell, xs, backend="persistent")[0])
    expected, done = np.asarray(run()), threading.Event()
    large = jnp.ones((4096, 4096))

    def busy():
        work = jax.jit(lambda x: x @ x)
        while not done.is_set():
            work(large).block_until_ready()

    same = [np.array_equal(run(), expected) for _ in range(100)]
    other = threading.Thread(target=busy)
    other.start()
    same += [np.array_equal(run(), expected) for _ in range(100)]
    done.set()
    other.join()
    print(f"{sum(same)} of 200 launches gave the same bits, 100 beside another busy thread")
    return all(same)


def a_failed_launch() -> bool:
    """A kernel that gives up at once: the scan does the work, and a warning says so."""
    cell, xs = LSTM(64, 256, key=jax.random.key(0)), sequences(16, 100, 64)
    kernel = _kernel.run_kernel
    _kernel.run_kernel = partial(kernel, longest=0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        outputs = jax.jit(lambda: ostinato.unroll(cell, xs, backend="persistent")[0])()
        outputs.block_until_ready()
    options = {"backend": "persistent", "on_failure": "nan"}
    spoiled = float(jax.jit(lambda: jnp.sum(ostinato.unroll(cell, xs, **options)[0] ** 2))())
    _kernel.run_kernel = kernel
    expected = jax.jit(lambda: ostinato.unroll(cell, xs, backend="scan")[0])()
    right = off([np.asarray(outputs)], [np.asarray(expected)]) < 1e-5
    words = [str(w.message) for w in said if "persistent" in str(w.message)]
    print(f"a failed launch: {words}; its results are {'right' if right else 'WRONG'}")
    print(f"and with on_failure='nan' its loss is {spoiled}")
    return right and len(words) > 0 and np.isnan(spoiled)


def within_shard_map() -> bool:
    """Kernels give the same bits within `jax.shard_map` over one device as without it."""
    mesh, agree = Mesh(np.array(jax.devices()[:1]), ("devices",)), []
    rows = P(None, "devices")

    def outputs(compute, cell, xs):
        return ostinato.unroll(cell, xs, compute=compute, backend="persistent")[0]

    def gradient(compute, cell, xs):
        return jax.grad(lambda cell: jnp.sum(jnp.sin(outputs(compute, cell, xs))))(cell)

    for batch, units, products in CASES:
        cell, xs = LSTM(INPUTS, units, key=jax.random.key(units)), sequences(batch, STEPS, INPUTS)
        compute = products if products.endswith("16") else None
        with jax.default_matmul_precision("highest" if products == "float32" else "default"):
            for function, out in ((outputs, rows), (gradient, P())):
                run = partial(function, compute)
                split = jax.shard_map(
                    run, mesh=mesh, in_specs=(P(), rows), out_specs=out, check_vma=False
                )
                one, two = (jax.tree.leaves(jax.jit(how)(cell, xs)) for how in (run, split))
                agree.append(all(map(np.array_equal, one, two)))
                words = "" if agree[-1] else f", which differ by {off(two, one):.1e}"
                what = f"{function.__name__} B{batch} h{units} {products}"
                print(f"{'ok ' if agree[-1] else 'BAD'} shard_map: {what}{words}", flush=True)
    return all(agree)


def main() -> int:
    if sys.argv[1:] == ["shard_map"]:
        return 0 if within_shard_map() else 1
    if len(sys.argv) > 1:
        agree = [agrees(sys.argv[1], *case) for case in CASES]
        return 0 if all(agree) else 1
    started = [subprocess.Popen([sys.executable, __file__, name]) for name in CELLS]
    # Meanwhile: the GPU is shared.
    launches = [many_launches(), a_failed_launch(), within_shard_map()]
    bad = [name for name, one in zip(CELLS, started, strict=True) if one.wait() != 0]
    fine = [not bad, *launches]
    print("all well" if all(fine) else f"failed: {', '.join(bad) or 'launches'}")
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
