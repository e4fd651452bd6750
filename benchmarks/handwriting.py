"""Strings of handwritten characters, learned with CTC: label error rate on held-out writers.

    python benchmarks/handwriting.py [--seconds 200] [--strokes drawn|omniglot] [--small]

A bidirectional LSTM reads the steps of the pen and is told which characters a string has, but not
where they are. `--small` is one layer of 64 units, for two CPU cores; otherwise there are two
layers of 128. A short run measures how many steps fit into `--seconds`; the learning rate falls to
zero over as many. The checkpoint with the best validation is tested, on writers that are neither
in training nor in validation, by the most probable path and by prefix beam search. The table is
printed; nothing is written.
"""

import argparse
import tempfile
import time
from pathlib import Path

import equinox as eqx
import numpy as np

from measure import machine, table
from ostinato.decoding import ctc_beam
from ostinato.runs import Config, open_run, train
from ostinato.runs.analysis.evaluation import measured
from ostinato.tasks.scores import edit_distance
from ostinato.wiring import outputs_of

SIZES = {
    True: {"units": 64, "layers": 1, "batch": 32},
    False: {"units": 128, "layers": 2, "batch": 64},
}
WARM, TIMED = 5, 20
VALIDATIONS = 10
WIDTH = 16
RATES = {True: 5e-3, False: 2e-3}
READY = 0.8  # of the time is for learning, the rest for validation and compiling


def config_for(options: argparse.Namespace, steps: int, validations: int) -> Config:
    return Config(
        task="handwriting",
        strokes=options.strokes,
        cell="lstm",
        bidirectional=True,
        rate=options.rate or RATES[options.small],
        warmup=min(100, steps // 10),
        steps=steps,
        validate_every=max(1, steps // validations),
        seed=options.seed,
        **SIZES[options.small],
    )


def steps_within(options: argparse.Namespace, folder: Path) -> int:
    """How many training steps take `--seconds`, from the time of a few."""
    times: list[float] = []

    def hear(event: dict) -> None:
        if event["kind"] == "train":
            times.append(time.perf_counter())

    train(config_for(options, WARM + TIMED, 1), folder / "timed", listener=hear)
    each = (times[-1] - times[WARM - 1]) / (len(times) - WARM)
    print(f"{1e3 * each:.0f} ms per step", flush=True)
    return max(50, int(READY * options.seconds / each))


def by_beam(network, task) -> float:
    """The label error rate of prefix beam search on the test part."""
    outputs = eqx.filter_jit(lambda network, batch: outputs_of(network, batch)[0])
    edits = labels = 0
    for batch in task.held_out("test", 100):
        best = ctc_beam(outputs(network, batch.arrays), batch.lengths, width=WIDTH)
        for (found, *_), right in zip(best, batch.targets.T, strict=True):
            right = right[right > 0]
            edits += edit_distance(found[0].tolist(), right.tolist())
            labels += len(right)
    return edits / labels


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=200, help="of training, about")
    parser.add_argument("--strokes", default="drawn", choices=("drawn", "omniglot"))
    parser.add_argument("--small", action="store_true", help="one layer of 64 units")
    parser.add_argument("--rate", type=float, help="learning rate")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        steps = steps_within(options, Path(folder))
        print(f"{steps} steps", flush=True)
        started = time.perf_counter()

        def hear(event: dict) -> None:
            if event["kind"] == "valid":
                spent = time.perf_counter() - started
                print(f"step {event['step']}, {spent:.0f} s: {event['value']:.4f}", flush=True)
                print(event.get("preview"), flush=True)

        train(config_for(options, steps, VALIDATIONS), Path(folder) / "run", listener=hear)
        spent = time.perf_counter() - started
        run = open_run(Path(folder) / "run")
        task, network = run.task(), eqx.nn.inference_mode(run.network())
        (greedy,) = measured(network, task.held_out("test", 100), task.metrics)
        labels = int(sum(np.sum(batch.weights) for batch in task.held_out("test", 100)))
        size = SIZES[options.small]
        row = [
            options.strokes,
            f"{size['layers']} × {size['units']}",
            steps,
            f"{spent:.0f}",
            f"{greedy:.2%}",
            f"{by_beam(network, task):.2%}",
            labels,
        ]
        header = ["strokes", "LSTM", "steps", "seconds", "label error rate", f"beam of {WIDTH}"]
        print(f"{machine()}\n\n{table([*header, 'labels tested'], [row])}")


if __name__ == "__main__":
    main()
