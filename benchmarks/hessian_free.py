"""Hessian-free learning: a Gauss-Newton product against a gradient, a whole step against torch.

    python benchmarks/hessian_free.py

The character network of Krause (2015), an mLSTM of 170 units on 70 symbols with 215,900 parameters,
on sequences of 200 random symbols; all in full float32, on the CPU with two threads each. A product
is made with the network linearised once, as within a step.

The torch side is the cell as a loop over time, `Jᵀ u` by `autograd.grad` on a graph that is kept,
and `J v` in the fastest of three ways:

    forward          `torch.func.jvp`, which runs the network again for each product
    linearised       `torch.func.linearize`, which traces the network once for each step
    reversed twice   the derivative of `u -> Jᵀ u`, on a graph of it that is kept
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "2")

import time

import jax
import jax.numpy as jnp
import numpy as np
import torch

from measure import publish, seconds, table
from ostinato.cells import MLSTM
from ostinato.data import Batch
from ostinato.learning import Objective
from ostinato.learning.hessian_free import REASONS, Damping, HessianFree, OnBatch
from ostinato.losses import CrossEntropy
from ostinato.wiring import Network, OneHot, Readout

SYMBOLS, UNITS, LENGTH = 70, 170, 200
WHOLE, PART, ITERATIONS = 400, 100, 50
OBJECTIVE = Objective(CrossEntropy())
DAMPING = Damping(tikhonov=0.0, structural=0.1, form="activation")  # Krause's (2015), for its mLSTM
FORMS = "activation", "pre-activation"
WAYS = "forward", "linearised", "reversed twice"
GPU = jax.default_backend() == "gpu"


def shortest(call, wait=jax.block_until_ready, repeats=5):
    """The shortest time of a call, after one to warm up.

    The shortest, as torch's threads, which wait busily, suffer more than ours from other programs.
    """
    return min(seconds(call, wait, repeats, warm=1))


def network_and_batch():
    one, two = jax.random.split(jax.random.key(0))
    cell = MLSTM(SYMBOLS, UNITS, key=one)
    network = Network(cell, Readout(UNITS, SYMBOLS, key=two, bias=False), OneHot(SYMBOLS))
    text = np.random.default_rng(0).integers(0, SYMBOLS, (LENGTH + 1, WHOLE), np.int32)
    xs, targets = jnp.asarray(text[:-1]), jnp.asarray(text[1:])
    return network, Batch(xs, targets, jnp.ones(xs.shape))


@jax.jit
def our_gradient(network, batch):
    f = OnBatch(OBJECTIVE, network, batch, None)
    return f.gradient(f.start)[:2]


def our_product(network, batch, form, few=1, many=5):
    """The time of one `(G + μ S) v`, from the difference of many and few after linearising."""

    @jax.jit
    def run(network, batch, weight, count):
        f = OnBatch(OBJECTIVE, network, batch, None)
        product = f.gauss_newton(f.start, form)

        def again(_, v):
            v = product(v, weight)
            return v / jnp.linalg.norm(v)

        return jax.lax.fori_loop(0, count, again, f.start)

    weight = jnp.asarray(DAMPING.structural)
    times = [shortest(lambda n=n: run(network, batch, weight, n)) for n in (few, many)]
    return (times[1] - times[0]) / (many - few)


def our_step(network, batch):
    """The time of a step, and how often it evaluated the objective after conjugate gradient."""
    learner = HessianFree(OBJECTIVE, DAMPING, iterations=ITERATIONS, tolerance=0.0, curvature=PART)
    step, learner_state = jax.jit(learner.step), learner.initial(network)
    report = step(network, learner_state, None, batch)[-1]
    assert report["iterations"] == ITERATIONS, REASONS[report["reason"]]
    others = 1 + (ITERATIONS + 2) * PART / WHOLE
    evaluations = round(3 * (float(report["gradients"]) - others))
    return shortest(lambda: step(network, learner_state, None, batch), repeats=2), evaluations


class Torch:
    """The same network and the same work in torch."""

    def __init__(self, network, batch):
        self.device = "cuda" if GPU else "cpu"
        self.weights = tuple(self.moved(x).requires_grad_() for x in jax.tree.leaves(network))
        self.xs, self.targets = self.moved(batch.inputs), self.moved(batch.targets).long()

    def moved(self, x):
        return torch.tensor(np.asarray(x), device=self.device)

    def run(self, weights, xs):
        """The outputs, all `h_t` and all `c_t`."""
        W, R, Wm, Rm, V = weights
        us, factors = (torch.nn.functional.embedding(xs, w).unbind() for w in (W, Wm))
        h = c = torch.zeros(xs.shape[1], len(R), device=self.device)
        hs, cs = [], []
        for u, factor in zip(us, factors, strict=True):
            a = torch.addmm(u, factor * (h @ Rm), R)
            i, f, _, o = a.sigmoid().chunk(4, -1)
            c = f * c + i * a.chunk(4, -1)[2]
            h = torch.tanh(c * o)
            hs.append(h)
            cs.append(c)
        hs, cs = torch.stack(hs), torch.stack(cs)
        return hs @ V, hs, cs

    def loss(self):
        outputs, _, _ = self.run(self.weights, self.xs)
        return torch.nn.functional.cross_entropy(outputs.flatten(0, 1), self.targets.flatten())

    def jacobian(self, way, xs, seen):
        """The function `v -> J v`; `seen` is what the network gives for `xs`."""
        still = tuple(w.detach() for w in self.weights)

        def run(*weights):
            return self.run(weights, xs)

        if way == "forward":
            return lambda v: torch.func.jvp(run, still, v)[1]
        if way == "linearised":
            _, push = torch.func.linearize(run, *still)
            return lambda v: push(*v)
        errors = [torch.zeros_like(x, requires_grad=True) for x in seen]
        back = torch.autograd.grad(seen, self.weights, errors, create_graph=True)
        return lambda v: torch.autograd.grad(back, errors, v, retain_graph=True)

    def product(self, way):
        """The function `v -> (G + μ S) v` on the first sequences."""
        xs = self.xs[:, :PART]
        seen = self.run(self.weights, xs)
        push = self.jacobian(way, xs, seen)
        p = torch.softmax(seen[0].detach(), -1)
        share, weight = p / xs.numel(), DAMPING.structural / xs.numel()

        def product(v):
            parts = v.split([w.numel() for w in self.weights])
            d, dh, dc = push(tuple(x.view_as(w) for x, w in zip(parts, self.weights, strict=True)))
            errors = share * (d - (p * d).sum(-1, keepdim=True)), weight * dh, weight * dc
            return flat(torch.autograd.grad(seen, self.weights, errors, retain_graph=True))

        return product

    def step(self, way, evaluations):
        """Conjugate gradient, and then values of the objective, as many as ours needed."""
        gradient = flat(torch.autograd.grad(self.loss(), self.weights))
        product = self.product(way)
        x = torch.zeros_like(gradient)
        r = product(x) + gradient
        p, rr = -r, r @ r
        for _ in range(ITERATIONS):
            Bp = product(p)
            alpha = rr / (p @ Bp)
            x, r = x + alpha * p, r + alpha * Bp
            before, rr = rr, r @ r
            p = rr / before * p - r
        with torch.no_grad():
            return x, [self.loss().item() for _ in range(evaluations)]


def flat(arrays):
    return torch.cat([x.flatten() for x in arrays])


def synchronise(_):
    if GPU:
        torch.cuda.synchronize()


def torch_products(theirs, v, ours):
    """For each way, the time that all products of a step take, and what they need before."""
    v, times = theirs.moved(v), {}
    synchronise(theirs.loss())
    for way in WAYS:
        started = time.perf_counter()
        product = theirs.product(way)
        synchronise(product)
        ready = time.perf_counter() - started
        off = np.linalg.norm(product(v).cpu().numpy() - ours) / np.linalg.norm(ours)
        assert off < 1e-3, f"torch's product, {way}, is not ours: they differ by {off:.1e}"
        one = shortest(lambda product=product: product(v), synchronise)
        times[way] = ready + (ITERATIONS + 1) * one
        print(f"torch, {way}: {ready:.3f} s until ready, then {one:.3f} s a product", flush=True)
    return times


def main():
    torch.set_num_threads(2)
    torch.backends.cuda.matmul.allow_tf32 = False
    network, batch = network_and_batch()
    part, theirs = Batch(*(x[:, :PART] for x in batch)), Torch(network, batch)
    f = OnBatch(OBJECTIVE, network, part, None)
    v = np.random.default_rng(1).standard_normal(f.start.size).astype(np.float32)
    ours = jax.jit(lambda v: f.gauss_newton(f.start, DAMPING.form)(v, DAMPING.structural))(v)

    ways = torch_products(theirs, v, np.asarray(ours))
    best = min(ways, key=ways.get)
    gradient = shortest(lambda: our_gradient(network, part))
    products = [our_product(network, part, form) for form in (None, *FORMS)]
    step, evaluations = our_step(network, batch)
    torch_step = shortest(lambda: theirs.step(best, evaluations), synchronise, repeats=2)

    names = ["plain", *(f"structural damping, {form}" for form in FORMS)]
    rows = [
        [name, f"{1e3 * x:.1f}", f"**{x / gradient:.2f}**"]
        for name, x in zip(names, products, strict=True)
    ]
    share = (ITERATIONS + 2) * products[1] / step
    publish(
        f"Hessian-free step on the {'GPU' if GPU else 'CPU'}",
        f"The mLSTM of Krause (2015): {SYMBOLS} symbols, {UNITS} units, T = {LENGTH}; full float32"
        f"{'' if GPU else ', two threads each'}; the shortest of a few times. One "
        f"Gauss-Newton product, linearised once, over one gradient on the same {PART} sequences, "
        f"which takes {1e3 * gradient:.1f} ms:\n\n"
        + table(["product", "ms", "ratio"], rows)
        + f"\n\nA step: {ITERATIONS} iterations of conjugate gradient, the gradient of {WHOLE} "
        f"sequences, the curvature of {PART}, structural damping in the activation form. Ours is "
        f"all of it, compiled, with {ITERATIONS + 2} products ({share:.0%} of the time by the "
        "table above). torch, its cell a loop over time, does the gradient, "
        f"{ITERATIONS + 1} products, and as many values of the objective as ours, {evaluations}; "
        f"its products are made in the fastest of three ways, {best} (all of them: "
        + ", ".join(f"{way} {total:.1f} s" for way, total in ways.items())
        + "):\n\n"
        + table(
            ["torch, s", "Ostinato, s", "ratio"],
            [[f"{torch_step:.2f}", f"{step:.2f}", f"**{step / torch_step:.2f}**"]],
        ),
    )


if __name__ == "__main__":
    with jax.default_matmul_precision("highest"):
        main()
