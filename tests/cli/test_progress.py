"""How far a verb is: on a terminal, in a log, and for whoever asked for silence."""

import io
import os
import signal
import sys
import threading

import pytest

from ostinato.cli import progress as shown
from ostinato.cli.output import show_warning, writing
from ostinato.cli.progress import CLEAR, Display, progress
from ostinato.progress import each, silent
from ostinato.runs import Config, train
from ostinato.runs.loop.signals import stop_signals


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def visible(self):
        """The lines that a person sees."""
        lines = self.getvalue().split("\n")
        return [line.rpartition("\r")[2].replace("\x1b[2K", "") for line in lines]


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch):
    for name, value in {"TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)


def display(stream):
    return Display(stream, Clock())


def at(display, seconds):
    """Look at the clock so many seconds after the beginning."""
    display.clock.now = Clock.now + seconds
    display.tick()


def test_nothing_is_shown_in_the_first_two_seconds():
    for stream in (io.StringIO(), Terminal()):
        quick = display(stream)
        quick(0, 3, "quick")
        at(quick, 1.9)
        quick(3, 3, "quick")
        quick.end()
        assert stream.getvalue() == ""


def test_nothing_is_shown_before_something_is_reported():
    stream = io.StringIO()
    at(display(stream), 50)
    assert stream.getvalue() == ""


def test_a_log_has_a_line_every_ten_seconds_and_the_last_state():
    stream = io.StringIO()
    log = display(stream)
    for tenth in range(401):
        log(tenth, 500, f"part {tenth // 100}")
        at(log, tenth / 10)
    log(500, 500, "all of it")
    log.end()
    lines = stream.getvalue().splitlines()
    assert [int(line.split()[0]) for line in lines] == [2, 12, 22, 32, 40]
    assert lines[1] == "    12 s   24 %  part 1; 38 s left"
    assert lines[-1] == "    40 s  100 %  all of it"
    assert "\r" not in stream.getvalue() and "\x1b" not in stream.getvalue()


def test_a_log_that_stands_still_still_has_its_lines():
    stream = io.StringIO()
    log = display(stream)
    log(1, 4, "compiling")
    for second in range(25):
        at(log, second)
    assert stream.getvalue().count("compiling") == 3 and "left" not in stream.getvalue()


def test_a_terminal_has_one_live_line_that_goes_away():
    stream = Terminal()
    live = display(stream)
    live(0, 10, "lstm, trial 1")
    at(live, 2)
    assert stream.visible()[0].endswith("  0 %  lstm, trial 1")
    for done in (1, 5):
        live.clock.now += 2
        live(done, 10, "gru, trial 1")
    at(live, 6)
    (line,) = stream.visible()
    assert line.endswith(" 50 %  gru, trial 1; 3 s left")
    live.end()
    assert stream.visible() == [""] and "\n" not in stream.getvalue()


def test_a_live_line_fits_into_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    stream = Terminal()
    live = display(stream)
    for done in (0, 1, 2):
        live(done, 4, "a long name " * 20 + "\n")
        live.clock.now += 1
    at(live, 2)
    (line,) = stream.visible()
    assert len(line) < 60 and line.endswith("…; 2 s left")


def test_a_line_that_stays_is_above_the_live_one():
    stream = Terminal()
    live = display(stream)
    live(0, 2, "first")
    at(live, 3)
    live.note("lstm, trial 1: 0.5")
    at(live, 4)
    above, below = stream.visible()
    assert above == "lstm, trial 1: 0.5" and "first" in below


@pytest.mark.parametrize(
    "reports, left",
    [
        ([(0, 0, 10), (4, 2, 10), (6, 4, 10)], "6 s"),
        ([(0, 0, 10), (4, 0, 10)], ""),  # nothing is done yet
        ([(0, 0, 10), (4, 2, 10)], ""),  # the first of it takes longer
        ([(0, 0, 10), (4, 2, 10), (4.1, 4, 10)], ""),  # too short a time to say
        ([(4, 5, 10)], ""),  # what was there before
        ([(0, 0, None), (4, 2, None)], ""),
        ([(0, 0, 10), (2, 10, 10), (4, 0, 3)], ""),  # another part
        ([(0, 0, 10), (2, 9, 10), (4, 3, 10)], ""),
        ([(0, 50, 60), (2, 51, 60), (4, 52, 60)], "16 s"),  # continued
        ([(0, 0, 1000), (1, 1, 1000), (4, 4, 1000)], "17 min"),
        ([(0, 0, 10000), (1, 1, 10000), (4, 4, 10000)], "2 h 47 min"),
        ([(0, 0, 100), (20, 0, 100), (21, 1, 100), (40, 20, 100)], "2 min"),  # it was compiled
        ([(0, 0, 100), (1, 1, 100), (15, 2, 100), (40, 90, 100)], "5 s"),  # as fast as on average
    ],
)
def test_the_time_left_is_said_only_if_it_can_be_estimated(reports, left):
    one = display(io.StringIO())
    for seconds, done, total in reports:
        one.clock.now = Clock.now + seconds
        one(done, total, "work")
    assert one.left() == left


def test_an_estimate_that_was_too_short_is_not_said():
    one = display(io.StringIO())
    for done in (0, 1, 2):
        one(done, 3, "work")
        one.clock.now += 1
    assert one.left() == ""
    one.clock.now -= 1
    assert one.left() == "1 s"


def test_other_output_takes_the_place_of_the_live_line(monkeypatch, capsys):
    stream = Terminal()
    live = display(stream)
    live(0, 2, "work")
    monkeypatch.setattr(shown, "_shown", [live])
    for write in (lambda: print("a result"), lambda: show_warning("a warning")):
        at(live, live.clock.now)
        assert "work" in stream.visible()[0]
        with writing():
            write()
        assert stream.visible() == [""]
    assert capsys.readouterr() == ("a result\n", "ostinato: warning: a warning\n")


def test_silence(monkeypatch, capsys):
    monkeypatch.setattr(shown, "PATIENCE", -1.0)
    with progress(quiet=True) as report:
        report(1, 2, "work")
        report.note("a run has ended")
        report.tick()
    assert capsys.readouterr() == ("", "")


def test_the_display_ends_with_the_work_also_if_that_fails(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with pytest.raises(ZeroDivisionError), progress() as report:
        report(1, 2, "work")
        with report.lock:
            report.next = 0.0
            report.tick()
        assert "work" in stream.visible()[0]
        raise ZeroDivisionError
    assert stream.visible() == [""] and not shown._shown


def test_a_signal_that_ends_the_process_leaves_the_terminal_clean(monkeypatch):
    killed = []
    monkeypatch.setattr(os, "kill", lambda process, number: killed.append(number))
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        with progress() as report, report.lock:  # which keeps the other thread from ending it
            report(1, 2, "work")
            report.next = 0.0
            report.tick()
            assert "work" in stream.visible()[0]
            signal.raise_signal(signal.SIGINT)
            assert stream.visible() == [""] and killed == [signal.SIGINT]
            assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_signal_that_training_hears_does_not_end_the_process(monkeypatch):
    died, ticks = [], threading.Semaphore(0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(shown, "REFRESH", 0.01)
    monkeypatch.setattr(shown, "_die", lambda display, number, deadly: died.append(number))
    monkeypatch.setattr(Display, "tick", lambda display: ticks.release())

    def look_twice():
        while ticks.acquire(blocking=False):
            pass
        assert all(ticks.acquire(timeout=60) for _ in range(2))

    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        with progress(), stop_signals() as stop:
            look_twice()
            signal.raise_signal(signal.SIGINT)
            look_twice()
    finally:
        signal.signal(signal.SIGINT, before)
    assert stop.number == signal.SIGINT and not died


def test_a_signal_does_not_wait_for_a_busy_main_thread(monkeypatch):
    ended = []
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(shown, "LONGEST", 0.0)
    live = display(Terminal())
    live(1, 2, "work")
    at(live, 3)
    shown._die(live, signal.SIGINT, lambda: {signal.SIGTERM})
    assert not ended  # the main thread has heard of it
    shown._die(live, signal.SIGINT, lambda: {signal.SIGINT})
    assert ended == [130] and live.stream.getvalue().endswith(CLEAR)


def test_a_reader_that_left_does_not_stop_the_work():
    stream = io.StringIO()
    log = display(stream)
    log(0, 1, "work")
    stream.close()
    at(log, 3)
    log.end()


def test_work_in_python_prints_nothing(capsys):
    assert list(each("ab", silent, "reading")) == ["a", "b"]
    assert capsys.readouterr() == ("", "")


# The verbs


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs of a text and of labelled texts, hardly trained."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "text").write_text("the cat sat on the mat. " * 40)
    (folder / "labelled.tsv").write_text("good\tit is fine\nbad\tit is not\n" * 20)
    small = {"cell": "simple", "units": 3, "batch": 4, "steps": 2}
    train(Config(file=str(folder / "text"), length=5, **small), folder / "a")
    labelled = str(folder / "labelled.tsv")
    train(Config(task="classify", file=labelled, **small), folder / "b")
    return folder


TINY = ["--tasks", "adding", "--set", "length=4", "--set", "batch=2", "--set", "units=2"]
VERBS = {
    "contrast": [*TINY, "--cells", "simple", "--trials", 0, "--seeds", 1, "--steps", 2],
    "reproduce": ["toy-net"],
    "evolve": "--tasks adding:length=4 --units 3 --steps 1 --rungs 1 --evaluations 1".split(),
    "verify": ["toy-net", "softmax-hessian"],
    "lens": ["RUNS/a", "--out", "report"],
    "evaluate": ["RUNS/a", "--dynamic", "--samples", 20],
    "apply": ["RUNS/b", "lines"],
    "inside": ["RUNS/a", "the cat sat on the mat", "--unit", "h[0]"],
    "compare": ["RUNS/a", "RUNS/b"],
}
SAID = {  # something of what each of them says
    "contrast": {"compiling the runs", "simple, seed 1: step 2 of 2", "measuring simple"},
    "reproduce": {"w = 0.9", "w = 1.1", "writing the page"},
    "evolve": {"the first cell"},
    "verify": {"toy-net", "softmax-hessian", "all claims"},
    "lens": {"measuring saturation", "drawing the charts as PNG", "writing the page"},
    "evaluate": {"evaluating on the valid part", "dynamic evaluation", "generating text"},
    "apply": {"labelling the lines"},
    "inside": {"reading the text"},
    "compare": {"reading the logs", "drawing the page"},
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_that_may_take_long_says_how_far_it_is(
    verb, runs, ostinato, tmp_path, monkeypatch
):
    heard = []

    class Heard(Display):
        def __init__(self, stream):
            super().__init__(stream, Clock())  # which stands still, so that nothing is shown

        def __call__(self, done, total, what):
            super().__call__(done, total, what)
            heard.append((done, total, what))

    monkeypatch.setattr(shown, "Display", Heard)
    monkeypatch.setattr("ostinato.report.run_page.write_picture", lambda chart, path: None)
    (tmp_path / "lines").write_text("it is fine\n" * 70)
    arguments = [str(word).replace("RUNS", str(runs)) for word in VERBS[verb]]
    code, out, err = ostinato(verb, *arguments)
    assert code == 0, err
    assert SAID[verb] <= {what for _, _, what in heard}
    assert all(total is None or 0 <= done <= total for done, total, _ in heard)
    assert any(total is not None and done == total for done, total, _ in heard)
    assert not any(what in out for _, _, what in heard if len(what) > 20)
    if verb == "apply":
        assert [done for done, total, _ in heard if total == 70] == [0, 64, 70]
