"""Folders that somebody else made: they name code, or have links that lead out of them."""

import json
import os
import random
import shutil
from pathlib import Path

from .command_line import ran
from .folders import resumed
from .harm import sign
from .outcomes import ACCEPTED, REFUSED, Case, Refused, attempt, check
from .ready import content, copied, differing, fox

# What is done with a folder, as somebody who was given it would.
COMMANDS: dict[str, list[str]] = {
    "evaluate": ["evaluate", "{run}", "--samples", "0"],
    "sample": ["sample", "{run}", "--length", "5"],
    "inside": ["inside", "{run}", "the fox"],
    "apply": ["apply", "{run}", "fox.txt"],
    "compare": ["compare", "{run}", "other"],
    "runs": ["runs", "."],
    "resume": ["train", "--resume", "--run", "{run}"],
    "resume further": ["train", "--resume", "--run", "{run}", "--steps", "3", "--tensorboard"],
    "lens": ["lens", "{run}"],
}


def strangers(case: Case) -> str:
    """A run whose configuration names code: it does not run unless the user allowed the file."""
    chance = case.chance
    run = case.folder / copied(case, chance.choice(("text", "adding", "stacked")))
    mark = case.scratch / "mark"
    mark.unlink(missing_ok=True)
    role = chance.choice(("task", "cell", "learner", "first"))
    name, file = _code(chance, case.folder, run, mark)
    allowed = file is not None and chance.random() < 0.15
    stale = allowed and chance.random() < 0.5
    if allowed:
        from ostinato.runs import allow

        allow(str(file))
        if stale:
            file.write_text(file.read_text() + "\n# changed since\n")
    _name(run, role, name, edited=chance.random() < 0.3)
    use, outcome = _use(case, run, f"{role} {name}, allowed {allowed}, changed since {stale}")
    if mark.exists() and not (allowed and not stale):
        mark.unlink()
        check(False, f"{use}, {outcome}: the code ran, though nobody allowed it")
    return outcome


def _code(chance: random.Random, folder: Path, run: Path, mark: Path) -> tuple[str, Path | None]:
    """A name of code, and the file that it is in, if it is one; it leaves a mark if it runs."""
    own = f"theirs_{chance.getrandbits(48):x}"  # no two cases have the same module
    source = f"open({str(mark)!r}, 'a').write('ran')\n" + chance.choice((CELL, LEARNER, TASK))
    kind = chance.choice(("file", "relative", "inside", "module", "package", "installed", "link"))
    if kind == "installed":
        return chance.choice(INSTALLED), None
    if kind == "package":
        (folder / own).mkdir()
        (folder / own / "__init__.py").write_text(source)
        file = folder / own / "part.py"
        file.write_text(source)
        return f"{own}.part:Theirs", file
    file = (run if kind == "inside" else folder) / f"{own}.py"
    file.write_text(source)
    if kind == "link":
        link = folder / f"{own}_link.py"
        link.symlink_to(file)
        return f"{link}:Theirs", file
    if kind == "module":
        return f"{own}:Theirs", file
    return f"{file.name if kind == 'relative' else file}:Theirs", file


CELL = """
from ostinato import LSTM
class Theirs(LSTM): pass
"""
LEARNER = """
def Theirs(*given, **named):
    raise SystemExit("called")
"""
TASK = """
from ostinato.tasks import Adding
class Theirs(Adding): pass
"""
INSTALLED = (
    "os:abort", "os:getcwd", "builtins:exit", "builtins:print", "shutil:rmtree", "subprocess:run",
    "this:d", "antigravity:webbrowser", "idlelib.idle:x", "optax:adam", "optax:nothing",
    "ostinato.cells:LSTM", "ostinato.cli:main", "jax:jit", ":x", "os:", "..:x", "os.path:join",
)  # fmt: skip


def _name(run: Path, role: str, name: str, edited: bool) -> None:
    """Write a name into the configuration, and, unless it is only edited, into what was made."""
    config = json.loads((run / "config.json").read_bytes())
    config[role] = {"name": name}
    (run / "config.json").write_text(json.dumps(config))
    if edited:
        return
    model = json.loads((run / "model.json").read_bytes())
    model["made"]["config"] = config
    (run / "model.json").write_text(json.dumps(sign(model)))


def _use(case: Case, run: Path, words: str) -> tuple[str, str]:
    """Do something with a run: what, and the outcome."""
    from ostinato.runs import open_run

    chance = case.chance
    use = chance.choice(("open", "open", "resume in Python", *COMMANDS, *[*COMMANDS][:5]))
    case.what = f"{use} {run.name}: {words}"
    if use == "open":
        try:
            attempt(lambda: open_run(run).network())
        except Refused:
            return use, REFUSED
        return use, ACCEPTED
    if use == "resume in Python":
        return use, resumed(case, run)
    (case.folder / "fox.txt").write_bytes(fox(case.scratch).read_bytes())
    if use == "compare":
        shutil.copytree(copied(case, "bytes"), case.folder / "other")
    return use, ran(case, [word.format(run=run.name) for word in COMMANDS[use]], False)


# Links


def links(case: Case) -> str:
    """A run with links in it that lead out: nothing is written, pruned or cleaned up there."""
    chance = case.chance
    run = case.folder / copied(case, chance.choice(("text", "adding")))
    outside = case.folder / "outside"
    shutil.copytree(run, outside)
    for name in ("mine.txt", "thesis.12345678.part", ".mine.json.0123456789abcdef.ostinato-part"):
        for folder in (outside, outside / "checkpoints"):
            (folder / name).write_text("not yours")
    words = [_linked(chance, run, outside) for _ in range(chance.choice((1, 1, 2)))]
    before = content(outside)
    use, outcome = _use(case, run, "; ".join(words))
    lost = differing(before, content(outside))
    check(not lost, f"{use}, {outcome}: changed {lost[:1]} outside of the run")
    return outcome


def _linked(chance: random.Random, run: Path, outside: Path) -> str:
    """A link in place of a file or folder of a run, or beside them."""
    steps = sorted(path.name for path in (outside / "checkpoints").glob("step-*"))
    targets: dict[str, list[str]] = {
        "checkpoints": ["checkpoints", "nowhere"],
        "report": ["checkpoints", "."],
        "report.html": ["mine.txt", "nowhere"],
        "tensorboard": ["checkpoints", "nowhere"],
        "events.jsonl": ["events.jsonl", "mine.txt", "nowhere"],
        ".lock": ["mine.txt", "nowhere"],
        "config.json": ["config.json"],
        "model.json": ["model.json"],
        f"checkpoints/{chance.choice(steps)}": [f"checkpoints/{chance.choice(steps)}"],
        "checkpoints/step-00000003.safetensors": ["mine.txt", "nowhere"],
        ".config.json.0123456789abcdef.ostinato-part": ["mine.txt"],
        "checkpoints/.x.0123456789abcdef.ostinato-part": ["mine.txt"],
    }
    name = chance.choice([*targets])
    target = outside / chance.choice(targets[name])
    place = run / name
    if place.parent.is_symlink():
        return "nothing more"
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    elif os.path.lexists(place):
        place.unlink()
    place.symlink_to(target)
    return f"{name} is a link to {target.name}"
