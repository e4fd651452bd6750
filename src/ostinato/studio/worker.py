"""A process for what needs JAX: `python -m ostinato.studio.worker`, used by `work`.

It reads a request per line, `{"do": "findings", ...}`, and writes its answer as one line; some
answers come in pieces, a line each. It runs at a low priority and on the CPU, so that it takes
little from a run that is training.
"""

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import BadInput


def form(request: dict) -> Any:
    """All members with their settings, as on the command line."""
    from ..runs.config.members import REGISTRIES
    from ..runs.config.sections import ROLES, SHARED, USUAL
    from ..settings import settings_of

    def fields(kind: Any) -> list[dict]:
        return [
            {
                "name": one.name,
                "type": one.type.__name__,
                "default": list(one.default) if isinstance(one.default, tuple) else one.default,
                "help": one.help,
                "least": one.min,
                "most": one.max,
                "among": one.among,
            }
            for one in settings_of(kind).values()
        ]

    return {
        "roles": [
            {
                "section": section,
                "usual": USUAL[section],
                "members": {name: fields(kind.Settings) for name, kind in REGISTRIES[role].items()},
            }
            for section, role in ROLES.items()
        ],
        "shared": {section: fields(kind) for section, kind in SHARED.items()},
    }


def check(request: dict) -> Any:
    """The settings of a run to come, checked; a wrong one is `BadInput`."""
    from ..runs import Config

    config = Config(**request["settings"])
    return {"name": f"{config.task}-{config.cell}", "unusual": list(config.non_default())}


def findings(request: dict) -> Any:
    """The doctor's findings on a run."""
    from ..runs import examine, open_run

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
    """What a network expects and does over a text."""
    from . import looking

    return looking.inside(request)


def play(request: dict) -> Iterator[Any]:
    """What a network writes, piece by piece."""
    from . import looking

    yield from looking.play(request)


def forecast(request: dict) -> Any:
    """A series continued by a network."""
    from . import looking

    return looking.forecast(request)


def pictures(request: dict) -> Any:
    """Charts of a network on a few sequences."""
    from . import looking

    return looking.pictures(request)


DO: dict[str, Callable[[dict], Any]] = {
    "form": form,
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

    def say(found: dict) -> None:
        print(json.dumps(_finite(found), allow_nan=False), file=answers, flush=True)

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


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _finite(x) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(x) for x in value]
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    return value


if __name__ == "__main__":
    main()
