"""Microseconds per step of one LSTM in every form in which it leaves, beside those of others.

    python benchmarks/export.py [--publish] [--tensorflow PYTHON] [--run FOLDER]

One thread. An LSTM of 16 inputs; a step reads a vector and gives the new h. Most of a step that is
a call from Python is the call, so whole sequences in one call stand beside them. Counted is the
time of the processor, and of some blocks of steps the fastest: another program that runs at the
same time makes none faster. Needs a C compiler, torch, onnx and onnxruntime; for TensorFlow Lite
the Python of an environment that has tensorflow. The loss of 8 bits needs `OSTINATO_DATA` with
`tinyshakespeare/`, and is left out without it; its run is kept in a folder if one is named, and
read from there the next time.
"""

# ruff: noqa: E402
import argparse
import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax
import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper

from measure import machine, publish, seconds, table
from ostinato import Config, open_run, train
from ostinato.cells import LSTM
from ostinato.export import header, to_onnx, trace
from ostinato.export.torch import module
from ostinato.runs.streaming.codecs import StepCodec
from ostinato.runs.streaming.stream import Stream
from ostinato.wiring import to_torch
from ostinato.wiring.stepping import Stepping

UNITS, INPUTS, STEPS, BLOCKS = (32, 64, 256), 16, 250, 30
FLAGS = ["-O3", "-march=native", "-std=c99", "-Wall", "-Werror"]


class Looped(LSTM):
    """An LSTM that does not say that it is one, so that ONNX gets its step in a loop."""

    def operators(self):
        return None


def fastest(call, steps=STEPS):
    """Microseconds per step of the fastest of some calls, each of so many steps."""
    return 1e6 * min(seconds(call, repeats=BLOCKS, warm=1, clock=time.process_time)) / steps


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options)


def of_steps(step, xs, state):
    """A function that takes all steps, one call each: `state = step(x, state)`."""

    def run():
        now = state
        for x in xs:
            now = step(x, now)

    return run


def operator_of_one_step(cell):
    """ONNX's LSTM with its state as inputs and outputs, for sequences of one step."""
    whole = onnx.load_from_string(to_onnx(cell))
    (node,) = [x for x in whole.graph.node if x.op_type == "LSTM"]
    tensors = {x.name: numpy_helper.to_array(x) for x in whole.graph.initializer}
    given = [*node.input[1:4]]
    own = helper.make_node(
        "LSTM", ["x", *given, "", "h", "c"], ["", "H", "C"], hidden_size=len(cell.R)
    )
    shapes = {"x": [1, 1, INPUTS], "h": [1, 1, len(cell.R)], "c": [1, 1, len(cell.R)]}
    shapes |= {"H": shapes["h"], "C": shapes["c"]}
    values = {n: helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()}
    graph = helper.make_graph(
        [own],
        "step",
        [values[n] for n in "xhc"],
        [values[n] for n in "HC"],
        [numpy_helper.from_array(tensors[n], n) for n in given],
    )
    opset = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()


MAIN = """
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>
#include "net.h"

int main(void) {
  static net_state state;
  static float x[64][NET_INPUTS], y[NET_OUTPUTS];
  double best = 1e9, sum = 0;
  for (int n = 0; n < 64; n++)
    for (int k = 0; k < NET_INPUTS; k++) x[n][k] = (float)((n * 7 + k * 13) % 17 - 8) / 8;
  net_start(&state);
  for (int block = 0; block < 200; block++) {
    struct timespec begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (int n = 0; n < STEPS; n++) {
      net_step(&state, x[n % 64], y);
      sum += y[0];
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    const double taken = (end.tv_sec - begin.tv_sec) * 1e6 + (end.tv_nsec - begin.tv_nsec) * 1e-3;
    if (taken / STEPS < best) best = taken / STEPS;
  }
  printf("{\\"us\\": %.4f, \\"state\\": %d, \\"sum\\": %g}\\n", best, (int)sizeof state, sum);
  return 0;
}
"""
ALONE = """
#include "net.h"
void start(net_state *state);
void step(net_state *state, const float *x, float *y);
void start(net_state *state) { net_start(state); }
void step(net_state *state, const float *x, float *y) { net_step(state, x, y); }
"""


def compiled(source, code, folder, *flags):
    (folder / "net.h").write_text(code)
    (folder / "main.c").write_text(source)
    command = ["cc", *FLAGS, *flags, "main.c", "-o", "main", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "main"


def in_c(program, bits):
    """Microseconds, and bytes: the compiled step with its weights, the weights, the state."""
    code = header(program, "net", bits)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = compiled(MAIN, code, folder, f"-DSTEPS={STEPS}")
        known = json.loads(subprocess.run([made], capture_output=True, check=True).stdout)
        (folder / "alone.c").write_text(ALONE)
        subprocess.run(["cc", "-Os", "-std=c99", "-c", "alone.c"], cwd=folder, check=True)
        told = subprocess.run(["size", "alone.o"], cwd=folder, capture_output=True, check=True)
        known["object"] = sum(map(int, told.stdout.splitlines()[1].split()[:3]))
    arrays = re.findall(r"static const (float|int|signed char) \w+\[(\d+)\]", code)
    known["weights"] = sum((1 if kind == "signed char" else 4) * int(n) for kind, n in arrays)
    return known


def in_tensorflow(python, units):
    """Microseconds per step by TensorFlow Lite, in a process of another environment."""
    script = Path(__file__).with_name("export_tflite.py")
    command = [python, script, *map(str, (INPUTS, units, STEPS))]
    told = subprocess.run(
        command, capture_output=True, check=True, env={"PATH": os.environ["PATH"]}
    )
    return json.loads(told.stdout.splitlines()[-1])


def measured(units, tensorflow=None):
    """Microseconds per step by form."""
    key = jax.random.key(0)
    cell, looped = LSTM(INPUTS, units, key=key), Looped(INPUTS, units, key=key)
    xs = np.random.default_rng(0).normal(size=(STEPS, 1, INPUTS)).astype(np.float32)
    program, zeros = trace(cell), np.zeros((1, units), np.float32)
    found = {}

    stream = Stream(Stepping.of(cell), INPUTS, StepCodec(np.asarray, list, list))
    found["Ostinato's stream"] = fastest(lambda: [stream.step(x) for x in xs[:, 0]])

    own, flat = session(operator_of_one_step(cell)), session(to_onnx(cell, step=True))
    three = zeros[None]
    step = of_steps(
        lambda x, s: own.run(None, {"x": x[None], "h": s[0], "c": s[1]}), xs, [three, three]
    )
    found["ONNX Runtime, LSTM operator"] = fastest(step)
    step = of_steps(
        lambda x, s: flat.run(None, {"x": x, "state_0": s[0], "state_1": s[1]})[:2],
        xs,
        [zeros, zeros],
    )
    found["ONNX Runtime, `-step.onnx`"] = fastest(step)

    net, ours = to_torch(cell), source_module(program)
    tensors, start = torch.from_numpy(xs), torch.from_numpy(zeros)
    with torch.inference_mode():
        step = of_steps(lambda x, s: net(x[None], s)[1], tensors, (start[None], start[None]))
        found["torch, nn.LSTM"] = fastest(step)
        step = of_steps(lambda x, s: ours.step(x, s)[1], tensors, [start, start])
        found["torch, our module"] = fastest(step)
        found["torch, nn.LSTM, sequence"] = fastest(lambda: net(tensors))
    for name, one in (("LSTM operator", cell), ("our step in a Scan", looped)):
        run = session(to_onnx(one))
        found[f"ONNX Runtime, {name}, sequence"] = fastest(
            lambda run=run: run.run(["y"], {"x": xs})
        )
    if tensorflow is not None:
        found |= in_tensorflow(tensorflow, units)
    found["C"], found["C, 8 bits"] = in_c(program, 32), in_c(program, 8)
    found["product"] = blas(program)
    return found


def source_module(program):
    source, numbers = module(program)
    scope = {}
    exec(compile(source, "module", "exec"), scope)
    net = scope["Net"]()
    net.load_state_dict({name: torch.from_numpy(x) for name, x in numbers.items()})
    return net


def blas(program):
    """A product of a vector with all weights of a step by NumPy's BLAS, for the machine's peak."""
    weights = [x for x in program.constants.values() if x.ndim == 2]
    matrix = np.concatenate(weights).astype(np.float32)
    vector, out = np.ones(len(matrix), np.float32), np.empty(matrix.shape[1], np.float32)

    def run():
        for _ in range(STEPS):
            np.dot(vector, matrix, out=out)

    return fastest(run)


BITS = """
#include <stdio.h>
#include "net.h"

int main(void) {
  static net_state state;
  static float y[NET_OUTPUTS];
  int symbol, next, count = 0;
  double bits = 0;
  net_start(&state);
  if (scanf("%d", &symbol) != 1) return 1;
  while (scanf("%d", &next) == 1) {
    double most = -1e30, sum = 0;
    net_step(&state, symbol, y);
    for (int n = 0; n < NET_OUTPUTS; n++) if (y[n] > most) most = y[n];
    for (int n = 0; n < NET_OUTPUTS; n++) sum += exp(y[n] - most);
    bits += (log(sum) - (y[next] - most)) / log(2);
    count++;
    symbol = next;
  }
  printf("%.6f\\n", bits / count);
  return 0;
}
"""


def lost_bits(folder=None, read=30_000):
    """Bits per character of a text model in C, with weights of 32 and of 8 bits."""
    file = Path(os.environ["OSTINATO_DATA"]) / "tinyshakespeare" / "input.txt"
    config = Config(
        file=str(file), cell="lstm", units=256, length=100, batch=32, steps=2400, dropout=0.1,
        split="90/10/0",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(folder or Path(name) / "run")
        run = open_run(folder) if folder.exists() else train(config, folder)
        program, text = trace(run.saved()[1]), file.read_text()[-read:]
        task = run.config.task
        about = task.kind.interface(task.settings, run.artefacts).about
        places = {x: n for n, x in enumerate(about["characters"])}
        symbols = " ".join(str(places[x]) for x in text).encode()
        made = []
        for bits in (32, 8):
            path = compiled(BITS, header(program, "net", bits), Path(name))
            told = subprocess.run([path], input=symbols, capture_output=True, check=True)
            made.append(float(told.stdout))
    return made


def kilobytes(n):
    return f"{n / 1024:,.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--publish", action="store_true", help="into RESULTS.md")
    parser.add_argument("--tensorflow", help="a Python that has tensorflow, for TensorFlow Lite")
    parser.add_argument("--run", help="the folder of the trained run on Tiny Shakespeare")
    given = parser.parse_args()
    found = {units: measured(units, given.tensorflow) for units in UNITS}
    names = [x for x in found[UNITS[0]] if not x.startswith(("C", "product"))]
    calls = [x for x in names if not x.endswith("sequence")]
    rows = [[x, *(f"{found[u][x]:.2f}" for u in UNITS)] for x in calls]
    text = "Microseconds of the processor per step, LSTM of 16 inputs. A call from Python per step:"
    head = ["", *(f"{units} units" for units in UNITS)]
    parts = [text, table(head, rows)]
    rows = [
        [x.removesuffix(", sequence"), *(f"{found[u][x]:.2f}" for u in UNITS)]
        for x in names
        if x not in calls
    ]
    rows += [
        [f"our {x}", *(f"**{found[u][x]['us']:.2f}**" for u in UNITS)] for x in ("C", "C, 8 bits")
    ]
    best = [min(found[u][x] for x in names) for u in UNITS]
    ratios = [found[u]["C"]["us"] / one for u, one in zip(UNITS, best, strict=True)]
    rows.append(["C to the best of all others", *(f"{x:.2f}" for x in ratios)])
    flops = [2 * (INPUTS + u) * 4 * u / found[u]["C"]["us"] / 1e3 for u in UNITS]
    rows.append(["C, GFLOP/s of its products", *(f"{x:.1f}" for x in flops)])
    rows.append(["the products alone, by BLAS", *(f"{found[u]['product']:.2f}" for u in UNITS)])
    parts += [
        f"Without such a call: sequences of {STEPS} steps at once, and a loop in C:",
        table(head, rows),
    ]
    rows = [
        [f"{what}, {x}", *(kilobytes(found[u][f"C{end}"][field]) for u in UNITS)]
        for x, end in (("32 bits", ""), ("8 bits", ", 8 bits"))
        for what, field in (
            ("compiled step with its weights", "object"),
            ("weights", "weights"),
            ("state", "state"),
        )
    ]
    parts += [
        f"Memory of the C code (`cc {' '.join(FLAGS[:2])}` for the times, `-Os` for the size), KB:",
        table(head, rows),
    ]
    if "OSTINATO_DATA" in os.environ:
        whole, small = lost_bits(given.run)
        parts.append(
            f"8 bits per weight: an LSTM of 256 units, trained for 2,400 steps on Tiny "
            f"Shakespeare, takes {whole:.4f} bits per character of the last 30,000 with "
            f"weights of 32 bits and {small:.4f} with 8: {small - whole:+.4f}."
        )
    text = "\n\n".join(parts)
    versions = f"{machine()}, onnxruntime {onnxruntime.__version__}"
    title = "One step of an exported LSTM"
    publish(title, text, versions) if given.publish else print(versions, text, sep="\n\n")


if __name__ == "__main__":
    main()
