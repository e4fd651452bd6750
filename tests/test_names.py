"""The package's names are there when they are used, and cost nothing before."""

import subprocess
import sys

import pytest

import ostinato
from ostinato import cells, learning, reservoir, runs, tasks


@pytest.mark.parametrize("package", [ostinato, runs, cells, learning, reservoir, tasks])
def test_every_public_name_is_there(package):
    for name in package.__all__:
        assert getattr(package, name) is not None
    assert dir(package) == package.__all__
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        _ = package.nope


def test_names_are_those_of_their_modules():
    from ostinato import Cell, claims, unroll

    assert unroll is ostinato.through_time.unroll and Cell is ostinato.cells.Cell
    assert claims.CLAIMS and ostinato.lens.saturation and ostinato.report.write_report
    assert runs.Config is runs.config.Config and ostinato.__version__[0].isdigit()


NAMED = """
import sys, ostinato, ostinato.cli
print([name for name in ("jax", "numpy") if name in sys.modules])
import ostinato.runs.folder.run, ostinato.cli.sample, ostinato.cli.apply
ostinato.runs.Config(task="text", cell="gru", learner="adam")
unused = ("optax", "scipy", "ostinato.tasks.translate", "ostinato.cells.jordan", "ostinato.lens")
print([name for name in unused if name in sys.modules])
"""


def test_importing_is_quick_because_it_imports_only_what_is_named():
    found = subprocess.run(
        [sys.executable, "-c", NAMED], capture_output=True, text=True, check=True
    )
    assert found.stdout == "[]\n[]\n"
