"""Long time lags: Hessian-free learning beside heavy ball, Nesterov and Adam, on five tasks.

    python benchmarks/time_lags.py [--tasks adding ...] [--length 200] [--out rows.jsonl]

`Simple` with 100 tanh units and 15 incoming weights each (spectral radius 1.1), input and output
weights from N(0, 0.1²). Three seeds of weights and data run side by side. A sequence is wrong where
any of its answers is: another symbol, or a number off by 0.04 or more; a task is solved when fewer
than 0.001 of 4,000 held-out sequences are wrong.

A gradient-equivalent is the gradient of one sequence; a Gauss-Newton product on a sequence counts
as one, an evaluation of the loss as a third. The first-order learners get as many as Hessian-free
learning used, in batches of 1,000, three rates each; the best rate counts.
"""

import argparse
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ostinato.cells import Simple
from ostinato.cells.initialisers import incoming, normal, spectral_radius
from ostinato.learning import Objective, Sequences
from ostinato.learning.hessian_free import REASONS, Damping, HessianFree
from ostinato.tasks import TASKS, Squared
from ostinato.wiring import Network, OneHot, Readout

NAMES = ("adding", "multiplication", "temporal-order", "permutation", "memorisation")
SEEDS = 3
UNITS = 100
HELD_OUT = 4000
RATES = {
    "heavy-ball": (1e-3, 1e-2, 1e-1),
    "nesterov": (1e-3, 1e-2, 1e-1),
    "adam": (1e-4, 1e-3, 1e-2),
}


def network_for(task, seed: int) -> Network:
    cell, out = jax.random.split(jax.random.key(seed))
    recurrent = spectral_radius(1.1, incoming(15))
    simple = Simple(task.inputs, UNITS, key=cell, input=normal(0.1), recurrent=recurrent)
    readout = Readout(UNITS, task.outputs, key=out, init=normal(0.1))
    return Network(simple, readout, OneHot(task.inputs) if task.symbolic else None)


def batches(tasks, size: int, first: int = 0) -> Iterator[Sequences]:
    """Fresh sequences for all tasks, stacked, made ahead by other threads."""

    def make(index):
        drawn = [task.batch(index, size) for task in tasks]
        return Sequences(*(np.stack(x) for x in zip(*(d[:3] for d in drawn), strict=True)))

    with ThreadPoolExecutor(4) as pool:
        ahead = [pool.submit(make, first + i) for i in range(6)]
        index = first + len(ahead)
        while True:
            yield ahead.pop(0).result()
            ahead.append(pool.submit(make, index))
            index += 1


def wrong(loss, network, batch: Sequences) -> jax.Array:
    """The share of sequences with a wrong answer."""
    outputs, _ = Objective(loss).outputs(network, batch.xs, None)
    if isinstance(loss, Squared):
        bad = jnp.max(jnp.abs(outputs - batch.targets), axis=-1) >= 0.04
    else:
        bad = jnp.argmax(outputs, axis=-1) != batch.targets
    return jnp.mean(jnp.any(bad & (batch.weights > 0), axis=0))


def hessian_free(task_name: str, options) -> Iterator[dict]:
    """One dictionary a step, with lists over the seeds."""
    tasks = [TASKS[task_name](length=options.length, seed=seed) for seed in range(SEEDS)]
    loss, size = tasks[0].loss, options.gradient
    damping = Damping(options.tikhonov, options.structural, options.form, least=options.least)
    learner = HessianFree(
        Objective(loss),
        damping,
        curvature=options.curvature,
        iterations=options.iterations,
        judge=options.judge,
    )
    networks = [network_for(task, seed) for seed, task in enumerate(tasks)]
    arrays, static = eqx.partition(networks[0], eqx.is_array)
    arrays = jax.tree.map(lambda *x: jnp.stack(x), *(eqx.filter(n, eqx.is_array) for n in networks))

    @jax.jit
    @jax.vmap
    def step(arrays, memory, batch, test):
        network = eqx.combine(arrays, static)
        state = network.initial((size,))
        network, memory, _, report = learner.step(network, memory, state, batch)
        report["wrong"] = wrong(loss, network, test)
        return eqx.filter(network, eqx.is_array), memory, report

    memory = jax.vmap(lambda a: learner.initial(eqx.combine(a, static)))(arrays)
    test = next(batches(tasks, HELD_OUT, 10**6))
    test = jax.device_put(test)
    started = None
    used = np.zeros(SEEDS)
    for batch in batches(tasks, size):
        arrays, memory, report = step(arrays, memory, batch, test)
        report = jax.device_get(report)
        started = started or time.perf_counter()  # compiling is not counted, nor the first step
        used += np.asarray(report["gradients"]) * size
        yield {
            "seconds": round(time.perf_counter() - started, 1),
            "loss": np.round(report["loss"], 6).tolist(),
            "wrong": np.round(report["wrong"], 5).tolist(),
            "damping": [float(f"{x:.3g}") for x in report["damping"]],
            "ratio": [float(f"{x:.3g}") for x in report["ratio"]],
            "iterations": report["iterations"].tolist(),
            "length": np.round(report["rate"], 3).tolist(),
            "reason": [REASONS[i] for i in report["reason"]],
            "used": used.tolist(),
        }


def run_hessian_free(task_name: str, options) -> dict:
    solved: dict[int, dict] = {}
    best = [1.0] * SEEDS
    started = time.perf_counter()
    for number, at in enumerate(hessian_free(task_name, options), 1):
        if number % options.every == 0 or number == 1:
            print(number, json.dumps(at), flush=True)
        best = [min(a, b) for a, b in zip(best, at["wrong"], strict=True)]
        for seed in range(SEEDS):
            if at["wrong"][seed] < 1e-3 and seed not in solved:
                solved[seed] = {
                    "step": number,
                    "used": at["used"][seed],
                    "seconds": at["seconds"],
                }
        late = time.perf_counter() - started > options.seconds
        if len(solved) == SEEDS or number >= options.steps or late:
            break
    return {
        "task": task_name,
        "learner": "hf",
        "length": options.length,
        "solved": solved,
        "steps": number,
        "best": best,
        "used": at["used"],
        "seconds": at["seconds"],
        "settings": vars(options),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", nargs="*", default=NAMES)
    parser.add_argument("--length", type=int, default=200)
    parser.add_argument("--gradient", type=int, default=5000)
    parser.add_argument("--curvature", type=int, default=1000)
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--tikhonov", type=float, default=0.01)
    parser.add_argument("--structural", type=float, default=0.003)
    parser.add_argument("--form", default="pre-activation")
    parser.add_argument("--least", type=float, default=0.1)
    parser.add_argument("--judge", default="gradient")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--out", default="time_lags.jsonl")
    options = parser.parse_args()
    for name in options.tasks:
        row = run_hessian_free(name, options)
        print(json.dumps(row), flush=True)
        with open(options.out, "a") as file:
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
