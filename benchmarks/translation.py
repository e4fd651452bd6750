"""Translation of Multi30k, English to German: BLEU on test 2016, and training speed.

    python benchmarks/translation.py quality            with attention and without
    python benchmarks/translation.py speed              against PyTorch, on a GPU

Trained on the 29,000 pairs alone, with subwords of each language learned from them; the checkpoint
that is best on the validation set translates the test set with a beam. BLEU is sacrebleu's, cased,
on detokenised text; its signature is printed. Where sacrebleu is missing, the translations are
written to a folder (`--out`) to be scored elsewhere (`score FOLDER`).

Speed: target sentences per second of whole training steps (gradient, clipping and Adam) on a batch
of one shape, both sides with TF32 products. The PyTorch side is a cuDNN encoder and a decoder loop
of the same shape, the whole step captured as one CUDA graph.
"""

import argparse
import gzip
import os
import tempfile
import time
from functools import partial
from pathlib import Path

import jax
import numpy as np

from measure import machine, seconds, show, table
from ostinato.data import find_data
from ostinato.runs import Config, open_run, train
from ostinato.tasks.applying import ApplyOptions
from ostinato.tasks.pairs.pairs import Pairs
from ostinato.weights import count_parameters
from steps import Steps

PARTS = {"": "train", "valid_": "val", "test_": "test_2016_flickr"}
FILES = {
    f"{part}{side}": f"multi30k/{name}.{language}.gz"
    for part, name in PARTS.items()
    for side, language in (("source", "en"), ("target", "de"))
}
NETWORK = {"cell": "gru", "units": 512, "bidirectional": True, "embedding": 256, "dropout": 0.4}
TASK = {"task": "translate", "level": "subwords", "subwords": 6000, "tied": True, "smoothing": 0.1}
LEARNER = {"learner": "adam", "rate": 0.001, "schedule": "cosine", "warmup": 300, "batch": 128}
BEAM, PENALTY = 8, 1.0
SPEED = {"batch": 128, "steps": 24, "symbols": 6000, "embedding": 256, "units": 512}


def config(**more):
    files = {name: str(find_data(path)) for name, path in FILES.items()}
    return Config(**TASK, **files, **{**NETWORK, **LEARNER, **more})


def quality(steps, out, attentions, precision):
    rows = []
    for attention in attentions:
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            run = train(
                config(
                    attention=attention,
                    steps=steps,
                    precision=precision,
                    validate_every=max(1, steps // 12),
                ),
                Path(folder) / "run",
                listener=show,
            )
            took = time.perf_counter() - started
            task, network = open_run(run.path).task(), run.network()
            with run.precision():
                found = [
                    best[0].text
                    for best in task.code.written(
                        network,
                        task.parts["test"][0],
                        ApplyOptions(beam=BEAM, penalty=PENALTY),
                    )
                ]
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{attention}.de").write_text("\n".join(found) + "\n")
        rows.append([attention, f"{count_parameters(network):,}", f"{took:.0f}"])
        print(rows[-1], flush=True)
    print(machine())
    print(table(["attention", "parameters", "seconds of training"], rows))
    score(out)


def score(out):
    from ostinato.errors import BadInput
    from ostinato.tasks.scores import bleu, chrf

    with gzip.open(find_data(FILES["test_target"]), "rt", encoding="utf-8") as file:
        references = [line.strip() for line in file]
    for found in sorted(out.glob("*.de")):
        texts = found.read_text().splitlines()
        try:
            print(found.stem, bleu(texts, references), chrf(texts, references), sep="\n  ")
            print("  uncased:", bleu(texts, references, lowercase=True))
        except BadInput as error:
            print(error)


def speed(precision):
    from translation_torch import sentences_per_second

    size = SPEED
    rng = np.random.default_rng(0)
    symbols = rng.integers(2, size["symbols"], (2, 4 * size["batch"], size["steps"] - 1))
    parts = dict.fromkeys(("train", "valid", "test"), ([*symbols[0]], [*symbols[1]]))

    class Known:
        level, tokens = "words", ()

        def __len__(self):
            return size["symbols"]

    rows = []
    for attention in ("additive", "dot"):
        task = Pairs(parts, Known(), Known(), attention=attention, embedding=size["embedding"])
        made = Config(
            task="translate",
            cell="gru",
            reset="after",  # as in PyTorch
            units=size["units"],
            bidirectional=True,
            embedding=size["embedding"],
            batch=size["batch"],
            precision=precision,
        )
        steps = Steps(made, task)
        step = partial(steps.step, 0, steps.batch(0).arrays.on_device())
        times = seconds(step, jax.block_until_ready, repeats=5, inner=20, warm=3)
        ours = size["batch"] / float(np.median(times))
        theirs = sentences_per_second(attention=attention, precision=precision, **size)
        rows.append([attention, f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.2f}"])
        print(rows[-1], flush=True)
    print(machine())
    print(table(["attention", "Ostinato, sentences/s", "PyTorch", "times as fast"], rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("quality", "speed", "score"))
    parser.add_argument(
        "out", nargs="?", type=Path, default=Path(os.environ.get("OUT", "translated"))
    )
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--attention", default="additive,none")
    parser.add_argument("--precision", default="float32", choices=("float32", "bfloat16"))
    asked = parser.parse_args()
    if asked.what == "quality":
        quality(asked.steps, asked.out, asked.attention.split(","), asked.precision)
    elif asked.what == "score":
        score(asked.out)
    else:
        speed(asked.precision)
