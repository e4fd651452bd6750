"""The log of a run: an append-only file with one JSON object per line.

A run that continues from a checkpoint logs a `resume` event, which supersedes the events of later
steps; so nothing is ever removed from the file.
"""

import json
import math
import warnings
from pathlib import Path
from typing import Any

from ..files import append_line

NAME = "events.jsonl"


def read_events(folder: Path) -> list[dict]:
    """The events in order; damaged and incomplete lines are skipped.

    Every event has a `kind` and a `step`. Events of a resumed run supersede those of the same steps
    before.

    Example:
        >>> sorted({event["kind"] for event in read_events(run.path)})
        ['end', 'lens', 'start', 'train', 'valid']
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
        warnings.warn(f"{path}: {words} cannot be read; skipped", RuntimeWarning, stacklevel=3)
    return found


def add_event(folder: Path, event: dict) -> None:
    """Append an event to the log."""
    append_line(folder / NAME, json.dumps(_finite(event), allow_nan=False).encode())


def _event(line: bytes) -> dict | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):  # includes UnicodeDecodeError
        return None
    if not isinstance(event, dict) or not isinstance(event.get("kind"), str):
        return None
    step = event.get("step")
    whole = isinstance(step, int) and not isinstance(step, bool) and step >= 0
    return event if whole else None


def _finite(value: Any) -> Any:
    """Replace NaN and infinity, which JSON does not have, by `None`."""
    if isinstance(value, dict):
        return {name: _finite(x) for name, x in value.items()}
    if isinstance(value, list):
        return [_finite(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
