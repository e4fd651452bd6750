"""A process for what needs JAX: `python -m ostinato.studio.worker`, used by `worker_process`.

It reads a request per line, `{"do": "findings", ...}`, and writes its answer as one line; some
answers come in pieces, a line each. It runs at a low priority and on the CPU, so that it takes
little from a run that is training. The networks looked at last are kept, so that one question after
the other is quick.
"""

import contextlib
import dataclasses
import inspect
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..decoding import beam
from ..decoding.text import as_text
from ..errors import BadInput
from ..lens.patterns import Pattern, labelled
from ..report.charts import Lines, Series, numbers
from ..report.run_page import pictures_of
from ..report.series_charts import can_forecast, forecasts, place_of, worst_first
from ..report.subject import subject
from ..runs import Config, examine, look_inside, open_run, play_run
from ..runs.analysis.inside import Inside
from ..runs.analysis.playing import beginning
from ..runs.config.common import USUAL, is_common
from ..runs.config.members import REGISTRIES
from ..runs.config.sections import ROLES, SHARED
from ..runs.folder.log import finite
from ..settings import settings_of, shown
from .folder import newest_checkpoint
from .preview import preview
from .views import as_json

KEPT = 3  # texts
READ = 20_000  # pieces of a text that are read
PAGE = 2000  # pieces that are shown at a time
LONGEST = 2000  # symbols that are sampled
SERIES = 1000  # that can be chosen, the worst first
COLUMN = re.compile(r"(^|\bor their )(?P<what>columns?)\b")
PATHS = (
    *("file", "source", "target", "valid", "test", "valid_source", "valid_target"),
    *("test_source", "test_target", "vectors", "target_vectors"),
)

_kept: dict[tuple, Inside] = {}


def form(request: dict) -> Any:
    """All members with a sentence and their settings, as on the command line."""
    return {
        "roles": [
            {
                "section": section,
                "usual": USUAL[section],
                "members": {name: _about(section, kind) for name, kind in REGISTRIES[role].items()},
            }
            for section, role in ROLES.items()
        ],
        "shared": {section: _fields(section, kind) for section, kind in SHARED.items()},
    }


def _about(section: str, kind: Any) -> dict[str, Any]:
    """A member: what it is in a sentence, its settings, and of a task its recipe."""
    words = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())
    recipe = dict(kind.recipe) if section == "task" else {}
    return {"words": words, "fields": _fields(section, kind.Settings), "recipe": recipe}


def _fields(section: str, kind: Any) -> list[dict[str, Any]]:
    """Settings for a form: which of them matter most, which are files, and which name columns.

    A setting that names columns says so in its help: "columns to leave out, a,b,c", or "column"
    where it is one, or after a file: "source sentences, or their column". So a new one is offered
    beside the columns of a table by itself.
    """
    known = settings_of(kind)
    of_table = section == "task" and "file" in known
    fields = []
    for one in known.values():
        naming = COLUMN.search(one.help) if of_table and one.type is str else None
        columns = naming["what"] if naming else None
        fields.append(
            {
                "name": one.name,
                "often": is_common(section, one.name),
                "path": section == "task"
                and one.name in PATHS
                and (not columns or "sentences" in one.help),
                "columns": columns,
                "type": one.type.__name__,
                "default": list(one.default) if isinstance(one.default, tuple) else one.default,
                "help": one.help,
                "least": one.min,
                "most": one.max,
                "among": one.among,
            }
        )
    return fields


def look_at_file(request: dict) -> Any:
    """The beginning of a data file; see `preview`."""
    return preview(Path(request["path"]))


def check(request: dict) -> Any:
    """The settings of a run to come, checked; a wrong one is `BadInput`."""
    config = Config(**request["settings"])
    return {"name": f"{config.task}-{config.cell}", "unusual": list(config.non_default())}


def findings(request: dict) -> Any:
    """The doctor's findings on a run."""
    return [finding._asdict() for finding in examine(open_run(request["path"]))]


def claims(request: dict) -> Any:
    """All claims with their known verdicts."""
    from ..claims import CLAIMS

    return [
        {"name": one.name, "text": one.text, "source": one.source, "known": one.expected}
        for one in CLAIMS.values()
    ]


def claim(request: dict) -> Any:
    """One claim, checked again, with its figure as SVG if it has one."""
    from ..claims import named

    (one,) = named([request["name"]])
    result = one.verify()
    return {
        "verdict": result.finding.verdict,
        "evidence": result.finding.evidence,
        "numbers": {name: float(x) for name, x in result.finding.numbers.items()},
        "reproduces": result.reproduces,
        "seconds": result.seconds,
        "figure": _drawn(result.finding.figure),
    }


def _drawn(figure: Callable[[Any], None] | None) -> str | None:
    if figure is None:
        return None
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawing, axes = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    figure(axes)
    words = io.StringIO()
    drawing.savefig(words, format="svg")
    pyplot.close(drawing)
    return words.getvalue()


def inside(request: dict) -> Any:
    """Answer one question: `read`, `unit`, `find`, `untrained`, `reach` or `similar`."""
    looked = _looked(request)
    what = request["what"]
    if what == "read":
        begin = _whole(request, "begin")
        return {
            "where": looked.where,
            "step": looked.step,
            "unit": looked.passage.unit,
            "count": len(looked.passage.pieces),
            "groups": looked.units() | looked.gate_units(),
            "pieces": looked.pieces(begin, begin + PAGE),
        }
    if what == "unit":
        begin = _whole(request, "begin")
        values = looked.unit(str(request.get("unit")))
        return {"values": [round(x, 5) for x in values[begin : begin + PAGE]]}
    if what == "find":
        return looked.find(_pattern(request, looked), count=12, untrained=False)
    if what == "untrained":
        return looked.untrained(_pattern(request, looked))
    at = _whole(request, "at")
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
    words = str(request.get("pattern"))
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
        reached = looked.reach(at)
    except BadInput:
        return None
    chart = Lines(
        name="reach",
        title=f"Gradient by lag, from the loss of {reached['target']!r}",
        caption=(
            "The gradient of this one loss with respect to the states so many steps earlier, for "
            "each cell."
        ),
        series=[
            Series(name, list(range(len(profile))), numbers(profile))
            for name, profile in reached["by_lag"].items()
        ],
        x_title="lag (steps)",
        y_title="gradient",
        log_y=True,
    )
    return {"moved": reached["moved"], "target": reached["target"], "chart": as_json(chart)}


def _looked(request: dict) -> Inside:
    path, text = Path(request["path"]), request.get("text") or None
    key = path, path.stat().st_ino, text, newest_checkpoint(path)
    if key in _kept:
        return _kept[key]
    looked = look_inside(open_run(path), text, limit=READ)
    while len(_kept) >= KEPT:
        _kept.pop(next(iter(_kept)))
    _kept[key] = looked
    return looked


def play(request: dict) -> Iterator[Any]:
    """Symbols as they are sampled, or the whole answer of a beam search."""
    run = open_run(request["path"])
    count = min(_whole(request, "length", 400), LONGEST)
    prompt = str(request.get("prompt") or "")
    if request.get("beam"):
        yield _beam(run, prompt, min(count, 400), _whole(request, "beam"))
        return
    how: dict[str, Any] = {"temperature": _number(request, "temperature", 1.0), "alternatives": 6}
    if request.get("top_k"):
        how["top_k"] = _whole(request, "top_k")
    if request.get("top_p"):
        how["top_p"] = _number(request, "top_p")
    how["seed"] = _whole(request, "seed")
    step, network = run.saved()
    for one in play_run(run, prompt, count, network=network, **how):
        yield one | {"step": step}


def _number(request: dict, key: str, usual: float = 0.0) -> float:
    value = request.get(key, usual)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise BadInput(f"{key} must be a number, got {shown(value)}") from None


def _whole(request: dict, key: str, usual: int = 0) -> int:
    value = request.get(key)
    try:
        return usual if value in (None, "") else int(value)
    except (OverflowError, TypeError, ValueError):
        raise BadInput(f"{key} must be a whole number, got {shown(value)}") from None


def _beam(run: Any, prompt: str, count: int, width: int) -> dict[str, Any]:
    if not 1 <= width <= 64:
        raise BadInput(f"the beam must be from 1 to 64 wide, got {width}")
    with run.precision():
        vocabulary, start = beginning(run, prompt)
        step, network = run.saved()
        symbols, _ = beam(network, start, count, width)
        return {"piece": "".join(as_text(iter([symbols]), vocabulary)), "step": step}


def forecast(request: dict) -> Any:
    """A series continued from a place, as charts; no charts if the run forecasts nothing.

    Of several series the worst is drawn first, and `order` names them all, unless one is asked for.
    """
    run = open_run(request["path"])
    with run.precision():
        task = run.task()
        if not can_forecast(task):
            return {"charts": []}
        wanted = {name: request.get(name) for name in ("series", "begin", "steps")}
        saved, order = run.saved(), []
        if len(task.series) > 1 and wanted["series"] is None:
            numbers_of, errors, measure = worst_first(saved.network, task)
            wanted["series"] = numbers_of[0]
            order = [
                {"number": n, "name": str(task.series_names[n]), "error": errors.get(n)}
                | {"measure": measure}
                for n in numbers_of[:SERIES]
            ]
        place = place_of(task, **wanted)
        charts = forecasts(saved, task, place)
    return {
        "charts": [as_json(chart) for chart in charts],
        "place": dataclasses.asdict(place),
        "order": order,
        "length": len(task.series[place.series]),
        "valid": task.rows.begins("valid", place.series),
    }


def pictures(request: dict) -> Any:
    """Charts of the network on a few sequences, as in a report: attention, heads, states, gates."""
    run = open_run(request["path"])
    with run.precision():
        sections = pictures_of(subject(run))
    return [
        {"heading": one.heading, "charts": [as_json(chart) for chart in one.charts]}
        for one in sections
    ]


DO: dict[str, Callable[[dict], Any]] = {
    "form": form,
    "preview": look_at_file,
    "check": check,
    "findings": findings,
    "claims": claims,
    "claim": claim,
    "inside": inside,
    "forecast": forecast,
    "pictures": pictures,
}
STREAMS: dict[str, Callable[[dict], Iterator[Any]]] = {"play": play}


def main() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever is printed goes to standard error
    with contextlib.suppress(AttributeError, OSError):
        os.nice(10)

    def say(document: dict) -> None:
        print(json.dumps(finite(document), allow_nan=False), file=answers, flush=True)

    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] in STREAMS:
                for piece in STREAMS[request["do"]](request):
                    say({"piece": piece})
                say({"answer": None})
            else:
                say({"answer": DO[request["do"]](request)})
        except BadInput as error:
            say({"error": str(error)})
        except Exception as error:  # the page must say that it failed, whatever it was
            say({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
