"""What `--lens 50` costs on the embedded default: the whole command with it and without, in turn.

    python benchmarks/lens.py [REPEATS]

Each run is a process of its own, so that compiling counts on both sides, as it does for a user.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import publish, table

EVERY = 50
COMMAND = [sys.executable, "-m", "ostinato", "train"]


def seconds(*arguments: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        command = [*COMMAND, "--run", str(Path(folder) / "run"), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - started


def main():
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    times: dict[str, list[float]] = {"": [], f"--lens {EVERY}": []}
    seconds("--steps", "2")  # brings files into memory
    for _ in range(repeats):
        for option, found in times.items():
            found.append(seconds(*option.split()))
    plain, looking = map(statistics.median, times.values())
    rows = [
        [f"`ostinato train {option}`".replace(" `", "`"), ", ".join(f"{x:.1f}" for x in found)]
        for option, found in times.items()
    ]
    publish(
        "What looking costs: the embedded default with and without --lens",
        f"Seconds of the whole command, compiling included, in turn:\n\n"
        f"{table(['command', 'seconds'], rows)}\n\n"
        f"By the medians, looking costs **{looking / plain - 1:.1%}**.",
    )


if __name__ == "__main__":
    main()
