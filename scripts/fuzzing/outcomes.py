"""What a case may end with, and how a call is judged."""

import random
import re
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ACCEPTED, REFUSED = "accepted", "refused"
LONGEST = 400


class Failed(Exception):
    """A case ended as it must not; the message says how in one line."""


class Refused(Exception):
    """What was given was refused as it should be, with one line."""


class Hang(BaseException):
    """A case took too long. No `Exception`, so that nothing under test takes it for its own."""


@dataclass
class Case:
    """One case.

    Attributes:
        chance: all that is random about it.
        folder: an empty folder for it alone, which is also the working directory.
        scratch: the folder of all cases, where ready runs are kept.
        what: the case in one line; in a file, so that it outlives the process.
        interrupt: a command of it would go on for very long, and is interrupted as by Ctrl-C.
    """

    chance: random.Random
    folder: Path
    scratch: Path
    interrupt: bool = False

    @property
    def what(self) -> str:
        return described_in(self.scratch)

    @what.setter
    def what(self, words: str) -> None:
        (self.scratch / "what").write_text(words, errors="backslashreplace")


def described_in(scratch: Path) -> str:
    """The case that was run last, in one line."""
    return " ".join((scratch / "what").read_text().split())


def attempt(call: Callable[[], Any], also: tuple[type[Exception], ...] = ()) -> Any:
    """What a call of the library returns.

    Raises:
        Refused: it raised a `ValueError`, a `TypeError`, or an `OSError` that names a file, with
            one short line; or one of `also`, whose message may have several.
        Failed: it raised anything else.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except also as error:
        for line in str(error).split("\n"):
            check_line(line, error)
        raise Refused(str(error)) from None
    except UnicodeError as error:
        raise Failed(described(error)) from error
    except (ValueError, TypeError) as error:
        check_line(str(error), error)
        raise Refused(str(error)) from None
    except OSError as error:
        if error.filename is None or not error.strerror:
            raise Failed(described(error)) from error
        raise Refused(str(error)) from None
    except (Failed, Refused):
        raise
    except Exception as error:
        raise Failed(described(error)) from error


def check_line(text: str, error: BaseException) -> None:
    """Fail where a message is not one short line."""
    if not text.strip():
        raise Failed(f"an empty message: {described(error)}") from error
    if "\n" in text or "\r" in text:
        raise Failed(f"a message of {len(text.splitlines())} lines: {described(error)}") from error
    if len(text) > LONGEST:
        raise Failed(f"a message of {len(text)} characters: {described(error)}") from error


def described(error: BaseException) -> str:
    """An exception in one line: its type, the place in Ostinato that raised it, and its message."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/ostinato/" in frame.filename]
    place = ""
    if ours:
        file = ours[-1].filename.rsplit("/ostinato/", maxsplit=1)[-1]
        place = f" ({file}:{ours[-1].lineno} in {ours[-1].name})"
    words = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}{place}: {words}"


def shape(words: str) -> str:
    """A message without its numbers and quotations, so that alike failures are counted together."""
    if words.startswith("a message of"):  # where it was made tells enough
        words = re.sub(r"(\.py:\d+ in \w+\)).*", r"\1", words)
    words = re.sub(r"(not one line for exit \d+:).*─ Error.*", r"\1 a box", words)
    if words.startswith("a Python warning"):
        words = re.sub(r":.*?(/ostinato/\S+ \w+Warning).*", r": …\1", words)
    words = re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", words)
    words = re.sub(r"(?<![\w:])(/[\w.~-]+)+/?", "/…", words)
    number = r"(\.py:\d+)|-?\d+(\.\d+)?(e[+-]?\d+)?"
    return re.sub(number, lambda match: match[1] or "N", words)[:140]


def check(good: Any, words: str) -> None:
    """Fail with `words` where something that must hold does not."""
    if not good:
        raise Failed(words)
