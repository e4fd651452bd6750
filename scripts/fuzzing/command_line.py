"""The command line: every verb with every option, in its own process' place.

Verbs and options are read from the program itself, so a new option is drawn without a change here;
only what it takes to be valid and quick is listed below, where its type does not say it.
"""

import contextlib
import functools
import inspect
import io
import json
import re
import signal
import subprocess
import sys
import typing
import warnings
from pathlib import Path
from typing import Any

import typer

from .outcomes import ACCEPTED, REFUSED, Case, Failed, check, described
from .ready import RUNS, added, changed, content, copied, fox
from .values import path, word

# Valid and quick, by option; for the others the type decides.
GOOD: dict[str, tuple[str, ...]] = {
    "task": ("text", "adding", "xor"),
    "level": ("characters", "bytes"),
    "encoding": ("utf-8", "latin-1", "ascii"),
    "split": ("90/5/5", "80/10/10", "100/0/0"),
    "cell": ("mlstm", "lstm"),
    "units": ("4",),
    "layers": ("1", "2"),
    "length": ("8", "5"),
    "batch": ("3",),
    "steps": ("2",),
    "learner": ("adam", "sgd"),
    "schedule": ("cosine", "constant", "plateau"),
    "clip": ("1", "auto", "off"),
    "gradient": ("full", "truncated"),
    "damping": ("structural",),
    "form": ("pre-activation",),
    "ratio": ("damped",),
    "judge": ("gradient",),
    "draw": ("fresh",),
    "precision": ("float32",),
    "memory": ("all", "sqrt"),
    "backend": ("auto", "scan"),
    "part": ("valid", "test"),
    "samples": ("0", "20"),
    "prompt": ("the", "fox", ""),
    "stop": (".", "o"),
    "budget": ("800",),
    "devices": ("1",),
    "krylov": ("2",),
    "iterations": ("2",),
}
BY_TYPE: dict[type, tuple[str, ...]] = {
    int: ("1", "2"),
    float: ("0", "0.1"),
    str: ("x",),
    Path: ("new",),
    bool: ("yes",),
    tuple: ("4", "4,3"),
}
BASE = "--units 4 --batch 3 --length 8 --steps 2".split()
# Where a large number is a lot of work and no mistake: it is interrupted as by Ctrl-C.
ENDLESS = {"train": ("steps", "iterations"), "sample": ("length",), "evaluate": ("samples",)}
PATIENCE = 8.0
CLAIMS = ("toy-net", "softmax-hessian", "damping-rule-of-004", "nonsense", "toy-nte", "")
FORMS = ("apart",) * 6 + ("joined",) * 3 + ("no value", "twice", "negated", "misspelt", "short")
WARNING = "ostinato: warning"


def command_line(case: Case) -> str:
    """Draw a command, run it, and judge it by its exit code, what it printed and what it left."""
    chance = case.chance
    verb = chance.choices([*OFTEN], [*OFTEN.values()])[0]
    fox(case.scratch)
    (case.folder / "fox.txt").write_bytes(fox(case.scratch).read_bytes())
    words = _words(case, verb)
    as_json = verb in HAS_JSON and chance.random() < 0.3
    if as_json:  # first of all, where nothing can take it for a value
        words.insert(2 if verb == "data" else 1, "--json")
    case.what = "ostinato " + " ".join(map(repr, words))
    return ran(case, words, as_json)


OFTEN = {"train": 18, "sample": 10, "evaluate": 8, "lens": 1, "verify": 2, "data": 2, "": 2}
HAS_JSON = ("train", "sample", "evaluate", "verify", "data")


def _words(case: Case, verb: str) -> list[str]:
    """A command of a verb: its base, a few options, and now and then something out of place."""
    chance = case.chance
    if verb == "":
        return [word(chance) for _ in range(chance.randint(0, 2))] or ["--help"]
    words = [verb, *_base(case, verb)]
    few = (0, 0, 1, 1) if verb == "lens" else (0, 1, 1, 1, 2, 2, 3)
    for _ in range(chance.choice(few)):
        words += drawn_option(case, verb)
    if chance.random() < 0.06:
        words.insert(chance.randint(1, len(words)), chance.choice(("--", word(chance), "-h", "-")))
    if chance.random() < 0.04 and verb not in ("verify", "data"):
        del words[chance.randrange(1, len(words))]
        # Without its base a run is a long one.
        case.interrupt |= verb == "train" and "--steps 2" not in " ".join(words)
    return words


def _base(case: Case, verb: str) -> list[str]:
    chance = case.chance
    if verb == "verify":
        return [chance.choice((*CLAIMS, word(chance).lstrip("-") or "x"))]
    if verb == "data":
        name = chance.choice(("tinyshakespeare", "mnist", "jsb", "nonsense", word(chance)))
        return chance.choice((["list"], ["path", name], ["path"], ["get", "nonsense"], [name]))
    if verb != "train":
        run = str(copied(case, chance.choice([*RUNS])))
        if chance.random() < 0.15:
            run = path(chance, case.folder)
        return [run]
    draw = chance.random()
    if draw < 0.12:
        run = str(copied(case, chance.choice([*RUNS])))
        return ["--resume", "--run", run, *(["--steps", "4"] if chance.random() < 0.3 else [])]
    if draw < 0.22:
        return ["--task", "adding", *BASE]
    return ["fox.txt" if draw < 0.85 else path(chance, case.folder), *BASE]


def drawn_option(case: Case, verb: str) -> list[str]:
    """One option in one of its forms, most of them right."""
    chance, form = case.chance, case.chance.choice(FORMS)
    name, key, kind = chance.choice(options(verb))
    if form == "negated":
        return [f"--no-{name.lstrip('-')}"]
    if form == "misspelt":
        name = name[:-1] + chance.choice(("", "x", "é"))
    if form == "short":
        name = name[1:3]
    if kind is bool and chance.random() < 0.9:
        return [name]
    value = _value(case, key, kind)
    if key in ENDLESS.get(verb, ()) and len(value) > 2:
        case.interrupt = True
    if form == "no value":
        return [name]
    if form == "joined":
        return [f"{name}={value}"]
    again = [name, _value(case, key, kind)] if form == "twice" else []
    return [name, value, *again]


def _value(case: Case, key: str, kind: type) -> str:
    chance = case.chance
    if kind is Path and chance.random() < 0.8:
        return chance.choice((path(chance, case.folder), "fox.txt", "text/config.json"))
    good = GOOD.get(key) or BY_TYPE[kind]
    return chance.choice(good) if chance.random() < 0.45 else word(chance)


@functools.cache
def options(verb: str) -> list[tuple[str, str, type]]:
    """The options of a verb, as the program itself has them: name, parameter and type."""
    from ostinato import cli

    groups = {group.name: group.typer_instance for group in cli.app.registered_groups}
    app = groups.get(verb) or cli.app
    named = []
    for command in app.registered_commands:
        assert command.callback is not None
        if verb not in groups and verb != (command.name or command.callback.__name__):
            continue
        for parameter in inspect.signature(command.callback).parameters.values():
            annotation, *infos = typing.get_args(parameter.annotation) or (None,)
            if not infos or isinstance(infos[0], typer.models.ArgumentInfo):
                continue
            given = (infos[0].default, *(infos[0].param_decls or ()))
            names = [name for name in given if isinstance(name, str) and name.startswith("--")]
            names = names or ["--" + parameter.name.replace("_", "-")]
            kind = next((t for t in BY_TYPE if t is annotation or annotation == (t | None)), str)
            named.append((names[-1], parameter.name, kind))
    return named


def ran(case: Case, words: list[str], as_json: bool) -> str:
    """Run a command in this process, and judge it."""
    interrupted = case.interrupt
    before = content(case.folder)
    code, out, err = _interrupted(words) if interrupted else _run(words)
    after = content(case.folder)
    lines = [line for line in re.split(r"[\n\r]", err) if line.strip()]
    shown = " | ".join(lines)[:200]
    check("Traceback" not in err, f"a traceback on standard error: {shown}")
    check(
        not re.search(r"(?m)^\S+:\d+: \w*Warning", err),
        f"a Python warning on standard error: {shown}",
    )
    verb = words[0] if words else ""
    good = (0, 1) if verb == "verify" else (0, 2, 3)
    check(code in (*good, 2) or (interrupted and code == 130), f"exit code {code}: {shown}")
    if code:
        said = [line for line in lines if not line.startswith(WARNING)]
        one = len(said) == 1 and said[0].startswith("ostinato: ")
        quiet = not said and (interrupted or (verb == "verify" and code == 1))
        check(one or quiet, f"not one line for exit {code}: {shown}")
    helped = {"-h", "--help", "--version"} & set(words)
    if as_json and not helped and not interrupted:
        _check_json(out, code)
    lost = changed(before, after)
    if verb == "train" and "--resume" in words and code != 2:
        lost = []
    if verb == "lens":  # its own page replaces whatever was called so
        lost = [name for name in lost if Path(name).name != "report.html"]
    check(not lost, f"exit {code}, and changed {lost[:1]}")
    if code == 2:
        check(after == before, f"refused, and left {added(before, after)[:1]}")
    writes_nothing = verb in ("sample", "evaluate", "verify", "data") and words[1:2] != ["make"]
    if code == 0 and writes_nothing:
        check(after == before, f"{verb} left {added(before, after)[:1]}")
    return REFUSED if code == 2 else ACCEPTED


def _check_json(out: str, code: int) -> None:
    def no_number(name: str):
        raise ValueError(f"{name} is no JSON")

    try:
        json.loads(out, parse_constant=no_number)
    except ValueError as error:
        start = out[:60].replace("\n", " ")
        raise Failed(
            f"--json with exit {code} printed no JSON document: {error}: {start!r}"
        ) from None


def _interrupted(words: list[str]) -> tuple[int, str, str]:
    """The same of a command that has a process of its own, and gets Ctrl-C after a while."""
    code = "from ostinato.cli import main; main()"
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # Started in the background, this process ignores SIGINT, and a child would inherit that.
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **pipes,
    )
    try:
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
    finally:
        process.kill()
    ended = process.returncode
    return 128 - ended if ended < 0 else ended, out.decode(), err.decode()


def _run(words: list[str]) -> tuple[int, str, str]:
    """The exit code of a command, what it printed, and what it said on standard error."""
    from ostinato import cli

    out = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="strict")
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace")
    argv, stdin = sys.argv, sys.stdin
    sys.argv, sys.stdin = ["ostinato", *words], io.StringIO()
    code: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            with warnings.catch_warnings():
                cli.main()
    except SystemExit as end:
        code = end.code if end.code is not None else 0
    except Exception as error:
        raise Failed(f"traceback: {described(error)}") from error
    finally:
        sys.argv, sys.stdin = argv, stdin
    if not isinstance(code, int):
        raise Failed(f"the exit code is {code!r:.100}")
    for stream in (out, err):
        stream.flush()
    return code, *(s.buffer.getvalue().decode("utf-8") for s in (out, err))  # type: ignore[attr-defined]
