"""Programs around a network: they write text, forecast, answer or play, as its interface says.

One is in C, around the header of the network. The other is an HTML page that needs no server and no
other file.
"""

import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import BadInput
from ..tasks.interface import Interface
from ..wiring.program import Program
from .javascript import function
from .template import fill, template
from .times import ordered

# The scripts of a page for each kind of interface that has one; each has an `html` of its name.
SCRIPTS = {
    "text": ["text.js"],
    "forecast": ["table.js", "forecast.js"],
    "answers": ["table.js", "answers.js"],
    "audio": ["audio.js"],
}


def comment(words: str) -> str:
    """Words that may stand in a comment of C, where they neither end it nor begin another."""
    plain = words.replace("*/", "* /").replace("/*", "/ *").replace("??/", "?? /")
    return "".join(x if x.isprintable() or x == "\n" else "?" for x in plain)


def main(interface: Interface, name: str, path: str) -> str:
    """A program that uses a header, from the template for its kind of interface.

    Args:
        interface: what it reads and says.
        name: with which the names in the header begin.
        path: of the header, without its ending.
    """
    text = template(f"{interface.kind}.c")
    for part, file in _parts(interface):
        text = text.replace(f"@{part}@", template(file))
    words = _WORDS[interface.kind](interface.about) | {
        "name": name,
        "NAME": name.upper(),
        "path": path,
    }
    return fill(text, words)


def page(program: Program, interface: Interface, about: str) -> str:
    """A page that writes, forecasts, labels or plays.

    Args:
        program: the network.
        interface: what its numbers mean; `BadInput` if that is nothing for a page.
        about: where it is from, in a line.
    """
    kind = interface.kind
    if kind not in SCRIPTS:
        raise BadInput(
            "the run gives the numbers of its network, for which there is no page; export it to c, "
            "onnx or torch"
        )
    data = dict(interface.about)
    if "columns" in data:  # it reads tables
        columns, strict = ordered(data)
        data |= {"order": [x._asdict() for x in columns], "strict": strict}
    kept = json.dumps(data).replace("<", "\\u003c")
    code = "\n".join([function(program), f"const about = {kept};", *map(template, SCRIPTS[kind])])
    words = {"title": html.escape(about), "body": template(f"{kind}.html"), "code": code}
    return fill(template("page.html"), words)


def _parts(interface: Interface) -> list[tuple[str, str]]:
    """The parts that a template is made of, by their place in it."""
    about, table = interface.about, ("table", "table.c")
    if interface.kind != "answers":
        return [table]
    answering = "numbers" if about["answers"]["classes"] is None else "classes"
    reading = "rows" if "columns" in about else "tokens"
    return [
        ("answering", f"answers_{answering}.c"),
        ("reading", f"answers_{reading}.c"),
        table,
    ]


def _of_text(about: Mapping[str, Any]) -> dict[str, Any]:
    texts = about["characters"]
    every = [bytes([n]) for n in range(256)] if texts is None else [x.encode() for x in texts]
    lines = [f"  {{{len(one)}, {_quoted(one)}}}," for one in every]
    return {"symbols": "\n".join(lines), "opening": about["opening"]}


def _of_row(about: Mapping[str, Any]) -> dict[str, Any]:
    count = len(about["shift"])
    names = about["columns"] or [f"number {n + 1}" for n in range(count)]
    columns, strict = ordered(about)
    sequence = about.get("sequence")
    return {
        "count_ordered": len(columns),
        "strict": int(strict),
        "has_sequence": int(sequence is not None),
        "order_names": _texts([*(x.name for x in columns), ""]),
        "order_forms": _texts([*(x.pattern for x in columns), ""]),
        "order_like": _texts([*(x.like for x in columns), ""]),
        "sequence_name": _texts([sequence or ""]),
        "count_columns": count,
        "count_masked": len(about["masked"]),
        "named": int(about["columns"] is not None),
        "masked_columns": ", ".join(map(str, [*about["masked"], 0])),
        "column_names": comment(", ".join(names)),
        "shift": _doubles(about["shift"]),
        "factor": _doubles(about["factor"]),
        "mean": _doubles(about["mean"]),
        "names": _texts(names),
    }


def _of_forecast(about: Mapping[str, Any]) -> dict[str, Any]:
    levels, moved = about["levels"], about["moved"]
    pairs = 0 if moved is None else len(levels) // 2
    made = 1 if None in levels else len(levels)
    tails = [f" {100 * x:g} %" if x is not None else "" for x in levels]
    flat = [] if moved is None else np.ravel(moved).tolist()
    return {
        **_of_row(about),
        "count_targets": len(about["targets"]),
        "count_steps": about["horizon"],
        "count_levels": len(levels),
        "count_made": made,
        "count_pairs": pairs,
        "target_names": _texts(about["targets"]),
        "level_names": _texts(tails),
        "target_shift": _doubles(about["target_shift"]),
        "target_factor": _doubles(about["target_factor"]),
        "moved": _doubles([*flat, 0.0]),
    }


def _of_answers(about: Mapping[str, Any]) -> dict[str, Any]:
    answers = about["answers"]
    if answers["classes"] is None:
        scaler = answers["scaler"]
        own: dict[str, Any] = {
            "what": "numbers",
            "answer_shift": _doubles(scaler["shift"]),
            "answer_factor": _doubles(scaler["factor"]),
        }
    else:
        several = bool(answers.get("several"))
        own = {
            "what": f"{'labels' if several else 'a label'}, and the probability of each",
            "several": int(several),
            "labels": _texts([" ".join(str(x).split()) for x in answers["classes"]]),
        }
    return own | (_of_rows(about) if "columns" in about else _of_tokens(about))


def _of_rows(about: Mapping[str, Any]) -> dict[str, Any]:
    row = _of_row(about)
    first = (
        f"The first line of the table has the names of its columns. Those that the network reads\n"
        f"are {row['column_names']}; others are left out."
        if row["named"]
        else f"A row has {row['count_columns']} numbers, with commas between them."
    )
    then = "It answers after each row; an empty line begins another sequence."
    return {**row, "file": "table.csv", "reads": f"{first}\n{then}"}


def _of_tokens(about: Mapping[str, Any]) -> dict[str, Any]:
    words, longest = about.get("words") or [], about.get("length") or 0
    read = about["level"] if "level" in about else f"symbols from 0 to {about['symbols'] - 1}"
    cut = f" Of each it reads the first {longest} {read}." if longest else ""
    return {
        "file": "lines.txt",
        "reads": f"A line is a sequence of {read}, which gets an answer.{cut}",
        "letters": int(about.get("level") == "characters"),
        "longest": longest,
        "known": len(words),
        "words": _texts([*words, ""]),
    }


def _of_audio(about: Mapping[str, Any]) -> dict[str, Any]:
    return {"rate": about["rate"], "residual": int(about["residual"])}


_WORDS = {"text": _of_text, "forecast": _of_forecast, "answers": _of_answers, "audio": _of_audio}


def _quoted(text: bytes) -> str:
    """A string of C, with everything but plain letters as octal numbers."""
    plain = (chr(x) if 32 <= x < 127 and x not in b'"\\?' else f"\\{x:03o}" for x in text)
    return '"' + "".join(plain) + '"'


def _texts(words: Sequence[str]) -> str:
    return ", ".join(_quoted(word.encode()) for word in words)


def _doubles(numbers: Sequence[float]) -> str:
    return ", ".join(repr(float(x)) for x in numbers)
