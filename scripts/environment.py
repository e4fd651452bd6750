"""A Python that has this project and what a script needs, made when there is none."""

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent


def python_with(extra: str = "") -> str:
    """The path of a Python with `ostinato[extra]`: the active virtual environment, or `.venv`."""
    if sys.version_info < (3, 11):  # noqa: UP036
        version = ".".join(map(str, sys.version_info[:3]))
        sys.exit(f"Ostinato needs Python 3.11 or later, this is {version}")
    folder = Path(sys.prefix) if sys.prefix != sys.base_prefix else ROOT / ".venv"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        print(f"making a virtual environment in {folder}", flush=True)
        venv.create(folder, with_pip=True)
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    stamp = folder / f".ostinato-{extra or 'plain'}"
    if not stamp.exists() or stamp.read_text() != wanted:
        part = f"[{extra}]" if extra else ""
        print(f"installing ostinato{part}", flush=True)
        # Python compiles what it imports; compiling all beforehand takes longer.
        install = ["-m", "pip", "install", "--quiet", "--no-compile"]
        command = [python, *install, "--editable", f"{ROOT}{part}"]
        if subprocess.run(command).returncode:
            sys.exit("the installation failed; what pip says is above")
        stamp.write_text(wanted)
    return str(python)


def ostinato(*words: object, folder: str | Path | None = None) -> None:
    """Run `ostinato` with this Python and this source, and show nothing of what it prints."""
    command = [sys.executable, "-m", "ostinato", *map(str, words)]
    own = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    subprocess.run(command, check=True, cwd=folder, env=own, stdout=subprocess.DEVNULL)


def become(command: list[str]) -> NoReturn:
    """Run a command in place of this script: signals such as Ctrl-C reach it alone."""
    if os.name == "nt":  # which has no exec
        sys.exit(subprocess.run(command).returncode)
    os.execv(command[0], command)
