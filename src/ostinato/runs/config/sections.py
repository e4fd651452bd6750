"""The sections of a configuration, and the settings of each."""

import dataclasses
import re
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ...errors import BadInput
from ...names import nearest
from ...reservoir.expansion import EXPANSIONS
from ...settings import as_words, read_numbers, setting, settings_of
from ...tasks.checks import MAX_SEED
from ...through_time.backends import BACKENDS
from ...wiring.pool import POOLS, pools
from ...wiring.turing import BY_PLACE, STAY
from .members import REGISTRIES, find

PRECISIONS = ("float32", "bfloat16", "float64")
MEMORIES = ("all", "sqrt")
READOUTS = ("bias", "plain", "own")
FACTORS = ("input", "all")
UNITS = 128

# The sections in the order of `config.json`; for those that name a member, its role.
SECTIONS = ("task", "cell", "network", "learner", "first", "training")
ROLES = {"task": "task", "cell": "cell", "learner": "learner", "first": "learner"}
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


def memory_size(words: str) -> tuple[int, int]:
    """The rows and columns of a memory.

    Example:
        >>> memory_size("128x20")
        (128, 20)
    """
    size = re.fullmatch(r"([1-9]\d{0,8})x([1-9]\d{0,8})", words)
    if size is None:
        raise BadInput(
            f"turing must be rows x columns of the memory, such as 128x20, got {as_words(words)}"
        )
    return int(size[1]), int(size[2])


@dataclasses.dataclass(frozen=True)
class NetworkSettings:
    """How cells are combined into a network."""

    units: int | tuple[int, ...] | None = setting(
        None, "units per layer (128 if no budget is given), or one number for each layer", min=1
    )
    layers: int = setting(1, "number of layers", min=1, max=1000)
    skip: bool = setting(False, "connect every layer to the input and to the output")
    bidirectional: bool = setting(False, "every layer reads the sequence in both directions")
    feedback: bool = setting(False, "gated feedback: every layer reads every layer")
    turing: str | None = setting(
        None,
        "neural Turing machine: rows x columns of its memory, such as 128x20; the layers are its "
        "controller",
        read=memory_size,
    )
    heads: int = setting(1, "with --turing: read heads, and as many write heads", min=1)
    head_shift: int = setting(
        1, "with --turing: how many rows a head can move per step, in both directions", min=0
    )
    read_gate: float = setting(
        BY_PLACE, "with --turing: bias at first of the read heads' gate; above 0 they go by content"
    )
    write_gate: float = setting(
        BY_PLACE, "with --turing: bias at first of the write heads' gate, likewise"
    )
    head_strength: float = setting(0.0, "with --turing: bias at first of the strength of all keys")
    read_stay: float = setting(STAY, "with --turing: bias at first of a read head's staying")
    read_onward: float = setting(
        0.0, "with --turing: bias at first of a read head's moving on by a row"
    )
    budget: int | None = setting(
        None, "choose the units for this many parameters", min=1, max=10**18
    )
    embedding: int | None = setting(
        None,
        "size of learned vectors of symbols or words; 0 for one-hot (default: as the task needs)",
        min=0,
    )
    readout: str | None = setting(
        None,
        f"how the last layer is read: {', '.join(READOUTS)} (by default as in the cell's source)",
        among=READOUTS,
    )
    output_feedback: bool = setting(
        False, "the previous output is another input (for ridge and rls: the previous target)"
    )
    readout_units: int | None = setting(
        None, "units of a hidden layer in the readout (none)", min=1
    )
    expand: str | None = setting(
        None,
        f"also read the input and more features of the last layer: {', '.join(EXPANSIONS)}",
        among=EXPANSIONS,
    )
    pool: str = setting(
        "last",
        f"summaries of all steps so far that the readout reads, one or more of {', '.join(POOLS)}",
        read=pools,
    )
    changes: bool = setting(
        False, "layers also read how much each input has changed since the step before"
    )
    factor: str = setting(
        "input", f"mrnn with --skip: what the factor reads, {', '.join(FACTORS)}", among=FACTORS
    )
    layer_norm: bool = setting(False, "normalise each layer's pre-activations")
    dropout: float = setting(0.0, "dropout probability of each layer's outputs", min=0, below=1)
    recurrent_dropout: float = setting(0.0, "dropout probability of the state", min=0, below=1)
    zoneout: float = setting(0.0, "probability that a unit keeps its value", min=0, below=1)
    weight_noise: float = setting(0.0, "standard deviation of the noise on the weights", min=0)
    incoming: int | None = setting(None, "nonzero recurrent weights per unit", min=1)
    spectral_radius: float | None = setting(
        None, "initial spectral radius of the recurrent matrices", min=0
    )
    input_scale: float | None = setting(
        None, "standard deviation of the initial input weights", min=0
    )
    output_scale: float | None = setting(
        None, "standard deviation of the initial output weights", min=0
    )
    uniform: float | None = setting(
        None,
        "all weights start uniformly between minus and plus this: of layers, readout, embeddings "
        "and biases",
        min=0,
        max=1e9,
    )

    def __post_init__(self) -> None:
        if isinstance(self.units, tuple) and self.layers == 1:
            object.__setattr__(self, "layers", len(self.units))

    def sizes(self, units: int | Sequence[int]) -> list[int]:
        """The units of every layer."""
        return [units] * self.layers if isinstance(units, int) else list(units)


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
    layer_wise: int | None = setting(
        None, "train each layer alone for so many steps, from the first up, then all", min=1
    )
    devices: int = setting(1, "number of devices that share each batch", min=1)
    shard_vocabulary: bool = setting(
        False, "devices share embedding and readout too, each with some of the symbols"
    )
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


def settings_by_section(chosen: dict[str, tuple[str, Any]]) -> dict[str, type]:
    """The settings dataclass of each section, given the chosen members."""
    return {**{section: kind.Settings for section, (_, kind) in chosen.items()}, **SHARED}


def changed(settings: Any) -> list[str]:
    """The names of the settings that differ from their defaults.

    Example:
        >>> changed(NetworkSettings(units=8, layers=1, skip=True))
        ['units', 'skip']
    """
    known = settings_of(type(settings))
    return [name for name, one in known.items() if getattr(settings, name) != one.default]


def all_settings(role: str) -> dict[str, list[str]]:
    """The settings of all tasks, cells or learners, and which members have each."""
    having: dict[str, list[str]] = {}
    for member, kind in REGISTRIES[role].items():
        for name in settings_of(kind.Settings):
            having.setdefault(name, []).append(member)
    return having


def from_text(name: str, text: str) -> Any:
    """The value of a setting from `name=value` on a command line.

    Numbers, lists, true and false are written as in TOML, and none is null. Whole numbers, one per
    layer, need no brackets, and words no quotes. Of a setting that no built-in member has, or that
    is text of one and a number of another, text is whatever is nothing else.

    Example:
        >>> from_text("units", "150,130"), from_text("rate", "0.01"), from_text("clip", "auto")
        ((150, 130), 0.01, 'auto')
    """
    kinds = [kind.Settings for members in REGISTRIES.values() for kind in members.values()]
    known = [settings_of(kind) for kind in [*kinds, *SHARED.values()]]
    types = {settings[name].type for settings in known if name in settings}
    if text == "null":
        return None
    if types == {str} or name in ROLES:
        return text
    if tuple in types:
        with suppress(BadInput):
            return read_numbers(text)
    with suppress(tomllib.TOMLDecodeError, RecursionError):
        if len(parsed := tomllib.loads(f"x = {text}")) == 1:
            return parsed["x"]
    return text


def owners(kinds: dict[str, type], chosen: dict[str, tuple[str, Any]]) -> dict[str, str]:
    """The section of every setting; names must be unique."""
    sections: dict[str, str] = {}
    for section, kind in kinds.items():
        for name in settings_of(kind):
            if name in sections or name in ROLES:
                other = sections.get(name, name)
                raise BadInput(
                    f"both {section} ({chosen.get(section, (section,))[0]}) and {other} "
                    f"({chosen.get(other, (other,))[0]}) have a setting {name}; rename yours"
                )
            sections[name] = section
    return sections


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
