"""What was saved stays: a resume that is refused changes no byte, and says what differs."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import equinox as eqx
import jax
import pytest
from test_training import TEXT, numbers, same

from ostinato.cells import LSTM, Simple
from ostinato.contrast.training import outcome_of
from ostinato.errors import BadInput
from ostinato.files import is_leftover, is_locked, locked, write_whole
from ostinato.runs import Config, examine, open_run, train
from ostinato.runs.folder import manifest
from ostinato.runs.many import is_over
from ostinato.tasks import Adding, Text
from ostinato.weights import notes_of
from ostinato.wiring import Network, OneHot, Readout
from untrained import untrained_run

SMALL = {"units": 4, "batch": 3, "length": 8, "steps": 6, "checkpoint_every": 2}


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "fox.txt"
    path.write_text(TEXT)
    return Config(file=str(path), cell="lstm", validate_every=2, **SMALL)


@pytest.fixture(scope="module")
def finished(config, tmp_path_factory):
    return train(config, tmp_path_factory.mktemp("runs") / "whole")


@pytest.fixture
def run(finished, tmp_path):
    """A copy to do harm to."""
    shutil.copytree(finished.path, tmp_path / "run")
    return open_run(tmp_path / "run")


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def refused(path, config, words, **given):
    """A resume that is refused in one line with these words, and changes nothing."""
    before = content(path)
    with pytest.raises(BadInput, match=words) as error:
        train(config, path, resume=True, **given)
    assert "\n" not in str(error.value)
    assert content(path) == before


def newest(run) -> Path:
    return run.checkpoints.path(run.steps()[-1])


def edit(path: Path, **changes) -> None:
    """Change a JSON file, as another version might have written it."""
    found = {**json.loads(path.read_text()), **changes}
    if "sha256" in found:
        found["sha256"] = manifest._checksum({k: v for k, v in found.items() if k != "sha256"})
    path.write_text(json.dumps(found))


# Another structure


@pytest.mark.parametrize("change", [{"units": 5}, {"cell": "gru"}, {"layers": 2}, {"rate": 0.5}])
def test_an_edited_configuration(run, change):
    own = run.config.replace(**change)
    edit(run.path / "config.json", **own.as_json())
    ((name, value),) = change.items()
    before = run.config.flat()[name]
    refused(run.path, own, f"has been changed: {name} = {value}, but .* made with {before}")


def test_a_network_of_another_structure(config, tmp_path):
    own = Network(Simple(28, 3, key=jax.random.key(0)), Readout(3, 28, key=jax.random.key(1)))
    own = eqx.tree_at(lambda n: n.encoding, own, OneHot(28), is_leaf=lambda x: x is None)
    run = train(config, tmp_path / "run", network=own)
    more = config.replace(steps=8)
    refused(run.path, more, "cell was Simple, and is now LSTM; .* its own network: pass it")
    assert type(run.network().cell) is Simple  # the folder describes it
    assert train(more, run.path, resume=True, network=own).steps()[-1] == 8


def test_a_parameter_that_was_renamed(run, config):
    """As by a new version: the file of weights says what is missing."""
    for step in run.steps():
        path = run.checkpoints.path(step)
        header = path.read_bytes().replace(b"network.cell.R", b"network.cell.Q")
        path.write_bytes(header.replace(b'"sha256":"', b'"sha25_":"'))
    refused(run.path, config, "no checkpoint .* can be read")  # a checksum that lost its name
    for step in run.steps():
        path = run.checkpoints.path(step)
        path.write_bytes(without_checksum(path.read_bytes()))
    refused(run.path, config, "does not belong to this run: .* has no network.cell.R, which")


def without_checksum(data: bytes) -> bytes:
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header["__metadata__"] = {"progress": header["__metadata__"]["progress"]}
    words = json.dumps(header).encode()
    words += b" " * (-len(words) % 8)
    return len(words).to_bytes(8, "little") + words + data[8 + size :]


class Doubled(LSTM):
    """Looks like an LSTM to a file of weights, and is none."""

    def step(self, state, u):
        state, y = super().step(state, u)
        return state, 2 * y


def test_a_subclass_is_not_taken_for_the_built_in(config, tmp_path):
    cells = [cell(28, 4, key=jax.random.key(0)) for cell in (Doubled, LSTM)]
    networks = [Network(c, Readout(4, 28, key=jax.random.key(1)), OneHot(28)) for c in cells]
    run = train(config, tmp_path / "run", network=networks[0])
    words = r"cell was test_nothing_lost.Doubled, and is now LSTM"
    for attempt in (run.network, lambda: run.network(like=networks[1]), lambda: examine(run)):
        with pytest.raises(BadInput, match=words):
            attempt()
    refused(run.path, config, words)
    assert type(run.network(like=networks[0]).cell) is Doubled


@pytest.mark.slow
def test_code_that_was_edited(config, tmp_path):
    """The same name and shapes, another equation."""
    source = """
        from ostinato.cells import Simple
        class Mine(Simple):
            def step(self, state, u):
                return super().step({} * state, u)
    """
    script = tmp_path / "mine.py"
    code = (
        "import sys, json, jax; sys.path.insert(0, sys.argv[1]); from mine import Mine; "
        "from ostinato.runs import Config, train; from ostinato.wiring import *; "
        "net = Network(Mine(28, 4, key=jax.random.key(0)), Readout(4, 28, key=jax.random.key(1)), "
        "OneHot(28)); config = Config(**json.loads(sys.argv[2])); "
        "train(config, 'run', network=net, resume=len(sys.argv) > 3)"
    )
    command = [sys.executable, "-B", "-c", code, str(tmp_path), json.dumps(config.flat())]

    def go(scale, *more):
        script.write_text(textwrap.dedent(source.format(scale)))
        return subprocess.run([*command, *more], cwd=tmp_path, capture_output=True, text=True)

    assert go("0.5").returncode == 0
    before = content(tmp_path / "run")
    found = go("0.6", "resume")
    assert found.returncode and "the code of cell has changed" in found.stderr
    assert content(tmp_path / "run") == before
    script.write_text("# a comment is no other code\n")
    assert go("0.5", "resume").returncode == 0


def test_a_task_of_ones_own(config, tmp_path):
    class Mine(Adding):
        pass

    adding = Config(task="adding", cell="simple", **SMALL)
    run = train(adding, tmp_path / "own", task=Mine(length=8))
    refused(run.path, adding, "from Python with its own task, .* pass it again")
    refused(run.path, adding, "another task", task=Adding(length=8))
    other = Mine(length=8, seed=1)
    refused(run.path, adding, "data of adding are not, or no longer, what", task=other)
    assert train(adding, run.path, resume=True, task=Mine(length=8)).steps()[-1] == 6
    run = train(config, tmp_path / "text", task=Text.of(TEXT[::-1], length=8))
    refused(run.path, config, "was started with file = None, so it cannot continue with")


def test_what_was_really_used_is_recorded_and_kept(config, tmp_path):
    found = config.replace(units=None, budget=800, batch=None, rate=None)
    run = untrained_run(found, tmp_path / "run")
    used = open_run(run.path).manifest["used"]
    assert used == {
        "batch": 32,
        "length": 8,
        "rate": 0.004,
        "units": run.network().cell.R.shape[0],
    }
    assert open_run(run.path).manifest["versions"]["jax"] == jax.__version__
    model = json.loads((run.path / "model.json").read_text())
    model["made"]["used"]["rate"] = 0.003  # as if another version had another usual rate
    edit(run.path / "model.json", **model)
    refused(run.path, found, "was started with rate = 0.003, which would now be 0.004")


def test_another_version_is_told_of(run, config):
    model = json.loads((run.path / "model.json").read_text())
    model["made"]["versions"]["jax"] = "0.1"
    edit(run.path / "model.json", **model)
    with pytest.warns(
        RuntimeWarning, match=r"started with jax 0.1, .* differ in their last digits"
    ):
        train(config, run.path, resume=True)


def test_a_refused_resume_does_not_change_the_steps(run, config):
    for step in run.steps():
        run.checkpoints.path(step).write_bytes(b"gone")
    refused(run.path, config.replace(steps=9), "no checkpoint in .* can be read")
    assert open_run(run.path).config.steps == 6


# Files of another run


@pytest.fixture(scope="module")
def other(config, tmp_path_factory):
    """The same in all but its seed."""
    return train(config.replace(seed=1), tmp_path_factory.mktemp("runs") / "other")


def test_a_checkpoint_of_another_run(run, other, config):
    shutil.copy(newest(other), newest(run))
    refused(run.path, config, "does not belong to this run: .* is from another run")
    with pytest.raises(BadInput, match="is from another run"):
        run.network()


@pytest.mark.parametrize("name", ["config.json", "model.json", "events.jsonl"])
def test_another_run_s_file(run, other, config, name):
    shutil.copy(other.path / name, run.path)
    words = {
        "config.json": "has been changed: seed = 1, but the run was made with 0",
        "model.json": "has been changed: seed = 0, but the run was made with 1",
        "events.jsonl": "events.jsonl is from another run",
    }
    refused(run.path, config, words[name])


def test_checkpoints_that_were_swapped(run, config):
    one, two = (run.checkpoints.path(step) for step in run.steps()[-2:])
    first = one.read_bytes()
    shutil.copy(two, one)
    two.write_bytes(first)
    refused(run.path, config, "no checkpoint in .* can be read .* has invalid notes")


# Damaged files


def test_a_flipped_bit_in_the_model(run):
    path = run.path / "model.json"
    path.write_text(path.read_text().replace("122", "123"))  # the character z
    with pytest.raises(BadInput, match="not what a run writes: its checksum is wrong"):
        open_run(run.path)


def flip(path: Path, place: float = 0.5) -> None:
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 1
    path.write_bytes(data)


def test_a_flipped_bit_is_passed_over_with_a_warning(run, config, finished):
    flip(newest(run), 0.99)
    damaged = newest(run).read_bytes()
    with pytest.warns(RuntimeWarning, match="checksum is wrong; using the checkpoint of step"):
        run.network()
    assert newest(run).read_bytes() == damaged
    with pytest.warns(RuntimeWarning, match="checksum is wrong; using the checkpoint of step"):
        train(config, run.path, resume=True)
    same(finished, run)
    assert numbers(finished) == numbers(run)


def test_the_best_checkpoint_is_damaged(run):
    notes = notes_of(run.checkpoints.path(run.steps()[-1]))
    best = json.loads(notes["progress"])["best_step"]
    edited = open_run(run.path)
    flip(run.checkpoints.path(best))
    with pytest.warns(RuntimeWarning, match="checksum is wrong"):
        edited.network()


def test_all_checkpoints_are_damaged(run, config):
    for step in run.steps():
        flip(run.checkpoints.path(step))
    refused(run.path, config, r"no checkpoint in .* can be read .*checksum is wrong.*another --run")
    with pytest.raises(BadInput, match=r"no checkpoint in .* can be read"):
        run.network()


def test_checkpoints_that_cannot_be_listed(run, config):
    shutil.rmtree(run.path / "checkpoints")
    (run.path / "checkpoints").write_text("a file in its place")
    refused(run.path, config, "checkpoints cannot be read: Not a directory")


def test_checkpoints_that_are_gone(run, config, finished):
    shutil.rmtree(run.path / "checkpoints")
    with pytest.warns(RuntimeWarning, match="has no checkpoint: it starts again at step 0"):
        train(config, run.path, resume=True)
    same(finished, run)
    assert numbers(finished) == numbers(run)


NOTES = [
    "",
    "null",
    "[]",
    "{",
    '{"step": "6"}',
    '{"step": 7}',
    '{"step": -1}',
    '{"x": 1}',
    "[" * 9999,
]


@pytest.mark.parametrize("notes", NOTES)
def test_strange_notes(run, notes):
    path = newest(run)
    data = without_checksum(path.read_bytes())
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header["__metadata__"] = {"progress": notes} if notes else {}
    words = json.dumps(header).encode()
    path.write_bytes(len(words).to_bytes(8, "little") + words + data[8 + size :])
    with pytest.warns(RuntimeWarning, match="notes.*; using the checkpoint of step"):
        run.network("last")


def test_damaged_lines_of_the_log(run):
    path, whole = run.path / "events.jsonl", run.events()
    strange = [b"\xff\xfe", b"null", b"[1]", b'{"kind": "train", "step": "six"}', b"[" * 9999]
    strange += [b'{"kind": 3, "step": 1}', b'{"step": 1}', b'{"kind": "train", "step": true}']
    path.write_bytes(b"\n".join([*strange, path.read_bytes()]) + b'{"kind": "tra')
    with pytest.warns(RuntimeWarning, match="8 lines cannot be read"):
        assert run.events() == whole
    run.note({"kind": "mine", "step": 6})  # on a line of its own
    with pytest.warns(RuntimeWarning, match="9 lines"):
        assert run.events() == [*whole, {"kind": "mine", "step": 6}]


MODELS = [
    {"sizes": None}, {"sizes": {}}, {"sizes": {"name": "text", "inputs": "28"}}, {"sizes": [1]},
    {"sizes": {"name": "text", "inputs": -1, "outputs": 28, "symbolic": True}},
    {"sizes": {"name": "text", "inputs": 28, "outputs": 10**12, "symbolic": True}},
    {"sizes": {"name": "text", "inputs": 28, "outputs": 5, "symbolic": True}},
    {"artefacts": []}, {"artefacts": {"vocabulary": []}}, {"artefacts": {"vocabulary": "ab"}},
    {"artefacts": {"vocabulary": {"points": 3, "level": "characters"}}},
    {"artefacts": {"vocabulary": {"points": ["a"] * 28, "level": "characters"}}},
    {"made": None}, {"made": []}, {"made": {"used": 3}}, {"made": {"used": {"units": "x"}}},
    {"made": {"given": 1}}, {"made": {"task": 1}}, {"format": "2"}, {"format": True}, {"format": 0},
    {"format": None}, {"format": -1},
]  # fmt: skip


@pytest.mark.parametrize("change", MODELS, ids=str)
def test_a_strange_model(run, change):
    edit(run.path / "model.json", **change)
    with pytest.raises(BadInput, match="not what a run writes") as error:
        open_run(run.path).network()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("format", [1, 2])
def test_a_folder_of_an_earlier_format_is_refused(run, config, format):
    edit(run.path / "model.json", format=format)
    words = rf"earlier version of Ostinato \(format {format}, .* formats 3 to 4\); train it again"
    refused(run.path, config, words)


def test_a_weight_decay_of_0_in_format_3_is_still_the_learners_own(config, tmp_path):
    """That format had no other word for the default; resuming must not switch the decay off."""
    own = config.replace(learner="adamw")
    run = train(own, tmp_path / "run")
    assert run.config.weight_decay is None
    sections = own.as_json()
    sections["learner"]["weight_decay"] = 0.0
    (run.path / "config.json").write_text(json.dumps(sections))
    made = json.loads((run.path / "model.json").read_text())["made"]
    edit(run.path / "model.json", format=3, made={**made, "config": sections})
    assert open_run(run.path).config == own
    refused(run.path, own.replace(weight_decay=0.0), "weight_decay")
    resumed = train(own.replace(steps=8), run.path, resume=True)
    resumed.with_artefacts({})  # writes model.json in today's format
    assert open_run(run.path).config == own.replace(steps=8)


@pytest.mark.parametrize("name", ["config.json", "model.json"])
def test_deep_nesting(run, name):
    (run.path / name).write_text("[" * 100_000)
    with pytest.raises(BadInput, match="cannot be read as JSON"):
        open_run(run.path)


def test_a_folder_with_only_a_model(run, config, finished, tmp_path):
    """What a process leaves that was killed between its first two files."""
    begun = tmp_path / "begun"
    begun.mkdir()
    shutil.copy(run.path / "model.json", begun)
    (begun / f".config.json.{'01' * 8}.ostinato-part").write_text("{")
    same(finished, train(config, begun))
    assert not any(is_leftover(path.name) for path in begun.iterdir())


OWN_FILES = ("thesis.12345678.part", "config.json.0123abcd.part", ".thesis.part", "notes.part")


def test_only_our_own_leftovers_are_removed(run, config, monkeypatch):
    for name in OWN_FILES:
        (run.path / name).write_text("of the user")
        (run.path / "checkpoints" / name).write_text("of the user")

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as during, pytest.raises(KeyboardInterrupt):
        during.setattr(os, "replace", killed)
        write_whole(run.path / "config.json", b"half")
    left = [path for path in run.path.iterdir() if is_leftover(path.name)]
    assert len(left) == 1 and "config.json" in left[0].name
    train(config.replace(steps=8), run.path, resume=True)
    assert not left[0].exists()
    for name in OWN_FILES:
        assert (run.path / name).read_text() == "of the user"
        assert (run.path / "checkpoints" / name).read_text() == "of the user"


def test_a_file_of_the_user_is_not_the_beginning_of_a_run(config, tmp_path):
    for name in OWN_FILES:
        (tmp_path / name).write_text("of the user")
        with pytest.raises(BadInput, match="is not an empty folder"):
            train(config, tmp_path)
        (tmp_path / name).unlink()


def test_a_log_with_values_of_wrong_types_is_gone_on_with(run, config):
    log = run.path / "events.jsonl"
    odd = '{"kind": "train", "step": 1, "loss": 1.0, "took": "long"}\n{"kind": "end", "step": 2}\n'
    log.write_text(log.read_text() + odd)
    assert is_over(run.path)
    train(config.replace(steps=8), run.path, resume=True)
    assert outcome_of(run.path).value is not None


def test_steps_that_are_done_are_not_taken_back(run, config):
    refused(run.path, config.replace(steps=5), "has done 6 steps, so it cannot continue to step 5")


# Two processes, and links


def test_a_second_process_is_refused(run, config):
    with locked(run.path):
        refused(run.path, config, "another process is training in")
        with pytest.raises(BadInput, match="is already a run"):
            train(config, run.path)
    assert not (run.path / ".lock").exists()
    train(config, run.path, resume=True)


def test_a_killed_process_leaves_no_lock(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from ostinato.files import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        with pytest.raises(BadInput, match="another process"), locked(tmp_path):
            pass
        process.kill()
    with locked(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_looking_at_a_lock_refuses_nobody(tmp_path):
    over = threading.Event()

    def look():
        while not over.is_set():
            is_locked(tmp_path)

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(300):
            with locked(tmp_path):
                pass
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_a_lock_is_seen_while_others_look(tmp_path):
    """A shared lock, which is all that looking takes, hides no holder and is not taken for one."""
    fcntl = pytest.importorskip("fcntl")
    path = tmp_path / ".lock"
    with open(path, "w") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        assert not is_locked(tmp_path)
    with locked(tmp_path):
        assert is_locked(tmp_path)
        with pytest.raises(BadInput, match="another process"), locked(tmp_path):
            pass
        assert is_locked(tmp_path)


@pytest.mark.parametrize(
    "name", ["config.json.part", "events.jsonl.part", "checkpoints/step-00000008.safetensors.part"]
)
def test_nothing_is_written_through_a_link(run, config, tmp_path, name):
    outside = tmp_path / "precious"
    outside.write_text("precious")
    (run.path / name).symlink_to(outside)
    train(config.replace(steps=8), run.path, resume=True)
    assert outside.read_text() == "precious"


def test_a_log_that_is_a_link(run, config, tmp_path):
    outside = tmp_path / "precious"
    shutil.move(run.path / "events.jsonl", outside)
    (run.path / "events.jsonl").symlink_to(outside)
    refused(run.path, config, "events.jsonl is a symbolic link; nothing is written through it")


# Signals


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_saves_and_is_told(config, tmp_path, finished, name):
    number = getattr(signal, name)
    before = signal.signal(number, signal.SIG_DFL) if name != "SIGINT" else None

    def interrupt(event):
        if event["kind"] == "train" and event["step"] == 3:
            os.kill(os.getpid(), number)

    try:
        run = train(config, tmp_path / "run", listener=interrupt)
    finally:
        if before is not None:
            signal.signal(number, before)
    end = run.events()[-1]
    assert end["reason"] == "interrupted" and end["signal"] == number and run.steps()[-1] >= 3
    train(config, tmp_path / "run", resume=True)
    same(finished, run)
