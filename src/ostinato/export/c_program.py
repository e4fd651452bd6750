"""A program in C around the header of a network: one that writes text, or one that forecasts."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..tasks.interface import Interface


def main(template: str, interface: Interface, name: str) -> str:
    """A program that uses a header, from the template for its kind of interface."""
    words = _WORDS[interface.kind](interface.about) | {"name": name, "NAME": name.upper()}
    return re.sub(r"@(\w+)@", lambda place: str(words[place[1]]), template)


def _of_text(about: Mapping[str, Any]) -> dict[str, Any]:
    texts = about["characters"]
    every = [bytes([n]) for n in range(256)] if texts is None else [x.encode() for x in texts]
    lines = [f"  {{{len(one)}, {_quoted(one)}}}," for one in every]
    return {"symbols": "\n".join(lines), "opening": about["opening"]}


def _of_forecast(about: Mapping[str, Any]) -> dict[str, Any]:
    levels, moved = about["levels"], about["moved"]
    pairs = 0 if moved is None else len(levels) // 2
    made = 1 if None in levels else len(levels)
    tails = [f" {100 * x:g} %" if x is not None else "" for x in levels]
    flat = [] if moved is None else np.ravel(moved).tolist()
    return {
        "count_columns": len(about["columns"]),
        "count_targets": len(about["targets"]),
        "count_steps": about["horizon"],
        "count_levels": len(levels),
        "count_made": made,
        "count_pairs": pairs,
        "count_masked": len(about["masked"]),
        "column_names": ", ".join(about["columns"]).replace("*/", "* /"),
        "target_names": _texts(about["targets"]),
        "level_names": _texts(tails),
        "masked_columns": ", ".join(map(str, [*about["masked"], 0])),
        "target_shift": _doubles(about["target_shift"]),
        "target_factor": _doubles(about["target_factor"]),
        "moved": _doubles([*flat, 0.0]),
        "shift": _doubles(about["shift"]),
        "factor": _doubles(about["factor"]),
        "mean": _doubles(about["mean"]),
        "names": _texts(about["columns"]),
    }


_WORDS = {"text": _of_text, "forecast": _of_forecast}


def _quoted(text: bytes) -> str:
    """A string of C, with everything but plain letters as octal numbers."""
    plain = (chr(x) if 32 <= x < 127 and x not in b'"\\?' else f"\\{x:03o}" for x in text)
    return '"' + "".join(plain) + '"'


def _texts(words: Sequence[str]) -> str:
    return ", ".join(_quoted(word.encode()) for word in words)


def _doubles(numbers: Sequence[float]) -> str:
    return ", ".join(repr(float(x)) for x in numbers)
