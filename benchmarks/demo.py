"""The README's demo, `ostinato train`, by this source and by an older one, in turn.

    python benchmarks/demo.py OLDER/src --times 4      on two idle cores; --print not to publish

OLDER is another checkout. Each has a cache of compiled programs of its own, which is empty at
first, so the first run of each is cold.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import publish, table

HERE = Path(__file__).resolve().parent.parent / "src"


def seconds(source: Path, cache: Path) -> float:
    """The time of a whole demo, from the prompt to the end."""
    environment = {**os.environ, "PYTHONPATH": str(source), "OSTINATO_CACHE": str(cache)}
    environment |= {"XDG_CACHE_HOME": str(cache)}
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        words = [sys.executable, "-m", "ostinato", "train"]
        subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True)
        return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("older", type=Path)
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--print", action="store_true", help="do not write to RESULTS.md")
    given = parser.parse_args()
    took: dict[str, list[float]] = {"older": [], "this": []}
    with tempfile.TemporaryDirectory() as caches:
        for _ in range(given.times):
            for name, source in (("older", given.older.resolve()), ("this", HERE)):
                took[name].append(seconds(source, Path(caches) / name))
                print(name, f"{took[name][-1]:.1f} s", flush=True)
    rows = [
        [name, f"{first:.1f}", f"{statistics.median(later):.1f}" if later else ""]
        for name, (first, *later) in took.items()
    ]
    text = table(["source", "first run, s", "later runs, median, s"], rows)
    if given.print:
        print(text)
    else:
        publish("The README's demo", text)


if __name__ == "__main__":
    main()
