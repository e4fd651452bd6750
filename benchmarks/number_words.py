"""English numbers in words to French: exact answers in ten minutes, and whether reversing helps.

    python benchmarks/number_words.py learn
    python benchmarks/number_words.py reversing --seeds 3 --steps 600

`learn` trains a bidirectional GRU with additive attention and translates 1,000 numbers that never
occur in training. `reversing` trains a GRU without attention, with the source as it is and reversed
(Sutskever et al., 2014); the numbers, steps and initial weights of a seed are the same.
"""

import argparse
import statistics
import tempfile
import time

from measure import machine, show, table
from ostinato.runs import Config, train
from ostinato.weights import count_parameters

COMMON = {
    "task": "translate",
    "cell": "gru",
    "reset": "after",
    "learner": "adam",
    "rate": 0.003,
    "schedule": "cosine",
    "warmup": 50,
    "batch": 128,
}
ATTENDING = {"bidirectional": True, "attention": "additive", "units": 128}
PLAIN = {"attention": "none", "units": 192}
EXACT = "exact, beam of 5"


def exact(**settings):
    """The share of held-out numbers that are right, the parameters, and seconds of training."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        run = train(Config(**COMMON, **settings), f"{folder}/run", listener=show)
        seconds = time.perf_counter() - started
        network = run.network()
        with run.precision():
            found = run.task().scores(network, "test")[EXACT]
    return found, count_parameters(network), seconds


def learn(steps, seed):
    found, count, seconds = exact(**ATTENDING, steps=steps, seed=seed, validate_every=steps // 5)
    row = [f"{count:,}", f"{steps:,}", f"{seconds:.0f}", f"**{found:.2%}**"]
    print(table(["parameters", "steps", "seconds", "exactly right"], [row]))


def reversing(steps, seeds):
    rows = []
    for name, reverse in (("as it is", False), ("reversed", True)):
        found = []
        for seed in range(seeds):
            options = {"reverse": reverse, "steps": steps, "seed": seed, "validate_every": steps}
            found.append(100 * exact(**PLAIN, **options)[0])
            print(name, found, flush=True)
        spread = statistics.stdev(found) if seeds > 1 else 0.0
        each = ", ".join(f"{x:.1f}" for x in found)
        rows.append([name, f"{statistics.mean(found):.1f} ± {spread:.1f} %", each])
    print(table(["source", "exactly right", "each seed"], rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["learn", "reversing"])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of learn")
    parser.add_argument("--seeds", type=int, default=3, help="of reversing")
    asked = parser.parse_args()
    print(machine(), flush=True)
    if asked.what == "learn":
        learn(asked.steps, asked.seed)
    else:
        reversing(asked.steps, asked.seeds)
