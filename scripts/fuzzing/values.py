"""Values that people and files come up with, by type: add one here, and every area draws it."""

import math
import os
import random
from pathlib import Path
from typing import Any

INTEGERS = (
    0, 1, 2, 3, 7, -1, -2, 255, 256, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 10**9, 10**30,
    -(2**31), -(10**30),
)  # fmt: skip
FLOATS = (
    0.0, -0.0, 0.1, 0.5, 1.0, 1.5, -1.0, math.nan, math.inf, -math.inf, 1e-320, 1e-30, 1e30, 1e300,
)  # fmt: skip
TEXTS = (
    "", " ", "\t", "\n", "a\nb", "\r", "é", "e\u0301", "漢字", "💥", "\u202e", "\ufeff", "\x1b[31m",
    "\x01", "\x7f", "\x85", "\u2028", os.fsdecode(b"\xff"), "\ud800", "x" * 10_000, "漢" * 3_000,
    "--", "-", "-h", "-1", "--json", "nan", "NaN", "inf", "1e400", "1_000", "١", "0x10", "1,5",
    "1.", "None", "null", "True", "%s", "{}", "{0}", "[bold]", "[/]", "$HOME", "~", "*", "a/b", ".",
    "..", "con", "'", '"', "`", "\\",
)  # fmt: skip
OTHERS = (None, True, False, (), [], {}, {"a": 1}, [1, 2], b"", b"\xff", 1j, object, len)


def integer(chance: random.Random) -> int:
    return chance.choice((*INTEGERS, chance.randint(-10, 300), chance.getrandbits(40)))


def real(chance: random.Random) -> float:
    return chance.choice((*FLOATS, chance.uniform(-2, 2), 10.0 ** chance.randint(-40, 40)))


def text(chance: random.Random) -> str:
    drawn = "".join(chr(chance.randrange(1, 0xD800)) for _ in range(chance.randint(1, 5)))
    return chance.choice((*TEXTS, drawn))


def anything(chance: random.Random) -> Any:
    """A value of any type."""
    return chance.choice((integer, real, text, lambda c: c.choice(OTHERS)))(chance)


def word(chance: random.Random) -> str:
    """Any value as a word of a command line, which has no zero character."""
    return str(chance.choice((integer, real, text))(chance)).replace("\0", "")


def mostly(chance: random.Random, good: Any, share: float = 0.8) -> Any:
    """One of `good`, or now and then anything at all."""
    return chance.choice(good) if chance.random() < share else anything(chance)


# Paths, each made in a folder where there is none of that kind yet.

PATHS = (
    "missing", "folder", "loop", "dangling", "empty", "binary", "pipe", "null", "zero", "nested",
    "through a file", "long", "odd name", "text",
)  # fmt: skip


def path(chance: random.Random, folder: Path, kind: str | None = None) -> str:
    """A path of a kind, relative to `folder` where it lies in it."""
    kind = kind or chance.choice(PATHS)
    place = folder / kind.replace(" ", "-")
    if kind == "null" or kind == "zero":
        return f"/dev/{kind}"
    if kind == "nested":
        return "missing/folder/deep"
    if kind == "through a file":
        (folder / "file").write_text("a file")
        return "file/below"
    if kind == "long":
        return "n" * chance.choice((255, 256, 5000))
    if kind == "odd name":
        return chance.choice(TEXTS[:19]).replace("\0", "") or "."
    if not os.path.lexists(place):
        make(place, kind, chance)
    return place.name


def make(place: Path, kind: str, chance: random.Random) -> None:
    """Put something of a kind at a place where nothing is."""
    if kind == "folder":
        place.mkdir()
    elif kind == "loop":
        place.symlink_to(place.name)
    elif kind == "dangling":
        place.symlink_to("nowhere")
    elif kind == "empty":
        place.touch()
    elif kind == "binary":
        place.write_bytes(chance.randbytes(300))
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "text":
        place.write_text("the quick brown fox jumps over the lazy dog. " * 9)
