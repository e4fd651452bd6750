"""The code is clean, and its imports run down the floors of docs/architecture.md."""

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = [
    "errors",
    "settings",
    "constructors",
    "files",
    "memory",
    "names",
    "progress",
    "web",
    "weights",
    "data",
    "cells",
    "through_time",
    "wiring",
    "decoding",
    "tasks",
    "testing",
    "lens",
    "learning",
    "reservoir",
    "symbolic",
    "claims",
    "runs",
    "estimators",
    "evolve",
    "report",
    "contrast",
    "experiments",
    "export",
    "serving",
    "studio",
    "cli",
]
TOOLS = [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]]


@pytest.mark.parametrize("tool", TOOLS, ids=" ".join)
def test_is_clean(tool):
    found = subprocess.run(
        [sys.executable, "-m", *tool], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("room", FLOORS)
def test_imports_go_down(room):
    source = ROOT / "src" / "ostinato"
    files = (
        [source / f"{room}.py"] if (source / f"{room}.py").exists() else source.glob(f"{room}/**/*")
    )
    higher = FLOORS[FLOORS.index(room) + 1 :]
    for file in files:
        if file.suffix == ".py":
            imported = {name.split(".")[0] for name in imports(file)} & set(higher)
            assert not imported, f"{file.name} imports {imported}"


@functools.cache
def parsed(file):
    return ast.parse(file.read_text(encoding="utf-8"))


@functools.cache
def imports(file):
    """The modules of ours that a file imports, late or not, by path: `data.batch`, `cells`.

    In `from .batch import Batch` that is the module which has the name, in `from .. import data`
    the module itself. What type checkers alone import does not count.
    """
    package, found, nodes = file.relative_to(SOURCE).parts[:-1], set(), [parsed(file)]
    for node in nodes:  # and those within it
        if isinstance(node, ast.ImportFrom) and node.level:
            at = [*package[: len(package) + 1 - node.level], *(node.module or "").split(".")]
            found |= {module_of([part for part in at if part], one.name) for one in node.names}
        if not is_typing(node):
            nodes += ast.iter_child_nodes(node)
    return found


def is_typing(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def module_of(at, name):
    """The module that a name of a module is, or that it is from, if a package only hands it on."""
    inner, package = SOURCE.joinpath(*at, name), SOURCE.joinpath(*at, "__init__.py")
    if inner.with_suffix(".py").exists() or inner.is_dir():
        return ".".join([*at, name])
    if package.exists():
        for node in ast.walk(parsed(package)):
            if isinstance(node, ast.ImportFrom) and name in [one.asname for one in node.names]:
                start = at[: len(at) + 1 - node.level] if node.level else at
                return module_of([*start, *(node.module or "").split(".")], name)
    return ".".join(at)


SOURCE = ROOT / "src" / "ostinato"
SOURCES = sorted(SOURCE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def test_no_module_of_tests_defines_a_name_twice():
    """The second of two tests, or lists of pages, would silently take the place of the first."""
    for file in TESTS:
        scopes = [parsed(file)]
        for scope in scopes:  # and those within it; no expression has one
            scopes += [n for n in ast.iter_child_nodes(scope) if not isinstance(n, ast.expr)]
            if isinstance(scope, ast.Module | ast.ClassDef):
                defined = [
                    n.name for n in scope.body if isinstance(n, ast.FunctionDef | ast.ClassDef)
                ]
                targets = [t for n in scope.body if isinstance(n, ast.Assign) for t in n.targets]
                defined += [t.id for t in targets if isinstance(t, ast.Name)]
                twice = {name for name in defined if defined.count(name) > 1 and name != "_"}
                assert not twice, f"{file} defines {twice} twice"


def test_no_import_goes_in_a_circle():
    """Late imports count, too: two modules that need each other are one idea in two files."""
    needed = {}
    for file in SOURCES:
        own = file.relative_to(SOURCE).with_suffix("").parts
        own = ".".join(own[:-1] if own[-1] == "__init__" else own)
        needed[own] = {*imports(file)} - {own}
    while ends := {name for name, others in needed.items() if not others & needed.keys()}:
        needed = {name: others for name, others in needed.items() if name not in ends}
    assert not needed, {name: others & needed.keys() for name, others in needed.items()}


def test_no_private_name_is_imported_from_another_room():
    for file in SOURCES:
        found = re.findall(r"(?m)^\s*from (\.{2,}[\w.]*)\._\w+ import", file.read_text())
        own = len(file.relative_to(ROOT / "src" / "ostinato").parts)  # as many dots leave the room
        assert not [dots for dots in found if len(dots) - len(dots.lstrip(".")) >= own], file


def test_nobody_asks_for_a_task_or_a_learner_by_its_class_or_name():
    """What tasks and learners differ in are methods and attributes of theirs.

    Whether a name is in the list `TASKS` at all is asked where a task is saved by its name.
    """
    for file in SOURCES:
        if file.relative_to(SOURCE).parts[0] != "tasks":
            assert not re.search(r"isinstance\([^)]*\bText\b", file.read_text()), file
        if file.relative_to(SOURCE).parts[0] not in ("tasks", "learning"):
            by_name = r"(task|learner)\.name (==|!=|in|not in) (?!TASKS\b)"
            assert not re.search(by_name, file.read_text()), file


ASKS = ("isinstance", "issubclass", "hasattr", "getattr")
# What an exception is, is what `except` asks, too.
ERROR = re.compile(r"\w*(Error|Exception|BadInput)")


@functools.cache
def own_classes():
    return {
        node.name
        for file in SOURCES
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.ClassDef)
        if not any(ERROR.fullmatch(ast.unparse(base)) for base in node.bases)
    }


def foreign_names(tree):
    """Modules, whatever is imported from another library, and exceptions."""
    found = {"error"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {(one.asname or one.name).split(".")[0] for one in node.names}
        if isinstance(node, ast.ImportFrom) and not node.level:
            found |= {one.asname or one.name for one in node.names}
    return found


def questions(tree):
    """Calls that ask what one of our own objects is, or what it has.

    Every `hasattr` and `getattr` counts, but for one that reads a field whose name is a value,
    `getattr(settings, name)`, and so does what is the same in disguise: `vars(x).get(name)`,
    `name in vars(x)` and `except AttributeError`. What a class defines itself, `vars(cls)`, is no
    question. `isinstance`, and a comparison of `type(x)`,
    count if a class of ours is among those that they name.
    """
    foreign = foreign_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ASKS:
            asked, *rest = node.args
            if node.func.id in ("hasattr", "getattr"):
                named = isinstance(rest[0], ast.Constant) or len(rest) == 2
                asks = named or node.func.id == "hasattr"
                own = asks and ast.unparse(asked).split(".")[0] not in foreign
            else:
                own = names_a_class_of_ours(rest, foreign)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            own = node.func.attr in ("get", "setdefault") and are_attributes(node.func.value)
        elif isinstance(node, ast.Compare) and are_attributes(node.comparators[0]):
            own = isinstance(node.ops[0], ast.In | ast.NotIn)
        elif isinstance(node, ast.ExceptHandler):
            own = node.type is not None and "AttributeError" in ast.unparse(node.type)
        elif isinstance(node, ast.Compare) and ast.unparse(node.left).startswith("type("):
            own = names_a_class_of_ours(node.comparators, foreign)
        else:
            own = False
        if own:
            yield f"line {node.lineno}: {ast.unparse(node)}"


def are_attributes(node):
    return bool(re.fullmatch(r"vars\((?!cls).*\)|.*\.__dict__", ast.unparse(node)))


def names_a_class_of_ours(nodes, foreign):
    parts = [part for node in nodes for part in ast.walk(node)]
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return bool(names & own_classes() - foreign)


def places_with_a_reason():
    """File and number of questions, from the table in docs/architecture.md."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.partition("| file | questions | why |")[2].partition("\n\n")[0]
    rows = re.findall(r"(?m)^\| `([\w/.]+)` \| (\d+) \| (.{10,}) \|$", table)
    return {file: int(count) for file, count, _ in rows}


def test_members_are_asked_and_not_what_they_are():
    """What differs between members is a method or an attribute of theirs."""
    allowed, wrong = places_with_a_reason(), []
    for file in SOURCES:
        name = str(file.relative_to(ROOT / "src" / "ostinato"))
        found = list(questions(parsed(file)))
        if len(found) > allowed.get(name, 0):
            wrong += [f"{name}, {one}" for one in found]
    assert not wrong, "\n".join(wrong)


def test_every_place_with_a_reason_is_still_there():
    names = {str(file.relative_to(ROOT / "src" / "ostinato")) for file in SOURCES}
    assert not places_with_a_reason().keys() - names
