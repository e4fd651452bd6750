"""Trains some runs as one of several processes; the tests start it.

    python processes.py FOLDER NAMES                                    one process
    python processes.py FOLDER NAMES COORDINATOR PROCESSES PROCESS      one of several

All devices share each batch: those of all processes, or as many as `XLA_FLAGS` gives to one. A
single process also trains each run on one device, in FOLDER/alone. A run that is there already goes
on. Every process prints a line of JSON after each run: its name, why and when it ended, its
metrics, what the doctor measures, and in a single process which operations of the compiled step
exchange numbers, and how many.

With CHANGES={"steps": 9} in the environment, the runs have other settings than here.
With HITS=1:saved:3:9:0.2 in the environment, process 1 sends itself the signal 9 0.2 seconds after
it heard of step 3 of the run "saved"; there may be several, separated by commas. In place of the
signal, 0 lets no file of the process grow any more, as a full disk does.
"""

import json
import math
import os
import re
import resource
import signal
import sys
import threading
from pathlib import Path

import equinox as eqx
import jax

from ostinato.errors import BadInput
from ostinato.learning.hessian_free.on_batch import OnBatch
from ostinato.runs import Config, Diverged, evaluate, join_processes, train
from ostinato.runs.analysis.evaluation import measured
from ostinato.runs.analysis.examination import gather
from ostinato.runs.build import build_learner, build_network, build_task, precision
from ostinato.runs.loop import step
from ostinato.runs.loop.devices import ALL, Devices, rows_of
from ostinato.runs.loop.processes import leave, shared_devices
from ostinato.runs.network.vocabulary import symbol_axis, vocabularies
from ostinato.weights import count_parameters
from ostinato.weights import trained as parameters_of

USUAL = {"task": "adding", "length": 6, "units": 4, "batch": 8, "steps": 4, "validate_every": 2}
# Weak damping would amplify the rounding of sums, which differs with their order, a thousandfold.
DAMPED = USUAL | {"batch": 16, "curvature_batch": 8, "steps": 2, "tikhonov": 1.0}
ENDLESS = USUAL | {"steps": 100_000, "validate_every": 100_000, "log_every": 10}
# In float64 with enough curvature sequences, as docs/scaling.md says.
SECOND = {"batch": 32, "curvature_batch": 32, "steps": 2, "tikhonov": 1.0, "precision": "float64"}
TEXT = USUAL | {"task": "text", "file": "symbols.txt", "length": 8}
TRANSLATION = {
    **{name: USUAL[name] for name in ("units", "batch", "steps", "validate_every")},
    "task": "translate",
    "file": "pairs.tsv",
    "level": "words",
    "embedding": 6,
}
SHARED = {"shard_vocabulary": True}
RUNS = {
    "adam": USUAL | {"log_every": 2},
    "saved": USUAL | {"log_every": 1, "checkpoint_every": 1},
    "adding": USUAL | {"lens": 2, "log_every": 2},
    "hf": DAMPED | {"learner": "hf", "iterations": 4, "structural": 0.3},
    "hf by default": USUAL
    | {"batch": 128, "curvature_batch": 64, "steps": 2, "learner": "hf", "precision": "float64"},
    "saddle-free": DAMPED | {"learner": "saddle-free", "krylov": 3},
    "text": TEXT | {"cell": "mlstm", "clip": "auto"},
    "text by symbol": TEXT | SHARED | {"embedding": 6},
    "text by symbol one-hot": TEXT | SHARED | {"precision": "float64", "validate_every": 9},
    "translation by symbol": TRANSLATION | SHARED | {"precision": "float64"},
    "text by hf": TEXT | SECOND | {"learner": "hf", "iterations": 4},
    "text by saddle-free": TEXT | SECOND | {"learner": "saddle-free", "krylov": 3},
    "translation by hf": TRANSLATION | SECOND | {"learner": "hf", "iterations": 4},
    "translation by saddle-free": TRANSLATION | SECOND | {"learner": "saddle-free", "krylov": 3},
    "translation": TRANSLATION,
    "sqrt": USUAL | {"length": 16, "memory": "sqrt"},
    "time": ENDLESS | {"minutes": 0.01},
    "diverged": USUAL | {"steps": 200, "rate": 1e25, "log_every": 1},
    "stopped": ENDLESS,
    "long": USUAL
    | {"steps": 1500, "batch": 6, "log_every": 5, "checkpoint_every": 10, "validate_every": 500},
}
UNMEASURED = ("saved", "time", "stopped", "long")


def given(config):
    """What a step is given, placed on the devices."""
    task = build_task(config)
    devices = Devices.of(config, task)
    with precision(config):
        network, learner = build_network(config, task), build_learner(config, task)
        batch = task.batch(0, config.batch_size)
        state = devices.place_state(learner.start(network, batch.arrays))
        same = devices.place_all((eqx.filter(network, eqx.is_array), learner.initial(network)))
    return *same, state, devices.place(batch).arrays, devices.place_number(0)


def bytes_of(arrays):
    """The bytes that the first device has of them."""
    return sum(x.addressable_data(0).nbytes for x in jax.tree.leaves(arrays))


STEPS = []  # all that were compiled


def step_of(config, compiled_step):
    """What there is to say of the compiled step of a run on several devices.

    How often it exchanges how many numbers, the number of parameters, the bytes of its arguments,
    and the shapes of matrices in which a device has all symbols of a vocabulary.
    """
    arrays = given(config)
    with precision(config):
        program = compiled_step.lower(*arrays).compile()
    text, parameters = program.as_text(), count_parameters(parameters_of(arrays[0])[0])
    told = {"collectives": exchanges(text), "exchanged": exchanged(text), "parameters": parameters}
    told["bytes"] = program.memory_analysis().argument_size_in_bytes
    shapes = {tuple(map(int, x.split(","))) for x in re.findall(r"f(?:32|64)\[(\d+,\d+)\]", text)}
    sizes = vocabularies(build_task(config))
    told["whole"] = [x for x in shapes if 1 not in x and symbol_axis(x, sizes) is not None]
    return told


COLLECTIVES = "(all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter)[-a-z]*"


def exchanges(text):
    """How often each operation that exchanges numbers is in a compiled program."""
    names = re.findall(COLLECTIVES + r"\(", text)
    return {name: names.count(name) for name in dict.fromkeys(names)}


def exchanged(text):
    """How many numbers each such operation exchanges."""
    shapes = re.findall(r"= (.*?) " + COLLECTIVES + r"\(", text)
    return [
        sum(
            math.prod(int(n) for n in one.split(",") if n)
            for one in re.findall(r"\[(.*?)\]", shape)
        )
        for shape, _ in shapes
    ]


def numbers(run, devices, name):
    """What some devices measure of a run: its metrics, and if it is not the quickest its lens."""
    told = {"metrics": evaluate(run, devices=devices)}
    if name != "adam":
        every, task = shared_devices(devices), run.task()
        # Six sequences and three: most numbers of devices do not divide them.
        uneven = [batch for size in (6, 3) for batch in task.held_out("valid", size)][:4]
        placed = every.place_all(run.network())
        told["uneven"] = measured(placed, uneven, task.metrics, every)
        seen = gather(run, devices=every).network
        told["lens"] = {"score": seen.score, "memory": seen.memory, "gradient": seen.gradient}
    return told


def trained(config, folder, listener=lambda event: None):
    """A run to its end, and what there is to tell of it."""
    resume, events = (folder / "config.json").exists(), []

    def hear(event):
        events.append(event)
        listener(event)

    try:
        run = train(config, folder, resume=resume, listener=hear)
    except Diverged as error:
        return {"reason": "diverged", "step": error.step}
    return {name: events[-1][name] for name in ("reason", "step")} | {"run": run}


def fill_disk():
    """Let every write to a file fail."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))


def hits(name):
    """What sends this process a signal in a run, as a listener."""
    every = [one.split(":") for one in os.environ.get("HITS", "").split(",") if one]
    own = [hit for hit in every if hit[:2] == [str(jax.process_index()), name]]

    def hear(event):
        if own and event["step"] >= int(own[0][2]):
            *_, number, delay = own.pop()  # once: a second Ctrl-C ends a process
            hit, given = (os.kill, [os.getpid(), int(number)]) if int(number) else (fill_disk, [])
            threading.Timer(float(delay), hit, given).start()

    return hear


def curvature(config):
    """The same for what second-order learners compute, of which a step has several."""
    task, devices = build_task(config), Devices(config.devices)
    network, learner = build_network(config, task), build_learner(config, task)
    batch = devices.place(task.batch(0, config.batch_size)).arrays
    start = OnBatch(learner.objective, network, batch, None).start
    methods = {
        "value": (1, lambda f, v: f.value(v)),
        "gradient": (1, lambda f, v: f.gradient(v)[:2]),
        "Gauss-Newton product": (1, lambda f, v: f.gauss_newton(start, "activation")(v, 0.1)),
        "the same in pieces": (2, lambda f, v: f.gauss_newton(start)(v)),
        "Hessian product": (1, lambda f, v: f.hessian(start)(v)),
    }
    told = {}
    for name, (pieces, method) in methods.items():

        def own(v, batch, method=method, pieces=pieces):
            state, weight = network.initial((batch.sequences,)), jax.numpy.asarray(1.0)
            return method(OnBatch(learner.objective, network, batch, state, pieces, weight), v)

        program = jax.jit(devices.split(own, lambda v, batch: (ALL, rows_of(batch)), ALL))
        text = program.lower(devices.place_all(start), batch).compile().as_text()
        told[name] = exchanges(text)
    return told


def keep_steps():
    """Let every step that is compiled from now on be the last of `STEPS`."""
    compiled_step = step.compiled_step

    def kept(*made):
        STEPS.append(compiled_step(*made))
        return STEPS[-1]

    step.compiled_step = kept


def main(folder, names, *place):
    keep_steps()
    if place:
        join_processes(place[0], int(place[1]), int(place[2]))
    folder = Path(folder)
    for name in names.split(","):
        config = Config(**RUNS[name]).replace(devices=jax.device_count())
        config = config.replace(**json.loads(os.environ.get("CHANGES", "{}")))
        resume = (folder / name / "config.json").exists()
        told, own = trained(config, folder / name, hits(name)), STEPS[-1]
        if (run := told.pop("run", None)) and name not in UNMEASURED:
            told |= numbers(run, config.devices, name)
            if not place and not resume:
                alone = trained(config.replace(devices=1), folder / "alone" / name)["run"]
                told["alone"] = numbers(alone, 1, name)
                told |= step_of(config, own)
                if config.training.shard_vocabulary:
                    told["bytes alone"] = bytes_of(given(config.replace(shard_vocabulary=False)))
                if name == "hf":
                    told["curvature"] = curvature(config)
        print(json.dumps({"name": name, **told}), flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        main(*sys.argv[1:])
    except BadInput as error:
        print(error, file=sys.stderr)
        leave(2)
