"""The files that start one run on many machines."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import ostinato

LAUNCH = Path(__file__).parents[1] / "examples" / "launch"
SETTINGS = """
[task]
name = "adding"
length = 6
[network]
units = 4
[training]
batch = 4
steps = 3
"""


def test_the_job_of_kubernetes():
    service, job = yaml.safe_load_all((LAUNCH / "kubernetes.yaml").read_text())
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    given = {one["name"]: one["value"] for one in container["env"]}
    assert spec["completionMode"] == "Indexed"
    assert spec["completions"] == spec["parallelism"] == int(given["PROCESSES"])
    assert service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}
    assert pod["subdomain"] == service["metadata"]["name"]
    assert given["COORDINATOR"].startswith(f"{job['metadata']['name']}-0.{pod['subdomain']}:")


@pytest.mark.parametrize("name", ["slurm.sh", "ssh.sh"])
def test_scripts_are_well_formed(name):
    subprocess.run(["bash", "-n", LAUNCH / name], check=True)


def test_ssh_asks_for_machines():
    told = subprocess.run(["bash", LAUNCH / "ssh.sh"], capture_output=True, text=True)
    assert told.returncode == 2
    assert told.stderr == "ssh.sh: give the machines, as in ./ssh.sh host1 host2\n"


SSH = """#!/bin/bash
shift
exec bash -c "$*"
"""
SRUN = """#!/bin/bash
export SLURM_JOB_ID=$RANDOM SLURM_STEP_NODELIST=127.0.0.1 SLURM_NTASKS=2
for n in 0 1; do SLURM_PROCID=$n SLURM_LOCALID=$n "$@" & done
code=0
for job in $(jobs -p); do wait "$job" || code=$?; done
exit $code
"""

# JAX finds the first process by the address that Open MPI says, and by a port that it makes of the
# number of the job.
MPIRUN = """#!/bin/bash
[ "$1 $2" = "-n 2" ] || exit 9
shift 2
export OMPI_COMM_WORLD_SIZE=2 OMPI_MCA_orte_hnp_uri="$((4096 * ($PORT - 61440))).0;tcp://127.0.0.1:1"
for n in 0 1; do OMPI_COMM_WORLD_RANK=$n OMPI_COMM_WORLD_LOCAL_RANK=$n "$@" & done
code=0
for job in $(jobs -p); do wait "$job" || code=$?; done
exit $code
"""


def free_port():
    """A port that nobody listens at, among those that JAX takes for Open MPI."""
    for port in range(61440 + os.getpid() % 2000, 2**16):
        with socket.socket() as unused:
            try:
                unused.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with settings, in which `ssh` is a shell and `srun` starts two processes."""
    (tmp_path / "all settings.toml").write_text(SETTINGS)
    tools = tmp_path / "bin"
    tools.mkdir()
    itself = f'#!/bin/bash\nexec {sys.executable} -m ostinato "$@"\n'
    for name, text in {"ssh": SSH, "srun": SRUN, "mpirun": MPIRUN, "ostinato": itself}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    port = free_port()
    given = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(ostinato.__file__).parents[1]),
        "JAX_PLATFORMS": "cpu",
        "RUN": str(tmp_path / "run"),
        "SETTINGS": "all settings.toml",
        "PORT": str(port),
        "COORDINATOR": f"127.0.0.1:{port}",
        "PROCESSES": "2",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands(name):
    """What starts two processes, and the variables of each that starts one."""
    if name == "ssh.sh":
        return [([LAUNCH / name, "127.0.0.1", "127.0.0.1"], {})]
    if name == "slurm.sh":
        return [(["bash", LAUNCH / name], {})]
    _, job = yaml.safe_load_all((LAUNCH / name).read_text())
    (container,) = job["spec"]["template"]["spec"]["containers"]
    words = [*container["command"], *container["args"]]
    return [(words, {"JOB_COMPLETION_INDEX": str(n)}) for n in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ssh.sh", "kubernetes.yaml", "slurm.sh"])
def test_the_commands_train_with_local_processes(name, place):
    """Two processes begin, and then go on where they were."""
    for _ in range(2):
        started = [subprocess.Popen(words, env=os.environ | more) for words, more in commands(name)]
        assert [process.wait(600) for process in started] == [0] * len(started)
    assert (place / "run" / "checkpoints" / "step-00000003.safetensors").exists()
    if name == "slurm.sh":  # the first process prints, and the other one shares the work
        for verb in ("evaluate", "lens"):
            words = ["srun", "ostinato", verb, "run", "--distributed", "--json"]
            said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            (line,) = [x for x in said.splitlines() if x.startswith("{")]
            assert json.loads(line)["run"] == "run"
        assert (place / "run" / "report.html").exists()


@pytest.mark.slow
def test_open_mpi_starts_two_processes(place):
    """By JAX's own detection, of variables that `mpirun` sets."""
    words = ["ostinato", "train", "--config", "all settings.toml", "--run", "run", "--distributed"]
    for more in ([], ["--resume", "--steps", "5"]):
        asked = words if not more else [*words[:2], *words[4:], *more]
        said = subprocess.run(["mpirun", "-n", "2", *asked], capture_output=True, text=True)
        assert said.returncode == 0, said.stderr
    assert (place / "run" / "checkpoints" / "step-00000005.safetensors").exists()
