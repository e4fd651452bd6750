"""On a real Ray cluster: the same results, also if a machine leaves or the head restarts."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from ostinato.runs.folder.log import read_events

pytestmark = pytest.mark.slow

CONTRAST = "contrast --tasks adding --cells simple,elman --trials 1 --seeds 2 --budget 60"
CONTRAST += " --set length=5 --set batch=4 --set checkpoint_every=50 --steps {steps}"
REPRODUCE = "reproduce temporal-xor --quick --seeds 2 --set steps={steps} --set checkpoint_every=20"
EVOLVE = (
    "evolve --tasks adding:length=5,xor --evaluations 5 --population 3 --units 3 --steps {steps}"
)
COMMANDS = {"contrast": CONTRAST, "reproduce": REPRODUCE, "evolve": EVOLVE}
FOLDER = {"contrast": "--out", "reproduce": "--folder", "evolve": "--folder"}
LONG = 400  # steps
SMALL = {"num_cpus": 1, "object_store_memory": 10**8}


def command(name, folder, steps, *more):
    words = [*COMMANDS[name].format(steps=steps).split(), FOLDER[name], str(folder), *more]
    return subprocess.Popen(
        [sys.executable, "-m", "ostinato", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def output(process, code=0):
    words = process.communicate()[0].decode()
    assert process.returncode == code, words
    return words


def results(name, folder):
    """All that a command found, without times."""
    if name == "evolve":
        return (folder / "ancestry.jsonl").read_bytes(), (folder / "best.py").read_bytes()
    if name == "contrast":
        found = json.loads((folder / "result.json").read_text())
        return [
            [{**x, "seconds": 0} for x in group.pop("rows")] for group in found["groups"]
        ], found
    found = {x.name: json.loads(x.read_text()) for x in (folder / "results").iterdir()}
    for one in found.values():
        del one["seconds"], one["curves"]["by second"]
    return found


def weights(folder):
    """The arrays of every checkpoint, by run and file."""
    return {
        f"{file.relative_to(folder)} {name}": array.tobytes()
        for file in folder.rglob("checkpoints/*.safetensors")
        for name, array in load_file(file).items()
    }


def trains(process, folder, count=1):
    """Wait until so many runs in a folder have a checkpoint."""
    while len({x.parents[1] for x in folder.rglob("checkpoints/step-*.safetensors")}) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.2)


@pytest.fixture(scope="module", autouse=True)
def without_tokens():
    """A cluster on loopback that asks nobody for a token, whatever this machine has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        yield


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("ray", reason="needs the extra cluster")
    from ray.cluster_utils import Cluster

    started = Cluster(initialize_head=True, head_node_args={**SMALL, "include_dashboard": False})
    started.add_node(**SMALL)
    started.wait_for_nodes()
    yield started
    started.shutdown()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_same_without_and_with_a_cluster(cluster, name, tmp_path):
    steps = 60
    output(command(name, tmp_path / "alone", steps))
    output(command(name, tmp_path / "ray", steps, "--ray", cluster.address))
    assert results(name, tmp_path / "ray") == results(name, tmp_path / "alone")
    assert weights(tmp_path / "ray") == weights(tmp_path / "alone")
    assert name == "evolve" or weights(tmp_path / "ray")
    assert not (tmp_path / "ray" / ".cluster").exists()


# Steps of a command whose runs, or cells, take seconds each.
STEPS = {"contrast": LONG, "reproduce": LONG, "evolve": 200}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The folder of a command that was done without a cluster, by its name; done once."""
    folders = {}

    def done(name):
        if name not in folders:
            folders[name] = tmp_path_factory.mktemp("alone") / name
            output(command(name, folders[name], STEPS[name]))
        return folders[name]

    return done


def under_way(process, folder, name):
    """Wait until a command has done something and has more to do."""
    if name != "evolve":
        return trains(process, folder)
    log = folder / "ancestry.jsonl"
    while not (log.exists() and log.read_bytes().count(b"\n") > 1):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    return None


def same(name, folder, other):
    assert results(name, folder) == results(name, other)
    assert weights(folder) == weights(other)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_machine_that_leaves_loses_nothing(cluster, alone, tmp_path, name):
    expected, machine = alone(name), cluster.add_node(**SMALL)
    process = command(name, tmp_path / "ray", STEPS[name], "--ray", cluster.address)
    under_way(process, tmp_path / "ray", name)
    cluster.remove_node(machine, allow_graceful=False)
    output(process)
    same(name, tmp_path / "ray", expected)


def test_ctrl_c_saves_what_is_trained(cluster, tmp_path):
    process = command("contrast", tmp_path, 100_000, "--ray", cluster.address)
    trains(process, tmp_path)
    process.send_signal(signal.SIGINT)
    words = output(process, 130)
    assert "interrupted; continue with: ostinato contrast" in words and "Traceback" not in words
    ends = [read_events(x.parent)[-1] for x in tmp_path.rglob("events.jsonl")]
    assert any(end["kind"] == "end" and end["reason"] == "interrupted" for end in ends)


def test_other_work_shares_the_cluster(cluster, alone, tmp_path):
    """A contrast, and beside it one run whose two processes are tasks of the same cluster."""
    import ray

    ray.init(address=cluster.address, log_to_driver=False)

    @ray.remote(num_cpus=1, scheduling_strategy="SPREAD")
    def process(here, words):
        import subprocess
        import sys

        found = subprocess.run(
            [sys.executable, "-m", "ostinato", *words], cwd=here, capture_output=True, text=True
        )
        return found.returncode, found.stdout + found.stderr

    words = "train --task adding --cell simple --units 4 --length 5 --batch 4 --steps 60".split()
    place = ["--coordinator", f"127.0.0.1:{free_port()}", "--processes", "2", "--process"]
    run = [*words, "--run", "shared", "--distributed"]
    try:
        parts = [process.remote(str(tmp_path), [*run, *place, f"{n}"]) for n in range(2)]
        contrast = command("contrast", tmp_path / "ray", LONG, "--ray", cluster.address)
        for code, said in ray.get(parts):
            assert code == 0, said
        output(contrast)
    finally:
        ray.shutdown()
    assert results("contrast", tmp_path / "ray") == results("contrast", alone("contrast"))
    assert read_events(tmp_path / "shared")[-1]["step"] == 60


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def started_head(port):
    ray = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--port", f"{port}"]
    small = ["--num-cpus", "2", "--object-store-memory", "100000000", "--include-dashboard=false"]
    # In the foreground it is one process group, which can be killed as a whole.
    return subprocess.Popen(
        [*ray, *small, "--block"],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def killed(head):
    os.killpg(head.pid, signal.SIGKILL)
    head.wait()


def wait_for(port):
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.5)
    raise AssertionError("no head")


@pytest.mark.parametrize("comes_back", [True, False])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_head_that_restarts_loses_nothing(alone, tmp_path, name, comes_back):
    pytest.importorskip("ray", reason="needs the extra cluster")
    expected, port, folder = alone(name), free_port(), tmp_path / "ray"
    address = ["--ray", f"127.0.0.1:{port}"]
    head = started_head(port)
    try:
        wait_for(port)
        process = command(name, folder, STEPS[name], *address)
        under_way(process, folder, name)
        killed(head)
        if not comes_back:
            words = output(process, 2).strip().splitlines()[-1]
            assert words.startswith("ostinato: the Ray cluster at") and "was lost; what is" in words
        head = started_head(port)
        wait_for(port)
        if not comes_back:
            resume = [] if name == "reproduce" else ["--resume"]  # which always goes on
            process = command(name, folder, STEPS[name], *resume, *address)
        output(process)
    finally:
        killed(head)
    same(name, folder, expected)
