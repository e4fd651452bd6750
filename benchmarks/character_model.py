"""The mLSTM of Krause (2015) with 215,900 parameters, by Hessian-free learning and by Adam.

    python benchmarks/character_model.py [--out rows.jsonl] [--seconds 150]
    python benchmarks/character_model.py --publish rows.jsonl

The first 2.8 M characters of the enwiki slice are learned, the next 200,000 validate. Of its
characters the 69 most frequent are kept and the rest is one symbol, so that the network has 70
symbols and 170 units. Batch are 200 characters. Hessian-free learning takes the gradient over
nearly all of the text in each step, the curvature on a tenth of it; Adam takes batches of 100.

A gradient-equivalent is the gradient of one sequence; a Gauss-Newton product counts as one, an
evaluation of the loss as a third.
"""

import argparse
import json
import tempfile
from pathlib import Path

from measure import machine, publish, table
from ostinato.experiments import krause
from ostinato.runs import Config, train

TRAIN, HELD_OUT = 2_800_000, 200_000
UNITS, LENGTH = 170, 200
BATCH, PART = 13_500, 1_350
FREE = {
    "learner": "hf",
    "batch": BATCH,
    "curvature_batch": PART,
    "validate_every": 2,
    "checkpoint_every": 1000,
    "steps": 1000,
}
RUNS = {
    "hf, structural": {**FREE, "tikhonov": 0.001, "structural": 0.1, "form": "activation"},
    "hf, line-search": {**FREE, "damping": "line-search", "tikhonov": 0.001},
    "adam": {"learner": "adam", "batch": 100, "rate": 0.002, "warmup": 100, "validate_every": 250},
}


def prepared(folder: Path) -> Path:
    """The text with 70 symbols, as a file."""
    corpus = krause.TABLE.corpus
    return Path(corpus.prepared(None, folder, quick=False).settings["file"])


def curve(name: str, file: Path, folder: Path, seconds: float, steps: int) -> list[dict]:
    """Validations of a run: gradient-equivalents, seconds of learning, bits."""
    shares = [100 * n / (TRAIN + 2 * HELD_OUT) for n in (TRAIN, HELD_OUT, HELD_OUT)]
    settings = {"steps": steps, **RUNS[name]}
    config = Config(
        file=str(file),
        cell="mlstm",
        units=UNITS,
        length=LENGTH,
        split="/".join(map(str, shares)),
        **settings,
    )
    found: list[dict] = []
    used = learning = 0.0
    first = True

    class Enough(Exception):
        pass

    def hear(event):
        nonlocal used, learning, first
        if event["kind"] == "start":
            assert event["parameters"] == 215_900, event["parameters"]
        elif event["kind"] == "train":
            count = event["symbols"] / LENGTH
            used += count * event.get("gradients", 1.0)
            learning += 0.0 if first else event["took"]  # the first compiles
            first = False
            last = {
                k: event.get(k) for k in ("loss", "damping", "structural", "ratio", "iterations")
            }
            found.append({"step": event["step"], **last})
        elif event["kind"] == "valid":
            found[-1] |= {"used": used, "seconds": round(learning, 1), "bits": event["value"]}
            print(name, found[-1], flush=True)
            if learning > seconds:
                raise Enough

    try:
        train(config, folder / name.replace(", ", "-"), listener=hear)
    except Enough:
        pass
    return [row for row in found if "bits" in row]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", nargs="*", default=list(RUNS))
    parser.add_argument("--out", default="character_model.jsonl")
    parser.add_argument("--seconds", type=float, default=150, help="of learning, for each run")
    parser.add_argument("--steps", type=int, default=20_000, help="of Adam")
    parser.add_argument("--publish", help="rows to make the tables from")
    options = parser.parse_args()
    if options.publish:
        return tables(Path(options.publish))
    with tempfile.TemporaryDirectory() as folder:
        file = prepared(Path(folder))
        for name in options.runs:
            rows = curve(name, file, Path(folder), options.seconds, options.steps)
            with open(options.out, "a") as out:
                out.write(json.dumps({"name": name, "machine": machine(), "rows": rows}) + "\n")


def tables(path: Path) -> None:
    """Bits per character at some numbers of gradient-equivalents and of seconds."""
    runs = {}
    for line in path.read_text().splitlines():
        found = json.loads(line)
        runs[found["name"]], on = found["rows"], found["machine"]

    def best(rows, what, limit):
        bits = [row["bits"] for row in rows if row[what] <= limit]
        return f"{min(bits):.3f}" if bits and rows[-1][what] >= 0.8 * limit else "–"

    parts = []
    for what, title, marks in (
        (
            "used",
            "gradient-equivalents, thousands",
            [25, 50, 100, 250, 500, 1000, 1500, 2000, 2500],
        ),
        ("seconds", "seconds", [1, 2.5, 5, 10, 15, 20, 25, 35, 45]),
    ):
        scale = 1000 if what == "used" else 1
        rows = [
            [name, *(best(rows, what, scale * m) for m in marks)] for name, rows in runs.items()
        ]
        parts.append(table([f"best validation, by {title}", *marks], rows))
    ends = [
        [
            name,
            rows[-1]["step"],
            f"{rows[-1]['used'] / 1e6:.2f}",
            rows[-1]["seconds"],
            f"{min(r['bits'] for r in rows):.3f}",
        ]
        for name, rows in runs.items()
    ]
    parts.append(table(["", "steps", "million gradient-equivalents", "seconds", "best"], ends))
    publish(
        "A character model by Hessian-free learning and by Adam",
        "mLSTM, 215,900 parameters, 2.8 M characters of the enwiki slice; validation bits per "
        "character (`benchmarks/character_model.py`). Seconds are those of learning, without "
        "compiling and validating; – where a run had no validation yet, or had ended.\n\n"
        + "\n\n".join(parts),
        on=on,
    )


if __name__ == "__main__":
    main()
