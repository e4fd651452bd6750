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
    "weights",
    "cells",
    "data",
    "through_time",
    "wiring",
    "decoding",
    "tasks",
    "testing",
    "lens",
    "learning",
    "claims",
    "runs",
    "report",
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
