"""What the benchmarks share: timing, the machine in words, and the table of results."""

import os
import platform
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "RESULTS.md"


def seconds(
    call: Callable,
    wait: Callable = lambda result: None,
    repeats: int = 7,
    inner: int = 1,
    warm: int = 2,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """The times of a call, `wait(result)` included, after some calls to warm up.

    Args:
        inner: calls that are timed together.
        clock: `time.process_time` where other programs run at the same time.
    """
    for _ in range(warm):
        wait(call())
    times = []
    for _ in range(repeats):
        started = clock()
        for _ in range(inner):
            result = call()
        wait(result)
        times.append((clock() - started) / inner)
    return times


def milliseconds(call: Callable, wait: Callable, repeats: int = 7, inner: int = 1) -> float:
    """Median time of a call, `wait(result)` included, after two calls to warm up."""
    return 1e3 * statistics.median(seconds(call, wait, repeats, inner))


def show(event: dict) -> None:
    """A listener that prints a line for each validation of a run, and for its end."""
    if event["kind"] in ("valid", "end"):
        print({k: event[k] for k in ("kind", "step", "value", "seconds") if k in event}, flush=True)


def gauss_newton_products(outputs: Callable, cell: Any, count: Any) -> Any:
    """So many products `Jᵀ J v`, one after the other, of a function that is linearised once."""
    import jax
    import jax.numpy as jnp

    _, push = jax.linearize(outputs, cell)
    pull = jax.linear_transpose(push, cell)

    def again(_, v):
        (v,) = pull(push(v))
        size = jnp.sqrt(sum(jnp.vdot(x, x) for x in jax.tree.leaves(v)))
        return jax.tree.map(lambda x: x / size, v)

    return jax.lax.fori_loop(0, count, again, cell)


def machine() -> str:
    """This machine and the versions, in one line."""
    import jax

    device = jax.devices()[0]
    chip = device.device_kind if device.platform == "gpu" else _processor()
    parts = [chip, f"Python {platform.python_version()}", f"JAX {jax.__version__}"]
    try:
        import torch

        parts.append(f"torch {torch.__version__}")
    except ImportError:
        pass
    return ", ".join(parts)


def _processor() -> str:
    names = re.findall(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    name = names[0] if names else platform.machine()
    return f"{len(os.sched_getaffinity(0))} cores of {name}"


def table(header: list[str], rows: list[list]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def publish(title: str, text: str, on: str | None = None) -> None:
    """Print a section, and put it into RESULTS.md in place of the one of the same title.

    Args:
        on: the machine that it was measured on, if not on this one.
    """
    section = f"## {title}\n{on or machine()}\n\n{text}\n"
    print(section, flush=True)
    old = RESULTS.read_text() if RESULTS.exists() else "# Measured\n\n"
    parts = re.split(r"(?m)^(?=## )", old)
    kept = [part for part in parts if not part.startswith(f"## {title}\n")]
    RESULTS.write_text("".join(part.rstrip() + "\n\n" for part in kept) + section)
