"""Gradients of recurrent layers against torch: `nn.LSTM` on the CPU, cuDNN on the GPU.

    python benchmarks/unroll.py

On the CPU both use two threads. Times include the input product on both sides; the gradient is
that of the sum of squared outputs with respect to all weights. A Gauss-Newton product is made
with the network linearised once, as within a Hessian-free step. Ratios are ours over theirs.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "2")

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import torch

import ostinato
from measure import gauss_newton_products, milliseconds, publish, table
from ostinato.cells import LSTM, MLSTM, initialisers

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from own_cell import OwnLSTM

CPU_SHAPES = [(32, 100, 256), (100, 200, 220)]
GPU_SHAPES = [(1, 256, 1024), (16, 256, 512), (64, 256, 1024), (128, 100, 2048)]


def gradient_of(cell, xs, compute=None, inner=1):
    @jax.jit
    def gradient(cell, xs):
        return jax.grad(lambda c: jnp.sum(ostinato.unroll(c, xs, compute=compute)[0] ** 2))(cell)

    return milliseconds(lambda: gradient(cell, xs), jax.block_until_ready, inner=inner)


def gauss_newton_product_of(cell, xs, inner=1):
    """The time of one product `Jᵀ J v`, from the difference of four and one after linearising."""

    def products(count):
        @jax.jit
        def run(cell, xs):
            return gauss_newton_products(lambda c: ostinato.unroll(c, xs)[0], cell, count)

        return milliseconds(lambda: run(cell, xs), jax.block_until_ready, repeats=5, inner=inner)

    few, many = 1, 4
    return (products(many) - products(few)) / (many - few)


def torch_gradient_of(shape, dtype, xs, device, inner=1):
    units = shape[-1]
    net = torch.nn.LSTM(units, units).to(device, dtype)
    xs = torch.tensor(xs).to(device, dtype)

    def gradient():
        net.zero_grad(set_to_none=True)
        ys, _ = net(xs)
        ys.float().square().sum().backward()

    def wait(_):
        if device == "cuda":
            torch.cuda.synchronize()

    return milliseconds(gradient, wait, inner=inner)


def inputs(shape):
    batch, steps, units = shape
    return np.random.default_rng(0).standard_normal((steps, batch, units)).astype(np.float32)


def cell_of(kind, units):
    std = initialisers.normal(units**-0.5)
    return kind(units, units, key=jax.random.key(0), input=std, recurrent=std)


def on_the_cpu():
    torch.set_num_threads(2)
    rows, products, own = [], [], []
    for shape in CPU_SHAPES:
        batch, steps, units = shape
        name, xs = f"B{batch} T{steps} h{units}", inputs(shape)
        theirs = torch_gradient_of(shape, torch.float32, xs, "cpu")
        ours = gradient_of(cell_of(LSTM, units), xs)
        rows.append([name, f"{theirs:.0f}", f"{ours:.0f}", f"**{ours / theirs:.2f}**"])
        mlstm = cell_of(MLSTM, units)
        gradient, product = gradient_of(mlstm, xs), gauss_newton_product_of(mlstm, xs)
        products.append(
            [name, f"{gradient:.0f}", f"{product:.0f}", f"**{product / gradient:.2f}**"]
        )
        mine = gradient_of(OwnLSTM(units, units, key=jax.random.key(0)), xs)
        own.append([name, f"{ours:.0f}", f"{mine:.0f}", f"**{ours / mine:.2f}**"])
    publish(
        "Gradients on the CPU (ms)",
        "LSTM, float32, two threads each:\n\n"
        + table(["shape", "torch nn.LSTM", "Ostinato", "ratio"], rows)
        + "\n\nMultiplicative LSTM, the product linearised once:\n\n"
        + table(["shape", "gradient", "Gauss-Newton product", "ratio"], products)
        + "\n\nThe ten-line cell of `examples/own_cell.py` beside the built-in LSTM:\n\n"
        + table(["shape", "built in", "own cell", "share of the built-in's speed"], own),
    )


def on_the_gpu():
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    rows, products = [], []
    for shape in GPU_SHAPES:
        batch, steps, units = shape
        name, xs = f"B{batch} T{steps} h{units}", inputs(shape)
        cell = cell_of(LSTM, units)
        half = torch_gradient_of(shape, torch.float16, xs, "cuda", inner=6)
        for kind, compute, dtype, theirs in (
            ("TF32", None, jnp.float32, torch.float32),
            ("bf16", "bfloat16", jnp.bfloat16, torch.bfloat16),
        ):
            # The chip's clock moves, so cuDNN is measured before and after.
            before = torch_gradient_of(shape, theirs, xs, "cuda", inner=6)
            ours = gradient_of(cell, jnp.asarray(xs, dtype), compute, inner=6)
            after = torch_gradient_of(shape, theirs, xs, "cuda", inner=6)
            cudnn = (before + after) / 2
            rows.append(
                [
                    name,
                    kind,
                    f"{before:.2f}, {after:.2f}",
                    f"{ours:.2f}",
                    f"**{ours / cudnn:.2f}**",
                    f"{half:.2f}",
                ]
            )
        mlstm = cell_of(MLSTM, units)
        gradient = gradient_of(mlstm, jnp.asarray(xs), inner=6)
        product = gauss_newton_product_of(mlstm, jnp.asarray(xs), inner=3)
        products.append([name, f"{gradient:.2f}", f"{product:.2f}", f"{product / gradient:.2f}"])
    publish(
        "Gradients on the GPU (ms)",
        "LSTM; parameters, states and sums in float32, products in TF32 or bfloat16. cuDNN is "
        "measured before and after, and the ratio is to the mean of both; its float16, which "
        "switches to another kernel, stands beside it:\n\n"
        + table(
            ["shape", "products", "cuDNN before, after", "Ostinato", "ratio", "cuDNN float16"], rows
        )
        + "\n\nMultiplicative LSTM in TF32, the product linearised once:\n\n"
        + table(["shape", "gradient", "Gauss-Newton product", "ratio"], products),
    )


if __name__ == "__main__":
    on_the_gpu() if jax.default_backend() == "gpu" else on_the_cpu()
