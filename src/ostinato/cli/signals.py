"""Signals end a verb at once, without a traceback."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


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
    numbers = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")]
    before = {n: signal.getsignal(n) for n in numbers if n is not None}
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
