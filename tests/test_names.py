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
SOURCE = ROOT / "src" / "ostinato"
SOURCES = sorted(SOURCE.rglob("*.py"))


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
HELD = [*ROOMS, "estimators", "tasks.scores", "lens.doctor"]  # the first needs an extra to be there


def listed():
    """The names that the reference pages list, by the package or module that has them."""
    names = {}
    for page in sorted((ROOT / "docs" / "reference").glob("*.md")):
        first, *entries = re.split(r"(?m)^::: ", page.read_text(encoding="utf-8"))
        for package, name in re.findall(r"(?m)^\| \[`([\w.]+)\.(\w+)`\]\[", first):
            names.setdefault(package, set()).add(name)  # a line that leads to the entry
        for entry in entries:
            path, _, options = entry.partition("\n")
            if members := re.search(r"members: \[([^]]*)\]", options):
                words = members[1].replace(",", " ").split()
                names.setdefault(path, set()).update(words)
            else:  # a function `ostinato.lens.gradient_by_lag.reach` in the file of its name
                package, _, name = path.rpartition(".")
                names.setdefault(package.rpartition(".")[0], set()).add(name)
    return names


def public(path):
    """The names that a file declares: `__all__`, or imported as themselves, or defined."""
    names = set()
    for block in ast.parse(Path(path).read_text(encoding="utf-8")).body:
        for line in block.body if isinstance(block, ast.If) else [block]:
            match line:
                case ast.Assign(targets=[ast.Name("__all__")], value=ast.List()):
                    return set(ast.literal_eval(line.value))
                case ast.ImportFrom():
                    names |= {one.name for one in line.names if one.asname == one.name}
                case ast.FunctionDef() | ast.ClassDef():
                    names.add(line.name)
                case ast.Assign(targets=[ast.Name() as target]) | ast.AnnAssign(target=target):
                    names.add(target.id)
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("room", HELD)
def test_the_reference_lists_the_public_names_and_no_others(room):
    """A public name is documented and stays; a page names nothing that is not there."""
    module = importlib.import_module(f"ostinato.{room}")
    names = listed()
    inner = f"ostinato.{room}."
    sections = {path.removeprefix(inner).split(".")[0] for path in names if path.startswith(inner)}
    assert names[f"ostinato.{room}"] == public(module.__file__) - sections


def test_the_reference_lists_the_names_at_the_top():
    assert listed()["ostinato"] | {*ROOMS} == {*ostinato.__all__}


def test_what_the_reference_lists_is_there():
    for package, names in listed().items():
        for name in names:
            assert getattr(importlib.import_module(package), name) is not None


# Helpers whose error is no one's argument: their caller, in the same file, catches it and says what
# was wrong, and where, as `BadInput`.
CAUGHT = {
    "data/dates.py": 2,  # a spelling that is tried
    "data/splits.py": 1,  # a mapping says so that it lacks a key, and `in` asks for it
    "data/text_table.py": 1,  # JSON asks for it about NaN
    "evolve/graph.py": 1,  # an entry of an ancestry
    "runs/folder/digest.py": 1,  # a chunk of a log, which is then read line by line
    "runs/folder/kept_data.py": 1,  # a file of a run folder
    "runs/folder/listing.py": 2,  # the same, of a folder that may be no run
    "runs/network/blueprint.py": 6,  # a part of a recorded network
}


def test_a_bad_argument_is_one_kind_of_error():
    """`BadInput`, which is a `ValueError`; one that its own function catches says no more."""
    for path in SOURCES:
        name = str(path.relative_to(SOURCE))
        raised = list(plain_errors(ast.parse(path.read_text(encoding="utf-8"))))
        assert len(raised) == CAUGHT.get(name, 0) or path.name == "_body.py", f"{name}: {raised}"


def plain_errors(node):
    """The lines that raise an error of Python's own, but in a `try` that catches it."""
    if isinstance(node, ast.Raise) and node.exc is not None:
        error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if ast.unparse(error) in ("ValueError", "TypeError", "KeyError", "IndexError"):
            yield node.lineno
    caught = isinstance(node, ast.Try) and re.search(
        "ValueError|TypeError", " ".join(ast.unparse(x.type) for x in node.handlers if x.type)
    )
    for child in ast.iter_child_nodes(node):
        if not caught or child not in node.body:
            yield from plain_errors(child)
