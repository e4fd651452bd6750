"""Checkpoints are written beside the training: it does not wait for them, and they stay good."""

import errno
import os
import threading
import weakref

import jax
import numpy as np
import pytest
from test_training import TEXT, same

from ostinato.errors import BadInput
from ostinato.runs import Config, Diverged, open_run, train
from ostinato.runs.folder import checkpoints
from ostinato.runs.folder.checkpoints import Checkpoint, Progress
from ostinato.runs.loop import checkpointing, recorder, validation
from ostinato.runs.loop.checkpointing import CheckpointWriter, interval
from ostinato.runs.loop.step import Alone
from ostinato.tasks import Text


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """How often checkpoints are written is left to the run."""
    path = tmp_path_factory.mktemp("text") / "fox.txt"
    path.write_text(TEXT)
    small = {"cell": "simple", "units": 4, "batch": 3, "length": 8}
    return Config(file=str(path), steps=40, validate_every=10, **small)


@pytest.fixture(scope="module")
def undisturbed(config, tmp_path_factory):
    return train(config, tmp_path_factory.mktemp("runs") / "whole")


@pytest.fixture
def often(monkeypatch):
    """A checkpoint whenever the one before has been written."""
    monkeypatch.setattr(checkpointing, "interval", lambda *seconds: 0.0)


def writing(monkeypatch, before):
    """Call `before(step)` in the writer's thread, before a checkpoint is written."""
    write = checkpoints.write_whole

    def slow(path, *data):
        before(int(path.name[5:13]))
        write(path, *data)

    monkeypatch.setattr(checkpoints, "write_whole", slow)


def test_a_disk_that_does_not_answer_slows_no_step(
    undisturbed, config, tmp_path, monkeypatch, often
):
    """The first checkpoint is not written before step 30 has been logged."""
    far, steps = threading.Event(), []

    def wait(step):
        steps.append(step)
        assert far.wait(60), "the loop waited for the writer"

    def listen(event):
        if event["kind"] == "train" and event["step"] >= 30:
            far.set()

    writing(monkeypatch, wait)
    run = train(config, tmp_path / "run", listener=listen)
    assert steps[0] < 10 and steps[-1] == 40
    same(undisturbed, run)


def test_never_more_than_one_is_being_written(config, tmp_path, monkeypatch, often):
    alone, together = threading.Lock(), []

    def only(step):
        together.append(alone.acquire(blocking=False))
        threading.Event().wait(0.005)
        alone.release()

    writing(monkeypatch, only)
    train(config, tmp_path / "run")
    assert len(together) > 3 and all(together)


def test_by_default_a_short_run_writes_its_best_and_its_last(config, tmp_path, monkeypatch):
    steps = []
    writing(monkeypatch, steps.append)
    run = train(config, tmp_path / "run")
    end = run.events()[-1]
    assert steps == sorted({end["best_step"], 40})


def test_how_often_follows_from_what_it_costs_and_what_a_kill_may_lose():
    for cost in (0.0, 0.01, 0.3, 5.0, 100.0):
        for run in (1.0, 100.0, 1e4, 1e6):
            seconds = interval(cost, run)
            assert seconds <= max(60, 0.01 * run)
            assert cost <= 0.02 * seconds or seconds == max(60, 0.01 * run)


@pytest.mark.parametrize(("wrong", "kept"), [(26, [20]), (21, [])])
def test_what_is_known_to_be_good_is_kept_when_a_run_diverges(
    config, tmp_path, monkeypatch, wrong, kept
):
    """The best network, of step 20, waits for its turn; step 21 is what shows that it is good."""
    advance = Alone.advance

    def spoilt(self, now, fresh, batch, step):
        now, report = advance(self, now, fresh, batch, step)
        return now, {**report, "loss": np.float32(np.nan)} if step + 1 >= wrong else report

    monkeypatch.setattr(Alone, "advance", spoilt)
    last = f"step {kept[-1]}" if kept else "none yet"
    with pytest.raises(Diverged, match=rf"at step {wrong}.* Last good checkpoint: {last}"):
        train(config, tmp_path / "run")
    assert open_run(tmp_path / "run").steps() == kept


def test_a_folder_that_vanishes(undisturbed, config, tmp_path, often):
    """One line; what was moved away goes on from where it is, and nothing is left behind."""

    def remove(event):
        if event["kind"] == "train" and event["step"] == 20:
            (tmp_path / "run").rename(tmp_path / "elsewhere")

    with pytest.raises((BadInput, FileNotFoundError)) as error:
        train(config, tmp_path / "run", listener=remove)
    assert str(tmp_path / "run") in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()
    same(undisturbed, train(config, tmp_path / "elsewhere", resume=True))


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (FULL, "No space left on device; .* Free some space, then --resume"),
        (MemoryError("no room\nfor it"), "no room for it; .* Mend that, then --resume"),
        (SystemExit(), "the thread that writes it did not start or ended early"),  # it is killed
    ],
)
def test_a_checkpoint_that_cannot_be_written(
    undisturbed, config, tmp_path, monkeypatch, often, error, words
):
    """One line, the checkpoint before stays, and the run goes on from it."""
    good = []

    def fail(step):
        if step > 15:
            raise error
        good.append(step)

    with monkeypatch.context() as patch:
        writing(patch, fail)
        with pytest.raises(BadInput, match=words) as found:
            train(config, tmp_path / "run")
    assert f"last good checkpoint: step {good[-1]}" in str(found.value)
    assert "\n" not in str(found.value)
    assert open_run(tmp_path / "run").steps()[-1] == good[-1]
    same(undisturbed, train(config, tmp_path / "run", resume=True))


def test_a_thread_that_cannot_be_started(config, tmp_path, monkeypatch):
    def start(thread):
        raise RuntimeError("can't start new thread")

    thread = type("Thread", (threading.Thread,), {"start": start})
    monkeypatch.setattr(checkpointing.threading, "Thread", thread)
    writer = CheckpointWriter(lambda *_: None)
    with pytest.raises(RuntimeError, match="can't start"):
        writer.write(Checkpoint(None, None, None), Progress(step=3))
    with pytest.raises(RuntimeError, match="did not start"):
        writer.finish()


@pytest.mark.parametrize(
    ("every", "validate", "held"),
    [
        (None, 40, 1),
        (2, 40, 1),
        (2, 10, 1),
        (None, 10, 2),  # the best one waits until the one before is written
    ],
)
def test_memory_grows_by_one_checkpoint(
    config, tmp_path, monkeypatch, often, every, validate, held
):
    """The disk answers only when the run waits for it; the arrays of how many steps live then?"""
    waited, live, most = threading.Event(), {}, 0
    advance, finish = Alone.advance, CheckpointWriter.finish

    def counted(self, now, fresh, batch, step):
        nonlocal most
        live[step] = weakref.ref(jax.tree.leaves(now.learner)[-1])
        most = max(most, sum(array() is not None for array in live.values()))
        return advance(self, now, fresh, batch, step)

    def finished(self):
        waited.set()
        finish(self)
        waited.clear()

    writing(monkeypatch, lambda step: waited.wait(60))
    monkeypatch.setattr(Alone, "advance", counted)
    monkeypatch.setattr(CheckpointWriter, "finish", finished)
    train(config.replace(checkpoint_every=every, validate_every=validate), tmp_path / "run")
    assert len(live) > config.steps
    assert most == 1 + held  # one of which is that of the step


def test_a_writer_that_fails_is_heard():
    def fail(checkpoint, progress):
        raise MemoryError("no room for the header")

    writer = CheckpointWriter(fail)
    writer.write(Checkpoint(None, None, None), Progress(step=3))
    with pytest.raises(MemoryError, match="no room"):
        writer.finish()
    writer.finish()  # it is told once


def test_steps_do_not_wait_for_the_baselines(undisturbed, config, tmp_path, monkeypatch):
    """They come first in the log all the same, also if they take longer than the whole run."""
    steps, known = threading.Event(), Text.baselines
    advance = Alone.advance

    def baselines(self):
        assert steps.wait(60), "the loop waited for the baselines"
        return known(self)

    def counted(self, now, fresh, batch, step):
        if step == 30:
            steps.set()
        return advance(self, now, fresh, batch, step)

    monkeypatch.setattr(Text, "baselines", baselines)
    monkeypatch.setattr(Alone, "advance", counted)
    run = train(config, tmp_path / "run")
    events, others = run.events(), undisturbed.events()
    assert events[0]["kind"] == "start" and events[0]["baselines"] == others[0]["baselines"]
    assert [(e["kind"], e["step"]) for e in events] == [(e["kind"], e["step"]) for e in others]
    same(undisturbed, run)


def test_the_first_validation_is_compiled_beside_the_steps(
    undisturbed, config, tmp_path, monkeypatch
):
    """It waits for a later step here, so a loop that compiled it in turn would never get there."""
    steps, shown, threads = threading.Event(), Text.preview, []
    advance = Alone.advance

    def preview(self, network, key):
        threads.append(threading.current_thread())
        assert steps.wait(60), "the loop waited for the preview"
        return shown(self, network, key)

    def counted(self, now, fresh, batch, step):
        if step == 5:
            steps.set()
        return advance(self, now, fresh, batch, step)

    monkeypatch.setattr(Text, "preview", preview)
    monkeypatch.setattr(Alone, "advance", counted)
    monkeypatch.setattr(validation, "WORTHWHILE", 0)
    run = train(config, tmp_path / "run")
    assert threads[0] is not threading.main_thread()
    assert set(threads[1:]) == {threading.main_thread()}
    same(undisturbed, run)


def test_a_preview_that_fails_ends_the_run_also_from_a_thread(config, tmp_path, monkeypatch):
    def preview(self, network, key):
        raise RuntimeError("nothing to see")

    monkeypatch.setattr(Text, "preview", preview)
    monkeypatch.setattr(validation, "WORTHWHILE", 0)
    with pytest.raises(RuntimeError, match="nothing to see"):
        train(config, tmp_path / "run")


SIZE, SPEED = 157e6, 20e6  # bytes of a checkpoint, and bytes per second of a slow disk


class Clock:
    """A run whose steps, and whose disk, take their time by a clock of its own.

    The clock goes on with the steps only. So a step that waited for a checkpoint would wait for
    ever.

    Args:
        steps: those of the run, which waits for its last checkpoint, as it must.
        step, writing: seconds of a step, and of writing a checkpoint.
        cost: processor seconds of writing a checkpoint.

    Attributes:
        written: for each checkpoint on the disk, its step and since when it is there.
        lost: for each step, the seconds of work that a kill just before its end would have lost.
    """

    def __init__(self, monkeypatch, steps, step, writing, cost):
        self.now, self.written, self.lost = 0.0, [], []
        advance, write = Alone.advance, checkpoints.write_whole
        ends, thread, done = 0.0, threading.Thread(), threading.Event()

        def advanced(run, now, fresh, batch, number):
            self.now = (number + 1) * step
            self.lost.append(self.now - step * (self.written[-1][0] if self.written else 0))
            if thread.ident is not None and (self.now >= ends or number == steps):
                done.set()
                thread.join()
            return advance(run, now, fresh, batch, number)

        def slow(path, *data):
            number = int(path.name[5:13])
            assert number == steps or done.wait(60), "a step waited for the writer"
            write(path, *data)
            self.written.append((number, self.now))

        class Writer(CheckpointWriter):
            def write(self, checkpoint, progress):
                nonlocal ends, thread
                self.finish()
                done.clear()
                super().write(checkpoint, progress)
                ends, thread = clock.now + writing, self._thread

            def _write(self, checkpoint, progress):
                super()._write(checkpoint, progress)
                self.cost, self.seconds = cost, writing

        clock = self
        monkeypatch.setattr(Alone, "advance", advanced)
        monkeypatch.setattr(checkpoints, "write_whole", slow)
        monkeypatch.setattr(checkpointing, "CheckpointWriter", Writer)
        monkeypatch.setattr(recorder.Recorder, "seconds", lambda run: self.now)


def test_a_disk_of_20_mb_per_second_slows_no_step(undisturbed, config, tmp_path, monkeypatch):
    """A checkpoint of 157 MB takes 7.85 s there: four steps begin while it is being written."""
    clock = Clock(monkeypatch, config.steps, step=2.0, writing=SIZE / SPEED, cost=0.1)
    run = train(config, tmp_path / "run")
    assert len(clock.written) > 4 and clock.written[-1][0] == config.steps
    assert all(when >= 2 * step + SIZE / SPEED for step, when in clock.written[:-2])
    same(undisturbed, run)


@pytest.mark.parametrize(
    ("steps", "step", "writing", "cost"),
    [
        (300, 0.5, 0.1, 0.01),  # cheap
        (300, 1.0, SIZE / SPEED, 2.0),  # dear, on a slow disk
        (300, 19.0, 1.0, 2.0),  # a log entry every 57 s
        (100, 100.0, 20.0, 9.0),  # 1 % of the run is one step
    ],
)
def test_what_a_kill_may_lose(config, tmp_path, monkeypatch, steps, step, writing, cost):
    """A minute or 1 % of the run, and the steps that show that a checkpoint is good."""
    clock = Clock(monkeypatch, steps, step, writing, cost)
    train(config.replace(steps=steps, validate_every=70), tmp_path / "run")
    assert len(clock.lost) > steps and len(clock.written) > 3
    assert max(clock.lost) <= max(60, 0.01 * steps * step) + 5 * step
