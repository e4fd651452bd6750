"""The workflow runs the README's commands, and the pre-commit hooks are those of the tests."""

import re
import tomllib
from pathlib import Path

import yaml

from test_house import TOOLS

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def parsed(name):
    return yaml.safe_load((ROOT / name).read_text())


def test_the_workflow_runs_the_commands_of_the_readme():
    (job,) = parsed(".github/workflows/tests.yml")["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]
    readme = (ROOT / "README.md").read_text()
    assert commands == re.findall(r"(?m)^    (python3 scripts/.+)$", readme)


def test_the_workflow_runs_on_every_python_from_the_oldest():
    (job,) = parsed(".github/workflows/tests.yml")["jobs"].values()
    pythons = job["strategy"]["matrix"]["python"]
    assert pythons == ["3.11", "3.12", "3.13"]
    assert PROJECT["requires-python"] == f">={pythons[0]}"


def test_the_hooks_need_no_network_and_run_the_same_tools():
    (local,) = parsed(".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local"
    assert {hook["language"] for hook in local["hooks"]} == {"system"}
    entries = [hook["entry"] for hook in local["hooks"]]
    for tool in TOOLS:
        command = " ".join(word for word in tool if word not in (".", "--check"))
        assert any(entry.startswith(f"python3 -m {command}") for entry in entries), command
