"""Sequential and permuted MNIST, and JSB chorales, beside published numbers.

    python benchmarks/sequences.py mnist permuted-mnist jsb
    python benchmarks/sequences.py mnist permuted-mnist --oscillators
    python benchmarks/sequences.py jsb --set units=300 dropout=0.6

Accuracy on the 10,000 test digits, with the checkpoint that is best on 5,000 held-out training
digits; the chorales in nats per step on the test part, with the checkpoint that is best on the
validation part. Everything goes through `ostinato.runs.train`.

Published: Bai et al. (2018) for LSTM, GRU and TCN, Rusch and Mishra (2021) for coRNN; chorales by
Bai et al. (2018) and, tuned, by Boulanger-Lewandowski's successors (Chung et al., 2014).
"""

import argparse
import tempfile
import time
from pathlib import Path

from measure import machine, show, table
from ostinato.cli.arguments import changes
from ostinato.experiments import bai_table
from ostinato.runs import Config, evaluate_network, open_run, train
from ostinato.weights import count_parameters

DIGITS = {**bai_table.DIGITS, **bai_table.POOLED}
COUPLED = {"cell": "benchmarks/cornn.py:CoRNN", "units": 256, "batch": 128, "steps": 24_000}
COMMON = {"learner": "adam", "schedule": "cosine"}
SETTINGS = {
    "mnist": DIGITS,
    "permuted-mnist": DIGITS,
    "jsb": {**bai_table.CHORALES, **bai_table.DROPPED, "patience": None},
}
# The numbers of Rusch and Mishra (2021).
OSCILLATORS = {
    "mnist": {**COUPLED, "rate": 0.0021},
    "permuted-mnist": {
        **COUPLED,
        "rate": 0.0037,
        "step_size": 0.076,
        "frequency": 0.4,
        "friction": 8.0,
    },
}
PUBLISHED = {
    "mnist": "LSTM 87.2, GRU 96.2, TCN 99.0 (70 k); coRNN 99.4",
    "permuted-mnist": "LSTM 85.7, GRU 87.3, TCN 97.2 (70 k); coRNN 97.3",
    "jsb": "LSTM 8.45, GRU 8.43, tuned 8.20",
}


def measured(name, settings):
    config = Config(**{**settings, "task": name})
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        train(config, Path(folder) / "run", listener=show)
        seconds = time.perf_counter() - started
        run = open_run(Path(folder) / "run")
        network, task = run.network(), run.task()
        with run.precision():
            value = evaluate_network(network, task, "test", 500)
    shown = f"{100 * value:.2f} %" if task.metric.higher_is_better else f"{value:.3f}"
    count = f"{count_parameters(network):,}"
    return [name, str(config.cell), count, shown, PUBLISHED[name], f"{seconds:.0f}"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tasks", nargs="+", choices=SETTINGS)
    parser.add_argument("--set", nargs="*", default=[], help="other settings, name=value")
    parser.add_argument("--oscillators", action="store_true", help="digits by coRNN, cornn.py")
    asked = parser.parse_args()
    more, rows = changes(asked.set), []
    for name in asked.tasks:
        usual = {**COMMON, **OSCILLATORS[name]} if asked.oscillators else SETTINGS[name]
        rows.append(measured(name, {**usual, **more}))
        print(rows[-1], flush=True)
    heads = ["task", "cell", "parameters", "test", "published", "seconds of training"]
    print(machine())
    print(table(heads, rows))
