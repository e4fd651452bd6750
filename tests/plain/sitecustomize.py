"""Hides the packages of all extras, as if `pip install .` had been all.

Every Python process that has this folder in PYTHONPATH imports it when it starts.
"""

import re
import tomllib
from importlib.machinery import PathFinder
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS = {
    re.match(r"[\w-]+", package)[0]
    for extra, packages in PROJECT["optional-dependencies"].items()
    if extra not in ("docs", "test")
    for package in packages
} | {"num2words"}

found = PathFinder.find_spec


def find_spec(name, path=None, target=None):
    """A `PathFinder.find_spec` that finds no package of an extra."""
    return None if name.partition(".")[0] in EXTRAS else found(name, path, target)


PathFinder.find_spec = find_spec
