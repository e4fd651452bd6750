"""Reservoirs: accuracy on the usual tasks, and speed beside reservoirpy.

    python benchmarks/reservoirs.py                     all but gpu
    python benchmarks/reservoirs.py mackey-glass narma
    python benchmarks/reservoirs.py speed --repeats 5
    python benchmarks/reservoirs.py gpu                 64 reservoirs at once, on a GPU

mackey-glass: 1,000 units, the error 84 steps ahead in a closed loop, over several reservoirs.
narma: 200 units with squares, beside a delay line. peer: the Santa Fe laser and the Lorenz system,
the same hyperparameters in reservoirpy: once with its own random weights and once with ours. speed:
1,000 units at 10 % connectivity for 10,000 steps. stream: a readout fitted to a long stream.
reservoirpy is no dependency: install it beside (`pip install reservoirpy`).
"""

import argparse
import hashlib
import resource
import statistics
import sys
import tempfile
import time
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from measure import machine, seconds, table
from ostinato import unroll
from ostinato.data import Batch
from ostinato.learning import Objective
from ostinato.losses import SquaredError
from ostinato.reservoir import Reservoir, Ridge
from ostinato.reservoir.parameter_search import validation_error
from ostinato.runs import Config, train
from ostinato.tasks import MackeyGlass
from ostinato.wiring import Network, Readout

RIDGE = {"cell": "reservoir", "learner": "ridge"}
MACKEY = {
    17: {"radius": 1.2, "leak": 0.5, "input_scaling": 0.3, "bias_scaling": 0.5, "strength": 3e-9},
    30: {"radius": 1.0, "leak": 0.5, "input_scaling": 0.3, "bias_scaling": 0.5, "strength": 1e-7},
}
NARMA = {"radius": 0.95, "leak": 1.0, "input_scaling": 0.03, "bias_scaling": 0.3}
PEER = {
    "santa-fe": {"radius": 0.9, "leak": 0.9, "input_scaling": 0.5, "strength": 1e-2},
    "lorenz": {"radius": 0.9, "leak": 0.5, "input_scaling": 0.3, "strength": 1e-6},
}
UNITS, CONNECTIVITY, STEPS = 1000, 0.1, 10_000
SAMPLES = 20_000  # of Mackey-Glass: 60 % for training, 20 % for the test


def fit(seed=0, **settings):
    """The scores of a run, those of yardsticks, and a digest of each of its parts."""
    with tempfile.TemporaryDirectory() as folder:
        config = Config(**{**RIDGE, "seed": seed, **settings})
        run = train(config, f"{folder}/run")
        with run.precision():
            task, network = run.task(), run.network("last")
            (score,) = errors(network, task)
            parts = {"series": task.series, "cell": network.cell, "readout": network.readout}
            digests = {name: digest(part) for name, part in parts.items()}
            return score, task.scores(network, "test"), task.yardsticks("test"), digests


def digest(tree):
    """A checksum of all arrays."""
    arrays = [np.asarray(x) for x in jax.tree.leaves(eqx.filter(tree, eqx.is_array_like))]
    return hashlib.sha256(b"".join(x.tobytes() for x in arrays)).hexdigest()


def errors(network, task, part="test"):
    from ostinato.runs.analysis.evaluation import measured

    return measured(network, task.evaluated(part), (task.metric,))


def seeds(count):
    """Those of reservoirs and series. The hyperparameters were chosen with seed 0."""
    return range(1, count + 1)


def spread(values):
    return f"{statistics.median(values):.2e} ({min(values):.1e} to {max(values):.1e})"


def again(seed, before, **settings):
    """Fit again what came out far off, and say which of its parts are not the same."""
    after = fit(seed, **settings)
    apart = [name for name, digest in after[3].items() if digest != before[3][name]]
    words = f"seed {seed}: {before[:2]}, fitted again {after[:2]}; differ: {apart or 'nothing'}"
    print(words, file=sys.stderr, flush=True)


def mackey_glass(count):
    rows = []
    for tau, published in ((17, "6.3e-05 (Jaeger and Haas, 2004)"), (30, "3.2e-02")):
        settings = {"tau": tau, "samples": SAMPLES, "units": UNITS, **MACKEY[tau]}
        found = [fit(seed, task="mackey-glass", **settings) for seed in seeds(count)]
        usual = statistics.median(x[1]["NRMSE84"] for x in found)
        for seed, x in zip(seeds(count), found, strict=True):
            if x[1]["NRMSE84"] > 10 * usual:
                again(seed, x, task="mackey-glass", **settings)
        one, ahead = [x[0] for x in found], [x[1]["NRMSE84"] for x in found]
        rows.append([str(tau), str(count), spread(one), spread(ahead), published])
        print(rows[-1], file=sys.stderr, flush=True)
    heads = ["τ", "reservoirs", "NRMSE of 1 step", "NRMSE of 84 steps, closed loop", "published"]
    print(f"{table(heads, rows)}\n")


def narma(count):
    rows, line = [], 0.0
    for words, more in (("squares", {"expand": "quadratic"}), ("none", {})):
        found = [
            fit(seed, task="narma10", samples=10_000, units=200, **NARMA, **more)
            for seed in seeds(count)
        ]
        line = found[0][2]["delay line"]
        rows.append(["reservoir, 200 units", words, spread([x[0] for x in found])])
    rows.append(["delay line, 40 inputs", "", f"{line:.3f}"])
    print(f"{table(['NARMA-10', 'expansion', 'NRMSE'], rows)}\n")


def peer(count):
    """The same hyperparameters here and in reservoirpy, on the same parts of the same series."""
    from ostinato.data.scaling import DTYPE
    from ostinato.tasks import TASKS

    units, rows = 300, []
    for name, settings in PEER.items():
        before = DTYPE.set(np.float64)
        task = TASKS[name]()
        DTYPE.reset(before)
        theirs = [by_reservoirpy(task, units, settings, seed) for seed in range(count)]
        with jax.enable_x64(True):
            cells = [_cell(task, units, settings, seed) for seed in range(count)]
            ours = [_with(cell, task, settings) for cell in cells]
            same = by_reservoirpy(task, units, settings, 0, cells[0])
        rows.append(
            [
                name,
                spread(ours),
                spread(theirs),
                f"{statistics.median(ours) / statistics.median(theirs):.3f}",
                f"{ours[0] / same:.6f}",
            ]
        )
    heads = ["series", "NRMSE here", "in reservoirpy", "ratio", "ratio with the same weights"]
    print(f"{table(heads, rows)}\n")


def _cell(task, units, settings, seed):
    options = {k: v for k, v in settings.items() if k != "strength"}
    return Reservoir(task.inputs, units, key=jax.random.key(seed), **options)


def _with(cell, task, settings):
    """The error here with given weights."""
    network = Network(cell, Readout(cell.W.shape[1], task.outputs, key=jax.random.key(1)))
    learner = Ridge(Objective(SquaredError()), 1, settings["strength"])
    train = task.parts["train"]
    columns = train.inputs, train.targets, train.there.astype(float)
    batch = Batch(*(x[:, None] for x in columns)).arrays
    network = eqx.filter_jit(learner.step)(network, learner.initial(network), None, batch)[0]
    return errors(network, task)[0]


def by_reservoirpy(task, units, settings, seed, cell=None):
    from reservoirpy.mat_gen import uniform
    from reservoirpy.nodes import Reservoir as Peer
    from reservoirpy.nodes import Ridge as PeerRidge

    options = {
        "lr": settings["leak"],
        "seed": seed,
        "bias": 0.0,
    }
    if cell is None:
        options |= {
            "sr": settings["radius"],
            "rc_connectivity": CONNECTIVITY,
            "Win": uniform(
                low=-settings["input_scaling"], high=settings["input_scaling"], connectivity=1.0
            ),
        }
    else:
        options |= {"W": np.asarray(cell.R.dense()).T, "Win": np.asarray(cell.W).T}
    node = Peer(units, **options)
    train, test = task.parts["train"], task.parts["test"]

    def states(stream):
        node.reset() if node.initialized else None
        return node.run(np.asarray(stream.inputs, float))[stream.there]

    readout = PeerRidge(ridge=settings["strength"])
    readout.fit(states(train), train.targets[train.there])
    found, right = readout.run(states(test)), test.targets[test.there]
    return float(np.sqrt(np.mean(np.mean((found - right) ** 2, 0) / right.var(0))))


def best(call, repeats):
    return min(seconds(call, repeats=repeats, warm=1))


def reservoirpy_seconds(repeats):
    from reservoirpy.nodes import Reservoir as Peer

    x = np.random.default_rng(0).uniform(-1, 1, (STEPS, 1))
    node = Peer(UNITS, sr=0.9, lr=0.5, rc_connectivity=CONNECTIVITY, seed=0)
    node.run(x[:10])
    return best(lambda: node.run(x), repeats)


def _states(cell, xs):
    return jax.block_until_ready(_unrolled(cell, xs))


@eqx.filter_jit
def _unrolled(cell, xs):
    return unroll(cell, xs)[0]


def speed(repeats):
    x = np.random.default_rng(0).uniform(-1, 1, (STEPS, 1, 1))
    theirs = reservoirpy_seconds(repeats)
    rows = [["reservoirpy, one series", f"{theirs:.2f}", ""]]
    for connectivity, words in ((CONNECTIVITY, "10 %"), (1.0, "dense")):
        cell = Reservoir(
            1, UNITS, key=jax.random.key(0), connectivity=connectivity, leak=0.5, radius=0.9
        )
        for count in (1, 16):
            xs = jnp.asarray(np.repeat(x, count, axis=1), cell.W.dtype)
            took = best(partial(_states, cell, xs), repeats) / count
            name = "one series" if count == 1 else f"{count} series, per series"
            rows.append([f"Ostinato, {words}, {name}", f"{took:.3f}", f"{theirs / took:.1f}"])
    print(f"{table([f'{UNITS} units, {STEPS:,} steps', 'seconds', 'times faster'], rows)}\n")


def stream(steps, units=100):
    """Ridge from a stream that is never in memory, and on its beginning the dense solution."""
    with jax.enable_x64(True):
        one, two = jax.random.split(jax.random.key(0))
        network = Network(Reservoir(1, units, key=one), Readout(units, 1, key=two))
        length = 10_000
        learner = Ridge(Objective(SquaredError()), 10**9, 1e-4)  # solved for below
        step = eqx.filter_jit(learner.step)

        def batch(number):
            u = np.random.default_rng(number).uniform(-1, 1, (length + 3, 1, 1))
            return Batch(u[3:], u[:-3], np.ones((length, 1))).arrays

        learner_state, state = learner.initial(network), learner.start(network, batch(0))
        part, sums = 20, None
        started, peaks = time.perf_counter(), []
        for number in range(steps // length):
            _, learner_state, state, _ = step(network, learner_state, state, batch(number))
            jax.block_until_ready(learner_state)  # no batches that wait for their turn
            if number + 1 == part:
                sums = learner_state.moments
            if number in (part, steps // length - 1):
                peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        jax.block_until_ready(learner_state)
        took = time.perf_counter() - started
        from ostinato.reservoir.ridge import fitted

        solved = np.asarray(fitted(sums, jnp.array([1e-4]), bias=True)[1])
        whole = [batch(n) for n in range(part)]
        xs, ys = (np.concatenate([b[k] for b in whole]) for k in (0, 1))
        hs = np.asarray(unroll(network.cell, jnp.asarray(xs))[0])[:, 0]
        mean, centre = hs.mean(axis=0), ys[:, 0].mean(axis=0)
        rows = np.concatenate([hs - mean, 1e-2 * np.eye(units)])  # √strength
        dense, *_ = np.linalg.lstsq(
            rows, np.concatenate([ys[:, 0] - centre, np.zeros((units, 1))]), rcond=None
        )
        apart = np.abs(solved[:-1] - dense).max() / np.abs(dense).max()
    heads = [
        "steps",
        "units",
        "seconds",
        "steps/s",
        "peak memory at 210,000 steps",
        "at the end",
        "off the dense solution of 200,000 steps",
    ]
    row = [
        f"{steps:,}",
        str(units),
        f"{took:.0f}",
        f"{steps / took:,.0f}",
        *(f"{p:.0f} MiB" for p in peaks),
        f"{apart:.1e}",
    ]
    print(f"{table(heads, [row])}\n")


def gpu(repeats, theirs):
    """64 reservoirs at once: states alone, and a round of the search with fit and validation."""
    count = 64
    x = jnp.asarray(np.random.default_rng(0).uniform(-1, 1, (STEPS, 1)), jnp.float32)
    keys = jax.random.split(jax.random.key(0), count)
    cells = eqx.filter_vmap(lambda key: Reservoir(1, UNITS, key=key, connectivity=CONNECTIVITY))(
        keys
    )
    last = eqx.filter_jit(
        eqx.filter_vmap(lambda cell, x: unroll(cell, x)[0][:, :1], in_axes=(0, None))
    )
    apart = best(lambda: jax.block_until_ready(last(cells, x)), repeats) / count
    task = MackeyGlass(samples=STEPS + 2500, washout=500, split=(0.8, 0.1, 0.1))
    error = validation_error(task, jax.random.key(0), UNITS, CONNECTIVITY)
    numbers = {
        "radius": jnp.linspace(0.5, 1.5, count),
        "leak": jnp.linspace(0.2, 1.0, count),
        "input_scaling": jnp.full(count, 0.5),
        "bias_scaling": jnp.full(count, 0.2),
        "strength": jnp.full(count, 1e-2),
    }
    shared = best(lambda: jax.block_until_ready(error(numbers)), repeats) / count
    rows = [["reservoirpy, one reservoir on a CPU", f"{theirs:.4f}", ""]] if theirs else []
    for words, took in (
        ("64 reservoirs, each its own weights: states of 10,000 steps", apart),
        ("a round of the search: states of 11,250 steps, fit, validation", shared),
    ):
        rows.append([words, f"{took:.4f}", f"{theirs / took:.0f}" if theirs else ""])
    print(f"{table(['per reservoir of 1,000 units', 'seconds', 'times faster'], rows)}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", help="mackey-glass, narma, peer, speed, stream, gpu")
    parser.add_argument("--count", type=int, default=10, help="reservoirs with different weights")
    parser.add_argument("--repeats", type=int, default=3, help="of each timing; the least counts")
    parser.add_argument("--steps", type=int, default=10_000_000, help="of the stream")
    parser.add_argument("--theirs", type=float, help="gpu: seconds of reservoirpy, one reservoir")
    given = parser.parse_args()
    parts = {
        "mackey-glass": lambda: mackey_glass(given.count),
        "narma": lambda: narma(given.count),
        "peer": lambda: peer(given.count),
        "speed": lambda: speed(given.repeats),
        "stream": lambda: stream(given.steps),
        "gpu": lambda: gpu(given.repeats, given.theirs),
    }
    if strange := set(given.what) - set(parts):
        parser.error(f"there are {', '.join(parts)}; got {' '.join(sorted(strange))}")
    print(f"## Reservoirs\n{machine()}\n", flush=True)
    for name in given.what or [name for name in parts if name != "gpu"]:
        parts[name]()


if __name__ == "__main__":
    main()
