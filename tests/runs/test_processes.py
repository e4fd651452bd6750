"""Several processes: where they are, what they agree on, and what is refused in one line."""

import itertools
import os
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import ostinato
from ostinato.errors import BadInput
from ostinato.runs import Config, join_processes
from ostinato.runs.build import build_network, build_task
from ostinato.runs.loop import joining_processes, processes
from ostinato.runs.loop.loop import Training
from ostinato.runs.loop.processes import Agreement, Wish
from ostinato.runs.loop.signals import Stop
from starting import finished, started

PLACE = "--coordinator must be HOST:PORT, such as 10.0.0.1:1234; got "
HOSTS = ("", " ", "a b", "a/b", "http://a", "me@a", "a,b", "::1", "fe80::1", "a\n", "\0", "\u202e")
PORTS = ("", "0", "-1", "65536", "99999", "1e3", "0x50", "80.0", "http", " 80", "٣", "²", "8" * 30)
WHOLE = "must be a whole number of at least"
COUNTS = (0, -1, -(2**70), 1.5, True, float("nan"), "two", "", "1.0", "-2", b"2", [2], None)
NUMBERS = (-1, 1.5, False, "first", "-0", float("inf"), (1,), "٣", "0x1")
SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_STEP_NODELIST": "node[1-2]",
    "SLURM_NTASKS": "2",
    "SLURM_PROCID": "0",
    "SLURM_LOCALID": "0",
}
OPEN_MPI = {
    "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1:34911",
    "OMPI_COMM_WORLD_SIZE": "2",
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
}
KUBERNETES = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "JOB_COMPLETION_INDEX": "0"}
GOOD = ("10.0.0.1:1234", 2, 0)


def without(variables, *names):
    return {name: value for name, value in variables.items() if name not in names}


def wrong_places():
    """Arguments of `join_processes`, and what is said of them."""
    for given in itertools.product(*((x, None) for x in GOOD)):
        if None in given and given != (None, None, None):
            first = ("coordinator", "processes", "process")[given.index(None)]
            words = f"--coordinator, --processes and --process go together; give --{first}"
            yield given, words
    for host in HOSTS:
        yield (f"{host}:80", 2, 0), PLACE
    for port in PORTS:
        yield (f"host:{port}", 2, 0), PLACE
    for place in ("host", "host:", ":", ":80", 80, "[::1]", "a:b:c", ("h", 1), "h:1:2"):
        yield (place, 2, 0), PLACE
    for count in COUNTS[:-1]:
        yield (GOOD[0], count, 0), f"--processes {WHOLE} 1, got "
    for number in NUMBERS:
        yield (GOOD[0], 2, number), f"--process {WHOLE} 0, got "
    for count, number in ((2, 2), (1, 1), (2, 3), (4, 2**40)):
        words = f"--process must be from 0 to {count - 1}, because there are {count} processes; got"
        yield (GOOD[0], count, number), words


def wrong_environments():
    """Variables that launchers set, some of them missing or wrong, and what is said of them."""
    for name in [*SLURM][1:]:
        words = f"this is a job of Slurm, but {name} is not set: start each process by srun"
        yield without(SLURM, name), words
        yield SLURM | {name: ""}, words
    yield {"SLURM_JOB_ID": "7"}, "SLURM_STEP_NODELIST is not set: start each process by srun"
    for name in ("SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID"):
        for value in ("x", "-1", "1.5", "2(x3)"):
            yield SLURM | {name: value}, f"{name} {WHOLE}"
    yield SLURM | {"SLURM_NTASKS": "0"}, f"SLURM_NTASKS {WHOLE} 1, got 0"
    yield SLURM | {"SLURM_PROCID": "2"}, "SLURM_PROCID must be from 0 to 1, because there are 2"
    for name in [*OPEN_MPI][1:]:
        words = f"this is a job of Open MPI, but {name} is not set: start each process by mpirun"
        yield without(OPEN_MPI, name), words
        yield OPEN_MPI | {name: "x"}, f"{name} {WHOLE}"
    yield OPEN_MPI | {"OMPI_COMM_WORLD_RANK": "5"}, "OMPI_COMM_WORLD_RANK must be from 0 to 1"
    for uri in ("", "x", "1.0;udp://1", "x.0;tcp://10.0.0.1:1", "1531576320"):
        yield OPEN_MPI | {"OMPI_MCA_orte_hnp_uri": uri}, "OMPI_MCA_orte_hnp_uri has no address"
    words = "this Open MPI does not say where its first process is; give --coordinator HOST:PORT"
    yield without(OPEN_MPI, "OMPI_MCA_orte_hnp_uri"), words
    yield KUBERNETES, "which is not installed: pip install kubernetes, or give --coordinator"
    for place in ("", "host", "host:x", ":1", "a b:1"):
        yield {"JAX_COORDINATOR_ADDRESS": place}, "JAX_COORDINATOR_ADDRESS must be HOST:PORT"
        yield {"JAX_COORDINATOR_BIND_ADDRESS": place}, "BIND_ADDRESS must be HOST:PORT"
    for port in ("x", "0", "70000", "-5"):
        yield SLURM | {"JAX_COORDINATOR_PORT": port}, "JAX_COORDINATOR_PORT must be a number from"
    for which in ("x", "0,", "0;1", "-1"):
        yield SLURM | {"JAX_LOCAL_DEVICE_IDS": which}, "JAX_LOCAL_DEVICE_IDS must be numbers of"


@pytest.fixture
def never_started(monkeypatch):
    """Without variables of a launcher, and whoever asks JAX for the others has failed."""
    for name in [*SLURM, *OPEN_MPI, *KUBERNETES]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(joining_processes, "_abort_in_one_line", lambda: None)

    def initialize(*_, **__):
        raise AssertionError("JAX was asked")

    monkeypatch.setattr(jax.distributed, "initialize", initialize)


def refused(call):
    with pytest.raises(BadInput) as error:
        call()
    words = str(error.value)
    assert len(words) < 300 and words.isprintable()
    return words


def test_there_are_a_hundred_wrong_inputs():
    assert len([*wrong_places(), *wrong_environments()]) >= 100


def test_places_that_are_none(never_started):
    for place, words in wrong_places():
        assert words in refused(lambda place=place: join_processes(*place)), place


def test_half_of_a_launcher(never_started, monkeypatch):
    monkeypatch.setattr(joining_processes.importlib.util, "find_spec", lambda name: None)
    for variables, words in wrong_environments():
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            assert words in refused(join_processes), variables
    monkeypatch.setattr(joining_processes.importlib.util, "find_spec", lambda name: "there")
    words = "JOB_COMPLETION_INDEX is not set: make it an Indexed Job"
    assert words in refused(
        lambda: joining_processes.check_launcher({"KUBERNETES_SERVICE_HOST": "h"})
    )
    for good in ({}, SLURM, OPEN_MPI, KUBERNETES, {"JAX_COORDINATOR_ADDRESS": "[::1]:80"}):
        joining_processes.check_launcher(good)


def test_a_port_that_is_taken(never_started):
    """By a server for IPv4, for IPv6 or for both; JAX would end by a segmentation fault."""
    families = [socket.AF_INET, *([socket.AF_INET6] if socket.has_dualstack_ipv6() else [])]
    for family in families:
        with socket.create_server(("", 0), family=family) as server:
            port = server.getsockname()[1]
            words = refused(lambda port=port: join_processes(f"10.0.0.1:{port}", 2, 0))
            assert words.startswith(f"process 0 cannot listen at port {port} of this machine (Addr")
    assert "JAX was asked" in refused(lambda: join_processes(f"10.0.0.1:{port}", 2, 0))  # free now


def test_devices_that_are_not_there():
    for count in (0, -1, 1.5, "x", 1000):
        words = refused(lambda count=count: processes.shared_devices(count))
        assert "devices" in words


def test_what_jax_says_is_one_line(monkeypatch):
    monkeypatch.setattr(joining_processes, "_abort_in_one_line", lambda: None)

    def refuse(words):
        def initialize(*_, **__):
            raise ValueError(words)

        monkeypatch.setattr(jax.distributed, "initialize", initialize)
        with pytest.raises(BadInput) as error:
            join_processes()
        return str(error.value)

    assert "found no launcher that JAX knows" in refuse("coordinator_address should be defined.")
    assert "not all processes came" in refuse("DEADLINE_EXCEEDED: Barrier timed out")
    assert "before anything else" in refuse("must be called before any JAX calls")
    assert "\n" not in refuse("something\nelse")


def together(monkeypatch, rows):
    """Let this process believe that it is the first of several, which send these rows."""
    monkeypatch.setattr(processes, "_joined", lambda: True)
    monkeypatch.setattr(processes, "_gathered", lambda row: rows(row))


def test_a_signal_to_one_process_stops_all(monkeypatch):
    together(monkeypatch, lambda row: np.array([row, [15, 1, 1, 7]]))
    agreement = Agreement(log_every=10)
    assert agreement(1, lambda: Wish(0, False, True)) == Wish(15, False, True)
    assert agreement(2, Wish) == Wish(15, False, False)


def test_a_signal_waits_for_the_next_agreement(monkeypatch):
    """The steps between two agreements do not forget it."""
    together(monkeypatch, lambda row: row[None])
    monkeypatch.setattr(processes, "count", lambda: 2)
    loop, stop = Training.__new__(Training), Stop()
    loop.agreement = Agreement(log_every=10)
    loop.keeper = SimpleNamespace(is_free=lambda: False)
    loop.config = Config(task="adding")
    loop.agreement.next, stop.number = 7, 2
    assert loop._agreed(6, stop).signal == 0
    assert loop._agreed(7, stop).signal == 2


def test_processes_agree_at_log_entries_if_they_are_near(monkeypatch):
    together(monkeypatch, lambda row: row[None])
    clock = iter(np.arange(0, 100, 10.0))
    monkeypatch.setattr(processes.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(processes, "CONSULT", 250.0)  # 25 steps of 10 seconds
    agreement = Agreement(log_every=10)
    agreement(1, Wish)
    assert agreement.next == 2
    agreement(2, Wish)
    assert agreement.next == 20
    agreement.log_every = 100
    agreement(20, Wish)
    assert agreement.next > 20 and agreement(21, lambda: Wish(9)) == Wish()


def test_processes_that_differ_do_not_begin(monkeypatch):
    same = dict.fromkeys(processes.NAMES, "the same")

    def prepared():
        with processes.all_or_none() as facts:
            facts |= same

    def rows(row, change=None):
        other = row.copy()
        if change is not None:
            other[change] += 1
        return np.array([row, other])

    together(monkeypatch, rows)
    prepared()
    for n, words in enumerate(processes.NAMES.values()):
        together(monkeypatch, lambda row, n=n: rows(row, 1 + 32 * n))
        with pytest.raises(BadInput, match=f"process 1 has {words} than process 0"):
            prepared()
    together(monkeypatch, lambda row: np.array([row, 0 * row]))
    with pytest.raises(BadInput, match="process 1 of 1 could not begin"):
        prepared()
    with pytest.raises(BadInput, match="my own"):
        with processes.all_or_none():
            raise BadInput("my own")


def known(task, network, **changes):
    """What a process says of itself before a run, or something else."""
    return processes.facts({"units": 4}, task, network) | changes


def test_what_differs_between_machines_is_named(monkeypatch, tmp_path):
    """The file of one of them, a version, a line of the code: each in one line."""
    monkeypatch.setattr(processes, "_joined", lambda: True)
    texts = ["the cat sat on the mat. " * 40, "the cat sat on the mAt. " * 40]
    tasks = []
    for n, text in enumerate(texts):
        (tmp_path / f"{n}.txt").write_text(text)
        config = Config(task="text", file=str(tmp_path / f"{n}.txt"), units=4, length=8)
        tasks.append(build_task(config))
    network = build_network(config, tasks[0])
    first = known(tasks[0], network)
    others = {"other data": known(tasks[1], network)}
    with monkeypatch.context() as patch:
        patch.setattr(processes, "versions", lambda: {"jax": "0.0"})
        others["other versions of Ostinato, JAX or Python"] = known(tasks[0], network)
    with monkeypatch.context() as patch:
        patch.setattr(processes, "code_of_package", lambda: "0")
        others["another code of Ostinato"] = known(tasks[0], network)
    with monkeypatch.context() as patch:
        patch.setitem(processes.STATED, "processes", 7)
        others["another --processes"] = known(tasks[0], network)
    larger = build_network(config.replace(units=5), tasks[0])
    others["another network"] = known(tasks[0], larger)
    for words, other in others.items():
        rows = []

        def gathered(row, rows=rows):
            rows.append(row)
            return np.array(rows if len(rows) == 2 else [row, row])

        monkeypatch.setattr(processes, "_gathered", gathered)
        with processes.all_or_none() as facts:
            facts |= first
        with pytest.raises(BadInput, match=f"^process 1 has {words} than process 0$"):
            with processes.all_or_none() as facts:
                facts |= other


def test_a_late_process_ends_the_others(monkeypatch, capsys):
    codes = []
    monkeypatch.setattr(joining_processes.os, "_exit", codes.append)
    joining_processes._give_up("10.0.0.1:1234")
    said = capsys.readouterr().err
    assert codes == [2] and said.count("\n") == 1
    assert "not all processes came within 50 seconds, or 10.0.0.1:1234 cannot be reached" in said


def test_an_error_of_a_program_ends_its_process(monkeypatch):
    """So that the others notice: JAX would wait for them, and they for this one."""
    codes, shown = [], []
    monkeypatch.setattr(joining_processes.os, "_exit", codes.append)
    joining_processes._end_at_once(
        lambda *error: shown.append(error), ValueError, ValueError("x"), None
    )
    assert codes == [1] and shown[0][0] is ValueError


ABORTS = """
import os
from ostinato.runs.loop import joining_processes
joining_processes._abort_in_one_line()
os.abort()
"""


def test_jax_aborts_in_one_line(tmp_path):
    code, out, err = finished(started(["-c", ABORTS], cwd=tmp_path))
    assert (code, out, err) == (2, "", f"ostinato: {joining_processes.ABORTED}\n")


SAYS = """
import sys, time
from ostinato.errors import BadInput
from ostinato.runs.loop.joining_processes import join_processes
print(time.time(), flush=True)
try:
    join_processes(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
except BadInput as error:
    sys.exit(str(error))
"""


def answering(words):
    """The port of a server that answers everyone so, or says nothing."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        kept = []
        while True:
            try:
                kept.append(server.accept()[0])
                kept[-1].sendall(words)
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    return server, server.getsockname()[1]


@pytest.mark.slow
def test_half_dead_clusters():
    """Each ends within a minute, in one line: nobody there, somebody else, a wrong count."""
    silent, silent_port = answering(b"")
    web, web_port = answering(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    cases = {
        "alone": [(f"127.0.0.1:{port}", 2, 0)],
        "no coordinator": [(f"127.0.0.1:{port + 1}", 2, 1)],
        "silent": [(f"127.0.0.1:{silent_port}", 2, 1)],
        "web": [(f"127.0.0.1:{web_port}", 2, 1)],
        "taken": [(f"127.0.0.1:{silent_port}", 2, 0)],
        "no such host": [("nowhere.invalid:1234", 2, 1)],
        "too few": [(f"127.0.0.1:{port + 2}", 3, 0), (f"127.0.0.1:{port + 2}", 3, 1)],
        "one too many": [(f"127.0.0.1:{port + 3}", 1, 0), (f"127.0.0.1:{port + 3}", 3, 2)],
        "twice": [(f"127.0.0.1:{port + 4}", 3, 0), *[(f"127.0.0.1:{port + 4}", 3, 1)] * 2],
    }
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "4"}
    environment["PYTHONPATH"] = str(Path(ostinato.__file__).parents[1])
    pipes = {"env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    every = [
        (name, subprocess.Popen([sys.executable, "-c", SAYS, *map(str, place)], **pipes))
        for name, places in cases.items()
        for place in places
    ]

    def ended(process):
        out, err = process.communicate(timeout=1200)
        return process.returncode, err.splitlines(), time.time() - float(out)

    with ThreadPoolExecutor(len(every)) as pool:
        ends = [*pool.map(ended, [process for _, process in every])]
    for (name, _), (code, lines, seconds) in zip(every, ends, strict=True):
        assert seconds < 60, name
        if name != "one too many" or code:
            assert code in (1, 2) and len(lines) == 1, (name, lines)
    for server in (silent, web):
        server.close()
