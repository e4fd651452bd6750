"""An installation that has no sources, as packagers for small devices make it."""

import compileall
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ostinato
from ostinato.cli import help as pages


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Runs Python where only the bytecode of the package is there."""
    folder = tmp_path_factory.mktemp("bytecode")
    copy = shutil.copytree(
        Path(ostinato.__file__).parent, folder / "ostinato", ignore=lambda *_: {"__pycache__"}
    )
    assert compileall.compile_dir(copy, quiet=1, legacy=True, force=True)
    for source in copy.rglob("*.py"):
        source.unlink()

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, *arguments],
            env=os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "100"},
            cwd=folder,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_the_package_has_its_names_without_sources(bare):
    found = bare(
        "-c",
        "import ostinato; from ostinato.cells import LSTM; "
        "print(ostinato.__file__, *ostinato.__all__, ostinato.Batch.__name__, LSTM.__name__)",
    )
    path, *names = found.split()
    assert path.endswith(".pyc") and names == [*ostinato.__all__, "Batch", "LSTM"]


@pytest.mark.parametrize("arguments", [(), ("train",), ("train", "cell"), ("train", "lstm")])
def test_help_has_the_same_lines_without_sources(bare, arguments):
    """Of every option or verb; help that is only known when its module runs may be longer."""
    verb, topic = arguments[:1], arguments[1:]
    asked = [*verb, "--help", *topic]
    begins = re.compile(r"│ (\S+)")
    assert begins.findall(bare("-m", "ostinato", *asked)) == begins.findall(pages.help_for(asked))
