"""Networks that add numbers and execute programs: exact answers, and what a curriculum does.

    python benchmarks/execution.py addition       two numbers of nine digits
    python benchmarks/execution.py curriculum     four strategies, three seeds each
    python benchmarks/execution.py --small        both in little, a check on a CPU

Addition: a bidirectional GRU reads `print(123456789+987654321)`, and a GRU with additive attention
writes the sum, from its last digit to its first or the other way round. Exact match is on 1,000
pairs of nine-digit numbers that never occur in training. Training ends early if 99.9 % of the
validation part is right, or after `--seconds`; the weights that were best on it are tested.

Curriculum: Zaremba and Sutskever (2014), Learning to execute. Strategies decide how hard training
programs are; test programs always have the full nesting and digits. Networks, steps and learning
rate are the same for all strategies; `naive` and `combined` reach full difficulty after half of the
steps. The weights after the last step are tested. Deviations are over seeds.

The table is printed; nothing is written.
"""

import argparse
import statistics
import time

import equinox as eqx
import jax

from measure import machine, table
from ostinato.runs import Config
from ostinato.runs.analysis.evaluation import measured
from ostinato.runs.build import build_network, build_task
from steps import Steps

NETWORK = {"cell": "gru", "bidirectional": True, "attention": "additive"}
LEARNER = {"learner": "adam", "schedule": "cosine", "warmup": 100}
ADDITION = {
    False: {"digits": 9, "units": 256, "embedding": 64, "batch": 256, "rate": 0.002},
    True: {"digits": 2, "units": 64, "embedding": 32, "batch": 128, "rate": 0.005},
}
CURRICULUM = {
    False: {"nesting": 2, "digits": 3, "units": 256, "embedding": 64, "batch": 128, "rate": 0.002},
    True: {"nesting": 1, "digits": 2, "units": 32, "embedding": 16, "batch": 64, "rate": 0.01},
}
STEPS = {"addition": (20_000, 600), "curriculum": (2_000, 60)}  # plain and small
STRATEGIES = ("baseline", "naive", "mix", "combined")
ORDERS = {"last": True, "first": False}  # the digit that is written first: `backwards` or not
ENOUGH = 0.999
VALIDATIONS = 20
TOGETHER = 250  # held-out examples that are evaluated at once


class Trainer(Steps):
    """The steps of runs that differ in seed or strategy alone, compiled once for all of them."""

    def train(self, seconds=float("inf"), validate=False, **changes):
        """Train from new weights.

        Returns:
            The task, the network, the steps, the seconds and the milliseconds per step.
        """
        config = self.config.replace(**changes)
        self.task = task = build_task(config)
        self.begin(build_network(config, task))
        best, every = (-1.0, self.now[0]), max(1, config.steps // VALIDATIONS)
        started, spent, times = time.perf_counter(), 0.0, []
        for step in range(config.steps):
            began = time.perf_counter()
            loss = self.step(step)
            if (step + 1) % every and step + 1 < config.steps:
                times.append(time.perf_counter() - began)
                continue
            loss = float(loss)  # waits for the device
            times.append(time.perf_counter() - began)
            spent = time.perf_counter() - started
            line = f"step {step + 1}, {spent:.0f} s: loss {loss:.4f}"
            if validate:
                value = self.measure(self.now[0], task, "valid")[0]
                line += f", exact match {value:.3f}"
                best = max(best, (value, self.now[0]), key=lambda pair: pair[0])
            print(line, flush=True)
            if spent > seconds or best[0] >= ENOUGH:
                break
        # Without the first part, in which most of the compiling is done.
        each = 1e3 * statistics.mean(times[every:] or times)
        arrays = best[1] if validate else self.now[0]
        return task, arrays, step + 1, spent, each

    def measure(self, arrays, task, part):
        """Exact match and accuracy."""
        network = eqx.combine(arrays, self.static)
        exact, _, accuracy = measured(network, task.held_out(part, TOGETHER), task.metrics)
        return exact, accuracy


def addition(options):
    rows = []
    for order in options.order.split(","):
        settings = {**NETWORK, **LEARNER, **ADDITION[options.small]}
        steps = options.steps or STEPS["addition"][options.small]
        settings |= _given(options, "digits", "units", "batch", "rate")
        config = Config(
            task="addition",
            strategy=options.strategy,
            growth=max(1, steps // 4),
            backwards=ORDERS[order],
            steps=steps,
            seed=options.seed,
            **settings,
        )
        print(f"addition, {order} digit first", flush=True)
        trainer = Trainer(config)
        found = trainer.train(options.seconds, validate=True)
        task, arrays, steps, seconds, each = found
        exact, accuracy = trainer.measure(arrays, task, "test")
        rows.append(
            [
                f"{config.digits} + {config.digits} digits, {order} first",
                options.strategy,
                f"{trainer.parameters:,}",
                f"{steps:,} × {config.batch}",
                f"{seconds:.0f}",
                f"{each:.1f}",
                f"{accuracy:.2%}",
                f"**{exact:.1%}**",
            ]
        )
        print(rows[-1], flush=True)
    header = ["sum written", "strategy", "parameters", "steps × batch", "seconds", "ms per step"]
    print(f"\n{machine()}\n\n{table([*header, 'digits right', 'exact, test'], rows)}\n", flush=True)


def curriculum(options):
    steps = options.steps or STEPS["curriculum"][options.small]
    config = Config(
        task="execute",
        steps=steps,
        growth=max(1, steps // 2),
        **{**NETWORK, **LEARNER, **CURRICULUM[options.small], **_given(options, "units", "batch")},
    )
    trainer, rows, started = Trainer(config), [], time.perf_counter()
    common = build_task(config).baselines()["most frequent answer"]
    for strategy in options.strategies.split(","):
        found = []
        for seed in range(options.seeds):
            print(f"{strategy}, seed {seed}", flush=True)
            task, arrays, *_, each = trainer.train(strategy=strategy, seed=seed)
            found.append((*trainer.measure(arrays, task, "test"), each))
            print(f"  {found[-1]}, {time.perf_counter() - started:.0f} s in all", flush=True)
        exact, accuracy, each = zip(*found, strict=True)
        rows.append([strategy, _over_seeds(exact), _over_seeds(accuracy), f"{min(each):.1f}"])
    header = ["strategy", "exact match", "symbols right", "ms per step"]
    print(
        f"\n{machine()}\n\n{table(header, rows)}\n\nPrograms of nesting {config.nesting} and "
        f"{config.digits} digits, {steps:,} steps of {config.batch}, "
        f"{trainer.parameters:,} parameters, {options.seeds} seeds. The most frequent answer would "
        f"be right in {common:.1%}.\n",
        flush=True,
    )


def _given(options, *names):
    given = {name: getattr(options, name) for name in names}
    return {name: value for name, value in given.items() if value is not None}


def _over_seeds(values):
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{100 * statistics.mean(values):.1f} ± {100 * spread:.1f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", choices=["addition", "curriculum", []])
    parser.add_argument("--steps", type=int, help="training steps, instead of the usual")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="addition: stop then")
    parser.add_argument("--order", default="last,first", help="addition: the digit written first")
    parser.add_argument("--strategy", default="combined", help="addition: curriculum strategy")
    parser.add_argument("--digits", type=int, help="addition: of both numbers")
    parser.add_argument("--units", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--rate", type=float, help="addition: learning rate")
    parser.add_argument("--seed", type=int, default=0, help="addition")
    parser.add_argument("--strategies", default=",".join(STRATEGIES), help="curriculum: which")
    parser.add_argument("--seeds", type=int, default=3, help="curriculum: how many")
    parser.add_argument("--small", action="store_true", help="for a CPU")
    options = parser.parse_args()
    print(jax.devices()[0], flush=True)
    for name in options.what or ("addition", "curriculum"):
        {"addition": addition, "curriculum": curriculum}[name](options)


if __name__ == "__main__":
    main()
