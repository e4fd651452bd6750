"""Train twelve short runs with this tree and with an earlier revision, and compare their weights.

    python scripts/same_numbers.py REVISION

The runs go over tasks, cells, wirings and learners. Their final weights must be the same bits, on
the same machine and with the same packages. A run that only one of both trees can make, or that
differs, is printed, and the exit code is 1: such a change belongs into CHANGELOG.md.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from environment import ROOT, become, python_with

RUNS = {
    "text, mlstm, adam": {"task": "text", "cell": "mlstm", "length": 16},
    "text, stack of gru, plateau": {
        "task": "text", "cell": "gru", "layers": 2, "schedule": "plateau", "validate_every": 5,
        "length": 16,
    },
    "text, lstm, dropout and zoneout": {
        "task": "text", "cell": "lstm", "dropout": 0.2, "zoneout": 0.1, "length": 16,
    },
    "text, mrnn, hf": {
        "task": "text", "cell": "mrnn", "learner": "hf", "steps": 3, "length": 8, "batch": 8,
    },
    "chaotic series, lstm, sgd": {
        "task": "mackey-glass", "cell": "lstm", "learner": "sgd", "rate": 0.01,
    },
    "adding, peephole, rmsprop, clipped": {
        "task": "adding", "cell": "peephole", "learner": "rmsprop", "clip": "auto",
        "length": 20,
    },
    "xor, simple, hf": {
        "task": "xor", "cell": "simple", "learner": "hf", "steps": 3, "batch": 8,
    },
    "translate, gru, both ways": {"task": "translate", "cell": "gru", "bidirectional": True},
    "tag, lstm, both ways": {"task": "tag", "cell": "lstm", "bidirectional": True},
    "classify, leaky, nesterov": {"task": "classify", "cell": "leaky", "learner": "nesterov"},
    "ntm-copy, Turing machine": {"task": "ntm-copy", "cell": "lstm", "turing": "8x4", "steps": 5},
    "execute, krause, adadelta": {
        "task": "execute", "cell": "krause", "learner": "adadelta",
    },
}  # fmt: skip
COMMON = {"units": 8, "steps": 12, "batch": 4, "seed": 7}


def digests() -> dict[str, str]:
    """A hash of the final weights of each run, or the first line of why there is none."""
    import jax
    import numpy as np

    from ostinato.runs import Config, train

    hashes = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, settings) in enumerate(RUNS.items()):
            try:
                run = train(Config(**COMMON | settings), Path(folder, str(number)))
                every = jax.tree.leaves(run.network())
                leaves = [np.asarray(x) for x in every if hasattr(x, "dtype")]
                hashes[name] = hashlib.sha256(b"".join(x.tobytes() for x in leaves)).hexdigest()
            except (Exception, SystemExit) as error:
                hashes[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    return hashes


def digests_of(tree: Path) -> dict[str, str]:
    path = {"PYTHONPATH": str(tree / "src"), "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, __file__, "--digests"]
    done = subprocess.run(
        command, env=os.environ | path, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main(revision: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        git = ["git", "-C", ROOT, "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", tree, revision], check=True)
        try:
            before, after = digests_of(tree), digests_of(ROOT)
        finally:
            subprocess.run([*git, "remove", "--force", tree], check=True)
    same = {name for name in RUNS if before[name] == after[name] and len(after[name]) == 64}
    for name in RUNS:
        print("same  " if name in same else "DIFFER", name)
        if name not in same:
            print(f"       before: {before[name]}\n       now:    {after[name]}")
    print(f"{len(same)} of {len(RUNS)} runs have the same weights")
    return int(len(same) < len(RUNS))


if __name__ == "__main__":
    if sys.argv[1:] == ["--digests"]:
        print(json.dumps(digests()))
    elif len(sys.argv) != 2:
        sys.exit("say which revision to compare with, such as main~10")
    elif sys.prefix == sys.base_prefix:
        become([python_with(), __file__, *sys.argv[1:]])
    else:
        sys.exit(main(sys.argv[1]))
