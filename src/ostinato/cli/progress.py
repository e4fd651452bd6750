"""How far a verb is: a live line on a terminal, a plain line every ten seconds in a log.

Every verb that may take long reports through this one display. It writes to standard error alone,
and nothing in the first two seconds.
"""

import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TextIO

PATIENCE = 2.0  # seconds in which nothing is shown
EVERY = 10.0  # seconds between the lines of a log
REFRESH = 0.25  # seconds between two looks at the clock
SHORTEST = 1.0  # seconds of work from which the rest can be estimated
LONGEST = 0.5  # seconds that a signal waits for the main thread
BAR = 20  # columns
CLEAR = "\r\x1b[2K"


@contextmanager
def progress(*, quiet: bool = False) -> Iterator["Display"]:
    """A display for as long as the work takes; it is the `report` of that work.

    Example:
        >>> with progress(quiet=True) as report:
        ...     report(1, 2, "half of it")
    """
    display = Display(None if quiet else sys.stderr)
    if quiet:
        yield display
        return
    _shown.append(display)
    try:
        with _ticking(display):
            yield display
    finally:
        _shown.remove(display)
        display.end()


_shown: list["Display"] = []


def aside() -> Any:
    """A context for writing something else: the live line is out of the way, and stays away."""
    return _shown[-1].aside() if _shown else nullcontext()


class Display:
    """What was reported last, and when and how to show it.

    Calling it is a `Report`. `tick` looks at the clock and shows what is due.

    Attributes:
        stream: where to; `None` for nowhere.
        clock: gives the time in seconds.
        live: whether the stream is a terminal, on which a line can be replaced.
        what, total: as last reported.
        seen: the first and the last report of this part of the work: when, and how much was done;
            the time until something was done, in which programs are compiled, is left out.
        begun: how much was done when this part began.
        next: when something is to be shown next.
        drawn: whether the live line is there.
        told: the last line of the log, but for the time that is left.
    """

    def __init__(self, stream: TextIO | None, clock: Callable[[], float] = time.monotonic):
        self.stream, self.clock = stream, clock
        self.live = stream is not None and _is_terminal(stream)
        self.lock = threading.RLock()
        self.started = clock()
        self.next = self.started + PATIENCE
        self.what = self.told = ""
        self.total: float | None = None
        self.begun = 0.0
        self.seen: list[tuple[float, float]] = []
        self.drawn = False

    def __call__(self, done: float, total: float | None, what: str) -> None:
        with self.lock:
            now = self.clock()
            if not self.seen or total != self.total or done < self.seen[-1][1]:
                self.seen.clear()
                self.begun = done
            elif self.seen[0][1] == self.begun < done:
                self.seen.clear()
            self.total, self.what = total, what
            self.seen[1:] = [(now, done)]

    def note(self, line: str) -> None:
        """Write a line that stays, such as the result of one run."""
        with self.aside():
            self._write(f"{line}\n")

    def tick(self) -> None:
        """Show what is due."""
        with self.lock:
            if not self.seen or self.clock() < self.next:
                return
            left = f"; {left} left" if (left := self.left()) else ""
            if self.live:
                self._write(CLEAR + self._drawing(left))
                self.drawn = True
                self.next = self.clock() + REFRESH
            else:
                self._log(left)
                self.next = self.clock() + EVERY

    @contextmanager
    def aside(self) -> Iterator[None]:
        """A context in which the live line is not there."""
        with self.lock:
            self.hide()
            yield

    def hide(self) -> None:
        """Remove the live line."""
        if self.drawn:
            self._write(CLEAR)
            self.drawn = False

    def end(self) -> None:
        """Remove the live line; a log that has lines gets the last state."""
        with self.lock:
            self.hide()
            if self.told and self.state() != self.told:
                self._log("")
            self.seen.clear()

    def state(self) -> str:
        """The share that is done, and what runs now."""
        share = self._share()
        return self.what if share is None else f"{100 * share:3.0f} %  {self.what}"

    def left(self) -> str:
        """How long it still takes, if that can be estimated; otherwise empty."""
        if self.total is None or len(self.seen) < 2:
            return ""
        (first, before), (last, done) = self.seen
        if done <= before or last < first + SHORTEST:
            return ""
        seconds = (self.total - done) * (last - first) / (done - before) - (self.clock() - last)
        return _duration(seconds) if seconds > 0 else ""

    def _share(self) -> float | None:
        return min(self.seen[-1][1] / self.total, 1.0) if self.total else None

    def _log(self, left: str) -> None:
        self.told = self.state()
        seconds = self.clock() - self.started
        self._write(f"{seconds:6.0f} s  {_printable(self.told)}{left}\n")

    def _drawing(self, left: str) -> str:
        """The line on a terminal, in its width and colours."""
        from rich.console import Console  # late, because help does without it
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        console = Console(file=self.stream, force_terminal=True, highlight=False)
        line, room, bar = Table.grid(padding=(0, 1)), console.width - 1, []
        if (share := self._share()) is not None:
            line.add_column(width=BAR)
            room -= BAR + 1
            bar = [ProgressBar(total=1.0, completed=share, width=BAR)]
        line.add_column(no_wrap=True)
        words = Text(_printable(self.state()))
        words.truncate(max(room - len(left), 1), overflow="ellipsis")
        line.add_row(*bar, words.append(left))
        with console.capture() as drawn:
            console.print(line)
        return drawn.get().rstrip()

    def _write(self, words: str) -> None:
        if self.stream is None:
            return
        try:
            self.stream.write(words)
            self.stream.flush()
        except (OSError, ValueError):  # nobody reads it; the work goes on
            pass


@contextmanager
def _ticking(display: Display) -> Iterator[None]:
    """A thread that looks at the clock, also while the main thread compiles or computes."""
    waking, woken = socket.socketpair()
    with waking, woken, _clean_signals(display, waking) as deadly:

        def tick() -> None:
            before = deadly()
            while 0 not in (numbers := _received(woken)):
                # Training hears a first signal itself, and then lets the next one end the process.
                for number in before & deadly() & {*numbers}:
                    _die(display, number, deadly)
                before = deadly()
                display.tick()

        thread = threading.Thread(target=tick, name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            waking.send(b"\0")
            thread.join()


def _received(woken: socket.socket) -> bytes:
    """The numbers of signals that have come within a moment; 0 for the end."""
    return woken.recv(100) if select.select([woken], [], [], REFRESH)[0] else b""


def ending_signals() -> list[int]:
    """The signals by which people end a process, as far as this system has them."""
    every = (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP"))
    return [number for number in every if number is not None]


@contextmanager
def _clean_signals(display: Display, waking: socket.socket) -> Iterator[Callable[[], set[int]]]:
    """A context in which a signal that ends the process first removes the live line.

    Python calls a handler when the main thread is next in Python, which may be seconds later, so
    the thread of the display is woken too. The context gives the signals that would end the
    process now.
    """
    if not display.live or threading.current_thread() is not threading.main_thread():
        yield set
        return

    def end(number: int, frame: Any) -> None:
        display.hide()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    deadly = [number for number in ending_signals() if signal.getsignal(number) is signal.SIG_DFL]
    waking.setblocking(False)
    before = signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
    for number in deadly:
        signal.signal(number, end)
    try:
        yield lambda: {number for number in deadly if signal.getsignal(number) is end}
    finally:
        signal.set_wakeup_fd(before)
        for number in deadly:
            signal.signal(number, signal.SIG_DFL)


def _die(display: Display, number: int, deadly: Callable[[], set[int]]) -> None:
    """Remove the live line at once, and end the process if the main thread is too busy to."""
    with display.aside():
        time.sleep(LONGEST)
        if number in deadly():  # the main thread has not heard of it
            os._exit(128 + number)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # it is closed
        return False


def _printable(words: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in words)


def _duration(seconds: float) -> str:
    """Seconds in words.

    Example:
        >>> [_duration(x) for x in (0.2, 59.9, 200, 7500)]
        ['1 s', '60 s', '4 min', '2 h 5 min']
    """
    if seconds <= 60:
        return f"{max(1, -int(-seconds // 1)):.0f} s"
    minutes = -int(-seconds // 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
