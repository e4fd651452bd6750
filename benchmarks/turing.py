"""The neural Turing machine: what it learns, and how fast.

    python benchmarks/turing.py learn                            all five tasks, ten seeds each
    python benchmarks/turing.py learn ntm-copy --steps 5000      one of them
    python benchmarks/turing.py learn ntm-sort --try read_gate=2 --try read_gate=-2
    python benchmarks/turing.py learn ntm-copy --small           few bits and steps, for a CPU
    python benchmarks/turing.py speed                            against the plain loop in PyTorch

`learn`: every task with its own recipe, the settings of `ostinato train --task ntm-copy` and so on.
All seeds, and all `--try` settings, are one compiled program: their weights are stacked, and the
step of the learner is mapped over them. Each seed has its own batches. The table counts the seeds
with less than 0.01 bits per sequence, or for the n-grams a cost within 1 % of the Bayes-optimal
predictor's, and those with less than 0.1 % and 1 % of wrong bits. "Longer" are sequences longer
than any in training, with the share of wrong bits, median over seeds, and of how many seeds it is
below 1 %. The LSTM alone has the same number of parameters.

`speed`: training steps on the copy task with 20 vectors of 8 bits, LSTM controller of 100 units,
memory of 128 x 20, one read and one write head, beside `turing_torch.py`.
"""

import argparse
import multiprocessing
import statistics
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from measure import machine, milliseconds, table
from ostinato.cli.arguments import changes
from ostinato.experiments.neural_turing import QUICK, SMALL, TASKS
from ostinato.learning import FirstOrder, Objective
from ostinato.learning.schedules import factor, length_at
from ostinato.runs import Config
from ostinato.runs.build import build_learner, build_network, build_task
from ostinato.tasks.turing.bit_vectors import FEW
from ostinato.weights import count_parameters
from ostinato.wiring import outputs_of

MACHINE = {"cell": "lstm", "units": 100, "input": "glorot", "turing": "128x20"}
RATE, CLIP, BATCH = 2e-3, "1", 32  # of the comparison of speed
TOGETHER = 10  # training steps per call
FIRST_SEED = 100
AHEAD = 4  # calls whose batches are made ahead
COMPILING = 3  # programs at once


def made(tasks, first, size, length):
    """The batches of a call, for all tasks: arrays `(steps, tasks, ...)`."""
    numbers = range(first, first + TOGETHER)
    every = [task.batch(n, size, length).arrays for n in numbers for task in tasks]
    return jax.tree.map(lambda *x: np.stack(x).reshape(TOGETHER, len(tasks), *x[0].shape), *every)


class Seeds:
    """Networks of several seeds and settings, trained and evaluated by one program.

    Attributes:
        weights: of all of them, each array with the seeds first.
        rest: what they share.
    """

    def __init__(self, configs, workers):
        self.config, self.count = configs[0], len(configs)
        self.tasks = [build_task(one) for one in configs]
        self.workers = ProcessPoolExecutor(workers, multiprocessing.get_context("fork"))
        self.workers.submit(int).result()  # they start before a device is opened
        networks = [build_network(one, self.tasks[0]) for one in configs]
        self.parameters = count_parameters(networks[0])
        arrays, rest = zip(*(eqx.partition(one, eqx.is_array) for one in networks), strict=True)
        self.weights = jax.tree.map(lambda *x: jnp.stack(x), *arrays)
        self.rest, task = rest[0], self.tasks[0]
        self.task = task
        learners = [build_learner(one.replace(schedule="constant"), task) for one in configs]
        self.learner = learners[0]
        self.numbers = {
            name: np.array([one.numbers[name] for one in learners], np.float32)
            for name in self.learner.numbers
        }
        self.memory = jax.vmap(lambda x: self.learner.initial(eqx.combine(x, self.rest)))(
            self.weights
        )

    def length(self, step, steps):
        """The length of the sequences at a step, as in a run."""
        if self.config.curriculum is None:
            return self.task.length
        return length_at(step, steps, self.config.curriculum, self.task.length)

    def program(self, length):
        """Several training steps, compiled for sequences of a length."""

        def one(weights, memory, numbers, batch):
            network = eqx.combine(weights, self.rest)
            start = self.learner.start(network, batch)
            network, memory, _, report = self.learner.step_with(
                numbers, network, memory, start, batch
            )
            return eqx.filter(network, eqx.is_array), memory, report["loss"]

        def several(weights, memory, numbers, scales, batches):
            def step(carried, given):
                scale, batch = given
                now = {**numbers, "rate": numbers["rate"] * scale}
                *carried, loss = jax.vmap(one)(*carried, now, batch)
                return tuple(carried), loss

            (weights, memory), loss = jax.lax.scan(step, (weights, memory), (scales, batches))
            return weights, memory, loss

        scales = np.ones(TOGETHER, np.float32)
        batches = made(self.tasks, 0, self.config.batch_size, length)
        given = self.weights, self.memory, self.numbers, scales, batches
        return jax.jit(several).lower(*given).compile()

    def counting(self, batch):
        """The counts of all metrics on a batch, compiled."""

        def counted(weights, batch):
            outputs, _ = outputs_of(eqx.combine(weights, self.rest), batch, backend="scan")
            return [metric.counts(outputs, batch) for metric in self.task.metrics]

        every = jax.vmap(counted, in_axes=(0, None))
        return jax.jit(every).lower(self.weights, batch.arrays).compile()

    def train(self, programs, steps, show=0, seconds=1e9, length=None):
        """All steps, or as many as the seconds allow: their number, and the seconds of each."""
        lengths = [length or self.length(n, steps) for n in range(0, steps, TOGETHER)]
        scales = np.asarray(factor(self.config.schedule, steps)(np.arange(steps + TOGETHER)))
        size, jobs = self.config.batch_size, {}
        weights, memory, started = self.weights, self.memory, time.perf_counter()
        for call, length in enumerate(lengths):
            for n in range(call, min(call + AHEAD, len(lengths))):
                if n not in jobs:
                    jobs[n] = self.workers.submit(made, self.tasks, n * TOGETHER, size, lengths[n])
            index = call * TOGETHER
            now = scales[index : index + TOGETHER].astype(np.float32)
            program, batches = programs[length].result(), jobs.pop(call).result()
            weights, memory, loss = program(weights, memory, self.numbers, now, batches)
            if show and call % (show // TOGETHER) == 0:
                took = time.perf_counter() - started
                print(f"{took:.0f} s", index, length, np.asarray(loss[-1]).round(4), flush=True)
            if call % 5 == 0:
                jax.block_until_ready(loss)
                if time.perf_counter() - started > seconds:
                    break
        self.weights, self.memory = jax.block_until_ready((weights, memory))
        return index + TOGETHER, (time.perf_counter() - started) / (index + TOGETHER)

    def fitting(self, programs, seconds):
        """How many steps fit into so many seconds, from some that are not kept."""
        kept, first = (self.weights, self.memory), self.length(0, 1000)
        for steps in (10 * TOGETHER, 20 * TOGETHER):
            _, each = self.train(programs, steps, length=first)
        self.weights, self.memory = kept
        mean = np.mean([self.length(n, 1000) for n in range(1000)])
        return max(100, int(seconds / (each * mean / first) / 100) * 100)

    def nan(self):
        """Which networks have weights that are not finite."""
        good = [
            np.isfinite(np.asarray(x)).reshape(len(x), -1).all(1)
            for x in jax.tree.leaves(self.weights)
        ]
        return ~np.all(good, axis=0)


def longer_batches(task):
    """Longer sequences than in training, by name."""
    rng = np.random.default_rng(1)
    if hasattr(task, "longer"):
        return {name: draw(rng, FEW) for name, draw in task.longer().items()}
    return {f"{2 * task.length} bits": task.draw(rng, FEW, 2 * task.length)}


def learn(name, given, alone=False):
    """The rows of a task: one for each `--try`."""
    dials = {**QUICK, **SMALL[name]} if given.small else {}
    if alone:
        dials = SMALL[name] if given.small else {}
        settings = [{"cell": "lstm", "budget": alone, "rate": RATE, "clip": CLIP}]
    else:
        settings = [dict(one) for one in given.tried or [{}]]
    numbers = range(given.first_seed, given.first_seed + given.seeds)
    numbers = [*range(given.tuning_seeds), *numbers]
    configs = [
        Config(task=name, **{**dials, **one, "seed": seed, "backend": "scan"})
        for one in settings
        for seed in numbers
    ]
    seeds = Seeds(configs, given.workers)
    task = seeds.task
    held_out = {"test": next(task.held_out("test", 10_000)), **longer_batches(task)}
    with ThreadPoolExecutor(COMPILING) as pool:
        every = dict.fromkeys(seeds.length(n, 1000) for n in range(1000))
        programs = {length: pool.submit(seeds.program, length) for length in every}
        counting = {what: pool.submit(seeds.counting, batch) for what, batch in held_out.items()}
        steps = given.steps or seeds.config.steps
        if given.seconds:
            steps = seeds.fitting(programs, given.seconds)
        done, each = seeds.train(programs, steps, given.show, 1.15 * (given.seconds or 1e9))
        values = {}
        for what, batch in held_out.items():
            counts = jax.device_get(counting[what].result()(seeds.weights, batch.arrays))
            values[what] = [np.asarray(total / weight) for total, weight in counts]
    if given.save:
        leaves = [np.asarray(x) for x in jax.tree.leaves(seeds.weights)]
        np.savez(f"{given.save}-{name}.npz", *leaves)
    best = task.yardsticks("test").get("Bayes-optimal")
    goal, rows = 0.01 if best is None else 1.01 * best, []
    for place, one in enumerate(settings):
        part = slice(place * len(numbers), (place + 1) * len(numbers))
        print(name, one, "seeds", numbers, *(x[part] for x in values["test"]), flush=True)
        part = slice(part.start + given.tuning_seeds, part.stop)
        bits, wrong = (x[part] for x in values["test"])
        far = {what: x[1][part] for what, x in values.items() if what != "test"}
        print(name, one, "longer", far, flush=True)
        rows.append(
            [
                name,
                "LSTM alone" if alone else "NTM",
                " ".join(f"{key}={value}" for key, value in one.items()) if given.tried else "",
                f"{seeds.parameters:,}",
                f"{done:,}",
                f"{1e3 * each:.1f}",
                f"{statistics.median(bits.tolist()):.3g}",
                f"{int(np.sum(bits <= goal))} of {given.seeds}",
                f"{int(np.sum(wrong < 0.001))}, {int(np.sum(wrong < 0.01))}",
                int(seeds.nan()[part].sum()),
                f"{np.median(wrong):.2%}",
                "; ".join(
                    f"{what}: {np.median(x):.2%} ({np.sum(x < 0.01)})" for what, x in far.items()
                ),
                f"{task.chance:.4g}" if best is None else f"{best:.4g} (Bayes)",
            ]
        )
    return rows, seeds.parameters


def speed(given):
    """Sequences per second of both, by batch size."""
    from turing_torch import sequences_per_second

    rows = []
    for batch in (1, BATCH):
        config = Config(task="ntm-copy", min_items=20, **MACHINE)
        task = build_task(config)
        network = build_network(config, task)
        how = {"rate": RATE, "clip": CLIP, "schedule": "constant"}
        learner = FirstOrder("adam", Objective(task.loss), steps=1000, **how)
        data = task.batch(0, batch).arrays.on_device()
        step = eqx.filter_jit(learner.step)
        memory, state = learner.initial(network), learner.start(network, data)
        ours = 1e3 * batch / _milliseconds(step, network, memory, state, data)
        theirs = sequences_per_second(
            np.asarray(data.inputs), np.asarray(data.targets), np.asarray(data.weights)
        )
        rows.append([batch, f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.1f}"])
    return rows


def _milliseconds(step, *given):
    return milliseconds(lambda: step(*given)[3]["loss"], jax.block_until_ready, inner=5)


def _settings(words):
    """Settings written as on a command line: `read_gate=2,rate=0.003`."""
    return changes([word for word in words.split(",") if word])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("learn", "speed"))
    parser.add_argument("tasks", nargs="*", help="by default all five")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument(
        "--tuning-seeds", type=int, default=0, help="also seeds from 0, shown beside the table"
    )
    parser.add_argument("--steps", type=int, help="of training, in place of the recipe's")
    parser.add_argument("--seconds", type=float, help="as many steps as fit into these")
    parser.add_argument(
        "--try", dest="tried", type=_settings, action="append", help="settings, name=value,..."
    )
    parser.add_argument("--workers", type=int, default=2, help="processes that make batches")
    parser.add_argument("--show", type=int, default=0, help="print the losses every so many steps")
    parser.add_argument("--save", help="where the weights go, as PREFIX-TASK.npz")
    parser.add_argument("--small", action="store_true", help="easy tasks, for a CPU")
    parser.add_argument("--no-lstm", action="store_true", help="without the LSTM alone")
    given = parser.parse_intermixed_args()
    if strange := set(given.tasks) - set(TASKS):
        parser.error(f"the tasks are {', '.join(TASKS)}; got {', '.join(sorted(strange))}")
    if given.what == "speed":
        heads = ["batch", "Ostinato, sequences/s", "PyTorch loop, sequences/s", "times"]
        print(f"## Neural Turing machine: speed\n{machine()}\n\n{table(heads, speed(given))}\n")
        return
    heads = ["task", "network", "settings", "parameters", "steps", "ms per step, all seeds"]
    heads += ["bits, median", "below 0.01 bits", "below 0.1 % and 1 % wrong", "NaN"]
    heads += ["wrong bits, median", "longer: wrong bits, median (seeds below 1 %)", "chance, bits"]
    rows = []
    for name in given.tasks or TASKS:
        more, parameters = learn(name, given)
        rows += more
        if name == "ntm-copy" and not given.no_lstm:
            rows += learn(name, given, alone=parameters)[0]
        print(f"## Neural Turing machine\n{machine()}\n\n{table(heads, rows)}\n", flush=True)


if __name__ == "__main__":
    main()
