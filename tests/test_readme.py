"""The README's commands and code run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"(?m)^    python3 (scripts/.+)$", README)


def run(command, *more, cwd):
    # The tests' own Python lies in a virtual environment, which the scripts then use.
    return subprocess.run(
        [sys.executable, str(ROOT / command[0]), *command[1:], *more],
        cwd=cwd,
        env={**os.environ, "JAX_ENABLE_X64": "0"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_there_are_two_commands():
    assert COMMANDS == ["scripts/demo.py", "scripts/test.py"]


def test_the_first_command_shows_something(tmp_path):
    found = run(shlex.split(COMMANDS[0]), cwd=tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "checks passed" in found.stdout and "steps back" in found.stdout
    assert (tmp_path / "gradient_by_lag.png").stat().st_size > 10_000


def test_the_second_command_finds_the_tests(tmp_path):
    """Here it only collects; running them all is what runs this test."""
    found = run(shlex.split(COMMANDS[1]), "--collect-only", "-n", "0", cwd=tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "test_conformance.py" in found.stdout


def test_the_code_runs():
    (code,) = re.findall(r"```python\n(.+?)```", README, flags=re.DOTALL)
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
