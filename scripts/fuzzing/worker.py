"""The process that runs cases, and tells its parent of each before and after it."""

import gc
import json
import os
import random
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import IO

from .areas import AREAS
from .harm import unlinked
from .outcomes import ACCEPTED, REFUSED, Case, Failed, Hang, Refused, described, shape

MAX_MAPS = 25_000
LOOK_EVERY = 10
BUSY = 5.0  # seconds of work that show that a case is slow and not stuck


def work(cases: list[tuple[str, int]], seed: int, scratch: Path, limit: float) -> None:
    """Run cases, and print a line of JSON when one begins and when it ends."""
    channel = os.fdopen(os.dup(1), "w")
    log = os.open(scratch / "worker.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor in (1, 2):  # what C++ prints goes to the log
        os.dup2(log, descriptor)
    prepare()
    for area, number in cases:
        _tell(channel, {"begins": [area, number]})
        started = time.monotonic()
        outcome, words, what = one(area, number, seed, scratch, limit)
        result = {"outcome": outcome, "words": words, "what": what, "shape": shape(words)}
        _tell(channel, {**result, "ends": [area, number], "seconds": time.monotonic() - started})
        if number % LOOK_EVERY == 0:
            _let_go()


def _let_go() -> None:
    """Forget compiled functions before their memory mappings run out (65,530 on Linux)."""
    maps = Path("/proc/self/maps")
    if maps.exists() and len(maps.read_bytes().splitlines()) > MAX_MAPS:
        import jax

        jax.clear_caches()
        gc.collect()


def _tell(channel: IO[str], line: dict) -> None:
    channel.write(json.dumps(line) + "\n")
    channel.flush()


def prepare() -> None:
    """Load everything now, so that no case has to wait for it."""
    import matplotlib

    matplotlib.use("Agg")
    import ostinato.cli

    warnings.filterwarnings("ignore", category=DeprecationWarning)
    assert ostinato.cli


def one(
    area: str, number: int, seed: int, scratch: Path, limit: float, shown: bool = False
) -> tuple[str, str, str]:
    """Run one case, which depends on seed, area and number alone: outcome, failure, description."""
    folder = scratch / "case"
    unlinked(folder)
    folder.mkdir(parents=True)
    chance = random.Random(f"{seed}/{area}/{number}")
    case = Case(chance, folder, scratch)
    case.what = f"{area} {number}"
    os.chdir(folder)
    before = signal.signal(signal.SIGALRM, _alarm(limit))
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        outcome, words = AREAS[area][0](case), ""
        assert outcome in (ACCEPTED, REFUSED)
    except Refused as refusal:
        outcome, words = REFUSED, str(refusal)
    except Failed as failure:
        outcome, words = "failed", str(failure)
        if shown:
            traceback.print_exc()
    except Hang as hang:
        outcome, words = "hang", described(hang)
    except Exception as error:
        outcome, words = "failed", described(error)
        if shown:
            traceback.print_exc()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        os.chdir(scratch)
        unlinked(folder)
    return outcome, " ".join(words.split()), case.what


def _alarm(limit: float):
    """A minute of work, or one without any, is a hang; on a busy machine the wait is longer."""
    begun = time.process_time()

    def ring(*_):
        spent = time.process_time() - begun
        if BUSY < spent < limit:
            signal.setitimer(signal.ITIMER_REAL, max(1.0, limit - spent))
            return
        raise Hang(f"after {limit:.0f} s")

    return ring


if __name__ == "__main__":
    seed, scratch, limit = int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    work([tuple(case) for case in json.load(sys.stdin)], seed, scratch, limit)
