"""What the doctor says."""

from typing import NamedTuple


class Finding(NamedTuple):
    """One thing that is wrong.

    Attributes:
        name: of the fault, for example "rate too high".
        words: what is wrong, in one plain sentence.
        evidence: the numbers that say so.
        advice: what to try next: a command, or a line of Python.
    """

    name: str
    words: str
    evidence: str
    advice: str
