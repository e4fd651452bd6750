"""The names that docstring examples use without defining them.

A name is one of `MODULES`, one of `SHARED`, or a public name of one of `ROOMS`. The value of a
shared name is what the function of that name returns; it is called when an example first needs it.
"""

import importlib
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import jax
import numpy as np

import ostinato as package

# The run that examples open, relative to the folder in which they are run.
RUN = Path("runs/text-mlstm-1")
BOOK = "book.txt"
TEXT = "A statement is executed. The name is bound to the value of the expression.\n" * 60
ROOMS = (
    "cells",
    "wiring",
    "tasks",
    "losses",
    "metrics",
    "learning",
    "runs",
    "through_time",
    "reservoir",
    "symbolic",
    "evolve",
)
MODULES = {
    "eqx": "equinox",
    "jax": "jax",
    "jnp": "jax.numpy",
    "math": "math",
    "np": "numpy",
    "optax": "optax",
    "ostinato": "ostinato",
    "torch": "torch",
}


def value_of(name):
    """What a name of the shared namespace stands for; `KeyError` if there is none."""
    if name in MODULES:
        return importlib.import_module(MODULES[name])
    if name in SHARED:
        return SHARED[name]()
    for room in ROOMS:
        found = getattr(getattr(package, room), name, None)
        if found is not None and not isinstance(found, ModuleType):
            return found
    raise KeyError(name)


@cache
def key():
    return jax.random.key(0)


@cache
def xs():
    """Inputs `(steps, batch, inputs)`."""
    return jax.random.normal(jax.random.key(1), (10, 4, 3))


@cache
def ys():
    """Targets for the outputs of `network`."""
    return jax.random.normal(jax.random.key(2), (10, 4, 2))


@cache
def cell():
    return package.cells.LSTM(3, 8, key=key())


@cache
def network():
    """A network from 3 inputs to 2 outputs."""
    return package.Network(cell(), package.Readout(8, 2, key=key()))


@cache
def task():
    return package.tasks.TASKS["adding"](length=10)


@cache
def batch():
    return task().batch(0, 4)


@cache
def symbols():
    """A short text as numbers, for a network that reads symbols."""
    return np.array(run().vocabulary.encode("the statement"))


@cache
def run():
    """A small run on a text, with a checkpoint, a validation and a look through the lens."""
    return package.runs.open_run(run_folder() / RUN)


@cache
def run_folder():
    """A folder that holds `RUN` and the text that it learned; examples work on a copy of it."""
    folder = Path(_temporary().name)
    (folder / BOOK).write_text(TEXT, encoding="utf-8")
    settings = {"file": str(folder / BOOK), "units": 8, "length": 10, "batch": 4, "seed": 0}
    package.runs.train(package.runs.Config(**settings, steps=4, lens=2), folder / RUN)
    return folder


@cache
def _temporary():
    return TemporaryDirectory(prefix="ostinato-examples-")


SHARED = {f.__name__: f for f in (key, xs, ys, cell, network, task, batch, symbols, run)}
