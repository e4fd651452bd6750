"""The public names: those of the reference pages, there when they are used, at no cost before."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import ostinato
from ostinato import cells, learning, losses, metrics, reservoir, runs, tasks

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    "package", [ostinato, runs, cells, learning, reservoir, tasks, losses, metrics]
)
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
    assert runs.Config is ostinato.Config and tasks.Task and ostinato.__version__[0].isdigit()


NAMED = """
import sys, ostinato, ostinato.cli
print([name for name in ("jax", "numpy") if name in sys.modules])
import ostinato.runs.folder.run, ostinato.cli.sample, ostinato.cli.apply
ostinato.runs.Config(task="text", cell="gru", learner="adam")
unused = ["optax", "scipy", "ostinato.tasks.pairs.translate", "ostinato.cells.jordan"]
unused.append("ostinato.lens")
print([name for name in unused if name in sys.modules])
"""


def test_importing_is_quick_because_it_imports_only_what_is_named():
    found = subprocess.run(
        [sys.executable, "-c", NAMED], capture_output=True, text=True, check=True
    )
    assert found.stdout == "[]\n[]\n"


ROOMS = [name for name in ostinato.__all__ if isinstance(getattr(ostinato, name), ModuleType)]
# Not rooms with a list of names, but single files; their pages name what is stable in them.
FILES = {"errors", "settings", "weights"}


def listed():
    """The names that the reference pages list, by the package or module that has them."""
    names = {}
    for page in sorted((ROOT / "docs" / "reference").glob("*.md")):
        for entry in re.split(r"(?m)^::: ", page.read_text(encoding="utf-8"))[1:]:
            path, _, options = entry.partition("\n")
            if members := re.search(r"members: \[([^]]*)\]", options):
                words = members[1].replace(",", " ").split()
                names.setdefault(path, set()).update(words)
            else:  # a function `ostinato.lens.reach.reach` in the file of its name
                package, _, name = path.rpartition(".")
                names.setdefault(package.rpartition(".")[0], set()).add(name)
    return names


def public(path):
    """The names that a file declares as its own: imported as themselves, or defined."""
    names = set()
    for block in ast.parse(Path(path).read_text(encoding="utf-8")).body:
        for line in block.body if isinstance(block, ast.If) else [block]:
            match line:
                case ast.ImportFrom():
                    names |= {one.name for one in line.names if one.asname == one.name}
                case ast.FunctionDef() | ast.ClassDef():
                    names.add(line.name)
                case ast.Assign(targets=[ast.Name() as target]) | ast.AnnAssign(target=target):
                    names.add(target.id)
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("room", [name for name in ROOMS if name not in FILES])
def test_the_reference_lists_the_public_names_and_no_others(room):
    """A public name is documented and stays; a page names nothing that is not there."""
    module = importlib.import_module(f"ostinato.{room}")
    names = listed()
    sections = {path.split(".")[2] for path in names if path.startswith(f"ostinato.{room}.")}
    assert names[f"ostinato.{room}"] == public(module.__file__) - sections


def test_the_reference_lists_the_names_at_the_top():
    assert listed()["ostinato"] | {*ROOMS} == {*ostinato.__all__}


def test_what_the_reference_lists_is_there():
    for package, names in listed().items():
        for name in names:
            assert getattr(importlib.import_module(package), name) is not None


# Rooms that read what a run folder or an ancestry keeps: their errors become words of a `BadInput`.
# A claim is no function of an argument of the user.
OTHERS = {"tasks", "data", "evolve", "runs", "claims"}


def test_a_bad_argument_is_one_kind_of_error():
    """`BadInput`, which is a `ValueError`."""
    source = ROOT / "src" / "ostinato"
    for path in source.rglob("*.py"):
        room = path.relative_to(source).parts[0]
        if room not in OTHERS and path.name != "_body.py":
            raised = re.findall(r"raise (?:Value|Type|Key|Index)Error\(.*", path.read_text())
            assert not raised, f"{path}: {raised}"
