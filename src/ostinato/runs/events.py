"""Validated events of a run's log.

A log may be damaged or written by another version, so a reader cannot rely on any field. `readable`
keeps the fields that are as the training loop writes them:

    start, resume   number of steps, device, baselines
    train           a few steps: mean loss, gradient norm, learning rate, …
    valid           the metric on the validation part, and a preview
    lens            gradient by lag, memory length, saturation
    trouble         why the run was stopped, and the steps that led to it
    end             how the run ended
"""

import itertools
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

Check = Callable[[Any], bool]
LARGEST = 2.0**53
PATH = re.compile(r"[\w.\[\]'# ]{0,100}")
TROUBLED = ("loss", "norm", "rate", "clipped", "moved")


def _number(x: Any) -> bool:
    """True for a finite number that is not a boolean."""
    return isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < 1e300


def _number_or_none(x: Any) -> bool:
    """A log has `None` in place of NaN and infinity."""
    return x is None or _number(x)


def _count(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool) and 0 <= x < LARGEST


def _words(x: Any) -> bool:
    return isinstance(x, str)


def _numbers(x: Any) -> bool:
    return isinstance(x, list) and all(map(_number_or_none, x))


def _rising(x: Any) -> bool:
    """True for a list of strictly increasing counts, such as lags."""
    if not isinstance(x, list) or not x or not all(map(_count, x)):
        return False
    return all(a < b for a, b in itertools.pairwise(x))


def _by_name(check: Check) -> Check:
    """A check of dictionaries whose keys are paths of cells, such as `.cell.layers[0]`."""

    def good(x: Any) -> bool:
        return isinstance(x, dict) and all(PATH.fullmatch(n) and check(y) for n, y in x.items())

    return good


# For logs without a loss factor: training loss × factor = metric, by the name of the metric.
LOSS_FACTORS = {
    "bits per character": 1 / math.log(2),
    "bits per byte": 1 / math.log(2),
    "nats per step": 1.0,
    "mean squared error": 2.0,
}
_START: dict[str, Check] = {
    "steps": _count,
    "task": _words,
    "metric": _words,
    "device": _words,
    "parameters": _count,
    "higher_is_better": lambda x: isinstance(x, bool),
    "loss_factor": lambda x: x is None or _number(x),
    "baselines": lambda x: isinstance(x, dict) and all(map(_number, x.values())),
    "in_nats": lambda x: isinstance(x, bool),
    **dict.fromkeys(("solved", "lag", "epochs"), _number_or_none),
    **dict.fromkeys(("chance", "bigram", "order 5"), _number),  # before 0.1, instead of `baselines`
}
_STEPS = ("loss", "norm", "largest_norm", "moved", "largest_moved")
_CURVED = ("damping", "structural", "ratio")
FIELDS: dict[str, dict[str, Check]] = {
    "start": _START,
    "resume": _START,
    "train": dict.fromkeys((*_STEPS, *_CURVED), _number_or_none)
    | {"rate": _number, "clipped": _number}
    | {"seconds": _number, "took": _number, "symbols": _count},
    "valid": {
        "value": _number_or_none,
        "metrics": lambda x: isinstance(x, dict) and all(map(_number_or_none, x.values())),
        "preview": _words,
        "sample": _words,
    },
    "lens": {
        "lags": _rising,
        "gradient": _by_name(_numbers),
        "memory": _by_name(_number_or_none),
    },
    "trouble": {"words": _words} | dict.fromkeys(TROUBLED, _numbers),
    "end": {"reason": _words, "seconds": _number},
}
# Events without these fields are dropped.
NEEDED = {
    "train": ("loss",),
    "valid": ("value",),
    "lens": ("lags", "gradient", "memory"),
    "trouble": ("words",),
    "end": ("reason",),
}


def readable(events: Iterable[Any]) -> list[dict]:
    """The usable events of a log, each with its valid fields.

    Example:
        >>> readable([{"kind": "train", "step": 3, "loss": 4.2, "norm": "much"}, "what?"])
        [{'kind': 'train', 'step': 3, 'loss': 4.2}]
    """
    found = []
    for event in events:
        if not isinstance(event, dict) or not _words(event.get("kind")):
            continue
        kind = event["kind"]
        if kind not in FIELDS or not _count(event.get("step")):
            continue
        checks = FIELDS[kind].items()
        sound = {name: event[name] for name, good in checks if name in event and good(event[name])}
        if all(name in sound for name in NEEDED.get(kind, ())):
            fields = _consistent(kind, _upgraded(kind, sound))
            found.append({"kind": kind, "step": event["step"]} | fields)
    return found


def _upgraded(kind: str, fields: dict) -> dict:
    """The fields of an older log under their current names."""
    if kind == "valid" and "sample" in fields:
        fields.setdefault("preview", fields.pop("sample"))
    if kind in ("start", "resume"):
        old = {name: fields.pop(name) for name in ("chance", "bigram", "order 5") if name in fields}
        fields.setdefault("baselines", old)
        if "loss_factor" not in fields and fields.get("metric") in LOSS_FACTORS:
            fields["loss_factor"] = LOSS_FACTORS[fields["metric"]]
    return fields


def _consistent(kind: str, fields: dict) -> dict:
    """Drop fields that belong together but differ in length."""
    if kind == "lens":
        lags = fields["lags"]
        profiles = fields["gradient"].items()
        fields["gradient"] = {name: x for name, x in profiles if len(x) == len(lags)}
    if kind == "trouble" and len({len(fields.get(name, ())) for name in TROUBLED}) > 1:
        return {"words": fields["words"]}
    return fields
