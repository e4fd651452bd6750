"""What the command line learns: each experiment is a few commands, run as anyone would.

    python benchmarks/learning.py shakespeare-cpu xor
    python benchmarks/learning.py shakespeare-gpu adding enwiki

The data sets must be there (`ostinato data get tinyshakespeare`, or OSTINATO_DATA).
"""

import json
import shlex
import subprocess
import sys
import tempfile
import time

from measure import publish, table
from ostinato.runs import open_run
from ostinato.weights import count_parameters

TEXT = "--warmup 100"
ENWIKI = f"train enwiki --level bytes --budget 4000000 --dropout 0.1 --batch 64 --length 128 \
--steps 4000 --rate 0.002 {TEXT} --precision bfloat16"
SHAKESPEARE = f"train tinyshakespeare --split 90/10/0 {TEXT}"
ADDING = "train --task adding --cell lstm --units 128 --batch 64 --rate 0.003"

# By name: what it is, and for each run its commands but for the run folder.
EXPERIMENTS = {
    "shakespeare-cpu": (
        "Tiny Shakespeare on two cores; the last 10 % for validation",
        [
            [
                f"{SHAKESPEARE} --cell mlstm --units 389 --dropout 0.2 --recurrent-dropout 0.2 "
                "--batch 32 --length 100 --steps 1500 --rate 0.003",
                "evaluate",
            ]
        ],
    ),
    "shakespeare-gpu": (
        "Tiny Shakespeare on a GPU; the last 10 % for validation",
        [
            [
                f"{SHAKESPEARE} --cell lstm --units 700 --layers 2 --dropout 0.5 "
                "--recurrent-dropout 0.3 --batch 64 --length 128 --steps 4000 --rate 0.002 "
                "--precision bfloat16 --validate-every 400",
                "evaluate",
            ]
        ],
    ),
    "enwiki": (
        "LSTM against mLSTM at equal parameters on 6 MB of Wikipedia XML (90/5/5), test part",
        [
            [f"{ENWIKI} --cell {cell}", "evaluate --part test --dynamic --samples 0"]
            for cell in ("lstm", "mlstm")
        ],
    ),
    "adding": (
        "The adding problem; solved below 0.001, chance 0.167",
        [
            [f"{ADDING} --length 200 --steps 4000", "evaluate --part test"],
            [f"{ADDING} --length 500 --steps 5000 --curriculum 50", "evaluate --part test"],
        ],
    ),
    "xor": (
        "Temporal XOR with a simple net; no net can pass 66.7 %",
        [["train --task xor --cell simple --units 16 --steps 2000", "evaluate --part test"]],
    ),
}


def ostinato(command: str, run: str) -> dict:
    words = shlex.split(command)
    where = ["--run", run] if words[0] == "train" else [run]
    arguments = [sys.executable, "-m", "ostinato", words[0], *where, *words[1:], "--json"]
    found = subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(found.stdout)


def row(commands: list[str], folder: str) -> list[str]:
    run = f"{folder}/{time.time_ns()}"
    started = time.perf_counter()
    ostinato(commands[0], run)
    minutes = (time.perf_counter() - started) / 60
    result = ostinato(commands[1], run)
    parameters = count_parameters(open_run(run).network())
    words = f"{result['value']:.4g} {result['metric']}"
    if "dynamic" in result:
        words += f"; dynamic {result['dynamic']['value']:.4g}"
    if result.get("word_fail_rate") is not None:
        words += f"; {result['word_fail_rate']:.1%} of generated words unknown"
    shown = f"`ostinato {commands[0]}`"
    return [shown, f"{parameters:,}", f"{minutes:.1f}", words]


def main(names: list[str]) -> None:
    for name in names:
        title, runs = EXPERIMENTS[name]
        with tempfile.TemporaryDirectory() as folder:
            rows = [row(commands, folder) for commands in runs]
        publish(title, table(["command", "parameters", "minutes", "result"], rows))


if __name__ == "__main__":
    main(sys.argv[1:] or [*EXPERIMENTS])
