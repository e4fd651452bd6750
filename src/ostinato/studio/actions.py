"""Start, stop and resume runs: by `ostinato train` in another process, and by a signal to it."""

import os
import signal
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple

from ..errors import BadInput
from ..files import is_locked, lock_holder
from ..names import option_of
from .folder import Folder

MAX = 32  # jobs remembered


class Job(NamedTuple):
    """A process that this server started, and the file with what it printed."""

    process: subprocess.Popen
    printed: Any


class Jobs:
    """The runs that this server started."""

    def __init__(self, folder: Folder):
        self.folder = folder
        self._jobs: dict[str, Job] = {}

    def start(self, name: str, settings: dict[str, Any]) -> None:
        """Train a new run; the settings have been checked."""
        path = self.folder.new(name)
        self._begin(name, [*as_options(settings), "--run", str(path)])

    def resume(self, name: str, steps: int | None) -> None:
        """Continue a run, with another number of steps if it is given."""
        path = self.folder.find(name)
        if is_locked(path):
            raise BadInput(f"{name} is training already")
        more = [] if steps is None else ["--steps", str(steps)]
        self._begin(name, ["--resume", "--run", str(path), *more])

    def stop(self, name: str) -> None:
        """Ask the process that trains in a folder to stop; it saves a checkpoint first."""
        path = self.folder.find(name)
        process = lock_holder(path)
        if process is None:
            raise BadInput(f"{name} is not training, or by a process that cannot be told from here")
        try:
            os.kill(process, signal.SIGTERM)
        except OSError as error:
            raise BadInput(f"{name} cannot be stopped from here: {error.strerror}") from None

    def state(self, name: str) -> dict[str, Any] | None:
        """How a run is doing that was started here: whether it ended, and what it said."""
        job = self._jobs.get(name)
        if job is None:
            return None
        code = job.process.poll()
        return {"ended": code is not None, "code": code, "words": _last_line(job.printed)}

    def check_idle(self, name: str) -> None:
        """Refuse a run that this server trains, also before its process has locked the folder."""
        job = self._jobs.get(name)
        if job is not None and job.process.poll() is None:
            raise BadInput(f"{name} is training already")

    def _begin(self, name: str, options: list[str]) -> None:
        self.check_idle(name)
        ended = [key for key, job in self._jobs.items() if job.process.poll() is not None]
        for key in ended[: max(0, len(self._jobs) - MAX)]:
            self._jobs.pop(key)
        printed = tempfile.TemporaryFile()
        process = subprocess.Popen(
            # -P: no module of the current folder is imported in place of an installed one
            [sys.executable, "-P", "-m", "ostinato", "train", "--json", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=printed,
            start_new_session=True,  # it goes on when the server ends
        )
        self._jobs[name] = Job(process, printed)


def as_options(settings: dict[str, Any]) -> list[str]:
    """Settings as options of `ostinato train`.

    Example:
        >>> as_options({"task": "adding", "units": [30, 20], "bidirectional": True, "rate": 0.01})
        ['--task', 'adding', '--units', '30,20', '--bidirectional', '--rate', '0.01']
    """
    options = []
    for name, value in settings.items():
        option = option_of(name)
        if value is None or name == "file":
            continue
        if isinstance(value, bool):
            options.append(option if value else option.replace("--", "--no-", 1))
        elif isinstance(value, list | tuple):
            options += [option, ",".join(map(str, value))]
        else:
            options += [option, str(value)]
    file = settings.get("file")
    return options if file is None else [str(file), *options]


def check_plain(settings: dict[str, Any]) -> None:
    """Refuse classes of one's own: a page must not be able to make Python load a file."""
    for name in ("task", "cell", "learner", "first"):
        if ":" in str(settings.get(name) or ""):
            raise BadInput(f"a {name} of your own is started on the command line, not from here")
    if str(settings.get("file") or "").startswith("-"):
        raise BadInput("the name of a file cannot start with a dash")


def _last_line(file: Any) -> str:
    """Read without moving the position, which the process that writes shares."""
    size = os.fstat(file.fileno()).st_size
    lines = os.pread(file.fileno(), 4096, max(0, size - 4096)).decode(errors="replace").splitlines()
    words = [line for line in lines if line.strip()]
    return words[-1][:500] if words else ""
