"""Runs that are stopped, killed, out of disk or out of hand: nothing saved is lost."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

from ostinato import settings as all_settings
from ostinato.errors import BadInput
from ostinato.files import is_leftover
from ostinato.losses import SquaredError
from ostinato.runs import Config, Diverged, open_run, train
from ostinato.runs.folder import checkpoints, log
from ostinato.runs.folder.events import KINDS, event_of, opening
from ostinato.runs.loop import loop, step
from ostinato.tasks import Adding

TEXT = "the quick brown fox jumps over the lazy dog. " * 40


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "fox.txt"
    path.write_text(TEXT)
    return str(path)


@pytest.fixture(scope="module")
def config(text):
    """Everything that has a memory of its own: noise, momentum, a carried state, a plateau."""
    return Config(
        file=text,
        units=4,
        batch=3,
        length=8,
        steps=12,
        zoneout=0.1,
        dropout=0.1,
        schedule="plateau",
        clip="auto",
        checkpoint_every=2,
        validate_every=4,
    )


@pytest.fixture(scope="module")
def undisturbed(config, tmp_path_factory):
    return train(config, tmp_path_factory.mktemp("runs") / "whole")


def arrays_of(run, step=None):
    """Everything in a checkpoint, by name."""
    name = f"step-{run.steps()[-1] if step is None else step:08d}.safetensors"
    return safetensors.numpy.load_file(run.path / "checkpoints" / name)


def same(one, other):
    one, other = arrays_of(one), arrays_of(other)
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name, strict=True)


def numbers(run):
    """The events without what depends on the clock."""
    ignored = {"seconds", "took", "device"}
    found = []
    for event in run.events():
        if event["kind"] in ("train", "valid"):
            found.append({k: v for k, v in event.items() if k not in ignored})
    return found


def check_log(run, *kinds):
    """A log has events of these kinds, each with the fields that its type declares."""
    written = (run.path / "events.jsonl").read_bytes().splitlines()
    events = [json.loads(line) for line in written]
    assert {event["kind"] for event in events} == {*kinds}
    assert [event_of(line) for line in written] == events
    for event in events:
        assert event.keys() <= KINDS[event["kind"]].__annotations__.keys()


def test_a_run_keeps_what_it_must(undisturbed, config):
    run = open_run(undisturbed.path)
    assert run.config == config
    assert run.steps()[-1] == 12 and len(run.steps()) <= 3
    kinds = [event["kind"] for event in run.events()]
    assert kinds[0] == "start" and kinds[-1] == "end" and kinds.count("valid") == 3
    best = min(event["value"] for event in run.events() if event["kind"] == "valid")
    assert run.events()[-1]["best"] == best
    assert not any(is_leftover(path.name) for path in run.path.rglob("*"))
    network, last = run.network("best"), run.network("last")
    assert jax.tree.structure(network) == jax.tree.structure(last)


def test_notes_of_the_data_are_told_once_and_kept(tmp_path):
    """A run of a user's task says what was done to its data; others have no such field."""
    noted = type("Noted", (Adding,), {"notes": ("3 rows were sorted by 'date'",)})
    heard = []
    config = Config(task="adding", cell="simple", units=2, steps=2, batch=2, seed=1)
    run = train(config, tmp_path / "run", listener=heard.append, task=noted(length=4))
    assert [event["notes"] for event in heard if "notes" in event] == [[*noted.notes]]
    assert opening(run.events())["notes"] == [*noted.notes]
    check_log(run, *{event["kind"] for event in heard})


def test_the_parts_of_the_time_add_up(undisturbed):
    end = undisturbed.events()[-1]
    assert sum(end["spent"].values()) == pytest.approx(end["seconds"], abs=0.01)
    assert min(end["spent"].values()) >= 0  # nothing is counted twice
    assert end["spent"].keys() == {
        *("start", "compile", "input", "step", "wait", "log", "validation", "checkpoint", "other")
    }


def test_a_validation_has_all_metrics_of_the_task(undisturbed):
    for event in (e for e in undisturbed.events() if e["kind"] == "valid"):
        assert event["metrics"].keys() == {"bits per character", "perplexity per character"}
        assert event["metrics"]["bits per character"] == event["value"]
        assert event["metrics"]["perplexity per character"] == pytest.approx(2 ** event["value"])


def test_log_every_says_which_steps_are_logged(config, tmp_path):
    short = config.replace(checkpoint_every=None, validate_every=None, log_every=5)
    run = train(short, tmp_path / "run")
    assert run.events()[0]["log_every"] == 5
    # The best network is checked before it is kept, at each validation, which is every 2 steps.
    steps = [event["step"] for event in run.events() if event["kind"] == "train"]
    assert {5, 10, 12} <= {*steps} and not {1, 3, 7, 9, 11} & {*steps}


def test_a_network_says_its_step(undisturbed):
    run = open_run(undisturbed.path)
    best = min((e for e in run.events() if e["kind"] == "valid"), key=lambda e: e["value"])
    assert run.saved().step == best["step"] and run.saved("last").step == 12
    for which in (12, "last"):
        assert eqx.tree_equal(run.network(which), run.saved("last").network)


@pytest.mark.parametrize("which", [600, "first", True, 12.0, None])
def test_a_checkpoint_that_does_not_exist(undisturbed, which):
    run = open_run(undisturbed.path)
    steps = ", ".join(map(str, run.steps()))
    with pytest.raises(BadInput) as refused:
        run.network(which)
    words = f"has no checkpoint {which!r}; there are 'best', 'last' and the steps {steps}"
    assert str(refused.value).endswith(words)


def test_the_same_seed_gives_the_same_numbers(undisturbed, config, tmp_path):
    again = train(config, tmp_path / "again")
    same(undisturbed, again)
    assert numbers(undisturbed) == numbers(again)


def test_ctrl_c_saves_and_resume_goes_on_to_the_same_numbers(undisturbed, config, tmp_path):
    def interrupt(event):
        if event["kind"] == "train" and event["step"] == 5:
            os.kill(os.getpid(), signal.SIGINT)

    run = train(config, tmp_path / "run", listener=interrupt)
    end = run.events()[-1]
    assert end["reason"] == "interrupted" and run.steps()[-1] == end["step"] < 12
    train(config, tmp_path / "run", resume=True)
    same(undisturbed, run)
    assert numbers(undisturbed)[-3:] == numbers(run)[-3:]
    check_log(run, "start", "train", "valid", "end", "resume")


@pytest.mark.parametrize("learner", ["hf", pytest.param("saddle-free", marks=pytest.mark.slow)])
def test_a_second_order_run_resumes_to_the_same_numbers(text, tmp_path, learner):
    """With noise, a carried state, and a curvature batch of its own."""
    config = Config(
        file=text,
        cell="simple",
        units=4,
        batch=4,
        curvature_batch=2,
        length=8,
        steps=6,
        dropout=0.1,
        learner=learner,
        checkpoint_every=1,
        validate_every=3,
    )
    whole = train(config, tmp_path / "whole")

    def interrupt(event):
        if event["kind"] == "train" and event["step"] == 3:
            os.kill(os.getpid(), signal.SIGINT)

    run = train(config, tmp_path / "run", listener=interrupt)
    assert run.events()[-1]["reason"] == "interrupted"
    train(config, tmp_path / "run", resume=True)
    same(whole, run)
    assert numbers(whole)[-2:] == numbers(run)[-2:]


def test_looks_through_the_lens(undisturbed, config, tmp_path):
    """They are written down, and change nothing."""
    run = train(Config(**{**config.flat(), "lens": 3}), tmp_path / "run")
    same(undisturbed, run)
    assert numbers(undisturbed) == numbers(run)
    check_log(run, "start", "train", "valid", "lens", "end")
    looks = [event for event in run.events() if event["kind"] == "lens"]
    assert [look["step"] for look in looks] == [3, 6, 9, 12]
    for look in looks:
        assert look["lags"][0] == 0 and look["lags"][-1] == config.length - 1
        for name, profile in look["gradient"].items():
            assert len(profile) == len(look["lags"]) and profile[0] > 0
            assert 0 <= look["memory"][name] < config.length
        assert any("forget gate" in name for name in look["saturated"])
        assert all(0 <= share <= 1 for share in look["saturated"].values())


def test_the_remark_of_a_learner_is_kept(tmp_path, monkeypatch):
    """Products that are not numbers are survived, and the log says so."""
    monkeypatch.setattr(SquaredError, "hessian_at", lambda self, outputs: lambda v: jnp.nan * v)
    settings = {"cell": "simple", "units": 4, "batch": 8, "length": 6, "steps": 2}
    run = train(Config(task="adding", learner="hf", **settings), tmp_path / "run")
    told = [e for e in run.events() if e["kind"] == "train"]
    assert [e["reason"] for e in told] == ["not finite"] * 2
    assert "damping was raised from λ 0.015" in told[1]["remark"]


def test_more_steps_may_be_asked_for_and_nothing_else(config, tmp_path):
    train(config.replace(steps=3), tmp_path / "run")
    more = config.replace(steps=5)
    assert train(more, tmp_path / "run", resume=True).steps()[-1] == 5
    assert open_run(tmp_path / "run").config == more
    with pytest.raises(BadInput, match="started with units = 4, so it cannot continue with 5"):
        train(Config(**{**more.flat(), "units": 5}), tmp_path / "run", resume=True)


def test_a_full_disk_leaves_the_last_checkpoint(undisturbed, config, tmp_path, monkeypatch):
    write = checkpoints.write_whole

    def full(path, *data):
        if "00000006" in Path(path).name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, *data)

    monkeypatch.setattr(checkpoints, "write_whole", full)
    with pytest.raises(BadInput) as error:
        train(config, tmp_path / "run")
    words = str(error.value)
    assert "could not write the checkpoint of step 6" in words and "No space left" in words
    assert "last good checkpoint: step 4" in words and "\n" not in words
    monkeypatch.undo()
    run = train(config, tmp_path / "run", resume=True)
    same(undisturbed, run)


@pytest.mark.parametrize("number", [errno.EFBIG, errno.ENOSPC])
def test_a_log_that_cannot_grow(undisturbed, config, tmp_path, monkeypatch, number):
    """Half of a line is written, and nothing from then on; the run goes on once there is room."""
    append = log.append_line

    def full(path, line):
        if json.loads(line)["step"] >= 5:
            append(path, line[:9])
            raise OSError(number, os.strerror(number))
        append(path, line)

    monkeypatch.setattr(log, "append_line", full)
    with pytest.raises(BadInput) as error:
        train(config, tmp_path / "run")
    words, step = str(error.value), open_run(tmp_path / "run").steps()[-1]
    assert (
        f"{tmp_path / 'run' / 'events.jsonl'} cannot grow at step 5: {os.strerror(number)}" in words
    )
    assert f"last good checkpoint: step {step}, in" in words and words.endswith("then --resume")
    assert step < 5 and "\n" not in words
    monkeypatch.undo()
    with pytest.warns(RuntimeWarning, match="cannot be read; skipped"):
        same(undisturbed, train(config, tmp_path / "run", resume=True))


def test_a_damaged_checkpoint_is_passed_over(undisturbed, config, tmp_path):
    run = train(config, tmp_path / "run")
    newest = run.path / "checkpoints" / f"step-{run.steps()[-1]:08d}.safetensors"
    newest.write_bytes(newest.read_bytes()[:100])
    with pytest.warns(RuntimeWarning, match="using the checkpoint of step"):
        train(config, tmp_path / "run", resume=True)
    same(undisturbed, run)


def test_early_stopping(config, tmp_path):
    stale = {**config.flat(), "rate": 0.0, "validate_every": 1, "patience": 2, "zoneout": 0.0}
    run = train(Config(**stale), tmp_path / "run")
    assert run.events()[-1]["reason"] == "no gain" and run.events()[-1]["step"] == 3


def test_divergence_is_told_in_words(config, tmp_path):
    wild = {**config.flat(), "learner": "sgd", "rate": 1e9, "clip": "off"}
    with pytest.raises(Diverged) as error:
        train(Config(**wild), tmp_path / "run")
    words = str(error.value)
    for part in ("at step 2", "Gradient norms before it", "smaller --rate", "1e+09", "--clip 1"):
        assert part in words
    assert "Last good checkpoint: none yet" in words
    event = open_run(tmp_path / "run").events()[-1]
    assert event["kind"] == "diverged" and event["words"] == words
    check_log(open_run(tmp_path / "run"), "start", "train", "diverged")


def test_a_kernel_that_fails_leaves_no_trace(config, undisturbed, tmp_path, monkeypatch):
    """A failed kernel gives NaN: the run continues from its last checkpoint with the scan."""
    compiled, backends = step.compiled_step, []

    def failing(network, learner, seed, devices):
        advance, backend = compiled(network, learner, seed, devices), learner.objective.backend
        backends.append(backend)

        def step(arrays, learner_state, state, sequences, number):
            *after, report = advance(arrays, learner_state, state, sequences, number)
            if number < 7 or backend == "scan":
                return *after, report
            return *jax.tree.map(lambda x: x * np.nan, after), report | {"norm": jnp.nan}

        return step

    monkeypatch.setattr(loop, "_by_kernels", lambda *_: True)
    monkeypatch.setattr(step, "compiled_step", failing)
    with pytest.warns(RuntimeWarning, match="continues with the scan .* checkpoint: step 6"):
        run = train(config, tmp_path / "run")
    same(undisturbed, run)
    assert backends == [None, "scan"]


def test_divergence_is_no_fault_of_a_kernel(config, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "_by_kernels", lambda *_: True)
    monkeypatch.setattr(all_settings, "MAX_FLOAT", 1e308)  # tests are in float64
    wild = {**config.flat(), "learner": "sgd", "rate": 1e300, "clip": "off"}
    with pytest.warns(RuntimeWarning, match="none yet"), pytest.raises(Diverged):
        train(Config(**wild), tmp_path / "run")


def test_changed_data_are_noticed(text, config, tmp_path):
    file = tmp_path / "own.txt"
    file.write_text(TEXT)
    own = config.replace(file=str(file))
    train(own, tmp_path / "run")
    file.write_text(TEXT.replace("fox", "ox "))
    with pytest.raises(BadInput, match="no longer, what"):
        train(own, tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda p: (p / "config.json").unlink(), "is not a run folder: it has no config.json"),
        (
            lambda p: (p / "model.json").unlink(),
            "is not a complete run folder: it has no model.json",
        ),
        (lambda p: (p / "config.json").write_text("{"), "cannot be read as JSON"),
        (lambda p: (p / "config.json").write_text("[]"), "it should hold one JSON object"),
        (lambda p: (p / "config.json").write_text('{"x": 1}'), "'x' is not a section"),
        (lambda p: (p / "model.json").write_text('{"format": 99}'), "newer version of Ostinato"),
        (lambda p: (p / "model.json").write_text('{"format": 2}'), "earlier version of Ostinato"),
        (lambda p: (p / "model.json").write_text('{"format": 3}'), "is not what a run writes"),
        (lambda p: (p / "model.json").write_text("{}"), "its format must be a whole number"),
        (lambda p: [f.unlink() for f in (p / "checkpoints").iterdir()], "has no checkpoint yet"),
    ],
)
def test_a_folder_that_is_no_whole_run(undisturbed, tmp_path, spoil, words):
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", undisturbed.path, copy], check=True)
    spoil(copy)
    with pytest.raises(BadInput, match=words):
        open_run(copy).network()


def test_a_folder_that_is_taken_is_not_touched(undisturbed, config, tmp_path):
    with pytest.raises(BadInput, match="is already a run; continue with --resume"):
        train(config, undisturbed.path)
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(BadInput, match="is not an empty folder"):
        train(config, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


def killed_and_resumed(config, path, after):
    """Train in processes of their own, each killed after so many seconds, then to the end."""
    code = (
        "import sys, json; from ostinato.runs import Config, train; "
        "config = Config(**json.loads(sys.argv[1])); from pathlib import Path; "
        "resume = (Path(sys.argv[2]) / 'config.json').exists(); "
        "print('ready', flush=True); train(config, sys.argv[2], resume=resume)"
    )
    command = [sys.executable, "-c", code, json.dumps(config.flat()), str(path)]
    environment = {**os.environ, "JAX_ENABLE_X64": "1"}
    kills = 0
    for seconds in after:
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
            process.stdout.readline()
            time.sleep(seconds)
            kills += process.poll() is None
            process.kill()
        if (path / "config.json").exists():
            open_run(path)
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return kills


@pytest.fixture(scope="module")
def longer(config):
    """Long enough to be killed within, with a checkpoint at every step."""
    return Config(**{**config.flat(), "steps": 400, "checkpoint_every": 1, "validate_every": 50})


@pytest.mark.slow
def test_killed_at_any_moment(longer, tmp_path):
    whole = train(longer, tmp_path / "whole")
    assert killed_and_resumed(longer, tmp_path / "run", [4.0]) == 1
    same(whole, open_run(tmp_path / "run"))


@pytest.mark.slow
def test_kills_and_damaged_files():
    """A sample of `scripts/kills.py`."""
    script = Path(__file__).parents[2] / "scripts" / "kills.py"
    command = [sys.executable, script, "--kills", "6", "--damages", "12", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_a_curriculum_goes_from_short_to_long(config, tmp_path):
    rising = {**config.flat(), "curriculum": 2, "steps": 10}
    run = train(Config(**rising), tmp_path / "run")
    read = [event["symbols"] // 3 for event in run.events() if event["kind"] == "train"]
    assert read == sorted(read) and read[0] == 2 and read[-1] == 8


def test_minutes_end_a_run_with_a_validation_also_across_processes(config, tmp_path):
    short = {**config.flat(), "minutes": 0.0, "validate_every": 1000}
    run = train(Config(**short), tmp_path / "run")
    assert [event["kind"] for event in run.events()][-2:] == ["valid", "end"]
    assert run.events()[-1]["reason"] == "time" and run.steps() == [1]
    took = sum(event["took"] for event in run.events() if event["kind"] == "train")
    more = {**short, "minutes": took / 60}  # which the first process has used up
    run = train(Config(**more), tmp_path / "run", resume=True)
    assert run.events()[-1]["reason"] == "time" and run.events()[-1]["step"] == 2
