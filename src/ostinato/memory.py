"""How much memory the device has, and a refusal of what needs more."""

import os
from collections.abc import Mapping
from typing import Any

import jax

from .errors import BadInput

FLOAT = 4  # bytes of a float32


def check_memory(parts: Mapping[str, int], tips: Mapping[str, str]) -> None:
    """Refuse what needs more bytes than there are, with the tip for what needs most."""
    available = memory_here()
    total = sum(parts.values())
    if available is None or total <= available:
        return
    most = max(parts, key=parts.__getitem__)
    listed = ", ".join(f"{name} {shown(size)}" for name, size in parts.items())
    raise BadInput(
        f"this needs at least {shown(total)} of memory ({listed}), and there are "
        f"{shown(available)} here; try {tips[most]}"
    )


def memory_here() -> int | None:
    """The bytes of the device that computes, or `None` where that cannot be known."""
    stats: Any = jax.local_devices()[0].memory_stats() or {}
    if "bytes_limit" in stats:
        return int(stats["bytes_limit"])
    return _physical()


def free_memory() -> int | None:
    """The bytes of main memory that are free now, or all of them where the system does not say."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return _physical()


def _physical() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def shown(size: int) -> str:
    """`1.5 GiB`."""
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB")):
        if size >= 1024**power:
            return f"{size / 1024**power:,.1f} {unit}"
    return f"{size:,} bytes"
