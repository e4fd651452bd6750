"""How fast persistent kernels are, on a GPU.

    python benchmarks/kernels.py lstm       LSTM against cuDNN in all its modes, 12 shapes
    python benchmarks/kernels.py precisions the same LSTM in other precisions, against the scan
    python benchmarks/kernels.py cells      other cells against that LSTM and against PyTorch loops
    python benchmarks/kernels.py training   a character model's whole training step

Products are in bfloat16 where nothing else is said. Times are medians and include the input product
on both sides; the gradient is that of the sum of squared outputs with respect to all weights.
As in a training step nobody waits to see whether a kernel has failed (`on_failure="nan"`). Whether
kernels are right is for `scripts/check_kernels.py` to say.
"""

import functools
import math
import sys
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import torch

import ostinato
from kernels_torch import LOOPS, Graph
from measure import gauss_newton_products, milliseconds, publish, table
from ostinato.cells import GRU, LSTM, MLSTM, MRNN, PeepholeLSTM, initialisers
from ostinato.data.generated.everyday import book_text
from ostinato.runs import Config
from ostinato.tasks import Text
from ostinato.wiring import LayerNorm
from steps import Steps

BATCHES, UNITS, STEPS = (1, 16, 64, 128), (256, 512, 1024), 512
CELL_SHAPES = ((16, 512), (64, 1024))
PRECISIONS = {  # operands of products, how these are made, and shapes whose weights fit
    "float16": ("float16", "default", ((16, 512), (64, 1024))),
    "TF32": (None, "default", ((16, 256), (16, 512), (128, 512))),
    "full float32": (None, "highest", ((16, 128), (16, 256), (128, 256))),
}
CELLS = {  # with the number of products in a step
    "lstm": (LSTM, 1),
    "peephole lstm": (PeepholeLSTM, 1),
    "layer-normed lstm": (lambda *sizes, **options: LayerNorm(LSTM(*sizes, **options)), 1),
    "gru": (GRU, 2),
    "mrnn": (MRNN, 2),
    "mlstm": (MLSTM, 2),
}


@functools.cache
def cell_of(kind, units):
    std = initialisers.normal(0.03)
    return kind(units, units, key=jax.random.key(0), input=std, recurrent=std)


@functools.cache
def sequences(batch, units):
    xs = np.random.default_rng(batch + units).standard_normal((STEPS, batch, units))
    return jnp.asarray(xs, jnp.bfloat16)


def forward(backend, cell, xs, compute="bfloat16"):
    return ostinato.unroll(cell, xs, compute=compute, backend=backend, on_failure="nan")[0]


def gradient(backend, cell, xs, compute="bfloat16"):
    def loss(cell):
        return jnp.sum(forward(backend, cell, xs, compute).astype(jnp.float32) ** 2)

    return jax.grad(loss)(cell)


def products(backend, cell, xs, count):
    return gauss_newton_products(lambda c: forward(backend, c, xs), cell, count)


def times(jobs: dict) -> dict:
    """Milliseconds of `name: (function, *arguments)`; all are compiled first, side by side."""
    found: dict = {}
    with ThreadPoolExecutor() as pool:
        for function, *given in jobs.values():
            if function not in found:
                found[function] = pool.submit(jax.jit(function).lower(*given).compile)
    return {
        name: milliseconds(
            functools.partial(found[function].result(), *given), jax.block_until_ready, inner=4
        )
        for name, (function, *given) in jobs.items()
    }


def cudnn(batch, units, dtype):
    """Milliseconds of the forward pass, and of it with the backward pass."""
    net = torch.nn.LSTM(units, units).to("cuda", dtype)
    net.flatten_parameters()
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
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    dtypes = {"TF32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
    shapes = [(batch, units) for units in UNITS for batch in BATCHES]
    ways = [(f, backend) for backend in ("scan", "persistent") for f in (forward, gradient)]
    ours = times(
        {
            (*shape, backend, f): (
                functools.partial(f, backend),
                cell_of(LSTM, shape[1]),
                sequences(*shape),
            )
            for shape in shapes
            for f, backend in ways
        }
    )
    rows, ratios = [], []
    for batch, units in shapes:
        theirs = {name: cudnn(batch, units, dtype) for name, dtype in dtypes.items()}
        scan, kernel = (
            [ours[batch, units, backend, f] for f in (forward, gradient)]
            for backend in ("scan", "persistent")
        )
        best = [min(times[i] for times in theirs.values()) for i in (0, 1)]
        ratios.append([a / b for a, b in zip(kernel, best, strict=True)])
        rows.append(
            [
                f"B{batch} h{units}",
                *(" / ".join(f"{x:.2f}" for x in times) for times in (*theirs.values(), scan)),
                " / ".join(f"{x:.2f}" for x in kernel),
                " / ".join(f"**{x:.2f}**" for x in ratios[-1]),
            ]
        )
        print(rows[-1], flush=True)
    first, both = (mean([r[i] for r in ratios]) for i in (0, 1))
    header = ["shape", *(f"cuDNN {name}" for name in dtypes), "scan", "persistent", "ratio"]
    publish(
        "Persistent kernels: LSTM against cuDNN (ms)",
        f'T = {STEPS}, ours in bf16 with `on_failure="nan"`; forward / forward and backward; the '
        "ratio is to the best of cuDNN's modes.\n\n"
        + table(header, rows)
        + f"\n\nGeometric mean of the ratios: forward **{first:.2f}**, both **{both:.2f}**; the "
        f"largest of both is {max(r[1] for r in ratios):.2f}.",
    )


def precisions():
    rows = []
    for name, (compute, precision, shapes) in PRECISIONS.items():
        jax.config.update("jax_default_matmul_precision", precision)  # in all threads
        found = times(
            {
                (*shape, backend, f): (
                    functools.partial(f, backend, compute=compute),
                    cell_of(LSTM, shape[1]),
                    sequences(*shape).astype(jnp.float32),
                )
                for shape in shapes
                for f in (forward, gradient)
                for backend in ("scan", "persistent")
            }
        )
        for shape in shapes:
            scan, kernel = (
                [found[*shape, backend, f] for f in (forward, gradient)]
                for backend in ("scan", "persistent")
            )
            rows.append(
                [
                    f"B{shape[0]} h{shape[1]}",
                    name,
                    *(" / ".join(f"{x:.2f}" for x in times) for times in (scan, kernel)),
                    " / ".join(f"**{a / b:.2f}**" for a, b in zip(scan, kernel, strict=True)),
                ]
            )
            print(rows[-1], flush=True)
    publish(
        "Persistent kernels: LSTM in other precisions (ms)",
        f"T = {STEPS}; forward / forward and backward.\n\n"
        + table(["shape", "products", "scan", "persistent", "times as fast"], rows),
    )


def cells():
    jobs: dict = {}
    for shape in CELL_SHAPES:
        for name, (kind, _) in CELLS.items():
            given = cell_of(kind, shape[1]), sequences(*shape)
            several = functools.partial(products, "persistent")
            jobs |= {
                (*shape, name, "gradient"): (functools.partial(gradient, "persistent"), *given),
                (*shape, name, "scan"): (functools.partial(gradient, "scan"), *given),
                (*shape, name, "one"): (several, *given, 1),
                (*shape, name, "four"): (several, *given, 4),
            }
    ours, rows = times(jobs), []
    for batch, units in CELL_SHAPES:
        for name, (kind, count) in CELLS.items():
            own = ours[batch, units, name, "gradient"]
            share = own / count / ours[batch, units, "lstm", "gradient"]
            product = (ours[batch, units, name, "four"] - ours[batch, units, name, "one"]) / 3
            cell, xs = cell_of(kind, units), sequences(batch, units)
            expected = np.asarray(forward("scan", cell, xs), np.float32)
            # A layer-normed net amplifies roundings, so that only its first steps can agree.
            expected = expected[:10] if name == "layer-normed lstm" else expected
            graph = Graph(LOOPS[name], cell, xs, expected)
            theirs = milliseconds(graph.replay, graph.wait, repeats=3)
            rows.append(
                [
                    f"B{batch} h{units}",
                    name,
                    f"{own:.2f}",
                    f"**{share:.2f}**",
                    f"{ours[batch, units, name, 'scan']:.2f}",
                    f"{theirs:.2f}",
                    f"**{theirs / own:.1f}**",
                    f"**{product / own:.2f}**",
                ]
            )
            print(rows[-1], flush=True)
    publish(
        "Persistent kernels: other cells (ms)",
        f'T = {STEPS}, bf16, `on_failure="nan"`, forward and backward. '
        "Per product: over the LSTM's time, divided by "
        "the products in a step. The PyTorch loop over time is captured in a CUDA graph. A "
        "Gauss-Newton product, linearised once, is over the gradient.\n\n"
        + table(
            [
                "shape",
                "cell",
                "persistent",
                "per product",
                "scan",
                "PyTorch, CUDA graph",
                "times as fast",
                "Gauss-Newton product",
            ],
            rows,
        ),
    )


def training_step(backend):
    """Milliseconds of a step of Adam on a character model."""
    batch, length = 64, 256
    config = Config(
        cell="mlstm",
        units=1024,
        batch=batch,
        length=length,
        precision="bfloat16",
        backend=backend,
    )
    steps = Steps(config, Text.of(book_text(), length=length))
    given = jax.device_put(steps.batch(0).arrays)
    return milliseconds(lambda: steps.step(0, given), jax.block_until_ready, inner=4)


def training():
    scan, kernel = training_step("scan"), training_step("persistent")
    publish(
        "Persistent kernels: a training step (ms)",
        "Character model, mLSTM of 1,024 units, batch 64, length 256, Adam, products in bf16:\n\n"
        + table(
            ["scan", "persistent", "times as fast"],
            [[f"{scan:.2f}", f"{kernel:.2f}", f"**{scan / kernel:.2f}**"]],
        ),
    )


if __name__ == "__main__":
    {"lstm": lstm, "precisions": precisions, "cells": cells, "training": training}[sys.argv[1]]()
