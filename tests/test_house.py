"""The code is clean, and its imports run down the floors of docs/architecture.md."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = [
    "errors",
    "settings",
    "files",
    "memory",
    "names",
    "progress",
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
    "evolve",
    "report",
    "contrast",
    "experiments",
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
            imported = re.findall(r"(?m)^\s*from \.{1,4}(\w+)", file.read_text())
            assert not set(imported) & set(higher), f"{file.name} imports {imported}"


SOURCES = sorted((ROOT / "src" / "ostinato").rglob("*.py"))


def test_no_private_name_is_imported_from_another_room():
    for file in SOURCES:
        found = re.findall(r"(?m)^\s*from (\.{2,}[\w.]*)\._\w+ import", file.read_text())
        own = len(file.relative_to(ROOT / "src" / "ostinato").parts)  # as many dots leave the room
        assert not [dots for dots in found if len(dots) - len(dots.lstrip(".")) >= own], file


def test_nobody_asks_for_a_task_or_a_learner_by_its_class_or_name():
    """What tasks and learners differ in are methods and attributes of theirs."""
    for file in SOURCES:
        if file.parent.name != "tasks":
            assert not re.search(r"isinstance\([^)]*\bText\b", file.read_text()), file
        if file.parent.name in ("runs", "report", "cli"):
            assert not re.search(r"(task|learner)\.name (==|in) ", file.read_text()), file
