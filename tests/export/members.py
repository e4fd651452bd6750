"""Every target that runs a network's step, for the conformance suite: what is listed is tested.

A target is a function from networks, by name, and the inputs of each to the outputs of each, all of
them computed by the exported code alone.
"""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ostinato.export import Program, function, header

STRICT = ["-O2", "-Wall", "-Wextra", "-Werror", "-std=c99"]
Inputs = dict[str, np.ndarray]


def by_c(programs: dict[str, Program], inputs: Inputs, folder: Path, *flags: str, **how) -> Inputs:
    """All networks in one C program, compiled with all warnings as errors."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    includes, calls = [], []
    for n, (name, program) in enumerate(programs.items()):
        (folder / f"n{n}.h").write_text(header(program, f"n{n}", **how))
        includes.append(f'#include "n{n}.h"')
        inputs[name].tofile(folder / f"n{n}.in")
        calls.append(_call(f"n{n}", len(inputs[name]), program))
    source = "\n".join([*includes, "#include <stdio.h>", "", "int main(void) {", *calls, "}"])
    (folder / "main.c").write_text(source)
    command = [compiler, *STRICT, *flags, "main.c", "-o", "main", "-lm"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[:2000]
    ran = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and not ran.stderr, ran.stderr[:2000]
    return {
        name: np.fromfile(folder / f"n{n}.out", np.float32).reshape(len(inputs[name]), -1)
        for n, name in enumerate(programs)
    }


def _call(name: str, steps: int, program: Program) -> str:
    big = name.upper()
    one = "int x" if program.symbols is not None else f"float x[{big}_INPUTS]"
    at = "&x" if program.symbols is not None else "x"
    return f"""  {{
    static {name}_state state;
    {one};
    float y[{big}_OUTPUTS];
    FILE *in = fopen("{name}.in", "rb"), *out = fopen("{name}.out", "wb");
    if (!in || !out) return 1;
    {name}_start(&state);
    for (int t = 0; t < {steps}; t++) {{
      if (fread({at}, sizeof x, 1, in) != 1) return 1;
      {name}_step(&state, x, y);
      fwrite(y, sizeof y, 1, out);
    }}
    fclose(in);
    fclose(out);
  }}"""


def by_sanitised_c(programs: dict[str, Program], inputs: Inputs, folder: Path) -> Inputs:
    """The same, with every access to memory and every conversion checked as it runs."""
    return by_c(programs, inputs, folder, "-g", "-fsanitize=address,undefined")


def by_node(programs: dict[str, Program], inputs: Inputs, folder: Path) -> Inputs:
    """All networks in one process of Node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no Node")
    lines = ["const fs = require('fs');"]
    for n, (name, program) in enumerate(programs.items()):
        inputs[name].tofile(folder / f"n{n}.in")
        lines.append(function(program, f"make{n}"))
        lines.append(f"run(make{n}(), 'n{n}', {len(inputs[name])});")
    lines.append(RUN)
    (folder / "all.js").write_text("\n".join(lines))
    ran = subprocess.run([node, "all.js"], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[:2000]
    return {
        name: np.fromfile(folder / f"n{n}.out", np.float32).reshape(len(inputs[name]), -1)
        for n, name in enumerate(programs)
    }


RUN = """
function run(net, name, steps) {
  const raw = fs.readFileSync(`${name}.in`), size = net.symbols === null ? net.inputs : 1;
  const bytes = raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length);
  const xs = net.symbols === null ? new Float32Array(bytes) : new Int32Array(bytes);
  const out = new Float32Array(steps * net.outputs), state = net.start();
  for (let t = 0; t < steps; t++) {
    const x = xs.subarray(t * size, (t + 1) * size);
    out.set(net.step(state, net.symbols === null ? x : x[0]), t * net.outputs);
  }
  fs.writeFileSync(`${name}.out`, Buffer.from(out.buffer));
}
"""

TARGETS = {"c": by_c, "c, sanitised": by_sanitised_c, "javascript": by_node}
