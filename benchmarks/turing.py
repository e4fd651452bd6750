"""The neural Turing machine: what it learns, and how fast.

    python benchmarks/turing.py learn                            all five tasks, ten seeds each
    python benchmarks/turing.py learn ntm-copy --steps 5000      one of them
    python benchmarks/turing.py learn ntm-copy --small           few bits and steps, for a CPU
    python benchmarks/turing.py speed                            against the plain loop in PyTorch

`learn`: all seeds are one compiled program: their weights are stacked, and the step of the learner
is mapped over them. Each seed has its own batches. Success is less than 0.01 bits per sequence, or
for the n-grams a cost within 1 % of the Bayes-optimal predictor's. "Longer" are sequences longer
than any in training, with the share of wrong bits, median over seeds, and of how many seeds it is
below 1 %. The LSTM alone has the same number of parameters.

`speed`: training steps on the copy task with 20 vectors of 8 bits, LSTM controller of 100 units,
memory of 128 x 20, one read and one write head, beside `turing_torch.py`.
"""

import argparse
import statistics
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from measure import machine, milliseconds, table
from ostinato.experiments.neural_turing import LEARNER, MACHINE, SMALL, STEPS
from ostinato.learning import FirstOrder, Objective
from ostinato.runs import Config
from ostinato.runs.build import build_network, build_task
from ostinato.tasks.turing.bit_vectors import FEW
from ostinato.weights import count_parameters
from ostinato.wiring import outputs_of

RATE, CLIP, BATCH = (LEARNER[name] for name in ("rate", "clip", "batch"))
TOGETHER = 10  # training steps per call


class Seeds:
    """Networks of several seeds, trained and evaluated by one program.

    Attributes:
        weights: of all seeds, each array with the seeds first.
        rest: what they share.
    """

    def __init__(self, config, seeds, steps, rate, clip):
        self.configs = [config.replace(seed=seed) for seed in range(seeds)]
        self.tasks = [build_task(one) for one in self.configs]
        made = [build_network(one, self.tasks[0]) for one in self.configs]
        self.count = count_parameters(made[0])
        arrays, rest = zip(*(eqx.partition(one, eqx.is_array) for one in made), strict=True)
        self.weights = jax.tree.map(lambda *x: jnp.stack(x), *arrays)
        self.rest = rest[0]
        task = self.tasks[0]
        objective = Objective(task.loss, backend="scan")  # kernels do not map over seeds
        learner = FirstOrder(
            "adam", objective, steps=steps, rate=rate, clip=clip, schedule="cosine"
        )

        def first(weights):
            return learner.initial(eqx.combine(weights, self.rest))

        def one(weights, learner_state, batch):
            network = eqx.combine(weights, self.rest)
            start = learner.start(network, batch)
            network, learner_state, _, report = learner.step(network, learner_state, start, batch)
            return eqx.filter(network, eqx.is_array), learner_state, report["loss"]

        def several(carried, batches):
            def step(carried, batch):
                weights, learner_state, loss = jax.vmap(one)(*carried, batch)
                return (weights, learner_state), loss

            return jax.lax.scan(step, carried, batches)

        def counted(weights, batch):
            outputs, _ = outputs_of(eqx.combine(weights, self.rest), batch, backend="scan")
            return [metric.counts(outputs, batch) for metric in task.metrics]

        self.learner_state = jax.vmap(first)(self.weights)
        self.step = jax.jit(several, donate_argnums=0)
        self.counted = jax.jit(jax.vmap(counted, in_axes=(0, None)))

    def train(self, steps, batch, show=0, seconds=None):
        """All steps, or as many as the seconds allow: their number, and the seconds of each."""
        carried, started, index = (self.weights, self.learner_state), None, 0
        while index < steps and (not started or time.perf_counter() - started < (seconds or 1e9)):
            batches = [
                [task.batch(n, batch).arrays for task in self.tasks]
                for n in range(index, index + TOGETHER)
            ]
            stacked = jax.tree.map(
                lambda *x: np.stack(x).reshape(TOGETHER, len(self.tasks), *x[0].shape),
                *(one for row in batches for one in row),
            )
            carried, loss = self.step(carried, stacked)
            if started is None:
                jax.block_until_ready(loss)
                started = time.perf_counter()
            if show and (index // TOGETHER) % (show // TOGETHER) == 0:
                print(index, np.array2string(np.asarray(loss[-1]), precision=4), flush=True)
            index += TOGETHER
        self.weights, self.learner_state = jax.block_until_ready(carried)
        return index, (time.perf_counter() - started) / max(index - TOGETHER, 1)

    def values(self, batch):
        """Bits per sequence and share of wrong bits of each seed."""
        found = jax.device_get(self.counted(self.weights, batch.arrays.on_device()))
        return [np.asarray(total / weight) for total, weight in found]

    def nan(self):
        """How many seeds have weights that are not finite."""
        good = [
            np.isfinite(np.asarray(x)).reshape(len(x), -1).all(1)
            for x in jax.tree.leaves(self.weights)
        ]
        return int(np.sum(~np.all(good, axis=0)))


def longer_batches(task):
    """Longer sequences than in training, by name."""
    rng = np.random.default_rng(1)
    if hasattr(task, "longer"):
        return {name: draw(rng, FEW) for name, draw in task.longer().items()}
    return {f"{2 * task.length} bits": task.draw(rng, FEW, 2 * task.length)}


def learn(name, given):
    """A row of the table for the machine, and for copy one for the LSTM alone."""
    dials = SMALL[name] if given.small else {}
    net = dict(MACHINE) | ({"units": 32, "turing": "16x8"} if given.small else {})
    steps = given.steps or (2_000 if given.small else STEPS[name])
    config = Config(task=name, **net, **dials)
    rows, budget = [], None
    for kind in ("NTM", "LSTM alone") if name == "ntm-copy" and not given.no_lstm else ("NTM",):
        if budget is not None:
            config = Config(task=name, cell="lstm", budget=budget, **dials)
        seeds = Seeds(config, given.seeds, steps, given.rate, given.clip)
        budget, task = seeds.count, seeds.tasks[0]
        done, each = seeds.train(steps, given.batch, given.show, given.seconds)
        bits, wrong = seeds.values(next(task.held_out("test", 10_000)))
        yardstick = task.yardsticks("test").get("Bayes-optimal")
        goal = 0.01 if yardstick is None else 1.01 * yardstick
        far = {what: seeds.values(batch)[1] for what, batch in longer_batches(task).items()}
        if given.show:
            print(kind, np.sort(bits), {what: np.sort(x) for what, x in far.items()}, flush=True)
        rows.append(
            [
                name,
                kind,
                f"{seeds.count:,}",
                f"{done:,}",
                f"{1e3 * each:.1f}",
                f"{statistics.median(bits.tolist()):.3g}",
                f"{int(np.sum(bits <= goal))} of {given.seeds}",
                seeds.nan(),
                f"{np.median(wrong):.2%}",
                "; ".join(
                    f"{what}: {np.median(x):.2%} ({np.sum(x < 0.01)} below 1 %)"
                    for what, x in far.items()
                ),
                f"{task.chance:.4g}" if yardstick is None else f"{yardstick:.4g} (Bayes)",
            ]
        )
    return rows


def speed(given):
    """Sequences per second of both, by batch size."""
    from turing_torch import sequences_per_second

    rows = []
    for batch in (1, BATCH):
        config = Config(task="ntm-copy", min_items=20, **MACHINE)
        task = build_task(config)
        network = build_network(config, task)
        learner = FirstOrder("adam", Objective(task.loss), steps=1000, rate=RATE, clip=CLIP)
        data = task.batch(0, batch).arrays.on_device()
        step = eqx.filter_jit(learner.step)
        learner_state, state = learner.initial(network), learner.start(network, data)
        ours = 1e3 * batch / _milliseconds(step, network, learner_state, state, data)
        theirs = sequences_per_second(
            np.asarray(data.inputs), np.asarray(data.targets), np.asarray(data.weights)
        )
        rows.append([batch, f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.1f}"])
    return rows


def _milliseconds(step, *given):
    return milliseconds(lambda: step(*given)[3]["loss"], jax.block_until_ready, inner=5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("learn", "speed"))
    parser.add_argument("tasks", nargs="*", help="by default all five")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, help="of training")
    parser.add_argument("--seconds", type=float, help="at most, of training each network")
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--clip", default=CLIP)
    parser.add_argument("--show", type=int, default=0, help="print the losses every so many steps")
    parser.add_argument("--small", action="store_true", help="easy tasks, for a CPU")
    parser.add_argument("--no-lstm", action="store_true", help="without the LSTM alone")
    given = parser.parse_intermixed_args()
    if strange := set(given.tasks) - set(STEPS):
        parser.error(f"the tasks are {', '.join(STEPS)}; got {', '.join(sorted(strange))}")
    if given.what == "speed":
        heads = ["batch", "Ostinato, sequences/s", "PyTorch loop, sequences/s", "times"]
        print(f"## Neural Turing machine: speed\n{machine()}\n\n{table(heads, speed(given))}\n")
        return
    heads = ["task", "network", "parameters", "steps", "ms per step, all seeds", "bits, median"]
    heads += ["success", "NaN", "wrong bits", "longer, wrong bits", "chance, bits"]
    rows = []
    for name in given.tasks or STEPS:
        rows += learn(name, given)
        print(f"## Neural Turing machine\n{machine()}\n\n{table(heads, rows)}\n", flush=True)


if __name__ == "__main__":
    main()
