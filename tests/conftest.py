"""Tests run in float64 unless they say otherwise, and compile in a hurry where JAX can."""

import gc
import os
import sys
from importlib.metadata import version

import pytest

# Most of the time goes into compiling functions that run once: without the compiler's
# optimisations it takes two thirds of it. Later versions no longer have this choice.
if tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 11):
    hurry = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {hurry}".strip()

import jax

jax.config.update("jax_enable_x64", True)

# Every compiled function takes some mappings of memory, of which a process of Linux has 65,530;
# beyond that the compiler aborts. What was compiled for earlier tests is let go in time.
MAPS = "/proc/self/maps"
MOST_MAPS = 25_000
LOOK_EVERY = 20
done = 0


def pytest_runtest_teardown():
    global done
    done += 1
    if done % LOOK_EVERY == 0 and os.path.exists(MAPS):
        with open(MAPS, "rb") as maps:
            used = sum(1 for _ in maps)
        if used > MOST_MAPS:
            jax.clear_caches()
            gc.collect()


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
