"""Watching the process that runs cases: it may die, hang, or take all memory."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from .outcomes import described_in, shape

SCRIPTS = Path(__file__).parent.parent
MEMORY = 8 << 30
GRACE = 30.0  # seconds after its own alarm that a case has before it is killed


def watched(cases: list[tuple[str, int]], seed: int, scratch: Path, limit: float) -> Iterator[dict]:
    """The ends of all cases, in order; a worker that died is followed by a new one."""
    left = list(cases)
    while left:
        for end in _one_worker(left, seed, scratch, limit):
            assert tuple(end["ends"]) == left[0]
            left.pop(0)
            yield end


def _one_worker(cases, seed: int, scratch: Path, limit: float) -> Iterator[dict]:
    """The ends of the cases that one worker does; the last one may be its own end."""
    command = [sys.executable, "-m", "fuzzing.worker", str(seed), str(scratch), str(limit)]
    worker = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(scratch)
    )  # fmt: skip
    assert worker.stdin and worker.stdout
    worker.stdin.write(json.dumps(cases).encode())
    worker.stdin.close()
    begun, now, buffer, trouble = time.monotonic(), None, b"", ""
    spent = 0.0
    while True:
        if select.select([worker.stdout], [], [], 0.2)[0]:
            data = os.read(worker.stdout.fileno(), 1 << 16)
            if not data:
                break
            *lines, buffer = (buffer + data).split(b"\n")
            for line in map(json.loads, lines):
                if "begins" in line:
                    now, begun, spent = line["begins"], time.monotonic(), _seconds(worker.pid)
                else:
                    now = None
                    yield line
        if now is not None and not trouble:
            trouble = _trouble(worker.pid, time.monotonic() - begun, spent, limit + GRACE)
            if trouble:
                worker.send_signal(signal.SIGKILL)
    code = worker.wait()
    if now is None and code == 0:
        return
    if now is None:
        raise RuntimeError(f"the worker ended with {code} between cases: {_last_words(scratch)}")
    words = trouble or f"abort, {_signal(code)}: {_last_words(scratch)}"
    outcome = words.split(",")[0].split()[0]
    yield {
        "ends": now, "outcome": outcome, "words": words, "what": described_in(scratch),
        "shape": shape(words), "seconds": time.monotonic() - begun,
    }  # fmt: skip


def environment(scratch: Path) -> dict[str, str]:
    """One thread on the CPU, compiling in a hurry, and a cache of what was compiled."""
    flags = "--xla_cpu_multi_thread_eigen=false"
    if tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 11):  # later ones lack the choice
        flags += " --xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
    own = {
        "JAX_PLATFORMS": "cpu",
        "OMP_NUM_THREADS": "1",
        "JAX_COMPILATION_CACHE_DIR": str(scratch / "cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.05",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "XLA_FLAGS": flags,
        "COLUMNS": "100",
        "XDG_CONFIG_HOME": str(scratch / "home"),  # permissions are not those of the user
        "PYTHONFAULTHANDLER": "1",
        "PYTHONPATH": os.pathsep.join(map(str, (SCRIPTS, SCRIPTS.parent / "src"))),
    }
    return {**os.environ, **own}


def _trouble(pid: int, seconds: float, before: float, limit: float) -> str:
    """What is wrong with a worker that still runs, or nothing."""
    try:
        resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf(
            "SC_PAGESIZE"
        )
        spent = _seconds(pid) - before
    except (OSError, IndexError):
        return ""
    if resident > MEMORY:
        return f"memory, more than {MEMORY >> 30} GB"
    if seconds > limit and not 5 < spent < limit:
        return f"hang, killed after {limit:.0f} s"
    return ""


def _seconds(pid: int) -> float:
    """The seconds of work of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _signal(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit {code}"


def _last_words(scratch: Path) -> str:
    """The line of a worker's log that says most."""
    lines = (scratch / "worker.log").read_text(errors="replace").strip().split("\n")
    telling = [line for line in lines if "Check failed" in line or "Error" in line]
    return (telling or lines)[-1][:200]
