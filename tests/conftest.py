"""Tests run in float64 unless they say otherwise, and compile in a hurry where JAX can.

They do not depend on how they were started: Ctrl-C is heard, and no data sets are in sight. A test
of real data has the marker `data` with the files that it needs, `@pytest.mark.data("jsb/x.mat")`;
it sees the folder that `OSTINATO_DATA` named, and is skipped without these files. With
`--minutes N` no test is started after this time; which ones are left out then differs by the day.
"""

import atexit
import datetime
import gc
import importlib
import itertools
import math
import os
import signal
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import pytest

# Most of the time goes into compiling functions that run once: without the compiler's
# optimisations it takes two thirds of it, and even less without a part that JAX 0.11 always has.
os.environ["XLA_FLAGS"] = " ".join(
    (
        os.environ.get("XLA_FLAGS", ""),
        "--xla_backend_optimization_level=0",
        "--xla_cpu_parallel_codegen_split_count=1",  # parts cost more than they save here
        *(["--xla_cpu_use_fusion_emitters=false"] if version("jaxlib").startswith("0.10.") else []),
    )
).strip()

# Workers, and the commands that they start, share what one of them has compiled.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    shared = tempfile.TemporaryDirectory(prefix="ostinato-compiled-")
    atexit.register(shared.cleanup)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = shared.name
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

# Where no bytecode may be written, each worker and every process that a test starts would parse all
# libraries anew. Tests themselves run as they were told to; see `pytest_collection_finish`.
if sys.dont_write_bytecode:
    parsed = tempfile.TemporaryDirectory(prefix="ostinato-parsed-")
    atexit.register(parsed.cleanup)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = parsed.name
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False

# What a test trains with is allowed to be run later: not in the files of whoever runs the tests.
if "ostinato-settings-" not in os.environ.get("XDG_CONFIG_HOME", ""):
    own = tempfile.TemporaryDirectory(prefix="ostinato-settings-")
    atexit.register(own.cleanup)
    os.environ["XDG_CONFIG_HOME"] = own.name

# A job that a script starts with `&` ignores SIGINT, and so would every process that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

# Workers inherit both names; the cache, where downloads would be found, is an empty folder.
if "OSTINATO_DATA" in os.environ:
    os.environ["OSTINATO_TEST_DATA"] = os.environ.pop("OSTINATO_DATA")
if "PYTEST_XDIST_WORKER" not in os.environ:
    downloads = tempfile.TemporaryDirectory(prefix="ostinato-no-downloads-")
    atexit.register(downloads.cleanup)
    os.environ["OSTINATO_CACHE"] = downloads.name

import jax

jax.config.update("jax_enable_x64", True)

# JAX makes a context of its compiler for each function that it lowers, which takes longer than to
# lower a small one. Here 300 functions share one, if this version of JAX lets them.
mlir = importlib.import_module("jax._src.interpreters.mlir")
make_context = getattr(mlir, "make_ir_context", None)
numbers, contexts = itertools.count(), {}


def shared_context():
    number = next(numbers) // 300
    if number not in contexts:
        contexts.clear()
        contexts[number] = make_context()
    return contexts.get(number) or make_context()  # another thread may be one further


if make_context:
    mlir.make_ir_context = shared_context

# Tracing makes many objects that live on, and every collection of garbage would look at them.
gc.set_threshold(50_000, 20, 50)


# Files with tests that take long come first, so that at the end no worker waits for the other.
LONG = (
    "test_house.py",
    "test_readme.py",
    "test_doctests.py",
    "test_conformance.py",
    "test_site.py",
)


def pytest_addoption(parser):
    parser.addoption("--minutes", type=float, help="start no test after this time")


WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Let every other worker begin at the end, so that none parses what another one has parsed."""
    report = yield
    if WORKER[2:].isdigit() and int(WORKER[2:]) % 2 and isinstance(collector, pytest.Directory):
        report.result.reverse()
    return report


def pytest_collection_modifyitems(config, items):
    if WORKER:  # the same order in all of them
        items.sort(key=lambda item: item.path.parts)
    places = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONG)))
    if config.option.minutes is not None and items:  # those that are left out differ by the day
        first = items[datetime.date.today().toordinal() * 97 % len(items)].path
        items.sort(key=lambda item: str(item.path) < str(first))


def pytest_collection_finish():
    if "ostinato-parsed-" in (sys.pycache_prefix or ""):
        sys.pycache_prefix, sys.dont_write_bytecode = None, True


STARTED = time.monotonic()


def pytest_runtest_setup(item):
    minutes = item.config.option.minutes
    if minutes is not None and time.monotonic() - STARTED > 60 * minutes:
        pytest.skip(f"{minutes:g} minutes are over")


# Linux gives a process 65,530 memory mappings, and what is compiled takes some of them.
MAPPINGS = 30_000


def mappings():
    maps = Path("/proc/self/maps")
    return maps.read_bytes().count(b"\n") if maps.exists() else MAPPINGS


ended = itertools.count()


def pytest_runtest_teardown(item, nextitem):
    """Forget what was compiled before it takes too many mappings."""
    another_file = nextitem is not None and nextitem.path != item.path
    if (another_file or next(ended) % 20 == 0) and mappings() >= MAPPINGS:
        jax.clear_caches()
    if another_file:
        gc.collect()
        gc.freeze()  # what is left now stays, so that later collections need not look at it


@pytest.fixture(autouse=True, scope="session")
def shared_steps():
    """Runs that are alike take one compiled step; see `shared_steps.py`."""
    from shared_steps import share_steps

    with pytest.MonkeyPatch.context() as monkeypatch:
        share_steps(monkeypatch)
        yield


@pytest.fixture(autouse=True)
def data_folder(request, monkeypatch):
    """Show the data folder to a test with the marker `data`, or skip it."""
    wanted = [name for mark in request.node.iter_markers("data") for name in mark.args]
    if wanted:
        folder = os.environ.get("OSTINATO_TEST_DATA")
        for name in wanted:
            if not folder or not Path(folder, name).is_file():
                pytest.skip(f"needs OSTINATO_DATA to name a folder that has {name}")
        monkeypatch.setenv("OSTINATO_DATA", folder)


@pytest.fixture
def ostinato(tmp_path, monkeypatch, capsys):
    """Run the command line in an empty folder: the exit code, standard output and error.

    Progress, which a slow machine would show, is not shown.
    """
    from ostinato import cli
    from ostinato.cli import progress

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "PATIENCE", math.inf)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["ostinato", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
            raise SystemExit(0)
        found = capsys.readouterr()
        return end.value.code or 0, found.out, found.err

    return run
