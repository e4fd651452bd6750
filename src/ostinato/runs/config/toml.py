"""Settings from a TOML file, with the sections of a configuration.

[task]
name = "adding"
length = 200

[network]
units = [150, 130]

[cell]
name = "lstm"
"""

import os
import tomllib
from pathlib import Path
from typing import Any

from ...errors import BadInput
from ...files import read_regular
from .config import flattened
from .sections import ROLES

LARGEST = 16 << 20  # bytes


def read_toml(path: str | Path) -> dict[str, Any]:
    """The settings of a TOML file, flat and checked."""
    sections = parsed_toml(path)
    try:
        return flattened(sections)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def parsed_toml(path: str | Path) -> dict[str, Any]:
    """The sections of a TOML file; paths to a text or a class may be relative to the file."""
    path = Path(path)
    _, sections = toml_text(path)
    for section, part in sections.items():
        if section in ROLES and isinstance(part, dict) and isinstance(part.get("name"), str):
            part["name"] = beside(path, part["name"])
    task = sections.get("task")
    if isinstance(task, dict) and isinstance(task.get("file"), str):
        if (file := path.parent / task["file"]).is_file():
            task["file"] = str(file)
    return sections


def toml_text(path: Path) -> tuple[str, dict[str, Any]]:
    """The text of a TOML file, and what it says."""
    try:
        text = read_regular(path, LARGEST).decode()
        return text, tomllib.loads(text)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not a TOML file: it is not UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise BadInput(f"{path} is not a TOML file: {error}") from None


def beside(path: Path, name: str) -> str:
    """The name of a class, with a path relative to the TOML file resolved."""
    file, colon, attribute = name.rpartition(":")
    if not colon or not file.endswith(".py") or os.path.isabs(file):
        return name
    return f"{path.parent / file}:{attribute}"
