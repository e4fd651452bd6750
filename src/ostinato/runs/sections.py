"""The sections of a configuration: which settings there are, and where each belongs."""

import dataclasses
import difflib
from typing import Any

from ..errors import BadInput
from ..settings import setting, settings_of
from ..tasks.task import MOST_SEED
from ..through_time import BACKENDS
from .members import REGISTRIES, find
from .network import NetworkSettings

PRECISIONS = ("float32", "bfloat16")
MEMORIES = ("all", "sqrt")

# The sections in the order of `config.json`; for those that name a member: its role, the usual one.
SECTIONS = ("task", "cell", "network", "learner", "first", "training")
ROLES = {"task": "task", "cell": "cell", "learner": "learner", "first": "learner"}
USUAL: dict[str, str | None] = {"task": "text", "cell": "mlstm", "learner": "adam", "first": None}


@dataclasses.dataclass(frozen=True)
class TrainingSettings:
    """How long, on what, and from which seed a network is trained."""

    batch: int | None = setting(None, "sequences of a batch (32; hf, saddle-free: 1000)", least=1)
    steps: int = setting(1000, "batches to learn from", least=1)
    patience: int | None = setting(None, "stop after so many validations without gain", least=1)
    curriculum: int | None = setting(None, "length to begin with, up to --length", least=1)
    devices: int = setting(1, "devices that share each batch", least=1)
    validate_every: int | None = setting(None, "steps between validations", least=1)
    checkpoint_every: int | None = setting(None, "steps between checkpoints", least=1)
    lens: int | None = setting(None, "steps between looks at where the gradient goes", least=1)
    seed: int = setting(0, "of weights, noise and batches", least=0, most=MOST_SEED)
    precision: str = setting("float32", "of products: float32 or bfloat16", among=PRECISIONS)
    memory: str = setting(
        "all", "what the gradient keeps: all states, or O(√T) of them (sqrt)", among=MEMORIES
    )
    backend: str = setting(
        "auto",
        f"how a GPU runs through time: auto, {', '.join(BACKENDS)}",
        among=("auto", *BACKENDS),
    )


SHARED: dict[str, type] = {"network": NetworkSettings, "training": TrainingSettings}


def chosen_members(names: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    """The whole name and the class of the members that are named, by section."""
    return {
        section: find(ROLES[section], name)
        for section, name in names.items()
        if section != "first" or name is not None
    }


def settings_by_section(kinds: dict[str, Any]) -> dict[str, type]:
    """The settings dataclass of each section, for the classes of the members."""
    return {**{section: kind.Settings for section, kind in kinds.items()}, **SHARED}


def all_settings(role: str) -> dict[str, list[str]]:
    """The settings of all tasks, cells or learners, each with the members that have it."""
    found: dict[str, list[str]] = {}
    for member, kind in REGISTRIES[role].items():
        for name in settings_of(kind.Settings):
            found.setdefault(name, []).append(member)
    return found


def owners(kinds: dict[str, type], chosen: dict[str, tuple[str, Any]]) -> dict[str, str]:
    """The section of every setting, whose names must differ."""
    if "first" in chosen:
        (learner, _), (first, kind) = chosen["learner"], chosen["first"]
        if "first_steps" not in settings_of(kinds["learner"]):
            having = ", ".join(all_settings("learner")["first_steps"])
            raise BadInput(f"first is a setting of {having}; the learner is {learner}")
        if kind.exact:
            raise BadInput(f"first is a learner that follows the gradient, got {first}")
    found: dict[str, str] = {}
    for section, kind in kinds.items():
        for name in settings_of(kind):
            if name in found or name in ROLES:
                other = found.get(name, name)
                raise BadInput(
                    f"both {section} ({chosen.get(section, (section,))[0]}) and {other} "
                    f"({chosen.get(other, (other,))[0]}) have a setting {name}; rename yours"
                )
            found[name] = section
    return found


def misplaced(name: str, chosen: dict[str, tuple[str, Any]]) -> str:
    """What to say of a setting that none of the chosen members has."""
    for role in REGISTRIES:
        if having := all_settings(role).get(name):
            of = f"the {role}{'s' * (len(having) > 1)} {', '.join(having)}"
            return f"{name} is a setting of {of}; the {role} is {chosen[role][0]}"
    known = {name for _, kind in chosen.values() for name in settings_of(kind.Settings)}
    known |= {name for kind in SHARED.values() for name in settings_of(kind)} | ROLES.keys()
    near = difflib.get_close_matches(str(name), sorted(known), 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return f"the configuration has {name!r:.40}, which is not a setting{hint}"
