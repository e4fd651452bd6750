"""Names for readers: in place of the paths of weights and of classes; misspelt ones; counts."""

import difflib
import re
import shlex
from collections.abc import Iterable, Sequence

# What a metric may be called: a log keeps the name, and pages show it.
METRIC_NAME = r"^[^\x00-\x1f\x7f<>&\"`]{1,100}\Z"


def plain_name(path: str) -> str:
    """A path in words, without the network and the wrappers around a cell.

    Example:
        >>> plain_name(".cell.forget gate"), plain_name(".cell.layers[0].cell.R[1]")
        ('forget gate', 'layer 1, R, block 2')
    """
    words = re.sub(r"\.cell(?=[. \[]|$)", "", path)
    words = re.sub(r"\.layers\[(\d+)\]", lambda match: f", layer {int(match[1]) + 1}", words)
    words = re.sub(r"\.(forward|backward)\b", r", \1", words)
    words = re.sub(r"\[(\d+)\]$", lambda match: f", block {int(match[1]) + 1}", words)
    words = re.sub(r" (tanh|sigmoid|relu) (\d+)$", _numbered, words)
    words = re.sub(r"\.(?=\w)", ", ", words)
    return words.strip(" ,")


def state_name(path: str) -> str:
    """The state of a cell in words, by the cell's path.

    Example:
        >>> state_name(".cell"), state_name(".cell.layers[0]")
        ('state', 'layer 1')
    """
    return plain_name(path) or "state"


def class_name(name: str) -> str:
    """The name of a member without the module or file of a user's own class.

    Example:
        >>> class_name("mine/cells.py:SLSTM"), class_name("lstm")
        ('SLSTM', 'lstm')
    """
    return name.rpartition(":")[2]


def distinct(names: Sequence[str]) -> list[str]:
    """The names, numbered where one comes more than once.

    Example:
        >>> distinct(["h", "c", "h"])
        ['h (1)', 'c', 'h (2)']
    """
    return [
        f"{name} ({names[: n + 1].count(name)})" if names.count(name) > 1 else name
        for n, name in enumerate(names)
    ]


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The name that a misspelt word most resembles, if any; small and capital letters are equal.

    Example:
        >>> nearest("LTSM", ["lstm", "gru"]), nearest("chess", ["lstm", "gru"])
        ('lstm', None)
    """
    return next(iter(difflib.get_close_matches(word.lower(), names, 1)), None)


def did_you_mean(word: str, names: Iterable[str], count: int = 1, cutoff: float = 0.6) -> str:
    """The names that a misspelt word most resembles, as a question, or all names.

    Example:
        >>> did_you_mean("gur", ["lstm", "gru"]), did_you_mean("chess", ["lstm", "gru"])
        ('did you mean gru?', 'there are lstm, gru')
    """
    near = difflib.get_close_matches(word.lower(), names, count, cutoff)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names)}"


def counted(count: int, what: str) -> str:
    """A number of things in words.

    Example:
        >>> counted(1, "label"), counted(1200, "label")
        ('1 label', '1,200 labels')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _numbered(match: re.Match) -> str:
    return f", {match[1]} {int(match[2]) + 1}"


def typed(name: str, value: str, in_shell: bool) -> str:
    """A setting and its value as a person types them.

    Example:
        >>> typed("ignore", "my day", True), typed("ignore", "my day", False)
        ("--ignore 'my day'", 'ignore="my day"')
    """
    return f"{option_of(name)} {shlex.quote(value)}" if in_shell else f'{name}="{value}"'


def option_of(name: str) -> str:
    """How a setting is written on the command line.

    Example:
        >>> option_of("n_best")
        '--n-best'
    """
    return f"--{name.replace('_', '-')}"
