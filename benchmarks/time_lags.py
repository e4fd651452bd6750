"""Long time lags: Hessian-free learning beside heavy ball, Nesterov and Adam, on five tasks.

    python benchmarks/time_lags.py [--tasks adding ...] [--length 200] [--out rows.jsonl]
    python benchmarks/time_lags_table.py rows.jsonl

`Simple` with 100 tanh units and 15 incoming weights each (spectral radius 1.1), input and output
weights from N(0, 0.1²). Three seeds of weights and data run side by side, or each in a process of
its own (`--seeds 0`). A sequence is wrong where any of its answers is: another symbol, or a number
off by 0.04 or more; a task is solved when fewer than 0.001 of 4,000 held-out sequences are wrong.

Permutation begins otherwise, `--radius 1.05 --input-scale 1e-5` over 200 steps: nearly linear
until the end, where the earliest input is the strongest, as it has grown for the longest time.

A gradient-equivalent is the gradient of one sequence; a Gauss-Newton product on a sequence counts
as one, an evaluation of the loss as a third. The first-order learners get as many as Hessian-free
learning used in its longest seed, in batches of 896 out of 458,752 sequences, which they go through
again and again, as making as many fresh ones takes longer. Each tries three rates for a tenth of
that, and goes on with the largest whose loss is within 2 % of the lowest: on a plateau the lowest
is that of the smallest rate, which never leaves it. (The rows of memorisation over 100 steps were
made with fresh sequences.) On a GPU the nets are run by persistent kernels.
"""

import argparse
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from measure import machine
from ostinato.cells import Simple
from ostinato.cells.initialisers import incoming, normal, spectral_radius
from ostinato.data import Batch
from ostinato.learning import Objective
from ostinato.learning.first_order import FIRST_ORDER
from ostinato.learning.hessian_free import REASONS, Damping, HessianFree
from ostinato.losses import SquaredError
from ostinato.tasks import TASKS
from ostinato.wiring import Network, OneHot, Readout

NAMES = ("adding", "multiplication", "temporal-order", "permutation", "memorisation")
SEEDS = (0, 1, 2)
UNITS = 100
HELD_OUT = 4000
FIRST_ORDER_BATCH = 896  # nine nets of so many fill an H200 once
FIRST_ORDER_BATCHES = 512
FIRST_ORDER_NAMES = ("heavy-ball", "nesterov", "adam")
RATES = (1e-5, 1e-4, 1e-3)


def network_for(task, seed: int, options) -> Network:
    cell, out = jax.random.split(jax.random.key(seed))
    recurrent = spectral_radius(options.radius, incoming(15))
    inputs = normal(options.input_scale)
    simple = Simple(task.inputs, UNITS, key=cell, input=inputs, recurrent=recurrent)
    readout = Readout(UNITS, task.outputs, key=out, init=normal(0.1))
    return Network(simple, readout, OneHot(task.inputs) if task.symbolic else None)


def batches(tasks, size: int, first: int = 0) -> Iterator[Batch]:
    """Fresh sequences for all tasks, stacked, made ahead by other threads."""

    def make(index):
        drawn = [task.batch(index, size) for task in tasks]
        parts = (np.stack(x) for x in zip(*(d[:3] for d in drawn), strict=True))
        return jax.device_put(Batch(*parts))

    with ThreadPoolExecutor(8) as pool:
        ahead = [pool.submit(make, first + i) for i in range(12)]
        index = first + len(ahead)
        while True:
            yield ahead.pop(0).result()
            ahead.append(pool.submit(make, index))
            index += 1


def wrong(loss, network, batch: Batch) -> jax.Array:
    """The share of sequences with a wrong answer."""
    with jax.default_matmul_precision("highest"):
        outputs, _ = Objective(loss).outputs(network, batch.inputs, None)
    if isinstance(loss, SquaredError):
        bad = jnp.max(jnp.abs(outputs - batch.targets), axis=-1) >= 0.04
    else:
        bad = jnp.argmax(outputs, axis=-1) != batch.targets
    return jnp.mean(jnp.any(bad & (batch.weights > 0), axis=0))


class Problem:
    """A task with its seeds: networks side by side, and sequences for each."""

    def __init__(self, name: str, options):
        self.seeds = seeds = options.seeds
        self.tasks = [TASKS[name](length=options.length, seed=seed) for seed in seeds]
        self.loss = self.tasks[0].loss
        networks = [network_for(*pair, options) for pair in zip(self.tasks, seeds, strict=True)]
        arrays = [eqx.filter(network, eqx.is_array) for network in networks]
        self.arrays = jax.tree.map(lambda *x: jnp.stack(x), *arrays)
        self.static = eqx.filter(networks[0], eqx.is_array, inverse=True)
        self.test = next(batches(self.tasks, HELD_OUT, 10**6))

    def network(self, arrays) -> Network:
        return eqx.combine(arrays, self.static)


def by_hessian_free(problem: Problem, options) -> Iterator[dict[str, dict]]:
    """At each step what there is to say of the learner, with lists over the seeds."""
    size = options.gradient
    damping = Damping(options.tikhonov, options.structural, options.form, min_scale=options.least)
    learner = HessianFree(
        Objective(problem.loss),
        damping,
        curvature=options.curvature,
        iterations=options.iterations,
        judge=options.judge,
    )

    @jax.jit
    @jax.vmap
    def step(arrays, learner_state, batch, test):
        network = problem.network(arrays)
        state = network.initial((size,))
        network, learner_state, _, report = learner.step(network, learner_state, state, batch)
        report["wrong"] = wrong(problem.loss, network, test)
        return eqx.filter(network, eqx.is_array), learner_state, report

    arrays = problem.arrays
    learner_state = jax.vmap(lambda arrays: learner.initial(problem.network(arrays)))(arrays)
    used = np.zeros(len(problem.seeds))
    for batch in batches(problem.tasks, size):
        arrays, learner_state, report = step(arrays, learner_state, batch, problem.test)
        report = jax.device_get(report)
        used += np.asarray(report["gradients"]) * size
        at = {
            "wrong": np.round(report["wrong"], 5).tolist(),
            "used": used.tolist(),
            "loss": np.round(report["loss"], 6).tolist(),
            "damping": [float(f"{x:.3g}") for x in report["damping"]],
            "ratio": [float(f"{x:.3g}") for x in np.clip(report["ratio"], -1e9, 1e9)],
            "iterations": report["iterations"].tolist(),
            "length": np.round(report["rate"], 3).tolist(),
            "reason": [REASONS[i] for i in report["reason"]],
        }
        yield {"hf": at}


def by_first_order(problem: Problem, budget: float) -> Iterator[dict[str, dict]]:
    """The same for the first-order learners, side by side: three rates at first, then the best."""
    directions = {x: FIRST_ORDER[x].direction(optax, 0.9, 0.0) for x in FIRST_ORDER_NAMES}
    objective = Objective(problem.loss)
    every = 50

    def gradient(arrays, batch):
        parameters, rest = eqx.partition(problem.network(arrays), eqx.is_inexact_array)

        def value(parameters):
            return objective.value(eqx.combine(parameters, rest), batch, None)[0]

        loss, found = jax.value_and_grad(value)(parameters)
        scale = jnp.minimum(1.0, 1.0 / optax.tree.norm(found))
        return loss, jax.tree.map(lambda x: scale * x, found)

    def moved(direction, rate, arrays, learner_state, found):
        updates, learner_state = direction.update(found, learner_state, arrays)
        return jax.tree.map(lambda p, u: p - rate * u, arrays, updates), learner_state

    @jax.jit
    def step(kept, batch):
        """One step of all nets; their losses are averaged on the way, and nobody waits for them."""
        stacked = jax.tree.map(lambda *x: jnp.concatenate(x), *(k["arrays"] for k in kept.values()))
        nets = sum(len(k["rates"]) for k in kept.values())
        # Each net gets its own copy: shared sequences would make one product with wide weights.
        batch = jax.tree.map(lambda x: jnp.broadcast_to(x, (nets, *x.shape)), batch)
        batch = jax.lax.optimization_barrier(batch)
        losses, found = jax.vmap(jax.vmap(gradient))(stacked, batch)
        losses = jnp.where(jnp.isnan(losses), 1e9, losses)
        after, start = {}, 0
        for name, direction in directions.items():
            old, own = kept[name], slice(start, start := start + len(kept[name]["rates"]))
            over_seeds = jax.vmap(partial(moved, direction), in_axes=(None, 0, 0, 0))
            own_gradient = jax.tree.map(lambda x, own=own: x[own], found)
            arrays, learner_state = jax.vmap(over_seeds)(
                old["rates"], old["arrays"], old["learner_state"], own_gradient
            )
            recent = jnp.where(old["recent"] < 0, losses[own], old["recent"])
            recent = 0.95 * recent + 0.05 * losses[own]
            after[name] = old | {"arrays": arrays, "learner_state": learner_state, "recent": recent}
        return after

    missed = jax.jit(jax.vmap(lambda a, t: wrong(problem.loss, problem.network(a), t)))
    three = jax.tree.map(lambda x: jnp.stack([x] * len(RATES)), problem.arrays)
    kept = {
        name: {
            "rates": jnp.asarray(RATES),
            "arrays": three,
            "learner_state": jax.vmap(jax.vmap(direction.init))(three),
            "recent": jnp.full((len(RATES), len(problem.seeds)), -1.0),
        }
        for name, direction in directions.items()
    }
    steps = int(budget / FIRST_ORDER_BATCH)
    fresh = itertools.islice(batches(problem.tasks, FIRST_ORDER_BATCH), FIRST_ORDER_BATCHES)
    for number, batch in enumerate(itertools.cycle(fresh), 1):
        kept = step(kept, batch)
        choose = number == steps // 10
        if number % every == 0 or number == steps or choose:
            best = {name: largest_good(np.asarray(x["recent"].sum(1))) for name, x in kept.items()}
            chosen = {
                name: jax.tree.map(lambda a, i=best[name]: a[i : i + 1], x)
                for name, x in kept.items()
            }
            yield {
                name: {
                    "wrong": np.round(missed(_first(x["arrays"]), problem.test), 5).tolist(),
                    "used": [float(number * FIRST_ORDER_BATCH)] * len(problem.seeds),
                    "loss": np.round(x["recent"][0], 6).tolist(),
                    "rate": float(x["rates"][0]),
                }
                for name, x in chosen.items()
            }
            kept = chosen if choose else kept
        if number >= steps:
            return


def largest_good(losses: np.ndarray) -> int:
    """The last of the losses that is nearly as low as the lowest."""
    return int(np.flatnonzero(losses <= 1.02 * losses.min())[-1])


def _first(tree):
    return jax.tree.map(lambda x: x[0], tree)


def followed(
    steps: Iterator[dict[str, dict]], seeds: Sequence[int], seconds: float, every: int
) -> dict[str, dict]:
    """For each learner when it solved its task, and how far the others came."""
    rows: dict[str, dict] = {}
    first = 0.0
    for number, found in enumerate(steps, 1):
        now = time.perf_counter()
        first = first or now  # compiling is not counted, nor the first step
        for learner, at in found.items():
            row = rows.setdefault(learner, {"solved": {}, "best": [1.0] * len(seeds)})
            row["best"] = [min(pair) for pair in zip(row["best"], at["wrong"], strict=True)]
            row |= {"steps": number, "used": at["used"], "rate": at.get("rate")}
            row |= {"seeds": seeds, "seconds": round(now - first, 1)}
            for i, seed in enumerate(map(str, seeds)):
                if at["wrong"][i] < 1e-3 and seed not in row["solved"]:
                    row["solved"][seed] = {
                        "step": number,
                        "used": at["used"][i],
                        "seconds": row["seconds"],
                    }
        if number == 1 or number % every == 0:
            print(number, round(now - first, 1), json.dumps(found), flush=True)
        if all(len(row["solved"]) == len(seeds) for row in rows.values()) or now - first > seconds:
            break
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", nargs="*", default=NAMES)
    parser.add_argument("--seeds", nargs="*", type=int, default=list(SEEDS))
    parser.add_argument("--length", type=int, default=200)
    parser.add_argument("--radius", type=float, default=1.1)
    parser.add_argument("--input-scale", type=float, default=0.1)
    parser.add_argument("--learners", nargs="*", default=["hf", "first-order"])
    parser.add_argument("--gradient", type=int, default=5000)
    parser.add_argument("--curvature", type=int, default=1000)
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--tikhonov", type=float, default=0.01)
    parser.add_argument("--structural", type=float, default=0.003)
    parser.add_argument("--form", default="pre-activation")
    parser.add_argument("--least", type=float, default=0.01)
    parser.add_argument("--judge", default="gradient")
    parser.add_argument("--seconds", type=float, default=300, help="at most, for each learner")
    parser.add_argument("--used", type=float, help="gradient-equivalents, where hf is not run")
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--out", default="time_lags.jsonl")
    options = parser.parse_args()
    for name in options.tasks:
        problem, used = Problem(name, options), options.used
        about = {"task": name, "length": options.length, "machine": machine()}
        about["settings"] = {k: v for k, v in vars(options).items() if k != "out"}
        for learner in options.learners:
            if learner == "hf":
                steps = by_hessian_free(problem, options)
            else:
                steps = by_first_order(problem, used)
            rows = followed(steps, options.seeds, options.seconds, options.every)
            used = max(rows["hf"]["used"]) if learner == "hf" else used
            with open(options.out, "a") as file:
                for which, row in rows.items():
                    words = json.dumps(about | {"learner": which} | row)
                    print(words, flush=True)
                    file.write(words + "\n")


if __name__ == "__main__":
    main()
