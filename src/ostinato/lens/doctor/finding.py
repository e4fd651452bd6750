"""What the doctor reports."""

from typing import NamedTuple


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
