"""Starts processes and hears how they end; tests of several processes need it."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import ostinato

ALL_COMPILED = dict.fromkeys(  # runs that differ in little share what is compiled
    ("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"), "0"
)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def started(words, devices=1, variables=None, **more):
    """A process of Python with so many devices, which has been started."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)  # JAX has set it here, for itself
    environment["PYTHONPATH"] = str(Path(ostinato.__file__).parents[1])
    environment |= {"JAX_COMPILATION_CACHE_DIR": str(more["cwd"] / "compiled"), **ALL_COMPILED}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    words = [sys.executable, *map(str, words)]
    return subprocess.Popen(words, env=environment | (variables or {}), **pipes, **more)


def finished(process, seconds=600):
    """The exit code, standard output and standard error of a process."""
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        process.kill()
    return process.returncode, out, err
