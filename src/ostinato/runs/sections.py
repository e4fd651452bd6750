"""The sections of a configuration, and the settings of each."""

import dataclasses
import tomllib
from contextlib import suppress
from typing import Any

from ..errors import BadInput
from ..names import nearest
from ..settings import read_numbers, setting, settings_of
from ..tasks.task import MAX_SEED
from ..through_time import BACKENDS
from .members import REGISTRIES, find
from .network import NetworkSettings

PRECISIONS = ("float32", "bfloat16", "float64")
MEMORIES = ("all", "sqrt")

# The sections in the order of `config.json`; for those that name a member, its role and default.
SECTIONS = ("task", "cell", "network", "learner", "first", "training")
ROLES = {"task": "task", "cell": "cell", "learner": "learner", "first": "learner"}
USUAL: dict[str, str | None] = {"task": "text", "cell": "mlstm", "learner": "adam", "first": None}
# What other programs call these settings; on the command line these are options too.
ALIASES: dict[str, str] = {
    "lr": "rate",
    "learning_rate": "rate",
    "hidden": "units",
    "hidden_size": "units",
    "num_layers": "layers",
    "optimizer": "learner",
    "optimiser": "learner",
    "seq_len": "length",
    "batch_size": "batch",
    "num_epochs": "epochs",
}


@dataclasses.dataclass(frozen=True)
class TrainingSettings:
    """Batches, steps, devices, precision and seed."""

    batch: int | None = setting(
        None,
        "sequences per batch (default: 32; hf and saddle-free: 1000; ridge and rls: 1)",
        min=1,
    )
    steps: int = setting(1000, "training steps, one batch each (ridge: at most one epoch)", min=1)
    epochs: int | None = setting(
        None, "in place of --steps: passes through the training data", min=1
    )
    patience: int | None = setting(
        None, "stop after this many validations without improvement", min=1
    )
    minutes: float | None = setting(
        None, "stop after this many minutes of training, with a validation", min=0
    )
    curriculum: int | None = setting(
        None, "initial sequence length, which grows to --length", min=1
    )
    devices: int = setting(1, "number of devices that share each batch", min=1)
    log_every: int | None = setting(
        None, "steps between lines of the log (default: 1 % of all steps, at most 50)", min=1
    )
    validate_every: int | None = setting(None, "steps between validations", min=1)
    checkpoint_every: int | None = setting(
        None, "steps between checkpoints (default: as often as costs 2 % of the time)", min=1
    )
    lens: int | None = setting(None, "steps between lens measurements (gradient by lag)", min=1)
    seed: int = setting(0, "random seed of weights, noise and batches", min=0, max=MAX_SEED)
    precision: str = setting(
        "float32",
        "precision: float32, bfloat16 (of products) or float64 (always with ridge and rls)",
        among=PRECISIONS,
    )
    memory: str = setting(
        "all", "states kept for the gradient: all of them, or O(√T) (sqrt)", among=MEMORIES
    )
    backend: str = setting(
        "auto",
        f"how a GPU runs the scan over time: auto, {', '.join(BACKENDS)}",
        among=("auto", *BACKENDS),
    )


SHARED: dict[str, type] = {"network": NetworkSettings, "training": TrainingSettings}


def chosen_members(names: dict[str, Any], *, named: bool = True) -> dict[str, tuple[str, Any]]:
    """The full name and the class of each member, by section; `named` as in `find`."""
    return {
        section: find(ROLES[section], name, named=named)
        for section, name in names.items()
        if section != "first" or name is not None
    }


def settings_by_section(kinds: dict[str, Any]) -> dict[str, type]:
    """The settings dataclass of each section, given the classes of the members."""
    return {**{section: kind.Settings for section, kind in kinds.items()}, **SHARED}


def all_settings(role: str) -> dict[str, list[str]]:
    """The settings of all tasks, cells or learners, and which members have each."""
    found: dict[str, list[str]] = {}
    for member, kind in REGISTRIES[role].items():
        for name in settings_of(kind.Settings):
            found.setdefault(name, []).append(member)
    return found


def from_text(name: str, text: str) -> Any:
    """The value of a setting from `name=value` on a command line.

    Numbers, lists, true and false are written as in TOML, and none is null. Whole numbers, one per
    layer, need no brackets, and words no quotes. Of a setting that no built-in member has, text is
    whatever is nothing else.

    Example:
        >>> from_text("units", "150,130"), from_text("rate", "0.01"), from_text("clip", "auto")
        ((150, 130), 0.01, 'auto')
    """
    kinds = [kind.Settings for members in REGISTRIES.values() for kind in members.values()]
    known = [settings_of(kind) for kind in [*kinds, *SHARED.values()]]
    types = {settings[name].type for settings in known if name in settings}
    if text == "null":
        return None
    if str in types or name in ROLES:
        return text
    if tuple in types:
        with suppress(BadInput):
            return read_numbers(text)
    with suppress(tomllib.TOMLDecodeError, RecursionError):
        if len(found := tomllib.loads(f"x = {text}")) == 1:
            return found["x"]
    return text


def owners(kinds: dict[str, type], chosen: dict[str, tuple[str, Any]]) -> dict[str, str]:
    """The section of every setting; names must be unique."""
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


def unknown_setting_message(name: str, chosen: dict[str, tuple[str, Any]]) -> str:
    """The message for a setting that none of the chosen members has."""
    if name in ALIASES:
        return f"{name} is not a setting; here it is called {ALIASES[name]}"
    for role in REGISTRIES:
        if having := all_settings(role).get(name):
            of = f"the {role}{'s' * (len(having) > 1)} {', '.join(having)}"
            return f"{name} is a setting of {of}; the {role} is {chosen[role][0]}"
    known = {name for _, kind in chosen.values() for name in settings_of(kind.Settings)}
    known |= {name for kind in SHARED.values() for name in settings_of(kind)} | ROLES.keys()
    near = nearest(str(name), sorted(known))
    hint = f" (did you mean {near}?)" if near else ""
    return f"the configuration has {name!r:.40}, which is not a setting{hint}"
