"""The configuration of a run, shared by the command line, files and Python.

It has a section for each part of a run, and each part keeps its settings beside its code:

    task        what is learned           a name, and the settings of that task
    network     layers, readout, noise    `NetworkSettings`
    cell        the recurrent cell        a name, and the settings of that cell
    learner     how the weights change    a name, and the settings of that learner
    first       with hf or saddle-free:   a name and settings: the learner that takes turns with it
    training    batches, steps, seed      `TrainingSettings`

The names of settings are unique among the sections of a run, so in Python and on the command line
they are written flat: `Config(task="adding", length=200, cell="gru", reset="after")`. A run folder
keeps the sections as `config.json`, which is enough to run the same thing again.
"""

import dataclasses
import json
import os
import tomllib
from pathlib import Path
from typing import Any

from ...errors import BadInput, naming
from ...files import read_regular
from ...names import nearest
from ...settings import as_json, checked, make, settings_of, shown
from ...tasks import Task
from ...tasks.series.from_files import task_name_for
from .common import USUAL
from .members import Member
from .refusals import MEMBERS, SETTINGS, refuse
from .sections import (
    ALIASES,
    ROLES,
    SECTIONS,
    NetworkSettings,
    TrainingSettings,
    all_settings,
    chosen_members,
    owners,
    settings_by_section,
    unknown_setting_message,
)


@dataclasses.dataclass(frozen=True, init=False, eq=False)
class Config:
    """Everything that determines a run.

    Attributes:
        task, cell, learner, first: each a `Member`: `name`, `kind` (the class) and `settings`;
            `first` may be `None`.
        network, training: the settings that every run has.

    A setting can also be read by its name alone, as in `config.units`.

    Example:
        >>> config = Config(task="adding", length=200, cell="gru", reset="after", units=64)
        >>> config.cell.name, config.cell.settings.reset, config.network.units, config.length
        ('gru', 'after', 64, 200)
    """

    task: Member
    cell: Member
    network: NetworkSettings
    learner: Member
    first: Member | None
    training: TrainingSettings
    _asked: frozenset[str]  # the names that whoever made it gave; no part of its value

    def __init__(self, **given: Any):
        """The flat settings; `task`, `cell`, `learner` and `first` are names.

        Without a task, a file says by its suffix what it is for: `data.csv` is a series. Without a
        cell, the task's own recipe comes before the usual settings.
        """
        object.__setattr__(self, "_asked", frozenset(given))
        given = _with_recipe(_with_task(given))
        self._fill(given, chosen_members({**USUAL, **_members(given)}))

    @classmethod
    def from_folder(cls, given: dict[str, Any]) -> "Config":
        """The flat settings that a folder holds, which may not be the user's.

        A class of one's own must have been imported, or its file allowed; see `members.find`.
        """
        config = object.__new__(cls)
        object.__setattr__(config, "_asked", frozenset(SECTIONS))  # nothing is left open
        names = {**USUAL, **_members(_with_task(given))}
        config._fill(given, chosen_members(names, named=False))
        return config

    def _fill(self, given: dict[str, Any], chosen: dict[str, tuple[str, Any]]) -> None:
        """Set all sections from flat settings and the chosen members."""
        for section in SECTIONS:
            member = Member(*chosen[section], None) if section in chosen else None
            object.__setattr__(self, section, member)
        refuse(MEMBERS, self)
        kinds = settings_by_section(chosen)
        sections = owners(kinds, chosen)
        parts: dict[str, dict[str, Any]] = {section: {} for section in kinds}
        for name, value in given.items():
            if name not in ROLES:
                if name not in sections:
                    raise BadInput(unknown_setting_message(name, chosen))
                parts[sections[name]][name] = value
        for section in SECTIONS:
            part = make(kinds[section], parts[section]) if section in kinds else None
            if section in chosen:
                part = Member(*chosen[section], part)
            object.__setattr__(self, section, part)
        refuse(SETTINGS, self)

    @property
    def leaves_recipe_open(self) -> bool:
        """Whether it says nothing of the network and the training but the seed.

        Then `with_recipe_of` may choose both. A configuration from a folder has chosen already.
        """
        of_data = {"task", "seed", *settings_of(self.task.kind.Settings)}
        return self._asked <= of_data

    def with_recipe_of(self, task: Task) -> "Config":
        """The configuration with what a task recommends for its data, if it leaves that open."""
        recipe = task.recipe_of_data()
        return self.replace(**recipe) if recipe and self.leaves_recipe_open else self

    @property
    def batch_size(self) -> int:
        """Sequences per batch: as configured, or the learner's default."""
        return self.training.batch or self.learner.kind.usual_batch

    def _sections(self) -> dict[str, Any]:
        """The settings of each section that the run has."""
        sections = {}
        for section in SECTIONS:
            part = self.__dict__.get(section)
            settings = part.settings if section in ROLES and part is not None else part
            if settings is not None:
                sections[section] = settings
        return sections

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            for settings in self._sections().values():
                if name in settings_of(type(settings)):
                    return getattr(settings, name)
        raise AttributeError(f"this configuration has no setting {name!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self.flat() == other.flat()

    def __hash__(self) -> int:
        return hash(tuple(self.flat().items()))

    def flat(self) -> dict[str, Any]:
        """All settings by name, `Config(**config.flat()) == config`."""
        flat: dict[str, Any] = {}
        sections = self._sections()
        for section in SECTIONS:
            if section in ROLES:
                flat[section] = getattr(self, section).name if section in sections else None
            if section in sections:
                settings = sections[section]
                flat |= {name: getattr(settings, name) for name in settings_of(type(settings))}
        return flat

    def non_default(self) -> dict[str, Any]:
        """The settings that differ from their defaults, by name."""
        usual: dict[str, Any] = dict(USUAL)
        for settings in self._sections().values():
            usual |= {name: x.default for name, x in settings_of(type(settings)).items()}
        return {name: value for name, value in self.flat().items() if value != usual[name]}

    def replace(self, **changes: Any) -> "Config":
        """The configuration with some settings changed.

        Settings that a new task, cell or learner does not have are dropped.

        Example:
            >>> Config(cell="gru", reset="after", units=8).replace(cell="lstm").non_default()
            {'cell': 'lstm', 'units': 8}
        """
        own = {section: getattr(self, section) for section in ROLES if section not in changes}
        members = {section: (x.name, x.kind) for section, x in own.items() if x is not None}
        members |= chosen_members(_members(changes))
        chosen = {section: members[section] for section in ROLES if section in members}
        kinds = settings_by_section(chosen)
        known = {name for kind in kinds.values() for name in settings_of(kind)}
        kept = {name: value for name, value in self.flat().items() if name in known}
        config = object.__new__(Config)
        object.__setattr__(config, "_asked", self._asked | changes.keys())
        config._fill({**kept, **changes}, chosen)
        return config

    def as_json(self) -> dict[str, dict[str, Any]]:
        """The sections as plain JSON; the inverse of `from_json`."""
        return {
            section: {
                **({"name": getattr(self, section).name} if section in ROLES else {}),
                **as_json(settings),
            }
            for section, settings in self._sections().items()
        }

    @classmethod
    def from_json(cls, sections: Any) -> "Config":
        """A configuration from its JSON in a folder; unknown settings are refused."""
        if not isinstance(sections, dict):
            raise BadInput(f"a configuration is one JSON object, got {shown(sections)}")
        return cls.from_folder(flattened(sections, named=False))

    @classmethod
    def from_toml(cls, path: str | Path, **changes: Any) -> "Config":
        """A configuration from a TOML file; `changes` override its settings.

        Example:
            >>> import tempfile
            >>> with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            ...     print("[network]", "units = [30, 20]", sep="\\n", file=file, flush=True)
            ...     Config.from_toml(file.name, steps=100).units
            (30, 20)
        """
        return cls(**{**read_toml(path), **changes})

    def __str__(self) -> str:
        return json.dumps(self.as_json(), indent=1, allow_nan=False)


def flattened(sections: dict[str, Any], *, named: bool = True) -> dict[str, Any]:
    """Nested settings made flat; each must belong to its section. `named` as in `members.find`."""
    for section, part in sections.items():
        if section not in SECTIONS:
            raise BadInput(f"{section!r:.40} is not a section; there are {', '.join(SECTIONS)}")
        if not isinstance(part, dict):
            raise BadInput(f"{section} must be a section with settings, got {shown(part)}")
    names = {section: part["name"] for section, part in sections.items() if "name" in part}
    if strange := sorted(names.keys() - ROLES.keys()):
        raise BadInput(f"[{strange[0]}] has no name")
    if "first" in sections and not isinstance(sections["first"].get("name"), str):
        raise BadInput("[first] needs the name of a learner")
    chosen = chosen_members({**USUAL, **names}, named=named)
    kinds = settings_by_section(chosen)
    flat: dict[str, Any] = dict(names)
    for section, part in sections.items():
        known = settings_of(kinds[section])
        for name, value in part.items():
            if name == "name" and section in ROLES:
                continue
            if name not in known:
                of = f" of {chosen[section][0]}" if section in ROLES else ""
                near = ALIASES.get(name) or nearest(name, known)
                hint = f" (did you mean {near}?)" if near else ""
                raise BadInput(f"[{section}] has {name!r:.40}, which is not a setting{of}{hint}")
            try:
                flat[name] = checked(known[name], value)
            except BadInput as error:
                raise BadInput(f"[{section}] {error}") from None
    return flat


LARGEST = 16 << 20  # bytes
COLUMNS = {  # the task that has such a column
    "text": "classify",
    "label": "classify",
    "source": "translate",
}


def read_toml(path: str | Path) -> dict[str, Any]:
    """The settings of a TOML file, flat and checked."""
    with naming(path):
        return flattened(parsed_toml(path))


def parsed_toml(path: str | Path) -> dict[str, Any]:
    """The sections of a TOML file; paths to a text or a class may be relative to the file."""
    path = Path(path)
    _, sections = toml_text(path)
    for section, part in sections.items():
        if section in ROLES and isinstance(part, dict) and isinstance(part.get("name"), str):
            part["name"] = beside(path, part["name"])
    task = sections.get("task")
    if isinstance(task, dict) and isinstance(task.get("file"), str):
        if (file := path.parent / task["file"]).exists():
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


def _with_task(given: dict[str, Any]) -> dict[str, Any]:
    """Settings with the task that a file is for, where they name none.

    Columns that only one task has say it before the suffix of the file does.
    """
    if "task" in given or not isinstance(given.get("file"), str):
        return given
    by_column = [task for name, task in COLUMNS.items() if given.get(name) is not None]
    usual = task_name_for(given["file"], given.get("sequence"), given)
    return {"task": by_column[0] if by_column else usual, **given}


def _with_recipe(given: dict[str, Any]) -> dict[str, Any]:
    """Settings with those of the task's recipe that they leave open, where they name no cell.

    Another learner takes nothing that is said to the recipe's, a budget replaces its units, and a
    task of other sizes has no use for its curriculum.
    """
    if "cell" in given:
        return given
    (_, task), *_ = chosen_members({"task": USUAL["task"], **_members(given)}).values()
    others = {*all_settings("learner"), "batch"} if "learner" in given else set()
    recipe = {name: value for name, value in task.recipe.items() if name not in others}
    if "budget" in given:
        recipe.pop("units", None)
    if given.keys() & settings_of(task.Settings).keys():
        recipe.pop("curriculum", None)
    return {**recipe, **given}


def _members(given: dict[str, Any]) -> dict[str, Any]:
    return {section: given[section] for section in ROLES if section in given}
