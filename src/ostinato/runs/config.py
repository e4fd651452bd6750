"""The one configuration of a run: for the command line, for files and for Python.

`Config` is saved in the run folder as `config.json` and is enough to run the same thing again. Each
field has its default, its words for `--help`, and its check; the command line is made from them.
"""

import dataclasses
import json
import math
import os
from dataclasses import field, fields
from typing import Any

from ..cells import CELLS
from ..errors import BadInput
from ..learning import FIRST_ORDER, GRADIENTS, SCHEDULES
from ..learning.clipping import check_clip
from ..learning.first_order import MOMENTUM, VELOCITIES
from ..learning.hessian_free.curvature_batch import DRAWS
from ..learning.hessian_free.damping import ADAPTS, RATIOS
from ..learning.hessian_free.learner import JUDGES
from ..learning.hessian_free.on_batch import FORMS
from ..learning.hybrid import WHERE
from ..tasks import TASKS
from ..tasks.task import MOST_SEED

LEVELS = ("characters", "bytes")
PRECISIONS = ("float32", "bfloat16")
READOUTS = ("bias", "plain", "own")
FACTORS = ("input", "all")
BACKENDS = ("scan", "persistent", "auto")
MEMORIES = ("all", "sqrt")
DAMPINGS = ("structural", "tikhonov", "line-search")
HF, SADDLE_FREE = "hf", "saddle-free"
SECOND_ORDER = (HF, SADDLE_FREE)
LEARNERS = (*FIRST_ORDER, *SECOND_ORDER)

MOST = 2**31 - 1  # of whole numbers, which JAX counts in 32 bits
MOST_FLOAT = 3.4e38  # what float32 holds


def _names(of) -> str:
    return ", ".join(of)


def _setting(
    default: Any, words: str, *, least=None, most=None, below=None, among=None, only=LEARNERS
) -> Any:
    """A field with its help, what it must satisfy, and the learners that it is for."""
    checks = {"least": least, "most": most, "below": below, "among": among}
    return field(default=default, metadata={"help": words, "only": only, **checks})


def _first(default: Any, words: str, **checks) -> Any:
    """A setting of the learners that follow the gradient."""
    return _setting(default, words, only=tuple(FIRST_ORDER), **checks)


def _second(default: Any, words: str, only=SECOND_ORDER, **checks) -> Any:
    """A setting of the learners that use the curvature."""
    return _setting(default, f"{words} ({', '.join(only)})", only=only, **checks)


def _free(default: Any, words: str, **checks) -> Any:
    """A setting of Hessian-free learning alone."""
    return _second(default, words, only=(HF,), **checks)


@dataclasses.dataclass(frozen=True)
class Config:
    """Everything that determines a run.

    `None` means: what the task or the learner has as its default.

    Example:
        >>> Config(task="adding", length=200, cell="lstm", units=128, steps=3000)
    """

    task: str = _setting("text", f"what is learned: text, {_names(TASKS)}")
    file: str | None = _setting(None, "the text to learn: a file, or a data set")
    level: str = _setting("characters", "symbols of a text: characters or bytes", among=LEVELS)
    encoding: str = _setting("utf-8", "how the file's characters are written")
    split: str = _setting("90/5/5", "percent of a text for training, validation, test")
    carry: bool = _setting(True, "contiguous streams with carried state, or independent sequences")
    length: int | None = _setting(None, "steps of a sequence or window", least=1)

    cell: str = _setting("mlstm", f"the recurrent cell: {_names(CELLS)}")
    units: int | None = _setting(None, "units of each layer (128 if there is no budget)", least=1)
    layers: int = _setting(1, "layers on top of each other", least=1, most=1000)
    skip: bool = _setting(False, "connect every layer to the input and to the output")
    budget: int | None = _setting(
        None, "choose the units nearest to this many parameters", least=1, most=10**18
    )
    embedding: int = _setting(0, "size of learned input vectors; 0 for one-hot", least=0)
    readout: str | None = _setting(
        None,
        f"of the last layer: {_names(READOUTS)} (by default as the cell's source has it)",
        among=READOUTS,
    )
    factor: str = _setting(
        "input", f"mrnn with --skip: what the factor reads, {_names(FACTORS)}", among=FACTORS
    )
    layer_norm: bool = _setting(False, "normalise each layer's pre-activations")
    dropout: float = _setting(0.0, "share of outputs dropped, of each layer", least=0, below=1)
    recurrent_dropout: float = _setting(0.0, "share of the state dropped", least=0, below=1)
    zoneout: float = _setting(0.0, "share of units that keep their value", least=0, below=1)
    weight_noise: float = _setting(0.0, "standard deviation of noise on the weights", least=0)

    incoming: int | None = _setting(None, "recurrent weights of each unit, the rest 0", least=1)
    spectral_radius: float | None = _setting(None, "of the recurrent matrices at first", least=0)
    input_scale: float | None = _setting(None, "deviation of input weights at first", least=0)

    learner: str = _setting("adam", f"how the weights change: {_names(LEARNERS)}", among=LEARNERS)
    rate: float | None = _first(None, "learning rate", least=0)
    momentum: float = _first(0.9, "of heavy ball and Nesterov", least=0, below=1)
    velocity: str = _first(
        "scaled", f"their v: {_names(VELOCITIES)}, with the rate in it or not", among=VELOCITIES
    )
    schedule: str = _first("cosine", f"how the rate changes: {_names(SCHEDULES)}")
    warmup: int = _first(0, "steps in which the rate rises from zero", least=0)
    clip: str = _first(
        "1", "largest gradient norm: a number, '2x' the average (or 'auto'), or 'off'"
    )
    weight_decay: float = _first(0.0, "share of each weight taken off, times the rate", least=0)
    omega: float = _first(0.0, "weight of the norm-preserving term", least=0)
    gradient: str = _first("full", f"how the gradient is found: {_names(GRADIENTS)}")
    window: int = _first(20, "steps of the window of truncated gradients", least=1)
    first: str | None = _second(
        None, "a first-order learner that has its turn before", among=tuple(FIRST_ORDER)
    )
    first_steps: int = _second(100, "its steps before the turn changes", least=1)
    turns: str = _second(
        "after",
        f"for good after its steps, or where they gain nothing: {_names(WHERE)}",
        among=WHERE,
    )
    damping: str = _free("structural", f"kind of damping: {_names(DAMPINGS)}", among=DAMPINGS)
    tikhonov: float | None = _second(None, "λ at first", least=0)
    structural: float = _free(0.003, "μ at first", least=0)
    form: str = _free(
        "pre-activation", f"of structural damping: {_names(FORMS)}", among=tuple(FORMS)
    )
    ratio: str = _free("damped", f"the quadratic of ρ: {_names(RATIOS)}", among=RATIOS)
    judge: str = _free(
        "gradient", f"batch that steps are judged on: {_names(JUDGES)}", among=JUDGES
    )
    iterations: int = _free(100, "of conjugate gradient, at most", least=1)
    adapt: str = _free("step", f"when ρ moves the damping: {_names(ADAPTS)}", among=ADAPTS)
    precondition: bool = _free(False, "conjugate gradient with a diagonal preconditioner")
    krylov: int = _second(50, "dimensions of the subspace", only=(SADDLE_FREE,), least=1)
    curvature_batch: int | None = _second(None, "sequences for the curvature, ¼ of batch", least=1)
    draw: str = _second("fresh", f"which of the batch they are: {_names(DRAWS)}", among=DRAWS)
    chunk: int | None = _second(None, "sequences at once, to save memory", least=1)
    curriculum: int | None = _setting(None, "length to begin with, up to --length", least=1)
    batch: int | None = _setting(None, "sequences of a batch (32; hf, saddle-free: 1000)", least=1)
    devices: int = _setting(1, "devices that share each batch", least=1)
    steps: int = _setting(1000, "batches to learn from", least=1)
    patience: int | None = _setting(None, "stop after so many validations without gain", least=1)

    validate_every: int | None = _setting(None, "steps between validations", least=1)
    checkpoint_every: int | None = _setting(None, "steps between checkpoints", least=1)
    lens: int | None = _setting(None, "steps between looks at where the gradient goes", least=1)
    seed: int = _setting(0, "of weights, noise and batches", least=0, most=MOST_SEED)
    precision: str = _setting("float32", "of products: float32 or bfloat16", among=PRECISIONS)
    memory: str = _setting(
        "all", "what the gradient keeps: all states, or O(√T) of them (sqrt)", among=MEMORIES
    )
    backend: str = _setting(
        "auto", f"how a GPU runs through time: {_names(BACKENDS)}", among=BACKENDS
    )

    def __post_init__(self):
        for setting in fields(self):
            _check(setting, getattr(self, setting.name))
        for setting in fields(self):
            only = setting.metadata["only"]
            if {self.learner, self.first}.isdisjoint(only) and (
                getattr(self, setting.name) != setting.default
            ):
                raise BadInput(
                    f"{setting.name} is a setting of {_names(only)}; the learner is {self.learner}"
                )
        if self.curriculum is not None and self.length is not None:
            check_curriculum(self.curriculum, self.length)
        if self.learner in SECOND_ORDER and self.precision != "float32":
            raise BadInput(f"the learner {self.learner} needs --precision float32")
        self.shares  # noqa: B018  raises where the split is wrong
        if self.file is not None and self.task == "text":
            if not self.file or "\0" in self.file:
                raise BadInput(f"file must be the path of a text, got {self.file!r}")
            # The whole path, so that the run finds its text from any folder.
            object.__setattr__(self, "file", os.path.realpath(self.file))
        check_clip(self.clip)

    @property
    def shares(self) -> tuple[float, float, float]:
        """The split as shares of one."""
        try:
            train, valid, test = (float(x) / 100 for x in self.split.split("/"))
        except ValueError:
            raise BadInput(f"split must read like 90/5/5, got {_words(self.split)}") from None
        if not all(0 <= share <= 1 for share in (train, valid, test)):
            raise BadInput(f"the parts of split must be from 0 to 100, got {self.split}")
        if abs(train + valid + test - 1) > 1e-9:
            raise BadInput(f"the parts of split must add up to 100, got {self.split}")
        if train == 0:
            raise BadInput(f"the first part of split, for training, is 0, got {self.split}")
        return train, valid, test

    def as_json(self) -> dict:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, found: dict) -> "Config":
        """A configuration from its JSON, refusing what it does not know."""
        if not isinstance(found, dict):
            raise BadInput(f"a configuration is one JSON object, got {_shown(found)}")
        known = {setting.name for setting in fields(cls)}
        if strange := sorted(found.keys() - known):
            raise BadInput(f"the configuration has {strange[0]!r:.40}, which is not a setting")
        return cls(**upgraded(found))

    def __str__(self) -> str:
        return json.dumps(self.as_json(), indent=1, allow_nan=False)


def upgraded(found: dict) -> dict:
    """The JSON of a configuration that lacks settings of today, with what was done without them.

    Without `readout`, every network had a readout with a bias but those of `krause` and `mlstm`;
    without `factor`, that of `mrnn` read all that its layer reads; without `velocity`, heavy ball
    and Nesterov kept the rate out of v. They are filled in only where the default of today is
    another.
    """
    then: dict[str, str] = {}
    cell, text = found.get("cell"), found.get("task", "text") == "text"
    if cell == "jordan" or (text and cell in ("simple", "mrnn")):
        then["readout"] = "bias"
    if found.get("skip") and cell == "mrnn":
        then["factor"] = "all"
    if found.get("learner") in MOMENTUM:
        then["velocity"] = "raw"
    return {**then, **found}


_TYPES: dict[Any, tuple] = {int: (int,), float: (int, float), str: (str,), bool: (bool,)}


def kind(setting: dataclasses.Field) -> type:
    """The type of a setting, `None` aside."""
    return next(t for t in _TYPES if t is setting.type or setting.type == (t | None))


def _check(setting: dataclasses.Field, value: Any) -> None:
    name, expected = setting.name, kind(setting)
    if value is None and setting.type is not expected:
        return
    if not isinstance(value, _TYPES[expected]) or isinstance(value, bool) != (expected is bool):
        raise BadInput(f"{name} must be of type {expected.__name__}, got {_shown(value)}")
    least, most, below, among = (
        setting.metadata[check] for check in ("least", "most", "below", "among")
    )
    if expected is float and not _is_finite(value):
        raise BadInput(f"{name} must be a number that float32 holds, got {_shown(value)}")
    if expected is int and most is None:
        most = MOST
    if least is not None and value < least:
        raise BadInput(f"{name} must be at least {least}, got {_shown(value)}")
    if most is not None and value > most:
        raise BadInput(f"{name} must be at most {most}, got {_shown(value)}")
    if below is not None and value >= below:
        raise BadInput(f"{name} must be below {below}, got {_shown(value)}")
    if among is not None and value not in among:
        raise BadInput(f"{name} must be one of {', '.join(among)}; got {_words(value)}")


def check_curriculum(first: int, length: int) -> None:
    """Refuse sequences that would become shorter."""
    if first > length:
        raise BadInput(
            f"curriculum is the length to begin with, so it must be at most the length of "
            f"{length}, got {first}"
        )


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value) and abs(value) <= MOST_FLOAT
    except OverflowError:
        return False


def _words(value: str) -> str:
    """A text in a message, as it is where it can be read."""
    return f"{value:.60}" if value.isprintable() else _shown(value)


def _shown(value: Any) -> str:
    """A value in a message; Python refuses to write out the longest numbers."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"a number of {int(value.bit_length() * math.log10(2)) + 1} digits"
    return f"{value!r:.60}"
