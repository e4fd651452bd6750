"""Every example in a docstring of the package runs and prints what the docstring says.

A module is tested as soon as it has an example. What an example uses without defining it comes from
its module, or else from `doctest_names.py`. Each docstring runs in JAX's default precision, in an
empty folder; one that mentions `runs/text-mlstm-1` or `book.txt` finds a small run or a text there.
"""

import ast
import builtins
import contextlib
import doctest
import importlib
import shutil
import types
from pathlib import Path

import jax
import pytest

from doctest_names import BOOK, RUN, TEXT, run_folder, value_of
from tasks.members import write_data

SOURCE = Path(__file__).parent.parent / "src"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def dotted(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = sorted(
    dotted(path) for path in SOURCE.rglob("*.py") if ">>>" in path.read_text(encoding="utf-8")
)


def examples_of(module):
    """The examples that are written in this module, as `DocTest`s."""
    found = doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs={})
    return [test for test in found if test.examples]


def names_missing(test):
    """The names that an example reads and does not assign."""
    trees = [ast.parse(example.source) for example in test.examples]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)]
    assigned = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
    return {node.id for node in nodes} - assigned - set(dir(builtins))


def namespace(module, test):
    """The module's own names without its submodules, and the shared ones that an example needs."""
    own = {
        name: value
        for name, value in vars(module).items()
        if not (isinstance(value, types.ModuleType) and value.__name__.startswith("ostinato."))
    }
    for name in names_missing(test) - own.keys():
        with contextlib.suppress(KeyError):
            own[name] = value_of(name)
    return own


def run_examples(name, folder):
    """Run the examples of a module; the report of those that failed, empty if none did."""
    module, reports = importlib.import_module(name), []
    for number, test in enumerate(examples_of(module)):
        here = folder / str(number)
        here.mkdir()
        source = "".join(example.source for example in test.examples)
        if BOOK in source:
            (here / BOOK).write_text(TEXT, encoding="utf-8")
        if str(RUN) in source:
            shutil.copytree(run_folder(), here, dirs_exist_ok=True)
        test.globs = namespace(module, test)
        with contextlib.chdir(here):
            doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=reports.append)
    return "\n".join(reports)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Small files in place of the data sets, which need not be on this machine."""
    folder = tmp_path_factory.mktemp("data")
    write_data(folder)
    return folder


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name, tmp_path, data, monkeypatch):
    monkeypatch.setenv("OSTINATO_DATA", str(data))
    with jax.enable_x64(False):
        report = run_examples(name, tmp_path)
    assert not report, report


@pytest.mark.parametrize("name", MODULES)
def test_every_example_is_found(name):
    """`doctest` looks at what a module defines; this counts what is written in its file."""
    module = importlib.import_module(name)
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds)]
    assert len(examples_of(module)) == sum(">>>" in (text or "") for text in texts)
