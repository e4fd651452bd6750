"""Training steps on several devices: how their time grows, and what a reduction takes.

    python benchmarks/scaling.py weak 1,2,4,8,16 [NETWORKS]  processes of a core each
    python benchmarks/scaling.py cases [SECONDS]             one device: steps of many networks
    python benchmarks/scaling.py kernels                     one GPU: in `jax.shard_map`, and not
    python benchmarks/scaling.py fit                         the constants of a plan
    python benchmarks/scaling.py picture FILE                time by devices: measured, planned

`weak` prints a line of JSON for each number of processes: seconds of a step, of a step if each
process trains for itself beside the others, and of a reduction of as many numbers as the gradient
has. `cases` prints a line for each of `CASES`, as far as the seconds go. `kernels` prints for some
networks how far weights differ after some steps, within `jax.shard_map` and without it and between
two runs without it, and the time of a step, where the runs take turns. `fit` fits the constants of
an H200 to the cases of `tests/plan_cases.py`, and says how far off the plan is on the others.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

STEPS, ROUNDS, WARM = 20, 5, 8
COMPARED, TURNS, REPEATS = (1, 2, 5, 20, 240), 40, 5
CPU = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


class Case(NamedTuple):
    """A training run of a character model; `sequences` are those of each device."""

    units: int
    layers: int
    length: int
    sequences: int
    precision: str = "float32"
    backend: str = "auto"
    cell: str = "lstm"
    learner: str = "adam"


SHAPES = {
    "small": Case(64, 1, 32, 32),
    "usual": Case(128, 1, 50, 32),
    "large": Case(512, 1, 100, 64),
    "wide": Case(1024, 1, 128, 64),
}
WEAK = {
    "small": SHAPES["small"],
    "usual": SHAPES["usual"],
    "larger": Case(256, 1, 50, 32),
    "half": Case(128, 1, 50, 16),
}
BF16 = "bfloat16"
CASES = [
    Case(128, 1, 200, 64),
    Case(512, 1, 200, 64),
    Case(1024, 1, 128, 64),
    Case(512, 1, 200, 64, BF16),
    Case(1024, 1, 200, 64, BF16),
    Case(2048, 1, 100, 128),
    Case(700, 2, 128, 64, BF16),
    Case(512, 1, 200, 64, backend="scan"),
    Case(256, 1, 200, 32),
    Case(1024, 1, 128, 16),
    Case(2048, 1, 100, 128, BF16),
    Case(128, 1, 50, 64, learner="hf"),
    Case(700, 2, 128, 64),
    Case(1024, 1, 128, 256),
    Case(1024, 1, 128, 256, BF16),
    Case(512, 1, 200, 16),
    Case(512, 1, 200, 128),
    Case(128, 1, 200, 64, backend="scan"),
    Case(1024, 1, 200, 16, BF16),
    Case(512, 1, 200, 128, BF16),
    Case(1024, 1, 200, 64, BF16, cell="mlstm"),
    Case(128, 1, 50, 64, learner="saddle-free"),
    Case(512, 1, 200, 64, cell="gru"),
    Case(2048, 1, 100, 32),
    Case(256, 3, 100, 64),
    Case(1024, 1, 200, 64, BF16, backend="scan"),
    Case(256, 1, 200, 64, BF16),
    Case(512, 1, 200, 64, cell="simple"),
    Case(1024, 1, 128, 1),
    Case(512, 1, 200, 512, BF16),
]


def prepared(config, devices):
    """The steps of a configuration, its arrays, some batches and the carried state."""
    from dataclasses import replace

    from ostinato.learning.objective import AXIS
    from ostinato.runs.build import build_learner, build_network, build_task
    from ostinato.runs.folder.checkpoints import Checkpoint
    from ostinato.runs.loop.step import Alone, compiled_step

    task = build_task(config)
    network, learner = build_network(config, task), build_learner(config, task)
    if not devices.alone:
        learner = replace(learner, objective=replace(learner.objective, axis=AXIS))
    steps = Alone(compiled_step(network, learner, 0, devices), devices)
    own = slice if devices.alone else devices.own
    batches = [task.batch_of(own, n, config.batch_size)[0] for n in range(4)]
    fresh = learner.start(network, task.batch(0, config.batch_size).arrays)
    return steps, steps.begin(Checkpoint(network, learner.initial(network), fresh)), batches, fresh


class Course:
    """A training run of which some steps are taken at a time, which run ahead as in the loop."""

    def __init__(self, case, devices):
        from ostinato.runs import Config
        from ostinato.runs.build import precision
        from ostinato.runs.loop.prefetch import Prefetch

        given = case._asdict()
        given["batch"] = given.pop("sequences") * devices.count
        self.config = Config(task="text", steps=1000, **given)
        self.precision = lambda: precision(self.config)
        with self.precision():
            self.steps, self.now, self.made, self.fresh = prepared(self.config, devices)
        self.batches = Prefetch(lambda n: self.steps.place(self.made[n % 4], n))
        self.done = 0

    def seconds(self, count=STEPS):
        """Take some steps; seconds of one of them."""
        import jax

        started = time.perf_counter()
        with self.precision():
            for step in range(self.done, self.done + count):
                self.now, report = self.steps.advance(self.now, self.fresh, *self.batches(step))
        jax.block_until_ready((self.now.state, report))
        self.done, self.report = self.done + count, report
        return (time.perf_counter() - started) / count

    def weights(self):
        import jax
        import numpy as np

        return [np.asarray(x) for x in jax.tree.leaves(self.steps.checkpoint(self.now).network)]


def seconds_of_a_reduction(size, devices):
    import jax
    import jax.numpy as jnp
    import numpy as np

    from ostinato.learning.objective import sum_over_devices
    from ostinato.runs.loop.devices import ALL

    program = jax.jit(devices.split(sum_over_devices, lambda x: (ALL,), ALL))
    x = devices.place_all(jnp.asarray(np.ones(size, np.float32)))
    times = []
    for _ in range(WARM + STEPS):
        started = time.perf_counter()
        jax.block_until_ready(program(x))
        times.append(time.perf_counter() - started)
    return statistics.median(times[WARM:])


def one_process(processes, process, port, shape):
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[process]})
    import jax

    from ostinato.runs import join_processes
    from ostinato.runs.loop.devices import Devices
    from ostinato.weights import count_parameters

    if processes > 1:
        join_processes(f"127.0.0.1:{port}", processes, process)
    devices = Devices(jax.device_count())
    course = Course(WEAK[shape], devices)
    times = [course.seconds() for _ in range(ROUNDS)]  # of which the first compiles
    found = {"shape": shape, **WEAK[shape]._asdict(), "processes": processes}
    found["step"] = statistics.median(times[1:])
    found["parameters"] = size = count_parameters(course.now.network)
    if processes > 1:
        found["reduction"] = seconds_of_a_reduction(size, devices)
        alone = Course(WEAK[shape], Devices(1))
        alone.seconds()
        seconds_of_a_reduction(1, devices)  # so that all begin at the same time
        found["alone"] = statistics.median([alone.seconds() for _ in range(ROUNDS - 1)])
    if process == 0:
        print(json.dumps(found), flush=True)


def weak(counts, shapes):
    flags = f"{os.environ.get('XLA_FLAGS', '')} {CPU}"
    print(json.dumps({"cores": cores()}), flush=True)
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, "OMP_NUM_THREADS": "1"}
    for shape in shapes:
        for count in map(int, counts.split(",")):
            port = 20_000 + os.getpid() % 20_000 + count
            words = [sys.executable, __file__, "process", str(count)]
            started = [
                subprocess.Popen([*words, str(i), str(port), shape], env=environment)
                for i in range(count)
            ]
            for process in started:
                process.wait()


def cores():
    """For each core that may be used, those with which it shares its units of computing."""
    from pathlib import Path

    at = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    files = [Path(at.format(n)) for n in sorted(os.sched_getaffinity(0))]
    return [file.read_text().strip() if file.exists() else "" for file in files]


def cases(limit):
    """Seconds of a step of each case, the shortest and the median of some rounds."""
    import jax

    from ostinato.runs.loop.devices import Devices
    from ostinato.weights import count_parameters

    began = time.perf_counter()
    print(json.dumps({"device": jax.devices()[0].device_kind, "jax": jax.__version__}), flush=True)
    for case in CASES:
        if (left := limit - (time.perf_counter() - began)) < 0:
            break
        line = case._asdict()
        try:
            course = Course(case, Devices(1))
            line["kernel"] = "persistent[" in _program(course)
            course.seconds(3)
            count = int(min(3 * STEPS, max(2, 0.3 / course.seconds(2))))
            times = [course.seconds(count) for _ in range(5)]
            line |= {"seconds": statistics.median(times), "least": min(times), "most": max(times)}
            line["parameters"] = count_parameters(course.now.network)
            line |= {
                name: float(x) for name, x in course.report.items() if name in WORK and not x.ndim
            }
        except Exception as error:  # the other cases are worth having
            line["error"] = f"{type(error).__name__}: {error}"[:300]
        print(json.dumps(line | {"left": round(left)}), flush=True)


WORK = ("iterations", "gradients", "reason")


def kernels():
    from ostinato.runs.loop.devices import Devices

    class Meshed(Devices):
        """One device, within `jax.shard_map` all the same."""

        def __init__(self):
            super().__init__(1)
            self.alone = False

    for shape, case in SHAPES.items():
        courses = {"plain": Course(case, Devices(1)), "again": Course(case, Devices(1))}
        courses["shard_map"] = Course(case, Meshed())
        line = {"shape": shape, "kernel": "persistent[" in _program(courses["shard_map"])}
        for count in COMPARED:
            for course in courses.values():
                course.seconds(count - course.done)
            plain, again, mesh = (course.weights() for course in courses.values())
            line[f"difference after {count}"] = _difference(plain, mesh)
            line[f"again after {count}"] = _difference(plain, again)
        small = shape in ("small", "usual")
        for _ in range(REPEATS if small else 1):
            times = {name: [] for name in courses}
            for turn in range(TURNS if small else TURNS // 3):
                for name in [*courses][:: 1 if turn % 2 else -1]:
                    times[name].append(courses[name].seconds(2 * STEPS))
            found = {name: statistics.median(x) for name, x in times.items()}
            cost = {name: found[name] / found["plain"] - 1 for name in ("again", "shard_map")}
            line.setdefault("ms", []).append({n: round(1e3 * x, 4) for n, x in found.items()})
            line.setdefault("cost", []).append({n: round(x, 4) for n, x in cost.items()})
        print(json.dumps(line), flush=True)


CONSTANTS = "flops exact full launch tick bandwidth program program_exact exchange reading"


def fit():
    """Least squares of relative errors."""
    from pathlib import Path

    import numpy as np
    from scipy.optimize import least_squares

    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from ostinato.runs.plan import MACHINES, seconds_of
    from plan_cases import CHECKED, FITTED, parts_of_case

    machine = MACHINES["h200"]
    parts = {case: parts_of_case(case, machine) for case in (*FITTED, *CHECKED)}

    def errors(logarithms):
        found = machine._replace(**dict(zip(CONSTANTS.split(), np.exp(logarithms), strict=True)))
        times = [1e3 * seconds_of(parts[case], found)[0] for case in FITTED]
        return [np.log(a / b.milliseconds) for a, b in zip(times, FITTED, strict=True)]

    begin = np.log([getattr(machine, name) for name in CONSTANTS.split()])
    found = dict(zip(CONSTANTS.split(), np.exp(least_squares(errors, begin).x), strict=True))
    rounded = {name: float(f"{value:.3g}") for name, value in found.items()}
    print(rounded)
    machine = machine._replace(**rounded)
    for kind, some in (("fitted", FITTED), ("checked", CHECKED)):
        for case in some:
            planned = 1e3 * seconds_of(parts[case], machine)[0]
            off = planned / case.milliseconds - 1
            print(f"{kind} {case} T{case.steps}: {case.milliseconds} {planned:.2f} {off:+.0%}")


# Weak scaling on pinned cores of a Xeon: units, steps of time, milliseconds by processes.
ON_CORES = {
    "64 units, T 32": (64, 32, {1: 3.2, 2: 8.0, 4: 15.7, 8: 20.4, 16: 27.9}),
    "128 units, T 50": (128, 50, {1: 11.5, 2: 19.9, 4: 24.0, 8: 35.6, 16: 46.2}),
}
DROPPED = {"dropout": 0.5, "recurrent_dropout": 0.3}
ON_GPUS = {
    "2 × 700 units, T 128, 64 sequences": dict(
        units=700, layers=2, length=128, batch=64, precision=BF16, **DROPPED
    ),
    "128 units, T 200, 64 sequences": {"task": "adding", "units": 128, "length": 200, "batch": 64},
    "2048 units, T 100, 128 sequences": {"units": 2048, "length": 100, "batch": 128},
}
GREY, COLOURS = "#808080", ("#3b82c4", "#d9822b", "#4a9d5b")  # on white and on black


def picture(file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from ostinato.runs import Config
    from ostinato.runs.plan import MACHINES, plan

    def milliseconds(machine, many, **settings):
        config = Config(cell="lstm", **settings)
        return [1e3 * x.seconds for x in plan(config, MACHINES[machine], many, grow=True)]

    figure, (cores, gpus) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for (name, (units, length, times)), colour in zip(ON_CORES.items(), COLOURS, strict=False):
        planned = milliseconds("core", [*times], units=units, length=length, batch=32)
        cores.plot([*times], planned, color=colour, label=name)
        cores.plot([*times], [*times.values()], "o", color=colour)
    cores.set_title("cores: measured (dots) and planned")
    many = [2**n for n in range(7)]
    for (name, settings), colour in zip(ON_GPUS.items(), COLOURS, strict=True):
        planned = milliseconds("h200", many, **settings)
        gpus.plot(many, planned, color=colour, label=name)
    gpus.set_title("H200: planned")
    for axes, ticks in ((cores, [1, 2, 4, 8, 16]), (gpus, many)):
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks, [str(n) for n in ticks])
        axes.set(xlabel="devices, each with its own sequences", ylim=(0, None))
        axes.set_ylabel("ms per step")
        for part in (axes.title, axes.xaxis.label, axes.yaxis.label):
            part.set_color(GREY)
        axes.tick_params(colors=GREY)
        axes.spines[:].set_color(GREY)
        axes.legend(frameon=False, labelcolor=GREY, fontsize=8)
    figure.savefig(file, dpi=150, transparent=True)


def _difference(one, other):
    return max(float(abs(a - b).max()) for a, b in zip(one, other, strict=True))


def _program(course):
    import equinox as eqx
    import jax

    now, (batch, number) = course.now, course.batches(0)
    arrays = eqx.filter(now.network, eqx.is_array)
    how = arrays, now.learner, now.state, batch.arrays, number
    return str(jax.make_jaxpr(course.steps.step)(*how))


if __name__ == "__main__":
    if sys.argv[1] == "process":
        one_process(*map(int, sys.argv[2:5]), sys.argv[5])
    elif sys.argv[1] == "weak":
        weak(sys.argv[2], sys.argv[3].split(",") if len(sys.argv) > 3 else WEAK)
    elif sys.argv[1] == "cases":
        cases(float(sys.argv[2]) if len(sys.argv) > 2 else 330)
    elif sys.argv[1] == "fit":
        fit()
    elif sys.argv[1] == "picture":
        picture(sys.argv[2])
    else:
        kernels()
