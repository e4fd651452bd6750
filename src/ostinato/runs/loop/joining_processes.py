"""Become one of several processes, by `jax.distributed`: where the others are, and who is late.

Where the first process is, how many there are and which one this is, is said by options, or by
variables of the environment, which a launcher sets and JAX reads. JAX trusts the variables: where
one is missing or wrong it fails in words of its own, or waits. So they are checked here.
"""

import ctypes
import importlib.util
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax

from ...errors import BadInput
from ...settings import shown

WAITS = 50  # seconds until a process that has not come is given up
HEARTBEAT = 30  # seconds after which a silent process counts as dead
DAY = 24 * 60 * 60  # seconds that a process waits at its end: the first one may still be writing
STATED: dict[str, int | None] = {}  # how many processes the caller said that there are
ABORTED = (
    "JAX ended this process, most likely because another process of this run ended or cannot be "
    "reached; start all of them again with --resume (TF_CPP_MIN_LOG_LEVEL=0 shows what JAX says)"
)
BIND = "JAX_COORDINATOR_BIND_ADDRESS"
OPTIONS = "give --coordinator HOST:PORT, --processes and --process"
SLURM = ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID")
OPEN_MPI = ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK")
OPEN_MPI_PLACE = "OMPI_MCA_orte_hnp_uri"


def join_processes(
    coordinator: str | None = None, processes: int | None = None, process: int | None = None
) -> None:
    """Make this process one of several that work together; call it before anything else of JAX.

    Within Slurm, Open MPI or a Kubernetes Indexed Job no argument is needed. All processes must
    then call `train`, `evaluate` or `examine` with the same arguments; each batch is shared by all
    devices of all of them.

    Args:
        coordinator: `HOST:PORT`, where the first process listens and the others find it.
        processes: how many there are.
        process: which of them this is, from 0.
    """
    given = {"coordinator": coordinator, "processes": processes, "process": process}
    missing = [name for name, value in given.items() if value is None]
    if missing and len(missing) < len(given):
        raise BadInput(f"--coordinator, --processes and --process go together; give --{missing[0]}")
    check_launcher(os.environ, given=coordinator is not None)
    if coordinator is not None:
        _check_place("--coordinator", coordinator)
        _check_numbers(processes, process, "--processes", "--process")
        if process == 0 and BIND not in os.environ:
            _check_free(coordinator)
    jax.config.update("jax_enable_preemption_service", False)  # the loop hears signals itself
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    _abort_in_one_line()
    given_up = threading.Timer(WAITS, _give_up, [coordinator])
    given_up.daemon = True
    given_up.start()
    try:
        jax.distributed.initialize(
            coordinator,
            processes,
            process,
            cluster_detection_method=None if coordinator is None else "deactivate",
            initialization_timeout=2 * WAITS,
            heartbeat_timeout_seconds=HEARTBEAT,
            shutdown_timeout_seconds=DAY,
        )
    except Exception as error:  # JAX has no class for them
        raise _not_joined(error, coordinator) from None
    finally:
        given_up.cancel()
    STATED["processes"] = processes
    sys.excepthook = partial(_end_at_once, sys.excepthook)


def _end_at_once(hook: Callable, *error: Any) -> None:
    """End this process after an error: JAX would wait for the others, which wait for this one."""
    hook(*error)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


def _abort_in_one_line() -> None:
    """End with one line and code 2 where JAX aborts this process, because it hears of no other one.

    A handler in Python would never run: after a signal handler returns, `abort` ends the process.
    What JAX itself says is left out by `TF_CPP_MIN_LOG_LEVEL=4`, which the command line sets.
    """
    if os.name == "posix":
        ctypes.CDLL(None).signal(signal.SIGABRT, _aborted)


@ctypes.CFUNCTYPE(None, ctypes.c_int)
def _aborted(_: int) -> None:
    os.write(2, f"ostinato: {ABORTED}\n".encode())
    os._exit(2)


def check_launcher(environment: Mapping[str, str], given: bool = False) -> None:
    """Refuse an environment in which JAX would not find the other processes.

    Args:
        environment: names and values of variables.
        given: whether options say where the processes are, and no launcher is asked.

    Example:
        >>> check_launcher({"JAX_COORDINATOR_ADDRESS": "10.0.0.1"})
        Traceback (most recent call last):
        ostinato.errors.BadInput: JAX_COORDINATOR_ADDRESS must be HOST:PORT, such as ...
    """
    devices = environment.get("JAX_LOCAL_DEVICE_IDS")
    if devices and not all(map(_is_number, devices.split(","))):
        raise BadInput(
            f"JAX_LOCAL_DEVICE_IDS must be numbers of devices, such as 0,1; got {shown(devices)}"
        )
    for name in (BIND, "JAX_COORDINATOR_ADDRESS"):
        if name in environment:
            _check_place(name, environment[name])
    port = environment.get("JAX_COORDINATOR_PORT")
    if port and not is_port(port):
        raise BadInput(f"JAX_COORDINATOR_PORT must be a number from 1 to 65535, got {shown(port)}")
    if not given:
        _check_launched(environment)


def _check_launched(environment: Mapping[str, str]) -> None:
    """Refuse what a launcher says, if that is not all that JAX needs of it."""
    if OPEN_MPI_PLACE in environment:
        _check_set(environment, OPEN_MPI, "Open MPI", "start each process by mpirun")
        count, number, _ = OPEN_MPI
        _check_numbers(environment[count], environment[number], count, number)
        check_count(OPEN_MPI[2], environment[OPEN_MPI[2]], 0)
        if "tcp" not in (uri := environment[OPEN_MPI_PLACE]) or not _is_number(uri.split(".")[0]):
            raise BadInput(f"{OPEN_MPI_PLACE} has no address of tcp, got {shown(uri)}; {OPTIONS}")
    elif OPEN_MPI[0] in environment:
        raise BadInput(
            f"this Open MPI does not say where its first process is; {OPTIONS}, of which "
            f"{OPEN_MPI[0]} and {OPEN_MPI[1]} are the last two"
        )
    elif SLURM[0] in environment:
        _check_set(environment, SLURM, "Slurm", "start each process by srun")
        _, _, count, number, _ = SLURM
        _check_numbers(environment[count], environment[number], count, number)
        for name in (SLURM[0], SLURM[4]):
            check_count(name, environment[name], 0)
    elif "KUBERNETES_SERVICE_HOST" in environment:
        if importlib.util.find_spec("kubernetes") is None:
            raise BadInput(
                "within Kubernetes JAX finds the other pods by the package kubernetes, which is "
                f"not installed: pip install kubernetes, or {OPTIONS}"
            )
        _check_set(environment, ("JOB_COMPLETION_INDEX",), "Kubernetes", "make it an Indexed Job")
        check_count("JOB_COMPLETION_INDEX", environment["JOB_COMPLETION_INDEX"], 0)


def _check_set(
    environment: Mapping[str, str], names: tuple[str, ...], launcher: str, advice: str
) -> None:
    for name in names:
        if not environment.get(name):
            raise BadInput(f"this is a job of {launcher}, but {name} is not set: {advice}")


def _check_place(name: str, place: Any) -> None:
    host, _, port = str(place).rpartition(":")
    named = host and not any(c.isspace() or not c.isprintable() or c in "/@," for c in host)
    if not named or not is_port(port) or (":" in host and host[0] + host[-1] != "[]"):
        raise BadInput(f"{name} must be HOST:PORT, such as 10.0.0.1:1234; got {shown(place)}")


def _check_free(place: str) -> None:
    """Refuse a port of this machine that is taken: JAX may end by a segmentation fault."""
    port, both = int(place.rpartition(":")[2]), socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    try:
        socket.create_server(("", port), family=family, dualstack_ipv6=both).close()
    except OSError as error:
        raise BadInput(
            f"process 0 cannot listen at port {port} of this machine ({error.strerror}); give "
            "another port in --coordinator"
        ) from None


def is_port(words: str) -> bool:
    """Whether a text is the number of a port, and not 0."""
    return _is_number(words) and 0 < int(words) < 2**16


def _is_number(words: str) -> bool:
    return words.isascii() and words.isdigit() and len(words) < 20


def _check_numbers(count: Any, number: Any, count_name: str, name: str) -> None:
    count, number = check_count(count_name, count, 1), check_count(name, number, 0)
    if number >= count:
        raise BadInput(
            f"{name} must be from 0 to {count - 1}, because there are {count} processes; got "
            f"{number}"
        )


def check_count(name: str, value: Any, least: int) -> int:
    """The whole number; one that is too small is refused, and so is anything else."""
    if isinstance(value, str) and _is_number(value):
        value = int(value)
    if type(value) is not int or value < least:
        raise BadInput(f"{name} must be a whole number of at least {least}, got {shown(value)}")
    return value


def _give_up(coordinator: str | None) -> None:
    """End this process because not all have come: JAX would abort it, with a trace of its stack."""
    print(f"ostinato: {_absent(coordinator)}", file=sys.stderr, flush=True)
    os._exit(2)


def _absent(coordinator: str | None) -> str:
    return (
        f"not all processes came within {WAITS} seconds, or {coordinator or 'the first one'} "
        "cannot be reached: start all of them, with the same --coordinator and --processes"
    )


def _not_joined(error: Exception, coordinator: str | None) -> BadInput:
    words = " ".join(str(error).split())
    if coordinator is None and ("should be defined" in words or "must be defined" in words):
        return BadInput(
            "--distributed found no launcher that JAX knows (Slurm, Open MPI, Kubernetes); "
            f"{OPTIONS}"
        )
    if "before any JAX" in words or "only be called once" in words:
        return BadInput("processes must be joined before anything else is done with JAX, and once")
    if "DEADLINE" in words or "UNAVAILABLE" in words or "timed out" in words.lower():
        return BadInput(_absent(coordinator))
    return BadInput(f"the processes cannot be joined: {words[:300]}")
