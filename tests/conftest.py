"""Tests run in float64 unless they say otherwise, and compile in a hurry where JAX can."""

import atexit
import gc
import os
import sys
import tempfile
from importlib.metadata import version

import pytest

# Most of the time goes into compiling functions that run once: without the compiler's
# optimisations it takes two thirds of it. Later versions no longer have this choice.
if tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 11):
    hurry = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {hurry}".strip()

# Workers, and the commands that they start, share what one of them has compiled.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    shared = tempfile.TemporaryDirectory(prefix="ostinato-compiled-")
    atexit.register(shared.cleanup)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = shared.name
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"

# What a test trains with is allowed to be run later: not in the files of whoever runs the tests.
if "ostinato-settings-" not in os.environ.get("XDG_CONFIG_HOME", ""):
    own = tempfile.TemporaryDirectory(prefix="ostinato-settings-")
    atexit.register(own.cleanup)
    os.environ["XDG_CONFIG_HOME"] = own.name

import jax

jax.config.update("jax_enable_x64", True)


# Files that take long come first, so that at the end no worker waits for the other.
LONG = (
    "test_house.py",
    "test_readme.py",
    "test_doctests.py",
    "test_conformance.py",
    "test_site.py",
)


def pytest_collection_modifyitems(items):
    places = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONG)))


def pytest_runtest_teardown(item, nextitem):
    """Forget what a file's tests compiled.

    It takes memory mappings, of which a process of Linux has 65,530, and it makes every collection
    of garbage slower.
    """
    if nextitem is None or nextitem.path != item.path:
        jax.clear_caches()
        gc.collect()
        gc.freeze()  # what is left now stays, so that later collections need not look at it


@pytest.fixture
def ostinato(tmp_path, monkeypatch, capsys):
    """Run the command line in an empty folder: the exit code, standard output and error."""
    from ostinato import cli

    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["ostinato", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
            raise SystemExit(0)
        found = capsys.readouterr()
        return end.value.code or 0, found.out, found.err

    return run
