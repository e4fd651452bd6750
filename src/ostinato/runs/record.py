"""A run folder as its files describe it, for whoever lists and shows runs: JAX is not needed.

Nothing is checked but the form: a folder may be someone else's, damaged, or not complete yet.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

from ..files import read_regular
from ..names import class_name

CONFIG, MODEL = "config.json", "model.json"
LARGEST = 16 << 20  # bytes of a file


@dataclasses.dataclass(frozen=True)
class RunRecord:
    """The settings of a run, and what it was made with.

    Attributes:
        settings: all settings by name, and the names of task, cell and learner by theirs.
        used: the values that the run uses; see `values_used`.
        versions: those of the packages that it was made with.

    Example:
        >>> record = RunRecord.read(Path("runs/text-mlstm-1"))
        >>> record.settings["units"], record.batch
        (8, 4)
    """

    settings: dict[str, Any]
    used: dict[str, Any]
    versions: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> "RunRecord":
        """The record of a folder, as far as its files can be read; links are not followed."""
        try:
            settings = read_settings(path, links=False)
        except (OSError, ValueError):
            settings = {}
        try:
            made = _plain(_read(path / MODEL, links=False).get("made"))
        except (OSError, ValueError):
            made = {}
        return cls(settings, _plain(made.get("used")), _plain(made.get("versions")))

    @property
    def batch(self) -> int:
        """The sequences per batch, as far as the folder says."""
        found = self.used.get("batch")
        return found if isinstance(found, int) and not isinstance(found, bool) else 1


def read_settings(path: Path, *, links: bool = True) -> dict[str, Any]:
    """All settings of a run folder by name; `links` as in `open_regular`.

    Raises:
        OSError, ValueError: the file cannot be read, or is not what a run writes.
    """
    found: dict[str, Any] = {}
    for section, part in _read(path / CONFIG, links).items():
        if not isinstance(part, dict):
            raise ValueError(f"{section} is not a section")
        found |= {name: value for name, value in part.items() if name != "name"}
        if "name" in part:
            found[section] = part["name"]
    return found


def member_name(settings: dict[str, Any], role: str) -> str | None:
    """The name of a task, cell or learner, short; `None` if there is none."""
    found = settings.get(role)
    return class_name(found) if isinstance(found, str) else None


def _read(path: Path, links: bool) -> dict[str, Any]:
    """A JSON object in a file; `OSError` or `ValueError` if it is not one."""
    try:
        found = json.loads(read_regular(path, LARGEST, links=links))
    except RecursionError:
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} is not one JSON object")
    return found


def _plain(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}
