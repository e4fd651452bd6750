"""Calls of functions on the machines of a Ray cluster, for whatever trains many runs.

    this process ── socket ── connection ── Ray ── worker: trains the runs of a call
         └──────────────── the folder, which all machines share ────────┘

The folders of the runs are the only store. A call whose worker or machine is lost is made again on
another one, where finished runs are only opened and the others go on from their checkpoints. A head
that is lost is looked for again, and what was under way is called again. So the results are those
of one process.

On GPUs a call has one, on which its runs are packed (`pack`), or a share of one if it says that it
needs no more; on CPUs it has a core for each run.
"""

import os
import pickle
import platform
import secrets
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ...errors import BadInput, NeedsExtra
from ...files import is_locked, write_whole
from ..folder.provenance import code_of_package, versions
from ..loop.joining_processes import is_port
from ..loop.signals import Interrupted, Stop, stop_signals

PATIENCE = 50.0  # seconds until a head, or a machine that can train, is given up
SHOWN = 10.0  # seconds until a file system shows one machine what another one wrote
LOSSES = 5  # of the connection, one after the other without a result
MARK = ".cluster"  # in the folder: by what is in it, machines know that it is the same one
T = TypeVar("T")


class Call(NamedTuple):
    """A function that is called on a worker.

    Attributes:
        key: by which the caller knows it.
        function: of a module, so that a worker finds it.
        arguments: of the function.
        folders: in which it trains; nobody else may still be training there.
        cores: how many it keeps busy.
        share: of a GPU that it needs, where there are GPUs.
    """

    key: Any
    function: Callable[..., Any]
    arguments: tuple
    folders: Sequence[Path] = ()
    cores: int = 1
    share: float = 1.0


class Cluster:
    """A Ray cluster.

    Attributes:
        address, folder: see `connected`.
        calls: those under way, by number.
        device: what the cluster has for calls, `GPU` or `CPU`.
        slots: how many there are of it.
    """

    def __init__(self, address: str, folder: Path):
        self.address, self.folder = address, folder
        self.calls: dict[int, Call] = {}
        self.made, self.losses = 0, 0
        self.device, self.mark = "", ""
        # To start a cluster takes longer than to find one, on a busy machine.
        self._connect(3 * PATIENCE if address == "local" else PATIENCE)

    def split(self, runs: Sequence[T]) -> list[Sequence[T]]:
        """Runs of the same shapes by the call that trains them: packed on a GPU, or a core each."""
        size = len(runs) if self.device == "GPU" else min(len(runs), self.smallest)
        return [runs[start : start + size] for start in range(0, len(runs), max(size, 1))]

    def room(self, share: float) -> int:
        """How many calls of one core each can be under way, which need a share of a GPU."""
        return int(self.slots / share) if self.device == "GPU" else self.slots

    def submit(self, call: Call) -> None:
        """Have a function called where there is room."""
        if not self.mark:
            self.mark = secrets.token_hex(8)
            write_whole(self.folder / MARK, self.mark.encode())
        self.calls[self.made] = call
        self._send(self.made)
        self.made += 1

    def cancel(self, unwanted: Callable[[Any], bool]) -> None:
        """Forget the calls whose keys are not wanted any more."""
        for number in [n for n, call in self.calls.items() if unwanted(call.key)]:
            del self.calls[number]
            self._tell("cancel", number)

    def results(self) -> Iterator[tuple[Any, Any]]:
        """The key and the result of each call, as they end.

        Raises:
            Interrupted: if a signal came; what the workers train is saved.
        """
        with stop_signals() as stop:
            while self.calls:
                yield self.next(stop)

    def next(self, stop: Stop) -> tuple[Any, Any]:
        """The key and the result of the call that ends next."""
        while True:
            if stop.number is not None:
                raise Interrupted(stop.number)
            kind, *said = self._hear()
            if kind == "gone":
                self._connect_again()
            elif kind == "alive":
                self._check_room(said[0])
            elif kind in ("done", "lost") and said[0] in self.calls:
                number, answer = said
                if kind == "lost":
                    raise BadInput(
                        f"the workers of a call were lost again and again ({answer}); what is "
                        "finished is kept, and the same command continues"
                    )
                if answer[0] == "again":
                    self._send(number)
                    continue
                self.losses = 0
                return self.calls.pop(number).key, _value(*answer)

    def close(self, save: bool = False) -> None:
        """End the connection, and whatever is under way; with `save` it is saved first."""
        if save:
            self._tell("stop")
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(PATIENCE)
        self.command.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(10)  # it ends a cluster that it has started
        self.process.kill()
        self.process.wait()
        if self.mark:
            (self.folder / MARK).unlink(missing_ok=True)

    # The connection, which is a process

    def _connect(self, patience: float) -> None:
        if find_spec("ray") is None:
            raise NeedsExtra("--ray", "ray", "cluster")
        _check_answers(self.address)
        self.process, self.command = _started(self.address)
        self.heard = self.had_room = time.monotonic()
        kind, *said = self._hear(patience)
        while not kind:
            kind, *said = self._hear(patience)
        if kind != "alive":
            self._end()
            why = said[0] if kind == "refused" else f"no answer within {patience:.0f} seconds"
            raise BadInput(f"there is no Ray cluster at {self.address}: {why[:300]}")
        self._check_room(said[0])

    def _end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.command.close()

    def _connect_again(self) -> None:
        """Look for the head for a while, and call again what was under way."""
        self._end()
        until, self.losses = time.monotonic() + PATIENCE, self.losses + 1
        while True:
            try:
                if self.losses > LOSSES:
                    raise BadInput("it was lost again and again")
                self._connect(max(until - time.monotonic(), 10))
                break
            except BadInput as error:
                if self.losses > LOSSES or time.monotonic() > until:
                    raise BadInput(
                        f"the Ray cluster at {self.address} was lost; what is finished is kept, "
                        f"and the same command continues ({error})"
                    ) from None
            time.sleep(1)
        for number in self.calls:
            self._send(number)

    def _hear(self, patience: float = PATIENCE) -> tuple:
        """What the connection says; `gone` if it has ended or is silent for too long."""
        try:
            if self.command.poll(0.2):
                self.heard = time.monotonic()
                return self.command.recv()
        except (EOFError, OSError):
            return ("gone",)
        return ("gone",) if time.monotonic() - self.heard > patience else ("",)

    def _tell(self, *said: Any) -> None:
        with suppress(OSError):  # it has ended, as will be heard
            self.command.send(said)

    def _send(self, number: int) -> None:
        from ray import cloudpickle  # functions of a script, too

        call = self.calls[number]
        what = {
            "call": cloudpickle.dumps((call.function, call.arguments)),
            "facts": _facts(),
            "here": str(Path.cwd()),
            "mark": (str(self.folder.absolute() / MARK), self.mark),
            "data": os.environ.get("OSTINATO_DATA"),
            "folders": [str(folder) for folder in call.folders],
            "alone": call.share == 1,
        }
        needs = {"num_gpus": call.share} if self.device == "GPU" else {"num_cpus": call.cores}
        self._tell("call", number, what, needs)

    def _check_room(self, machines: list[dict[str, float]]) -> None:
        """Note what the machines have; refuse a cluster without any room for a while."""
        if not self.device:  # it stays, because the numbers of another device differ
            self.device = "GPU" if any(x.get("GPU") for x in machines) else "CPU"
        sizes = [int(machine.get(self.device, 0)) for machine in machines]
        self.slots, self.smallest = sum(sizes), min([size for size in sizes if size] or [1])
        if self.slots:
            self.had_room = time.monotonic()
        elif time.monotonic() - self.had_room > PATIENCE:
            raise BadInput(
                f"the Ray cluster at {self.address} has had no {self.device} for "
                f"{PATIENCE:.0f} seconds; what is finished is kept, and the same command continues"
            )


@contextmanager
def connected(address: str | None, folder: Path) -> Iterator[Cluster | None]:
    """The cluster at an address, `None` if there is no address.

    Args:
        address: `HOST:PORT`; `auto` for the cluster that this machine belongs to, and `local` to
            start one on this machine, which ends with the context.
        folder: of all runs, which is made if need be. All machines must see it under the same path.
    """
    cluster = None if address is None else Cluster(address, folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield cluster
    except BaseException:
        if cluster is not None:
            cluster.close(save=True)
        raise
    if cluster is not None:
        cluster.close()


def _started(address: str) -> tuple[subprocess.Popen, Connection]:
    """A new connection: its process, and how to talk to it."""
    own, other = socket.socketpair()
    with other:
        process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.connection", f"{other.fileno()}", address],
            pass_fds=[other.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the command
        )
    return process, Connection(own.detach())


def _check_answers(address: str) -> None:
    """Refuse an address at which nothing listens: Ray would look for minutes."""
    if address in ("auto", "local") or "://" in address:
        return
    host, _, port = address.rpartition(":")
    if not host or not is_port(port):
        raise BadInput(
            f"--ray must be auto, local or HOST:PORT, as in 10.0.0.1:6379; got {address!r:.60}"
        )
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, UnicodeError) as error:
        raise BadInput(f"there is no Ray cluster at {address}: {error}") from None


def _facts() -> dict[str, str]:
    """What a worker must have in common with the command."""
    facts = {**versions(), "code": code_of_package()[:12]}
    del facts["machine"]  # this one trains nothing
    return facts


def _value(kind: str, said: Any) -> Any:
    if kind == "refused":
        raise BadInput(said)
    value = pickle.loads(said)
    if kind == "error":
        raise value
    return value


# On a worker


def answered(what: dict[str, Any]) -> tuple[str, Any]:
    """What a call gives, on a worker: a value or an error as bytes, or why it is refused."""
    if refusal := _refusal(what):
        return "refused", f"the machine {platform.node()} of the cluster {refusal}"
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_gpu_deterministic_ops" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_gpu_deterministic_ops=true".strip()
    if not what["alone"]:  # otherwise the first on a GPU takes most of its memory
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    if what["data"] is not None:
        os.environ["OSTINATO_DATA"] = what["data"]
    os.chdir(what["here"])
    # A worker that Ray has given up may still have to notice it.
    _wait(PATIENCE, lambda: not any(is_locked(Path(folder)) for folder in what["folders"]))
    from ray import cloudpickle

    try:
        function, arguments = cloudpickle.loads(what["call"])
        return "value", cloudpickle.dumps(function(*arguments))
    except BadInput as error:
        return "refused", str(error)
    except Interrupted:  # the machine is about to leave
        return "again", None
    except Exception as error:
        return "error", cloudpickle.dumps(_portable(error))


def _portable(error: Exception) -> Exception:
    """An error that another process can read."""
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError("".join(traceback.format_exception(error)))


def _refusal(what: dict[str, Any]) -> str | None:
    """Why a worker cannot make a call: it has other code, or does not see the folder."""
    for name, own in _facts().items():
        if own != (asked := what["facts"].get(name)):
            words = "other code of Ostinato" if name == "code" else f"{name} {own}"
            return (
                f"has {words}, where the command was started {asked}; install the same everywhere"
            )
    path, mark = Path(what["mark"][0]), what["mark"][1]

    def sees_mark() -> bool:
        with suppress(OSError):
            return path.read_text() == mark
        return False

    if not _wait(SHOWN, sees_mark):
        return f"does not see {path.parent}; all machines must share it under the same path"
    return None if Path(what["here"]).is_dir() else f"has no folder {what['here']}"


def _wait(seconds: float, holds: Callable[[], bool]) -> bool:
    """Wait until a condition holds, but no longer than so many seconds; whether it does."""
    until = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < until:
        time.sleep(0.2)
    return held
