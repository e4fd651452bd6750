"""The command that runs something again with other settings."""

import shlex
from typing import Any


def again(settings: dict[str, Any], **changes: Any) -> str:
    """`ostinato train` with a run's settings and some changes.

    Args:
        settings: those of the run that are not the usual ones.
        changes: what is to be other; `None` for the usual value.

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
