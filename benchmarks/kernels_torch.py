"""Recurrent cells as a PyTorch loop over time, captured in a CUDA graph: `kernels.py`'s peer."""

from collections.abc import Callable

import equinox as eqx
import jax
import numpy as np
import torch


def lstm(w, xs):
    def step(state, u):
        h, c = state
        return remember(u + h @ w.R, c)

    return over(step, [xs @ w.W + w.b], rest(xs, w.R, 2))


def peephole(w, xs):
    def step(state, u):
        h, c = state
        i, f, g, o = (u + h @ w.R).chunk(4, -1)
        i, f = torch.sigmoid(i + w.p[0] * c), torch.sigmoid(f + w.p[1] * c)
        c = f * c + i * torch.tanh(g)
        return torch.sigmoid(o + w.p[2] * c) * torch.tanh(c), c

    return over(step, [xs @ w.W + w.b], rest(xs, w.R, 2))


def layer_normed(w, xs):
    cell = w.cell

    def norm(a, gain, shift):
        return torch.nn.functional.layer_norm(a, a.shape[-1:], gain, shift, w.epsilon)

    def step(state, u):
        h, c = state
        return remember(u + norm(h @ cell.R, w.gains[0], w.shifts[0]), c)

    us = norm(xs @ cell.W, w.input_gains[0], w.input_shifts[0]) + cell.b
    return over(step, [us], rest(xs, cell.R, 2))


def gru(w, xs):
    units = len(w.U)

    def step(state, u):
        (h,) = state
        z, r = torch.sigmoid(u[..., : 2 * units] + h @ w.R).chunk(2, -1)
        candidate = torch.tanh(u[..., 2 * units :] + (r * h) @ w.U)
        return ((1 - z) * h + z * candidate,)

    return over(step, [xs @ w.W + w.b], rest(xs, w.R, 1))


def mrnn(w, xs):
    def step(state, u, factor):
        (h,) = state
        return (torch.tanh(u + (factor * (h @ w.Rm)) @ w.R),)

    return over(step, [xs @ w.W + w.b, xs @ w.Wm], rest(xs, w.R, 1))


def mlstm(w, xs):
    def step(state, u, factor):
        h, c = state
        a = u + (factor * (h @ w.Rm)) @ w.R
        i, f, _, o = torch.sigmoid(a).chunk(4, -1)
        c = f * c + i * a.chunk(4, -1)[2]
        return torch.tanh(c * o), c

    return over(step, [xs @ w.W, xs @ w.Wm], rest(xs, w.R, 2))


LOOPS = {
    "lstm": lstm,
    "peephole lstm": peephole,
    "layer-normed lstm": layer_normed,
    "gru": gru,
    "mrnn": mrnn,
    "mlstm": mlstm,
}


def remember(a, c):
    i, f, _, o = torch.sigmoid(a).chunk(4, -1)
    c = f * c + i * torch.tanh(a.chunk(4, -1)[2])
    return o * torch.tanh(c), c


def rest(xs, weight, count):
    return [torch.zeros(xs.shape[1], len(weight), dtype=xs.dtype, device=xs.device)] * count


def over(step: Callable, us: list, state):
    ys = []
    for u in zip(*(u.unbind() for u in us), strict=True):
        state = step(state, *u)
        ys.append(state[0])
    return torch.stack(ys)


class Graph:
    """Forward and backward pass of a loop, with the weights of a cell of ours.

    Args:
        loop: one of `LOOPS`.
        cell, xs: what to take the weights and the inputs from.
        expected: the outputs, or the first of them; the loop must give the same.
    """

    def __init__(self, loop: Callable, cell, xs, expected: np.ndarray, device: str = "cuda"):
        arrays = []

        def moved(x):
            x = torch.tensor(np.asarray(x, np.float32), device=device, dtype=torch.bfloat16)
            arrays.append(x.requires_grad_())
            return x

        weights = jax.tree.map(lambda x: moved(x) if eqx.is_array(x) else x, cell)
        inputs = moved(xs).detach()
        found = loop(weights, inputs).detach().float().cpu().numpy()
        off = np.max(np.abs(found[: len(expected)] - expected))
        assert off < 0.1, f"{loop.__name__} in PyTorch is not ours: they differ by {off:.1e}"

        def both():
            for x in arrays:
                x.grad = None
            loop(weights, inputs).float().square().sum().backward()

        if device == "cpu":
            self.replay = both
            return
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            both()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        # What other threads do on the GPU meanwhile, such as JAX's, is no business of this capture.
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            both()
        self.replay = self.graph.replay

    def wait(self, _):
        torch.cuda.synchronize()
