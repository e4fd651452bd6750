"""What a run keeps, with values of other types and the right checksum.

A checksum does not say who wrote a file. Every task keeps something else of its data, so there is a
run of each kind; one or two values of its `model.json`, its `config.json` or the notes of its
checkpoints are replaced, and then it is used.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .command_line import ran
from .harm import mutated, resign, sign
from .outcomes import ACCEPTED, REFUSED, Case, Refused, attempt, check
from .ready import KINDS, changed, content, copied, given


def artefacts(case: Case) -> str:
    """Replace values that a run keeps, and use the run."""
    chance = case.chance
    kind = chance.choice([*KINDS])
    run = case.folder / copied(case, kind)
    words = [
        chance.choices((_model, _config, _notes), (8, 2, 1))[0](case, run)
        for _ in range(chance.choice((1, 1, 1, 2)))
    ]
    use = chance.choice([*USES])
    case.what = f"{use} {kind} with {'; '.join(words)}"[:600]
    before = content(run)
    outcome = USES[use](case, run, kind)
    lost = changed(before, content(run))
    check(not lost, f"{use}, {outcome}: changed {lost[:1]}")
    return outcome


def _model(case: Case, run: Path) -> str:
    """A value of `model.json`, most often of what differs between tasks."""
    chance, file = case.chance, run / "model.json"
    model = json.loads(file.read_bytes())
    model = model if isinstance(model, dict) else {}
    part = chance.choice(("artefacts", "artefacts", "artefacts", "sizes", "made", None))
    if part is None or not isinstance(model.get(part), dict):
        words, model = mutated(model, chance)
    else:
        words, model[part] = mutated(model[part], chance)
        words = words.replace("$", part, 1)
    file.write_text(json.dumps(sign(model) if isinstance(model, dict) else model))
    return f"model.json: {words}"


def _config(case: Case, run: Path) -> str:
    """A value of `config.json`, and the same in `model.json`, so that nothing looks edited."""
    words, config = mutated(json.loads((run / "config.json").read_bytes()), case.chance)
    model = json.loads((run / "model.json").read_bytes())
    (run / "config.json").write_text(json.dumps(config))
    if isinstance(model, dict) and isinstance(model.get("made"), dict):
        model["made"]["config"] = config
        (run / "model.json").write_text(json.dumps(sign(model)))
    return f"config.json: {words}"


def _notes(case: Case, run: Path) -> str:
    """A value in the notes of a checkpoint."""
    file = case.chance.choice(sorted((run / "checkpoints").iterdir()))
    words = ""

    def change(document: dict) -> dict:
        nonlocal words
        notes = document["__metadata__"]
        if case.chance.random() < 0.7:
            words, progress = mutated(json.loads(notes["progress"]), case.chance)
            return {**document, "__metadata__": {**notes, "progress": json.dumps(progress)}}
        words, notes = mutated(notes, case.chance)
        return {**document, "__metadata__": notes}

    resign(file, change)
    return f"{file.name}: {words}"


# What is done with it


def _judged(use: Callable[[Any, Any], Any]) -> Callable[[Case, Path, str], str]:
    def judged(case: Case, run: Path, kind: str) -> str:
        from ostinato.runs import open_run

        def call() -> None:
            opened = open_run(run)
            with opened.precision():
                use(opened, given(kind, case.scratch))

        try:
            attempt(call)
        except Refused:
            return REFUSED
        return ACCEPTED

    return judged


def _evaluated(run: Any, other: Any) -> None:
    for task in (run.task(), *([run.task_on(other)] if other is not None else [])):
        next(iter(task.evaluated("valid")), None)
        task.baselines(), task.metrics, task.yardsticks("valid")


def _applied(run: Any, other: Any) -> None:
    if other is not None:
        next(iter(run.answers(other, {})), None)


def _command(*words: str) -> Callable[[Case, Path, str], str]:
    def judged(case: Case, run: Path, kind: str) -> str:
        return ran(case, [words[0], run.name, *words[1:]], "--json" in words)

    return judged


USES: dict[str, Callable[[Case, Path, str], str]] = {
    "open": _judged(lambda run, other: (run.units, run.name, run.config.flat(), run.events())),
    "network of": _judged(lambda run, other: run.network()),
    "last network of": _judged(lambda run, other: run.saved("last")),
    "task of": _judged(_evaluated),
    "apply": _judged(_applied),
    "sample": _command("sample", "--length", "5"),
    "evaluate": _command("evaluate", "--samples", "0", "--json"),
}
