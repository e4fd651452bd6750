"""Answers of the worker about a network: what it is like inside, and what it writes.

The networks looked at last are kept, so that one question after the other is quick.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..lens.patterns import Pattern, labelled
from ..report.charts import Lines, Series, numbers
from ..runs import look_inside, open_run
from ..runs.analysis.inside import Inside
from .views import as_json

KEPT = 3  # texts
READ = 20_000  # pieces of a text that are read
PAGE = 2000  # pieces that are shown at a time
LONGEST = 2000  # symbols that are sampled

_kept: dict[tuple, Inside] = {}


def inside(request: dict) -> Any:
    """Answer one question: `read`, `unit`, `find`, `untrained`, `reach` or `similar`."""
    looked = _looked(request)
    what = request["what"]
    if what == "read":
        begin = int(request.get("begin") or 0)
        return {
            "where": looked.where,
            "step": looked.step,
            "unit": looked.passage.unit,
            "count": len(looked.passage.pieces),
            "groups": looked.units() | looked.gate_units(),
            "pieces": looked.pieces(begin, begin + PAGE),
        }
    if what == "unit":
        begin = int(request.get("begin") or 0)
        values = looked.unit(str(request["unit"]))
        return {"values": [round(x, 5) for x in values[begin : begin + PAGE]]}
    if what == "find":
        return looked.find(_pattern(request, looked), count=12, untrained=False)
    if what == "untrained":
        return looked.untrained(_pattern(request, looked))
    at = int(request["at"])
    if not 0 <= at < len(looked.passage.pieces):
        raise BadInput(f"there is no piece {at}")
    if what == "reach":
        return looked.pieces(at, at + 1)[0] | {"reach": _reach(looked, at)}
    if what == "similar":
        pieces = looked.passage.pieces
        return [
            one
            | {
                "before": pieces[max(0, one["at"] - 30) : one["at"]],
                "after": pieces[one["at"] + 1 : one["at"] + 31],
            }
            for one in looked.similar(at, 8)
        ]
    raise BadInput("the question must be read, unit, find, untrained, reach or similar")


def _pattern(request: dict, looked: Inside) -> str | Pattern:
    """The pattern that is asked for: by its name, or labels, one per line.

    A name never makes this process read a file: the server reads it, if it is in its folder.
    """
    words = str(request["pattern"])
    if words.startswith("labels:"):
        raise BadInput("labels are pasted, or in a file below the folder of the studio")
    if words != "labels":
        return words
    labels, one = request.get("labels"), request.get("label")
    if not isinstance(labels, str) or not labels.strip():
        raise BadInput("there are no labels; give one per line")
    return labelled(
        labels,
        len(looked.passage.pieces),
        str(one) if one else None,
        whole=looked.whole,
        source=str(request.get("source") or "the pasted list"),
    )


def _reach(looked: Inside, at: int) -> Any:
    """How far back the loss at a piece reaches, with a chart; nothing where there is no loss."""
    try:
        found = looked.reach(at)
    except BadInput:
        return None
    chart = Lines(
        name="reach",
        title=f"Gradient by lag, from the loss of {found['target']!r}",
        caption=(
            "The gradient of this one loss with respect to the states so many steps earlier, for "
            "each cell."
        ),
        series=[
            Series(name, list(range(len(profile))), numbers(profile))
            for name, profile in found["by_lag"].items()
        ],
        x_title="lag (steps)",
        y_title="gradient",
        log_y=True,
    )
    return {"moved": found["moved"], "target": found["target"], "chart": as_json(chart)}


def _looked(request: dict) -> Inside:
    path, text = Path(request["path"]), request.get("text") or None
    key = path, text, _newest(path)
    if key in _kept:
        return _kept[key]
    found = look_inside(open_run(path), text, limit=READ)
    while len(_kept) >= KEPT:
        _kept.pop(next(iter(_kept)))
    _kept[key] = found
    return found


def _newest(path: Path) -> str:
    folder = path / "checkpoints"
    return max((one.name for one in folder.iterdir()), default="") if folder.is_dir() else ""


def play(request: dict) -> Iterator[Any]:
    """Symbols as they are sampled, or the whole answer of a beam search."""
    from ..runs import play_run

    run = open_run(request["path"])
    count = min(int(request.get("length") or 400), LONGEST)
    prompt = str(request.get("prompt") or "")
    if request.get("beam"):
        yield _beam(run, prompt, min(count, 400), int(request["beam"]))
        return
    how: dict[str, Any] = {"temperature": float(request.get("temperature", 1.0)), "alternatives": 6}
    if request.get("top_k"):
        how["top_k"] = int(request["top_k"])
    if request.get("top_p"):
        how["top_p"] = float(request["top_p"])
    how["seed"] = int(request.get("seed") or 0)
    step, network = run.saved()
    for one in play_run(run, prompt, count, network=network, **how):
        yield one | {"step": step}


def _beam(run: Any, prompt: str, count: int, width: int) -> dict[str, Any]:
    from ..decoding import beam
    from ..decoding.text import as_text
    from ..runs.analysis.playing import beginning

    if not 1 <= width <= 64:
        raise BadInput(f"the beam must be from 1 to 64 wide, got {width}")
    with run.precision():
        vocabulary, start = beginning(run, prompt)
        step, network = run.saved()
        symbols, _ = beam(network, start, count, width)
        return {"piece": "".join(as_text(iter([symbols]), vocabulary)), "step": step}


def forecast(request: dict) -> Any:
    """A series continued from a place, as charts; no charts if the run forecasts nothing."""
    from ..report.series_charts import can_forecast, forecasts, place_of

    run = open_run(request["path"])
    with run.precision():
        task = run.task()
        if not can_forecast(task):
            return {"charts": []}
        wanted = {name: request.get(name) for name in ("series", "begin", "steps")}
        place = place_of(task, **wanted)
        charts = forecasts(run.saved(), task, place)
    return {
        "charts": [as_json(chart) for chart in charts],
        "place": dataclasses.asdict(place),
        "count": len(task.series),
        "length": len(task.series[place.series]),
        "valid": task.begins("valid", place.series),
    }


def pictures(request: dict) -> Any:
    """Charts of the network on a few sequences, as in a report: attention, heads, states, gates."""
    from ..report.run_page import pictures_of
    from ..report.subject import subject

    run = open_run(request["path"])
    with run.precision():
        found = pictures_of(subject(run))
    return [
        {"heading": one.heading, "charts": [as_json(chart) for chart in one.charts]}
        for one in found
    ]
