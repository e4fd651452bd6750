"""The events of a run: what the training loop tells its listeners and writes into the log.

An event is a dictionary with a `kind` and a `step`, the same for a listener, in the log and for its
readers. The classes below say which fields an event of each kind has; a learner or a listener may
add fields and kinds of its own, which are kept as they are.

    Opening    `start` or `resume`: number of steps, device, baselines
    Train      `train`: a few steps: mean loss, gradient norm, learning rate, …
    Valid      `valid`: the metric on the validation part, and a preview
    Look       `lens`: gradient by lag, memory length, saturation
    Divergence `diverged`: why the run was stopped, and the steps that led to it
    End        `end`: how the run ended

A log may be damaged or written by another version, so nobody reads a line of it but `event_of`. It
leaves out a field that is not of its declared type, and the event if that field was required.
"""

import itertools
import json
from collections.abc import Iterable, Sequence
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Required,
    TypedDict,
    TypeGuard,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from ...names import METRIC_NAME

LARGEST = 2**53
DIVERGED = ("loss", "norm", "rate", "clipped", "moved")

Number = Annotated[float, msgspec.Meta(gt=-1e300, lt=1e300)]
Measured = Number | None  # a log has `None` in place of NaN and infinity
Count = Annotated[int, msgspec.Meta(ge=0, lt=LARGEST)]
CellPath = Annotated[str, msgspec.Meta(pattern=r"^[\w.\[\]'# ]{0,100}\Z")]  # `.cell.layers[0]`
# What a user calls a metric: "F1, macro-averaged"; nothing that means something in a page.
MetricName = Annotated[str, msgspec.Meta(pattern=METRIC_NAME)]


class Opening(TypedDict, total=False):
    """The beginning of a run, or its continuation from the checkpoint of a step."""

    kind: Literal["start", "resume"]
    step: int
    steps: Count
    task: str
    metric: str
    higher_is_better: bool
    loss_factor: Measured
    solved: Measured
    lag: Measured
    in_nats: bool
    epochs: Measured
    vocabulary: Count | None
    parameters: Count
    device: str
    log_every: Count
    notes: list[str]
    run: Any  # compared with the name of the run, whatever it is
    baselines: dict[str, Number]


class Goal(NamedTuple):
    """What is known of a task without it: its metric, what counts as solved, and units.

    Attributes:
        metric: its name.
        higher_is_better: of the metric.
        loss_factor: training loss × factor = metric; `None` if they do not compare.
        solved: the metric at which the task counts as solved.
        lag: the lag that the task needs.
        in_nats: whether the loss is in nats.
    """

    metric: str = "metric"
    higher_is_better: bool = False
    loss_factor: float | None = None
    solved: float | None = None
    lag: float | None = None
    in_nats: bool = False

    @classmethod
    def of(cls, task: Any) -> "Goal":
        """The goal of a `Task`."""
        metric = task.metric
        own = metric.name, metric.higher_is_better, metric.loss_factor
        return cls(*own, task.solved, task.lag, task.loss.in_nats)

    @classmethod
    def logged(cls, start: Opening) -> "Goal":
        """The same from the first event of a log."""
        return cls(**{name: x for name, x in start.items() if name in cls._fields})  # type: ignore[arg-type]


class Train(TypedDict, total=False):
    """The mean over a few steps; a learner adds numbers of its own."""

    kind: Literal["train"]
    step: int
    loss: Required[Measured]
    norm: Measured
    largest_norm: Measured
    moved: Measured
    largest_moved: Measured
    damping: Measured
    structural: Measured
    ratio: Measured
    rate: Number
    clipped: Number
    seconds: Number
    took: Number
    symbols: Count
    gradients: Annotated[float, msgspec.Meta(gt=0, lt=1e300)]
    remark: str


class Valid(TypedDict, total=False):
    """A validation."""

    kind: Literal["valid"]
    step: int
    value: Required[Measured]
    metrics: dict[MetricName, Measured]
    preview: str


class Look(TypedDict, total=False):
    """A look through the lens, by the names of the cells."""

    kind: Literal["lens"]
    step: int
    lags: Required[Annotated[list[Count], msgspec.Meta(min_length=1)]]
    gradient: Required[dict[CellPath, list[Measured]]]
    memory: Required[dict[CellPath, Measured]]
    saturated: dict[CellPath, Measured]
    took: Number


class Divergence(TypedDict, total=False):
    """Why a run was stopped, and the numbers of the steps from `step` on, one list each."""

    kind: Literal["diverged"]
    step: int
    words: Required[str]
    loss: list[Measured]
    norm: list[Measured]
    rate: list[Measured]
    clipped: list[Measured]
    moved: list[Measured]


class End(TypedDict, total=False):
    """How a run ended: `done`, `no gain`, `time` or `interrupted`, and by which signal."""

    kind: Literal["end"]
    step: int
    reason: Required[str]
    metric: str
    best: Measured
    best_step: Count
    seconds: Number
    spent: dict[str, Number]
    signal: Count


Event = Opening | Train | Valid | Look | Divergence | End
E = TypeVar("E", Opening, Train, Valid, Look, Divergence, End)
KINDS: dict[str, Any] = {
    kind: form for form in get_args(Event) for kind in get_args(get_type_hints(form)["kind"])
}
OPENING = get_args(get_type_hints(Opening)["kind"])


# The type of each field of an event of each kind, and what decodes all of them at once.
FIELDS: dict[str, dict[str, Any]] = {
    kind: {
        name: get_args(hint)[0] if get_origin(hint) is Required else hint
        for name, hint in get_type_hints(form, include_extras=True).items()
        if name not in ("kind", "step") and hint is not Any
    }
    for kind, form in KINDS.items()
}
DECODERS = {kind: msgspec.json.Decoder(form) for kind, form in KINDS.items()}


def opens(event: Any) -> TypeGuard[Opening]:
    """Whether a process began, or continued, its training with this event."""
    return event["kind"] in OPENING


def goes_on_after(event: Any) -> int:
    """The last step of which an opening event leaves what was logged before: -1 if it starts anew.

    Example:
        >>> goes_on_after({"kind": "resume", "step": 7})
        7
    """
    return event["step"] if event["kind"] == "resume" else -1


def opening(events: Iterable[Any]) -> Opening:
    """The first event that opens; empty if there is none."""
    return next(filter(opens, events), Opening())


def ending(events: Sequence[Any]) -> End | Divergence | None:
    """The event with which a run ended or diverged; `None` if it may be going on.

    Example:
        >>> ending(run.events())["reason"]
        'done'
    """
    for event in reversed(events):
        if opens(event):
            return None
        if KINDS.get(event["kind"]) in (End, Divergence):
            return event
    return None


def of_form(events: Iterable[Any], form: type[E]) -> list[E]:
    """The events of one form.

    Example:
        >>> [event["value"] for event in of_form(run.events(), Valid)][-1] < 10
        True
    """
    return [event for event in events if KINDS.get(event["kind"]) is form]


def event_of(line: bytes) -> Event | None:
    """The event in a line of a log, with the fields that are sound; `None` if it is none.

    Example:
        >>> event_of(b'{"kind": "train", "step": 3, "loss": 4.2, "norm": "much"}')
        {'kind': 'train', 'step': 3, 'loss': 4.2}
        >>> event_of(b'{"kind": "train", "step": 3, "lo')
    """
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):  # includes UnicodeDecodeError
        return None
    kind = event.get("kind") if isinstance(event, dict) else None
    if not isinstance(kind, str) or not _is_sound(event.get("step"), Count):
        return None
    if kind not in KINDS:
        return cast(Event, event)
    try:
        DECODERS[kind].decode(line)
    except ValueError:  # now field by field
        fields = FIELDS[kind]
        event = {n: x for n, x in event.items() if n not in fields or _is_sound(x, fields[n])}
        if not KINDS[kind].__required_keys__ <= event.keys():
            return None
    return cast(Event | None, _consistent(event))


def _is_sound(value: Any, kind: Any) -> bool:
    """Whether a value is of a declared type."""
    try:
        msgspec.convert(value, kind)
    except (ValueError, OverflowError):
        return False
    return value == value  # no NaN


def _consistent(event: dict) -> dict | None:
    """Drop fields that belong together but differ in length; `None` for lags that do not rise."""
    if event["kind"] == "lens":
        if any(a >= b for a, b in itertools.pairwise(event["lags"])):
            return None
        profiles, count = event["gradient"].items(), len(event["lags"])
        event["gradient"] = {name: x for name, x in profiles if len(x) == count}
    if event["kind"] == "diverged" and len({len(event.get(name, ())) for name in DIVERGED}) > 1:
        return {name: value for name, value in event.items() if name not in DIVERGED}
    return event


def logged_steps(events: Iterable[Any]) -> list[dict]:
    """The log entries of training steps, ending with the steps of a divergence if there was one.

    Example:
        >>> [entry["step"] for entry in logged_steps(run.events())]
        [1, 2, 3, 4]
    """
    events = list(events)
    entries = [dict(event) for event in of_form(events, Train)]
    for diverged in of_form(events, Divergence):
        columns = [cast(dict[str, Any], diverged).get(name, ()) for name in DIVERGED]
        for step, values in enumerate(zip(*columns, strict=True), diverged["step"]):
            entry = {"step": step, **dict(zip(DIVERGED, values, strict=True))}
            entries.append(entry | {"largest_norm": entry["norm"], "largest_moved": entry["moved"]})
    return entries
