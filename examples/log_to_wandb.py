"""Send the course of a run to Weights & Biases, by a listener.

python examples/log_to_wandb.py

Here nothing leaves the machine (`mode="offline"`): the files are in a temporary folder, and
`wandb sync` would send them. A listener is any function of an event, a dictionary as in
`events.jsonl`; an event of the kind `train` has the loss, one of the kind `valid` the metrics.
"""

import os
import tempfile
from pathlib import Path

os.environ.setdefault("WANDB_SILENT", "true")

import wandb

from ostinato import Config, train


def numbers_of(event):
    """What is drawn of an event: its numbers, and the metrics of a validation."""
    if event["kind"] not in ("train", "valid"):
        return {}
    numbers = {**event, **event.get("metrics", {})}
    return {
        f"{event['kind']}/{name}": value
        for name, value in numbers.items()
        if isinstance(value, int | float) and name != "step"
    }


config = Config(task="adding", length=10, cell="gru", units=8, steps=40, validate_every=20)
with tempfile.TemporaryDirectory() as folder:
    logged = wandb.init(project="ostinato", dir=folder, mode="offline", config=config.flat())

    def listener(event):
        if numbers := numbers_of(event):
            logged.log(numbers, step=event["step"])

    run = train(config, f"{folder}/run", listener=listener)
    logged.summary.update(run.evaluate("test"))
    print("logged:", ", ".join(sorted(k for k in logged.summary.keys() if k[0] != "_")))
    logged.finish()
    files = [path.name for path in Path(folder, "wandb").rglob("*.wandb")]
    print("files to sync:", len(files))
