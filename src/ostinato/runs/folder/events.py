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
import re
from collections.abc import Callable, Iterable, Sequence
from typing import (
    Annotated,
    Any,
    Literal,
    Required,
    TypedDict,
    TypeGuard,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

Check = Callable[[Any], bool]
LARGEST = 2.0**53
PATH = re.compile(r"[\w.\[\]'# ]{0,100}")
DIVERGED = ("loss", "norm", "rate", "clipped", "moved")
FORMERLY = {"trouble": "diverged"}  # kinds by their earlier names


def is_number(x: Any) -> bool:
    """True for a finite number that is not a boolean."""
    return isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < 1e300


def _is_number_or_none(x: Any) -> bool:
    """A log has `None` in place of NaN and infinity."""
    return x is None or is_number(x)


def _is_positive(x: Any) -> bool:
    return is_number(x) and x > 0


def _is_count(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool) and 0 <= x < LARGEST


def _is_text(x: Any) -> bool:
    return isinstance(x, str)


def _is_flag(x: Any) -> bool:
    return isinstance(x, bool)


def _are_numbers(x: Any) -> bool:
    return isinstance(x, list) and all(map(_is_number_or_none, x))


def _are_levels(x: Any) -> bool:
    return isinstance(x, dict) and all(map(is_number, x.values()))


def _are_rising(x: Any) -> bool:
    """True for a list of strictly increasing counts, such as lags."""
    if not isinstance(x, list) or not x or not all(map(_is_count, x)):
        return False
    return all(a < b for a, b in itertools.pairwise(x))


def _by_name(check: Check) -> Check:
    """A check of dictionaries whose keys are paths of cells, such as `.cell.layers[0]`."""

    def good(x: Any) -> bool:
        return isinstance(x, dict) and all(PATH.fullmatch(n) and check(y) for n, y in x.items())

    return good


Number = Annotated[float, is_number]
Measured = Annotated[float | None, _is_number_or_none]
Count = Annotated[int, _is_count]
Text = Annotated[str, _is_text]
Flag = Annotated[bool, _is_flag]
Numbers = Annotated[list[float | None], _are_numbers]


class Opening(TypedDict, total=False):
    """The beginning of a run, or its continuation from the checkpoint of a step."""

    kind: Literal["start", "resume"]
    step: int
    steps: Count
    task: Text
    metric: Text
    higher_is_better: Flag
    loss_factor: Measured
    solved: Measured
    lag: Measured
    in_nats: Flag
    epochs: Measured
    vocabulary: Annotated[int | None, _is_number_or_none]
    parameters: Count
    device: Text
    log_every: Count
    run: Any  # compared with the name of the run, whatever it is
    baselines: Annotated[dict[str, float], _are_levels]


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
    gradients: Annotated[float, _is_positive]
    remark: Text


class Valid(TypedDict, total=False):
    """A validation."""

    kind: Literal["valid"]
    step: int
    value: Required[Measured]
    metrics: Annotated[dict[str, float | None], _by_name(_is_number_or_none)]
    preview: Text


class Look(TypedDict, total=False):
    """A look through the lens, by the names of the cells."""

    kind: Literal["lens"]
    step: int
    lags: Required[Annotated[list[int], _are_rising]]
    gradient: Required[Annotated[dict[str, list[float | None]], _by_name(_are_numbers)]]
    memory: Required[Annotated[dict[str, float | None], _by_name(_is_number_or_none)]]
    saturated: Annotated[dict[str, float | None], _by_name(_is_number_or_none)]
    took: Number


class Divergence(TypedDict, total=False):
    """Why a run was stopped, and the numbers of the steps from `step` on, one list each."""

    kind: Literal["diverged"]
    step: int
    words: Required[Text]
    loss: Numbers
    norm: Numbers
    rate: Numbers
    clipped: Numbers
    moved: Numbers


class End(TypedDict, total=False):
    """How a run ended: `done`, `no gain`, `time` or `interrupted`, and by which signal."""

    kind: Literal["end"]
    step: int
    reason: Required[Text]
    metric: Text
    best: Measured
    best_step: Count
    seconds: Number
    spent: Annotated[dict[str, float], _are_levels]
    signal: Count


Event = Opening | Train | Valid | Look | Divergence | End
E = TypeVar("E", Opening, Train, Valid, Look, Divergence, End)
KINDS: dict[str, Any] = {
    kind: form for form in get_args(Event) for kind in get_args(get_type_hints(form)["kind"])
}
OPENING = get_args(get_type_hints(Opening)["kind"])


def _checks(form: Any) -> dict[str, Check]:
    """The check of each field of a form that has one."""
    found = {}
    for name, hint in get_type_hints(form, include_extras=True).items():
        kind = get_args(hint)[0] if name in form.__required_keys__ else hint
        if get_origin(kind) is Annotated:
            _, found[name] = get_args(kind)
    return found


FIELDS: dict[str, dict[str, Check]] = {kind: _checks(form) for kind, form in KINDS.items()}


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
        found = json.loads(line)
    except (ValueError, RecursionError):  # includes UnicodeDecodeError
        return None
    kind = found.get("kind") if isinstance(found, dict) else None
    if not isinstance(kind, str) or not _is_count(found.get("step")):
        return None
    kind = found["kind"] = FORMERLY.get(kind, kind)
    checks = FIELDS.get(kind, {})
    sound = {name: x for name, x in found.items() if name not in checks or checks[name](x)}
    if kind in KINDS and not KINDS[kind].__required_keys__ <= sound.keys():
        return None
    return cast(Event, _consistent(sound))


def _consistent(event: dict) -> dict:
    """Drop fields that belong together but differ in length."""
    if event["kind"] == "lens":
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
    found = [dict(event) for event in of_form(events, Train)]
    for diverged in of_form(events, Divergence):
        columns = [cast(dict[str, Any], diverged).get(name, ()) for name in DIVERGED]
        for step, values in enumerate(zip(*columns, strict=True), diverged["step"]):
            entry = {"step": step, **dict(zip(DIVERGED, values, strict=True))}
            found.append(entry | {"largest_norm": entry["norm"], "largest_moved": entry["moved"]})
    return found
