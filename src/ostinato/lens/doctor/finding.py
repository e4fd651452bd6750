"""What the doctor reports, and the command that it advises."""

import shlex
from typing import Any, NamedTuple


class Finding(NamedTuple):
    """One thing that is wrong.

    Attributes:
        name: name of the fault, for example "rate too high".
        words: what is wrong, in one sentence.
        evidence: the numbers that show it.
        advice: what to try next: a command, or a line of Python.
    """

    name: str
    words: str
    evidence: str
    advice: str


def again(settings: dict[str, Any], **changes: Any) -> str:
    """`ostinato train` with a run's settings and some changes.

    Args:
        settings: the run's settings that are not defaults.
        changes: settings to change; `None` for the default.

    Example:
        >>> again({"task": "adding", "rate": 1.0}, rate=0.01)
        'ostinato train --task adding --rate 0.01'
    """
    words = ["ostinato", "train"]
    now = {name: value for name, value in (settings | changes).items() if value is not None}
    if file := now.pop("file", None):
        words.append(shlex.quote(str(file)))
    for name, value in now.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        else:
            if isinstance(value, list | tuple):
                value = ",".join(map(str, value))
            shown = f"{value:.3g}" if isinstance(value, float) else shlex.quote(str(value))
            words += [f"--{option}", shown]
    return " ".join(words)
