"""Every target that runs a network's step, for the conformance suite: what is listed is tested.

A target is a function from what is exported, by name, and the inputs of each to the outputs of
each, all of them computed by the exported code alone.
"""

import base64
import importlib.util
import json
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest

import ostinato
from members import CELLS, ONE, TWO, WIRINGS
from ostinato.cells import LSTM1997, AdditiveDelay, Model, Simple
from ostinato.evolve import KNOWN, GraphCell
from ostinato.export import Program, function, header, to_onnx
from ostinato.export.torch import module
from ostinato.reservoir import OutputFeedback
from ostinato.runs.streaming.codecs import StepCodec
from ostinato.runs.streaming.stream import Stream
from ostinato.testing import Case
from ostinato.wiring import Readout
from ostinato.wiring.stepping import Stepping
from studio.browser import BROWSER, Browser

ROOT = Path(__file__).parents[2]
STRICT = ["-O2", "-Wall", "-Wextra", "-Werror", "-std=c99"]
STEPS = 10_000
Inputs = dict[str, np.ndarray]


def of_the_examples():
    """The cell of examples/slstm.py, as a user writes one."""
    spec = importlib.util.spec_from_file_location("slstm", ROOT / "examples" / "slstm.py")
    spec.loader.exec_module(found := importlib.util.module_from_spec(spec))
    return Case(found.SLSTM(3, 4, key=ONE), 3)


def of_the_readme():
    """The cell that the README begins with."""
    _, _, rest = (ROOT / "README.md").read_text().partition("class Mine")
    scope = {"ostinato": ostinato, "jnp": jnp, "jax": jax}
    exec("class Mine" + rest.partition("\n\n\n")[0], scope)
    w, r = (0.5 * jax.random.normal(key, (n, 4)) for key, n in ((ONE, 3), (TWO, 4)))
    return Case(scope["Mine"](w, r), 3)


class Unusual(Simple):
    """Whole numbers that wrap around, numbers that are none, a linear system and a variance."""

    def initial(self, batch):
        return super().initial(batch), jnp.full(batch, 12345, jnp.int32)

    def step(self, state, u):
        h, seed = state
        h, y = super().step(h, u)
        seed = (seed * np.int32(1103515245) + np.int32(12345)) ^ np.int32(77)
        whole = seed[..., None] & (np.arange(4, dtype=np.int32) + np.int32(16777217))
        ends = (
            whole.max(-1) - whole.min(-1) + whole.sum(-1) - jnp.maximum(jnp.abs(seed), 3) + seed**3
        )
        none = jnp.log(-1 - y * y)
        guarded = [
            jnp.isnan(x) for x in (jnp.maximum(none, 0), jnp.minimum(0, none), jnp.sign(none))
        ]
        matrix = jnp.eye(4, dtype=y.dtype) + 0.1 * y[..., None] * y[..., None, :]
        solved = jnp.vectorize(jnp.linalg.solve, signature="(n,n),(n)->(n)")(matrix, y)
        y = jnp.where(sum(guarded) == 3, solved - y.var(-1, keepdims=True), 5)
        return (h, seed), y + (ends.astype(y.dtype) * np.float32(2**-31))[..., None]


MADE = {
    **CELLS,
    **WIRINGS,
    # Of the size of the system that it solves at every step: 4 unknowns would be 1,091 equations.
    "additive delay, nonlinear": lambda: Case(
        AdditiveDelay(3, 2, key=ONE, dt=0.5, state_function="tanh", output_function="sigmoid")
    ),
    "lstm 1997, lipton": lambda: Case(LSTM1997(3, 4, key=ONE, variant="lipton")),
    "output feedback": lambda: Case(
        OutputFeedback(Simple(3 + 2, 4, key=ONE), Readout(4, 2, key=TWO)), 3
    ),
    "a user's, of the examples": of_the_examples,
    "a user's, of the README": of_the_readme,
    "a user's, unusual": lambda: Case(Unusual(3, 4, key=ONE)),
    "graph": lambda: Case(GraphCell(3, 4, key=ONE, graph=KNOWN["gru"])),
}
EVERY = {name: cache(make) for name, make in MADE.items()}  # several files have them all
# Those that make more of a rounding error with every step: what the suite may excuse.
MAGNIFY = {"jordan", "layer norm", "layer norm, mlstm", "lstm 1997, lipton"}
# Those whose outputs jump: with weights of 8 bits some do so at another step.
JUMPING = {"simple step", "liquid", "hopfield"}


class Subject(NamedTuple):
    """A network, the size of its input vectors, if it reads vectors, and its program."""

    network: Model
    size: int | None
    program: Program


Subjects = dict[str, Subject]


def by_c(subjects: Subjects, inputs: Inputs, folder: Path) -> Inputs:
    """All networks in one C program, compiled with all warnings as errors."""
    return _outputs_of_c(subjects, inputs, folder / "c", "n")


def by_sanitised_c(subjects: Subjects, inputs: Inputs, folder: Path) -> Inputs:
    """The same, with every access to memory and every conversion checked as it runs."""
    flags = ["-O0", "-fsanitize=address,undefined"]
    return _outputs_of_c(subjects, inputs, folder / "sanitised", "n", *flags, small=False)


def by_c_of_eight_bits(subjects: Subjects, inputs: Inputs, folder: Path) -> Inputs:
    """Each step from the state that float32 weights have reached, so that errors do not add up."""
    return _outputs_of_c(subjects, inputs, folder / "c", "small")


def _outputs_of_c(
    subjects: Subjects, inputs: Inputs, folder: Path, what: str, *flags: str, small: bool = True
) -> Inputs:
    """What a program in C computes, which is compiled and run once in a folder."""
    if not folder.exists():
        _run_c(subjects, inputs, folder, *flags, small=small)
    return {
        name: np.fromfile(folder / f"{what}{n}.out", np.float32).reshape(len(inputs[name]), -1)
        for n, name in enumerate(subjects)
    }


def _run_c(
    subjects: Subjects, inputs: Inputs, folder: Path, *flags: str, small: bool = False
) -> None:
    """Write the outputs of all networks, and those with weights of 8 bits if it has `small`."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder.mkdir()
    includes, calls = [], []
    for n, (name, (_, _, program)) in enumerate(subjects.items()):
        for other, bits in {f"n{n}": 32, **({f"small{n}": 8} if small else {})}.items():
            (folder / f"{other}.h").write_text(header(program, other, bits))
            includes.append(f'#include "{other}.h"')
        inputs[name].tofile(folder / f"n{n}.in")
        calls.append(_call(f"n{n}", len(inputs[name]), program, f"small{n}" if small else None))
    source = "\n".join(
        [*includes, "#include <stdio.h>", "#include <string.h>", "int main(void) {", *calls, "}"]
    )
    (folder / "main.c").write_text(source)
    command = [compiler, *STRICT, *flags, "main.c", "-o", "main", "-lm"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[:2000]
    ran = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and not ran.stderr, ran.stderr[:2000]


def _call(name: str, steps: int, program: Program, small: str | None) -> str:
    big = name.upper()
    one = "int x" if program.symbols is not None else f"float x[{big}_INPUTS]"
    at = "&x" if program.symbols is not None else "x"
    opened = f"""static {small}_state other;
    FILE *small = fopen("{small}.out", "wb");
    if (!small) return 1;"""
    told = f"""memcpy(&other, &state, sizeof other);
      {small}_step(&other, x, y);
      fwrite(y, sizeof y, 1, small);"""
    return f"""  {{
    static {name}_state state;
    {one};
    float y[{big}_OUTPUTS];
    FILE *in = fopen("{name}.in", "rb"), *out = fopen("{name}.out", "wb");
    if (!in || !out) return 1;
    {opened if small else ""}
    {name}_start(&state);
    for (int t = 0; t < {steps}; t++) {{
      if (fread({at}, sizeof x, 1, in) != 1) return 1;
      {told if small else ""}
      {name}_step(&state, x, y);
      fwrite(y, sizeof y, 1, out);
    }}
    fclose(in);
    fclose(out);
    {"fclose(small);" if small else ""}
  }}"""


def by_node(subjects: Subjects, inputs: Inputs, folder: Path) -> Inputs:
    """All networks in one process of Node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no Node")
    lines = ["const fs = require('fs');"]
    for n, (name, (_, _, program)) in enumerate(subjects.items()):
        inputs[name].tofile(folder / f"n{n}.in")
        lines.append(function(program, f"make{n}"))
        lines.append(f"run(make{n}(), 'n{n}');")
    lines += [LOOP, IN_NODE]
    (folder / "all.js").write_text("\n".join(lines))
    ran = subprocess.run([node, "all.js"], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[:2000]
    return {
        name: np.fromfile(folder / f"n{n}.out", np.float32).reshape(len(inputs[name]), -1)
        for n, name in enumerate(subjects)
    }


LOOP = """
function outputs(net, bytes) {
  const size = net.symbols === null ? net.inputs : 1;
  const xs = net.symbols === null ? new Float32Array(bytes) : new Int32Array(bytes);
  const steps = xs.length / size, state = net.start();
  const out = new Float32Array(steps * net.outputs);
  for (let t = 0; t < steps; t++) {
    const x = xs.subarray(t * size, (t + 1) * size);
    out.set(net.step(state, net.symbols === null ? x : x[0]), t * net.outputs);
  }
  return out.buffer;
}
"""
IN_NODE = """
function run(net, name) {
  const raw = fs.readFileSync(`${name}.in`);
  const bytes = raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length);
  fs.writeFileSync(`${name}.out`, Buffer.from(outputs(net, bytes)));
}
"""
IN_PAGE = """
const runs = [];
function run(net, words) {
  const bytes = Uint8Array.from(atob(words), (one) => one.charCodeAt(0));
  const all = new Uint8Array(outputs(net, bytes.buffer)), parts = [];
  for (let n = 0; n < all.length; n += 32768)
    parts.push(String.fromCharCode(...all.subarray(n, n + 32768)));
  return btoa(parts.join(""));
}
"""


def by_browser(subjects: Subjects, inputs: Inputs, folder: Path) -> Inputs:
    """All networks in one page of a headless browser."""
    if BROWSER is None:
        pytest.skip("there is no browser")
    lines = [LOOP, IN_PAGE]
    for n, (name, (_, _, program)) in enumerate(subjects.items()):
        lines.append(function(program, f"make{n}"))
        lines.append(f"runs.push(() => run(make{n}(), '{_words(inputs[name])}'));")
    (folder / "all.html").write_text("\n".join(["<script>", *lines, "</script>"]))
    browser = Browser()
    try:
        browser.open(f"file://{folder}/all.html")
        made = [browser.run(f"runs[{n}]()") for n in range(len(subjects))]
        assert not browser.console
    finally:
        browser.close()
    return {
        name: np.frombuffer(base64.b64decode(words), np.float32).reshape(len(inputs[name]), -1)
        for name, words in zip(subjects, made, strict=True)
    }


def _words(xs: np.ndarray) -> str:
    return base64.b64encode(xs.tobytes()).decode()


def session(model: bytes):
    """A quiet session of ONNX Runtime with one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options)


def by_onnx(subjects: Subjects, inputs: Inputs, folder: Path) -> Inputs:
    """Each network as one sequence in ONNX Runtime."""
    outputs = {}
    for name, (network, size, _) in subjects.items():
        xs = inputs[name][:, None]
        xs = xs.astype(np.int64) if size is None else xs
        (ys,) = session(to_onnx(network, size)).run(["y"], {"x": xs})
        outputs[name] = ys.reshape(len(xs), -1)
    return outputs


def by_steps_of_onnx(subjects: Subjects, inputs: Inputs, folder: Path) -> Inputs:
    """Each network step by step in ONNX Runtime, from the state that the metadata have."""
    outputs = {}
    for name, (network, size, _) in subjects.items():
        model = to_onnx(network, size, step=True)
        known = {one.key: one.value for one in onnx.load_from_string(model).metadata_props}
        run = session(model)
        *before, last = run.get_inputs()
        kinds = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
        state = [
            np.array([x], kinds[one.type])
            for x, one in zip(json.loads(known["start"]), before, strict=True)
        ]
        ys, names = [], [*(one.name for one in before), "x"]
        for x in inputs[name][:, None].astype(kinds[last.type]):
            *state, y = run.run(None, dict(zip(names, [*state, x], strict=True)))
            ys.append(y.ravel())
        outputs[name] = np.array(ys)
    return outputs


def by_torch(subjects: Subjects, inputs: Inputs, folder: Path) -> Inputs:
    """Each network as a module of torch, from its source alone."""
    import torch

    outputs = {}
    with torch.inference_mode():
        for name, (_, _, program) in subjects.items():
            source, numbers = module(program)
            scope: dict[str, Any] = {}
            exec(compile(source, name, "exec"), scope)
            net = scope["Net"]()
            net.load_state_dict({key: torch.from_numpy(x) for key, x in numbers.items()})
            ys, _ = net(torch.from_numpy(inputs[name][:, None]))
            outputs[name] = ys.reshape(len(ys), -1).numpy()
    return outputs


def by_stream(subjects: Subjects, inputs: Inputs, folder: Path) -> Inputs:
    """Each step a call from Python."""
    outputs = {}
    with jax.enable_x64(False):
        for name, (network, size, _) in subjects.items():
            stream = Stream(Stepping.of(network), size, StepCodec(np.array, list, list))
            outputs[name] = np.array([np.ravel(stream.step(x)) for x in inputs[name]])
    return outputs


class Target(NamedTuple):
    """A way to run what is exported.

    Attributes:
        run: makes the outputs.
        work: how many operations of a network it does every day, where each takes microseconds: it
            then takes as many steps as that allows, at least a hundred, and all of them in a slow
            test.
        within: how far it may be from the library, relative to the largest output.
        rounded: whether its weights are.
    """

    run: Callable[[Subjects, Inputs, Path], Inputs]
    work: int | None = None
    within: float = 1e-5
    rounded: bool = False


TARGETS = {
    "stream": Target(by_stream, 4_000),
    "c": Target(by_c),
    "c, sanitised": Target(by_sanitised_c),
    "c, 8 bits": Target(by_c_of_eight_bits, within=0.03, rounded=True),
    "javascript": Target(by_node),
    "javascript in a browser": Target(by_browser),
    "onnx": Target(by_onnx, 100_000),
    "onnx, a step": Target(by_steps_of_onnx, 4_000),
    "torch": Target(by_torch, 5_000),
}
