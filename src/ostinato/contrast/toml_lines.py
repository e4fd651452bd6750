"""The lines of a TOML file in which its keys are, for messages."""

import re
from collections.abc import Sequence

_HEADER = re.compile(r"\s*\[+\s*([^\]#]+?)\s*\]+\s*(?:#.*)?$")
_KEY = re.compile(
    r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*="
)
_PART = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")


def line_of(text: str, where: Sequence[str], word: str | None = None) -> int | None:
    """The line of a key, or of the innermost table or inline table around it that has a line.

    Args:
        text: a valid TOML file.
        where: the key, as a path from the top.
        word: something quoted in its value, which may be in a later line.

    Example:
        >>> text = 'seeds = 3\\ncells = [\\n  "lstm",\\n  "gro",\\n]\\n[learners.hf]\\nbatch = 5\\n'
        >>> line_of(text, ["learners", "hf", "batch"]), line_of(text, ["cells"], "gro")
        (7, 4)
    """
    lines, table = text.splitlines(), []
    best, found = 0, None
    for number, line in enumerate(lines, 1):
        if header := _HEADER.match(line):
            table = path = _parts(header[1])
        elif key := _KEY.match(line):
            path = table + _parts(key[1])
        else:
            continue
        if len(path) > best and path == list(where[: len(path)]):
            best, found = len(path), number
    if found is not None and word is not None:
        for number in range(found, len(lines) + 1):
            if re.search(rf"""(["']){re.escape(word)}\1""", lines[number - 1]):
                return number
    return found


def _parts(words: str) -> list[str]:
    return ["".join(part) for part in _PART.findall(words)]
