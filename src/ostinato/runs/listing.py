"""Lists of run folders, from their files alone: nothing is opened or checked, and JAX not needed.

The log of a run can be long, so of most events only the kind is looked at.
"""

import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..files import is_locked, read_regular
from ..names import class_name
from .log import NAME as LOG

CONFIG, MODEL = "config.json", "model.json"
LARGEST = 16 << 20  # bytes of a configuration
LOOKED_AT = ("start", "resume", "valid", "trouble", "end")


@dataclasses.dataclass(frozen=True)
class Listed:
    """What a list says about a run folder.

    Attributes:
        run: the folder.
        task, cell, learner: their names; `None` if the folder is broken.
        parameters, steps: how many; `None` if unknown.
        best: the best validation.
        metric: what was validated.
        state: `running`, `done`, `no gain` (early stopping), `diverged`, `interrupted`, `not
            started`, or `broken` with the reason.
        seconds: of the last session.
        settings: all settings by name.
    """

    run: str
    task: str | None = None
    cell: str | None = None
    learner: str | None = None
    parameters: int | None = None
    steps: int | None = None
    best: float | None = None
    metric: str | None = None
    state: str = "broken"
    seconds: float | None = None
    settings: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)


def run_folders(folder: Path) -> Iterator[Path]:
    """All run folders below a folder, broken ones too, in the order of their names.

    A folder is a run if it has a file that only runs have; folders within runs are not looked at.
    """
    for here, inside, files in os.walk(folder):
        if CONFIG in files or MODEL in files or LOG in files:
            inside.clear()
            yield Path(here)
        else:
            inside.sort()


def listed(folder: Path) -> Listed:
    """What a list says about a run folder.

    Example:
        >>> found = listed(Path("runs/text-mlstm-1"))
        >>> found.task, found.cell, found.steps, found.state
        ('text', 'mlstm', 4, 'done')
    """
    name = str(folder)
    try:
        config = json.loads(read_regular(folder / CONFIG, LARGEST))
        settings = flat_settings(config)
        events, last, damaged = _events(folder / LOG)
    except FileNotFoundError:
        return Listed(name, state=f"broken: it has no {CONFIG}")
    except OSError as error:
        return Listed(name, state=f"broken: {error.strerror}")
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError):
        return Listed(name, state=f"broken: its {CONFIG} is not what a run writes")
    if not (folder / MODEL).is_file():
        return Listed(name, state=f"broken: it has no {MODEL}")
    start = next((e for e in events if e["kind"] in ("start", "resume")), {})
    state = _state(folder, events)
    if damaged and not events:
        state = f"broken: its {LOG} cannot be read"
    return Listed(
        run=name,
        task=short_name(settings.get("task")),
        cell=short_name(settings.get("cell")),
        learner=short_name(settings.get("learner")),
        parameters=_number(start.get("parameters")),
        steps=_number(last.get("step")),
        best=_best(events, bool(start.get("higher_is_better"))),
        metric=start.get("metric"),
        state=state,
        seconds=_number(last.get("seconds")),
        settings=settings,
    )


def flat_settings(config: dict) -> dict[str, Any]:
    """All settings by name; older configurations have no sections."""
    found: dict[str, Any] = {}
    for section, part in config.items():
        if isinstance(part, dict):
            found |= {k: v for k, v in part.items() if k != "name"}
            if "name" in part:
                found[section] = part["name"]
        else:
            found[section] = part
    return found


def _events(path: Path) -> tuple[list[dict], dict, bool]:
    """The events of some kinds, the last of any kind, and whether there were other lines."""
    lines = path.read_bytes().split(b"\n") if path.is_file() else []
    found: list[dict] = []
    damaged, last = False, {}
    for line in lines:
        kind = line[: line.find(b",")].decode(errors="replace")
        if any(f'"{name}"' in kind for name in LOOKED_AT):
            event = _event(line)
            if event is None:
                damaged = True
            elif event["kind"] == "start":
                found = [event]
            elif event["kind"] == "resume":
                found = [e for e in found if e["step"] <= event["step"]] + [event]
            else:
                found.append(event)
        elif line and not line.startswith(b'{"kind"'):
            damaged = True
    for line in reversed(lines):
        if (event := _event(line)) is not None and "seconds" in event:
            last = event
            break
    return found, last, damaged


def _event(line: bytes) -> dict | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    usable = isinstance(event, dict) and isinstance(event.get("kind"), str)
    return event if usable and isinstance(event.get("step"), int) else None


def _state(folder: Path, events: list[dict]) -> str:
    if is_locked(folder):
        return "running"
    last = next((e for e in reversed(events) if e["kind"] != "valid"), None)
    if last is None:
        return "not started"
    if last["kind"] == "trouble":
        return "diverged"
    return str(last.get("reason", "interrupted"))


def _best(events: list[dict], higher: bool) -> float | None:
    values = [
        x for e in events if e["kind"] == "valid" and (x := _number(e.get("value"))) is not None
    ]
    return (max if higher else min)(values) if values else None


def _number(x: Any) -> Any:
    return x if isinstance(x, int | float) and not isinstance(x, bool) else None


def short_name(name: Any) -> str | None:
    """`class_name` of a setting, or `None` if it is no name."""
    return class_name(name) if isinstance(name, str) else None
