"""The log of a run: one JSON object per line, and lines are only ever added.

A run that goes on from a checkpoint says so (`"kind": "resume"`), which replaces what the log had
about later steps; so nothing has to be taken out of the file.
"""

import json
import math
import warnings
from pathlib import Path
from typing import Any

from ..files import append_line

NAME = "events.jsonl"


def read_events(folder: Path) -> list[dict]:
    """What happened, in order; lines that are damaged or unfinished are skipped.

    Every event has a `kind` and a `step`. Later attempts at the same steps replace earlier ones.

    Example:
        >>> [event["kind"] for event in read_events(run.path)]
        ['start', 'train', 'valid', 'end']
    """
    path = folder / NAME
    found: list[dict] = []
    lines = path.read_bytes().split(b"\n") if path.is_file() else []
    damaged = []
    for number, line in enumerate(lines, 1):
        event = _event(line)
        if event is None:
            damaged += [number] if line.strip() and number < len(lines) else []
            continue
        if event["kind"] == "start":
            found = []
        elif event["kind"] == "resume":
            found = [earlier for earlier in found if earlier["step"] <= event["step"]]
        found.append(event)
    if damaged:
        words = f"line {damaged[0]}" if len(damaged) == 1 else f"{len(damaged)} lines"
        warnings.warn(f"{path}: {words} cannot be read, and skipped", RuntimeWarning, stacklevel=3)
    return found


def add_event(folder: Path, event: dict) -> None:
    """Append an event."""
    append_line(folder / NAME, json.dumps(_finite(event), allow_nan=False).encode())


def _event(line: bytes) -> dict | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):  # of UnicodeDecodeError too
        return None
    if not isinstance(event, dict) or not isinstance(event.get("kind"), str):
        return None
    step = event.get("step")
    whole = isinstance(step, int) and not isinstance(step, bool) and step >= 0
    return event if whole else None


def _finite(value: Any) -> Any:
    """JSON knows no NaN and no infinity: `None` in their place."""
    if isinstance(value, dict):
        return {name: _finite(x) for name, x in value.items()}
    if isinstance(value, list):
        return [_finite(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
