"""A run folder to give away: the best network and what it needs, with a card, without the data.

It is a run folder like any other, so every command that opens a run opens it. What it leaves out
are the data, the state of the learner, the other checkpoints, what was logged of single steps, the
previews, and all paths: of a file of the user the name alone is kept. Opening it runs no code: a
class of the user's own is named, and whoever opens the folder needs its file and must allow it.
"""

import json
import os
from collections.abc import Mapping
from typing import Any

from ..cells import Model
from ..data.datasets import DATASETS
from ..runs import Run
from ..runs.analysis.answers import USES
from ..runs.folder.checkpoints import Checkpoint, Progress
from ..runs.folder.manifest import model_bytes
from ..weights import count_parameters
from .template import fill, template

LOGGED = ("start", "valid", "end")  # kinds of events that are kept
# How a run is used, by the verb of its task, on the command line.
COMMANDS = {
    "sample": 'sample FOLDER --prompt "Once "',
    "forecast": "apply FOLDER table.csv",
    "render": "apply FOLDER dry.wav --out wet.wav",
    "evaluate": "evaluate FOLDER FILE",
}


def files(
    run: Run, step: int, network: Model, licence: str | None = None
) -> dict[str, str | bytes]:
    """The content of each file of the folder, by its path in it.

    Args:
        run: the run.
        step: the steps that the network had done.
        network: that of the best checkpoint.
        licence: of the weights, a line for the card.
    """
    names = _without_folders(run.config.as_json())
    plain = {
        "config": run.config.as_json(),
        "artefacts": run.artefacts,
        "manifest": run.manifest,
        "events": [_kept(event) for event in run.events() if event["kind"] in LOGGED],
    }
    plain = _replaced(plain, names)
    values = [e["value"] for e in plain["events"] if e["kind"] == "valid" and e["step"] == step]
    progress = Progress(step, values[-1] if values else None, step)
    weights = run.checkpoints.content(Checkpoint(network, (), ()), progress)
    return {
        "/README.md": _card(run, step, network, plain, licence),
        "/config.json": json.dumps(plain["config"], indent=1),
        "/model.json": model_bytes(run.sizes, plain["artefacts"], plain["manifest"]),
        "/events.jsonl": "".join(json.dumps(event) + "\n" for event in plain["events"]),
        f"/checkpoints/{run.checkpoints.path(step).name}": b"".join(weights),
    }


def _kept(event: Mapping[str, Any]) -> dict[str, Any]:
    """An event without what shows data."""
    return {name: value for name, value in event.items() if name not in ("preview", "notes")}


def _without_folders(config: Any) -> dict[str, str]:
    """The paths in a configuration, also those of code, with what is left of each."""
    if isinstance(config, Mapping):
        names: dict[str, str] = {}
        for value in config.values():
            names |= _without_folders(value)
        return names
    path = isinstance(config, str) and os.path.isabs(config) and os.path.dirname(config) != os.sep
    return {config: os.path.basename(config)} if path else {}


def _replaced(value: Any, names: Mapping[str, str]) -> Any:
    """Plain JSON, in whose texts some paths are replaced by names."""
    if isinstance(value, Mapping):
        return {name: _replaced(x, names) for name, x in value.items()}
    if isinstance(value, list):
        return [_replaced(x, names) for x in value]
    if isinstance(value, str):
        for path, name in names.items():
            value = value.replace(path, name)
    return value


def _card(
    run: Run, step: int, network: Model, plain: Mapping[str, Any], licence: str | None
) -> str:
    """What the network is, in words."""
    config, verb = run.config, run.config.task.kind.verb(run.artefacts)
    events, made = plain["events"], plain["manifest"]
    start: Mapping[str, Any] = next((event for event in events if event["kind"] == "start"), {})
    valid = [event for event in events if event["kind"] == "valid" and event["step"] == step]
    scores = valid[-1].get("metrics", {}) if valid else {}
    others = {name: x for name, x in start.get("baselines", {}).items() if x is not None}
    settings = _replaced(config.non_default(), _without_folders(config.as_json()))
    words = {
        "name": run.path.resolve().name,
        "cell": config.cell,
        "parameters": f"{count_parameters(network):,}",
        "task": config.task,
        "use": USES.get(verb, USES["apply"]),
        "version": made["versions"]["ostinato"],
        "command": COMMANDS.get(verb, "apply FOLDER FILE"),
        "own": _of_classes([m.name for m in (config.task, config.cell, config.learner)]),
        "data": _data(settings),
        "fingerprint": made["task"].get("data"),
        "steps": f"{step:,}",
        "learner": config.learner,
        "settings": "\n".join(f"{key} = {json.dumps(x)}" for key, x in settings.items()) or "none",
        "scores": _table(scores, others, start.get("metric", ""))
        if scores
        else "None were computed.",
        "licence": licence
        or "Not stated. Whoever shares this folder writes the licence of the weights here.",
        "licence_of_data": _of_data(settings),
    }
    return fill(template("card.md"), words)


def _of_classes(members: list[str]) -> str:
    """What has to be done for classes of the user's own."""
    own = [f"`{os.path.basename(name)}`" for name in members if ":" in name]
    words = (
        f"It uses classes that are not part of Ostinato: {', '.join(own)}. Put their file into the "
        "folder where you work, read it, and allow it: `ostinato allow FILE`."
    )
    return f"\n\n{words}" if own else ""


def _data(settings: Mapping[str, Any]) -> str:
    files = [
        f"`{settings[x]}`" for x in ("file", "source", "target") if settings.get(x) is not None
    ]
    return (
        f"{' and '.join(files)}." if files else "Data that the task makes itself, or from Python."
    )


def _of_data(settings: Mapping[str, Any]) -> str:
    """The licence of the data, if they are a named set."""
    known = DATASETS.get(str(settings.get("file")))
    return "" if known is None else f"\n\nThe data are from {known.source}: {known.licence}."


def _table(scores: Mapping[str, Any], others: Mapping[str, float], metric: str) -> str:
    rows = [(name, value) for name, value in scores.items() if value is not None]
    rows += [(f"{metric}: {name}", value) for name, value in others.items()]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value:.4g} |" for name, value in rows)])
