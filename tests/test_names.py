"""The package's names are there when they are used, and cost nothing before."""

import subprocess
import sys

import pytest

import ostinato
from ostinato import runs


@pytest.mark.parametrize("package", [ostinato, runs])
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


def test_importing_is_quick_because_it_imports_nothing():
    code = "import sys, ostinato, ostinato.cli; print('jax' in sys.modules, 'numpy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False False\n"
