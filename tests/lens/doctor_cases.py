"""Runs for the doctor: healthy ones, and the same with one fault planted in each.

`python tests/lens/doctor_cases.py [NAME ...]` trains them, and keeps what was seen in
`tests/lens/evidence/`; `python scripts/doctor_page.py` makes the table of faults and findings.
"""

import dataclasses
import json
import multiprocessing
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ostinato.cells import Simple
from ostinato.cells.initialisers import glorot
from ostinato.data import Batch
from ostinato.lens.doctor import Evidence
from ostinato.runs import Config, Diverged, open_run, train
from ostinato.runs.analysis.examination import gather
from ostinato.runs.build import build_network, build_task
from ostinato.tasks import Series, Task, Text
from ostinato.wiring import Network

FOLDER = Path(__file__).parent / "evidence"


@dataclasses.dataclass(frozen=True)
class Case:
    """A run.

    Attributes:
        name: of the run.
        fault: what the doctor must call it, or `None` where it must find nothing.
        config: of the run.
        task, network: what is changed in those that the configuration describes.
        data: makes the task in place of the configuration, whose file need not exist.
    """

    name: str
    fault: str | None
    config: Config
    task: Callable[[Task], Task] = lambda task: task
    network: Callable[[Network], Network] = lambda network: network
    data: Callable[[], Task] | None = None

    def run(self) -> Evidence:
        task = self.task(build_task(self.config) if self.data is None else self.data())
        network = self.network(build_network(self.config, task))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run"
            try:
                train(self.config, path, task=task, network=network)
            except Diverged:
                pass
            evidence = gather(open_run(path), task, network)
        settings = evidence.settings
        if "file" in settings:  # without the folder in which it was trained
            settings = settings | {"file": Path(settings["file"]).name}
        return dataclasses.replace(evidence, settings=settings)

    @property
    def file(self) -> Path:
        return FOLDER / f"{self.name.replace(' ', '-')}.json"

    def recorded(self) -> Evidence:
        return Evidence.from_json(json.loads(self.file.read_text()))


class Changed(Task):
    """A task whose batches are spoiled."""

    def __init__(self, task: Task, spoil: Callable[[Batch], Batch], held_out=None):
        self.__dict__ |= task.__dict__
        for name in ("name", "inputs", "symbolic", "outputs", "loss", "metrics"):
            setattr(self, name, getattr(task, name))
        self.chance, self.solved = task.chance, task.solved
        self.task, self.spoil, self.spoil_held_out = task, spoil, held_out or spoil

    @property
    def lag(self):
        return self.task.lag

    def batch(self, index, size, length=None):
        return self.spoil(self.task.batch(index, size, length))

    def held_out(self, part, size):
        return map(self.spoil_held_out, self.task.held_out(part, size))

    def baselines(self):
        return self.task.baselines()


def spoiled(spoil, held_out=None) -> Callable[[Task], Task]:
    return lambda task: Changed(task, spoil, held_out)


def unchanged(batch: Batch) -> Batch:
    return batch


def swapped(batch: Batch) -> Batch:
    """Batch first where time should be."""
    return Batch(*(np.swapaxes(x, 0, 1) for x in batch[:3]), first=batch.first)


def shuffled_streams(batch: Batch) -> Batch:
    """The order of the sequences changes from batch to batch, and the state goes on."""
    order = np.random.default_rng(int(batch.inputs.sum())).permutation(batch.inputs.shape[1])
    return Batch(*(x[:, order] for x in batch[:3]), first=batch.first)


def not_shifted(batch: Batch) -> Batch:
    return batch._replace(targets=batch.inputs)


def shifted_back(batch: Batch) -> Batch:
    return batch._replace(targets=np.roll(batch.inputs, 1, axis=0))


def other_vocabulary(batch: Batch) -> Batch:
    """Symbols of another table: the same characters have other numbers."""
    table = np.random.default_rng(0).permutation(256)[:200]
    table = np.argsort(np.argsort(table[:90])).astype(np.int32)  # 0 … 89 in another order
    return batch._replace(inputs=table[batch.inputs % 90], targets=table[batch.targets % 90])


def too_large(batch: Batch) -> Batch:
    """A fifth of the answers beyond the table."""
    targets = batch.targets
    return batch._replace(targets=np.where(targets % 5 == 0, targets + 300, targets))


def answers_of_others(batch: Batch) -> Batch:
    """The targets of one sequence with the inputs of another."""
    return batch._replace(targets=np.roll(batch.targets, 1, axis=1))


def with_bias(block: int, value: float):
    """A gate's bias at another value, in a cell with gates side by side."""

    def change(network: Network) -> Network:
        units = network.cell.R.shape[0]
        where = slice(block * units, (block + 1) * units)
        return eqx.tree_at(lambda n: n.cell.b, network, network.cell.b.at[where].set(value))

    return change


def relu(scale: float, bias: float = 0.0):
    """ReLUs for the units, that start with a multiple of the identity as recurrent weights."""

    def change(network: Network) -> Network:
        units = len(network.cell.b)
        cell = Simple(len(network.cell.W), units, key=jax.random.key(0), f="relu", input=glorot())
        cell = eqx.tree_at(
            lambda c: (c.R, c.b), cell, (scale * jnp.eye(units), jnp.full(units, bias))
        )
        return eqx.tree_at(lambda n: n.cell, network, cell)

    return change


def text(**settings) -> Config:
    return Config(**{"units": 48, "length": 25, "steps": 600, "cell": "lstm", **settings})


def task(name: str, **settings) -> Config:
    return Config(task=name, **{"units": 32, "steps": 400, "cell": "lstm", **settings})


def the_first(count: int) -> Callable[[Task], Task]:
    """Of a text only the first characters for learning."""

    def change(task: Task) -> Task:
        assert isinstance(task, Text)
        symbols = np.concatenate([task.parts["train"][:count], task.parts["valid"][:5000]])
        split = (count / len(symbols), 1 - count / len(symbols), 0.0)
        return Text(symbols, task.vocabulary, length=task.length, split=split, seed=task.seed)

    return change


def series(noise=(0.3, 0.3), walk=False, **settings) -> dict:
    """A noisy wave, or a random walk, with a deviation of its noise from step 2,400 on."""
    rng = np.random.default_rng(0)
    values = np.where(np.arange(3000) < 2400, *noise) * rng.normal(size=3000)
    values = np.cumsum(values) if walk else values + np.sin(np.arange(3000) / 5)
    usual = {"units": 16, "length": 25, "steps": 400, "cell": "gru", "split": "80/20/0"}
    config = Config(file="waves.npy", **{**usual, **settings})
    return {"config": config, "data": lambda: Series(values, settings=config.task.settings)}


HEALTHY = [
    Case("series of quantiles", None, **series(horizon=2, quantiles="0.1,0.5,0.9")),
    Case("series of means", None, **series(season=31)),
    Case("text mlstm adam", None, text(cell="mlstm")),
    Case("text lstm adam", None, text()),
    Case("text gru rmsprop", None, text(cell="gru", learner="rmsprop", rate=0.003)),
    Case("text simple nesterov", None, text(cell="simple", learner="nesterov")),
    Case("text peephole sgd", None, text(cell="peephole", learner="sgd", rate=2.0, steps=1500)),
    Case("text leaky adamw", None, text(cell="leaky", learner="adamw")),
    Case("text mrnn heavy-ball", None, text(cell="mrnn", learner="heavy-ball")),
    Case("text krause clip auto", None, text(cell="krause", clip="auto")),
    Case("text two layers dropout", None, text(layers=2, dropout=0.2, units=32)),
    Case("text layer-norm zoneout", None, text(layer_norm=True, zoneout=0.1)),
    Case("text truncated window", None, text(gradient="truncated", window=5)),
    Case("text independent sequences", None, text(carry=False, cell="gru")),
    Case("xor simple adagrad", None, task("xor", cell="simple", learner="adagrad", rate=0.05)),
    Case("adding lstm adam", None, task("adding", length=20, steps=800, rate=0.01)),
    Case("adding gru adam", None, task("adding", length=20, cell="gru", steps=800, rate=0.01)),
    Case("temporal-order lstm", None, task("temporal-order", length=20, rate=0.01)),
    Case("memorisation lstm", None, task("memorisation", length=15, rate=0.01, steps=600)),
    Case("permutation gru", None, task("permutation", length=12, cell="gru", rate=0.01)),
    Case(
        "adding hf",
        None,
        task("adding", length=20, cell="simple", learner="hf", batch=500, steps=25),
    ),
    Case(
        "memorisation saddle-free",
        None,
        task("memorisation", length=11, cell="gru", learner="saddle-free", batch=300, steps=25),
    ),
    Case(
        "adding identity relu",
        None,
        task("adding", length=20, cell="simple", rate=0.003, steps=800),
        network=relu(1.0),
    ),
]

FAULTS = [
    Case("a random walk", "worse than naive", **series(walk=True, steps=150)),
    Case(
        "more noise in validation",
        "intervals too narrow",
        **series((0.2, 0.8), quantiles="0.1,0.5,0.9"),
    ),
    Case(
        "less noise in validation",
        "intervals too wide",
        **series((0.8, 0.2), quantiles="0.1,0.5,0.9"),
    ),
    Case("nothing held out", "no validation part", text(split="100/0/0", steps=200)),
    Case("a few characters", "too little data", text(steps=200), task=the_first(20)),
    Case("adam rate 1", "rate too high", text(rate=1.0)),
    Case(
        "sgd rate 100",
        "rate too high",
        task("temporal-order", length=20, cell="gru", learner="sgd", rate=100.0),
    ),
    Case("adam rate 1e-7", "rate too low", text(rate=1e-7)),
    Case("sgd rate 1e-5", "rate too low", task("adding", length=20, learner="sgd", rate=1e-5)),
    Case("clip 1e-4", "clipping always on", text(learner="sgd", clip="0.0001")),
    Case(
        "clip off with spikes",
        "clipping never on",
        task(
            "adding", length=40, cell="simple", learner="sgd", rate=0.01, clip="off", input="glorot"
        ),
        network=relu(1.0),
    ),
    Case(
        "relu explodes",
        "exploding gradient",
        task("adding", length=40, cell="simple", learner="sgd", rate=1e-4, clip="off", steps=100),
        network=relu(3.0),
    ),
    Case(
        "small recurrent weights",
        "vanishing gradient",
        task("adding", length=60, cell="simple", spectral_radius=0.2),
    ),
    Case(
        "window shorter than lag",
        "memory too short",
        task("temporal-order", length=40, gradient="truncated", window=5, rate=0.01),
    ),
    Case("input gates shut", "gates shut", text(), network=with_bias(0, -25.0)),
    Case("output gates shut", "gates shut", task("adding", length=20), network=with_bias(3, -25.0)),
    Case("output gates open", "gates open", text(), network=with_bias(3, 40.0)),
    Case(
        "dead relu",
        "dead units",
        task("adding", length=20, cell="simple"),
        network=relu(1.0, bias=-5.0),
    ),
    Case(
        "large input weights",
        "saturated units",
        task("temporal-order", length=20, cell="simple", input_scale=30.0, rate=1e-3),
    ),
    Case("text swapped", "batch and time swapped", text(batch=40), task=spoiled(swapped)),
    Case(
        "temporal-order swapped",
        "batch and time swapped",
        task("temporal-order", length=20),
        task=spoiled(swapped),
    ),
    Case("streams shuffled", "state of other sequences", text(), task=spoiled(shuffled_streams)),
    Case("targets not shifted", "targets not shifted", text(), task=spoiled(not_shifted)),
    Case(
        "targets shifted back", "targets not shifted", text(cell="gru"), task=spoiled(shifted_back)
    ),
    Case(
        "validation of another vocabulary",
        "vocabulary mismatch",
        text(),
        task=spoiled(unchanged, other_vocabulary),
    ),
    Case("answers beyond the table", "vocabulary mismatch", text(), task=spoiled(too_large)),
    Case("little text", "overfitting", text(units=96, steps=600, batch=8), task=the_first(1500)),
    Case(
        "some text",
        "generalisation gap",
        text(units=96, steps=300, batch=16, rate=0.005),
        task=the_first(10_000),
    ),
    Case("window of two steps", "window too short", text(length=2)),
    Case("errors go back two steps", "window too short", text(gradient="truncated", window=2)),
    Case(
        "answers of other sequences",
        "loss at chance",
        task("temporal-order", length=20, rate=0.01, input="glorot"),
        task=spoiled(answers_of_others),
    ),
]

CASES = {case.name: case for case in HEALTHY + FAULTS}


def record(name: str) -> str:
    case = CASES[name]
    FOLDER.mkdir(exist_ok=True)
    case.file.write_text(json.dumps(rounded(case.run().as_json()), indent=None) + "\n")
    return name


def rounded(found):
    """Four digits are enough."""
    if isinstance(found, float):
        return float(f"{found:.4g}")
    if isinstance(found, dict):
        return {key: rounded(value) for key, value in found.items()}
    return [*map(rounded, found)] if isinstance(found, list | tuple) else found


def record_all(names) -> None:
    """Train, two at a time, and keep what was seen."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        for name in pool.map(record, names):
            print(name, flush=True)


if __name__ == "__main__":
    record_all(sys.argv[1:] or CASES)
