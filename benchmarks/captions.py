"""Captions of drawn shapes and of emoji, beside retrieval of the nearest picture.

    python benchmarks/captions.py                      both, with the steps for a GPU
    python benchmarks/captions.py --small              fewer steps, for two CPU cores
    python benchmarks/captions.py shapes --steps 2000
    python benchmarks/captions.py score FOLDER         where sacrebleu was missing

Shapes: captions such as "a small red circle above a large blue square", the test set made of
combinations that training never shows; the score is how many captions are right as a whole. Emoji:
32 × 32 pixels with a short English name, a tenth of them held out; the score is BLEU-1. Captions
are those of a beam of 5. Retrieval answers with the caption of the training picture that is nearest
by pixels. The captions are written to a folder (`--out`), to be scored elsewhere where sacrebleu is
missing.
"""

import argparse
import tempfile
import time
from pathlib import Path

from measure import machine, show, table
from ostinato.data import find_data
from ostinato.errors import BadInput
from ostinato.runs import Config, train
from ostinato.tasks.applying import ApplyOptions
from ostinato.tasks.pairs.captions import written
from ostinato.tasks.scores import bleu, exact_match
from ostinato.weights import count_parameters

LEARNER = {"learner": "adam", "rate": 0.003, "schedule": "cosine", "warmup": 100}
SETS = {
    "shapes": {"cell": "gru", "units": 128, "batch": 32},
    "emoji": {"cell": "gru", "units": 256, "batch": 32, "dropout": 0.1, "shift": 1},
}
STEPS = {"shapes": (20_000, 5_000), "emoji": (20_000, 4_000)}  # on a GPU, and with --small


def config(name, **more):
    files = {}
    if name == "emoji":
        files = {"file": str(find_data("emoji_captions.npz")), "split": "85/5/10"}
    return Config(**{"task": "caption", **files, **SETS[name], **LEARNER, **more})


def learn(name, steps, seed, out):
    """Train, and write the captions of the test set, the right ones and the nearest."""
    made = config(name, steps=steps, seed=seed, validate_every=max(1, steps // 10))
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        run = train(made, f"{folder}/run", listener=show)
        seconds = time.perf_counter() - started
        task, network = run.task(), run.network()
    with run.precision():
        best = written(network, task.tokens, task.images["test"], task.length, ApplyOptions())
        found = [answers[0].text for answers in best]
    texts = {"found": found, "right": task.captions["test"], "nearest": task.retrieved("test")}
    (out / name).mkdir(parents=True, exist_ok=True)
    for kind, lines in texts.items():
        (out / name / kind).write_text("\n".join(lines) + "\n")
    counts = len(task.captions["train"]), len(task.captions["test"])
    return [name, *map(str, counts), f"{count_parameters(network):,}", str(steps), f"{seconds:.0f}"]


def score(out):
    """Exact match and BLEU of the captions in a folder."""
    rows, signature = [], "sacrebleu is missing: `python benchmarks/captions.py score FOLDER`"
    for name in SETS:
        if not (out / name).is_dir():
            continue
        texts = {x.name: x.read_text().splitlines() for x in (out / name).iterdir()}
        for kind, words in (("found", "Ostinato"), ("nearest", "nearest picture")):
            row = [name, words, f"{exact_match(texts[kind], texts['right']):.2%}"]
            try:
                scores = [bleu(texts[kind], texts["right"], order=n) for n in (1, 2, 3, 4)]
                row += [f"{x.value:.1f}" for x in scores]
                signature = scores[0].signature
            except BadInput:
                row += [""] * 4
            rows.append(row)
    heads = ["test set", "captions", "exactly right", *(f"BLEU-{n}" for n in (1, 2, 3, 4))]
    print(f"{table(heads, rows)}\n\nBLEU: {signature}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", help="shapes, emoji, or score FOLDER (both sets)")
    parser.add_argument("--steps", type=int, help="of training")
    parser.add_argument("--small", action="store_true", help="fewer steps, for two CPU cores")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="folder for the captions")
    given = parser.parse_args()
    if given.what[:1] == ["score"]:
        return score(Path(given.what[1]))
    if strange := set(given.what) - set(SETS):
        parser.error(f"give shapes, emoji, or score FOLDER; got {' '.join(sorted(strange))}")
    print(f"## Captions\n{machine()}\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        out = given.out or Path(folder)
        rows = [
            learn(name, given.steps or STEPS[name][given.small], given.seed, out)
            for name in given.what or SETS
        ]
        heads = ["set", "training", "test", "parameters", "steps", "seconds of training"]
        print(f"\n{table(heads, rows)}\n")
        score(out)


if __name__ == "__main__":
    main()
