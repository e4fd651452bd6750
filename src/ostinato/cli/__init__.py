"""The command line: `ostinato VERB ...`, one file per verb."""

import gc
import json
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from ..errors import BadInput
from .compiled import OFF, keep_compiled
from .output import (
    Closed,
    json_alone,
    let_go,
    mend_streams,
    one_line,
    print_json,
    show_warning,
    writing,
)
from .progress import ending_signals

if TYPE_CHECKING:
    import typer

    app: typer.Typer

# New objects before Python looks for cycles of garbage. Its own number, 700, makes it look at every
# module again and again while they are imported: a twentieth of the time of a short command.
OBJECTS = 100_000
CLOSED = 141  # the exit code of a program that SIGPIPE ends
HELP = {"-h", "--help", "--version"}  # what needs no compiler
COMPLETING = "_OSTINATO_COMPLETE"  # in the environment while a shell completes a command line


def __getattr__(name: str) -> Any:
    """`app`, with all verbs."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .verbs import app_of

    return globals().setdefault("app", app_of())


def main() -> None:
    """Run a verb and exit.

    A user error is one line on standard error; `failures` has the exit codes. With `--json`,
    standard output is one JSON document, whatever happens: for a failure, `error` and `exit`.
    """
    gc.set_threshold(OBJECTS)
    arguments = sys.argv[1:]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    as_json = "--json" in arguments[:end]
    with quiet_signals(as_json):
        if OFF in arguments[:end]:
            arguments = [word for word in arguments[:end] if word != OFF] + arguments[end:]
        elif not HELP & {*arguments[:end]}:
            keep_compiled()
        code = _run(arguments, as_json)
        if (processes := sys.modules.get("ostinato.runs.loop.processes")) is not None:
            processes.leave(code)
        sys.exit(code)


def _run(arguments: list[str], as_json: bool) -> int:
    # So that the same seed gives the same results on a GPU too; JAX reads this when it starts.
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_gpu_deterministic_ops" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_gpu_deterministic_ops=true".strip()
    if "--distributed" in arguments:  # what JAX says of a process that is gone becomes one line
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "4")
    present = mend_streams()
    warnings.showwarning = show_warning
    try:
        from .help import help_for
        from .verbs import VERBS, app_of, asked_for

        verbs = asked_for(arguments)
        if not present and (as_json or verbs != ("train",)):
            raise BadInput("standard output is closed; there is nowhere to write to")
        if verbs == VERBS and "--version" in arguments:
            from .. import __version__

            words: str | None = f"ostinato {__version__}"
        else:
            words = None if COMPLETING in os.environ else help_for(arguments)
        if words is not None:
            with writing():
                print(words)
            return 0 if arguments else 2
        from typer.main import get_command

        with json_alone() if as_json and not HELP & {*arguments} else nullcontext():
            command = get_command(app_of(verbs, arguments))
            code = command.main(arguments, prog_name="ostinato", standalone_mode=False)
        with writing():
            pass
        return code or 0
    except Closed:
        let_go()
        return CLOSED
    except Exception as error:
        return _say(error, as_json)


def _say(error: Exception, as_json: bool) -> int:
    from .failures import explained

    known = explained(error)
    words, code = known or (f"internal error: {type(error).__name__}: {error}", 1)
    words = one_line(words)
    if known and words:
        print(f"ostinato: {words}", file=sys.stderr)
    try:
        if as_json:
            print_json({"error": words, "exit": code})
        sys.stdout.flush()
    except (BadInput, Closed, OSError):  # it cannot be written to; the line above must do
        let_go()
    if known is None:
        raise error  # a bug: keep the traceback
    return code


@contextmanager
def quiet_signals(as_json: bool) -> Iterator[None]:
    """A context in which SIGINT, SIGTERM and SIGHUP end the process by their default action.

    With `as_json`, the JSON document is printed first. `train` handles these signals itself during
    training. A signal that is ignored, as under `nohup`, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = _answer_and_die if as_json else signal.SIG_DFL
    before = {number: signal.getsignal(number) for number in ending_signals()}
    before = {n: old for n, old in before.items() if old not in (signal.SIG_IGN, None)}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _answer_and_die(number: int, frame: object) -> None:
    document = {"error": f"interrupted by {signal.Signals(number).name}", "exit": 128 + number}
    try:
        os.write(1, json.dumps(document).encode() + b"\n")
    finally:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
