"""Harm to the files of a run: bits, structure, kind and origin."""

import copy
import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .outcomes import Case
from .ready import RUNS, ready
from .values import anything, make

HUGE = 10**400  # more digits than Python reads by default: 4300
KEPT = "sha256"


def harm(case: Case, run: Path) -> str:
    """Do something to one file of a run, and say what."""
    chance = case.chance
    files = sorted(p for p in run.rglob("*") if p.is_file() and not p.is_symlink())
    if not files:
        return "nothing left to harm"
    file = chance.choice(files)
    name = str(file.relative_to(run))
    hurt: Callable[[Path, Case], str]
    if chance.random() < 0.5:
        hurt = chance.choice((bits, bits, cut, longer, swapped, other, replaced, replaced, gone))
    elif file.suffix == ".json":
        hurt = structure
    elif file.suffix == ".jsonl":
        hurt = log
    else:
        hurt = header
    return f"{name}: {hurt(file, case)}"


# Any file


def bits(file: Path, case: Case) -> str:
    data = bytearray(file.read_bytes())
    count = case.chance.choice((1, 1, 8, 64))
    for _ in range(count if data else 0):
        place = case.chance.randrange(8 * len(data))
        data[place // 8] ^= 1 << place % 8
    file.write_bytes(data)
    return f"{count} bits flipped"


def cut(file: Path, case: Case) -> str:
    data = file.read_bytes()
    kept = case.chance.choice((0, 1, 7, 8, len(data) // 2, len(data) - 1))
    file.write_bytes(data[:kept])
    return f"cut to {kept} bytes"


def longer(file: Path, case: Case) -> str:
    more = case.chance.choice((b"\0", b"\n", b"{}", b"\xff" * 9, case.chance.randbytes(99)))
    file.write_bytes(file.read_bytes() + more)
    return f"{more[:9]!r} added"


def swapped(file: Path, case: Case) -> str:
    """Another file of the same run in its place."""
    files = sorted(p for p in case.folder.rglob("*") if p.is_file() and p.name != "fox.txt")
    second = case.chance.choice(files)
    if second != file:
        file.write_bytes(second.read_bytes())
    return f"overwritten with {second.name}"


def other(file: Path, case: Case) -> str:
    """The file of another run, or one like it, in its place."""
    name = case.chance.choice([*RUNS])
    files = [p for p in sorted(ready(name, case.scratch).rglob("*")) if p.suffix == file.suffix]
    if not files:
        return gone(file, case)
    shutil.copyfile(case.chance.choice(files), file)
    return f"replaced by that of {name}"


def replaced(file: Path, case: Case) -> str:
    """Something in its place that is no such file."""
    kind = case.chance.choice(("folder", "loop", "dangling", "empty", "binary", "pipe", "sparse"))
    file.unlink()
    if kind == "sparse":
        with open(file, "wb") as sparse:
            sparse.write(case.chance.choice((b"", b"{", (2**40).to_bytes(8, "little"))))
            sparse.truncate(case.chance.choice((10**6, 10**8)))
    else:
        make(file, kind, case.chance)
    return f"replaced: {kind}"


def gone(file: Path, case: Case) -> str:
    target = case.chance.choice((file, file.parent)) if "step-" in file.name else file
    if target.is_dir():
        shutil.rmtree(target)
        if case.chance.random() < 0.5:
            make(target, case.chance.choice(("empty", "loop", "dangling", "pipe")), case.chance)
    else:
        target.unlink()
    return f"{target.name} is gone"


# JSON


def structure(file: Path, case: Case) -> str:
    """A document with a value at a random place changed; signed again half of the time."""
    try:
        document = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        return bits(file, case)
    words, document = mutated(document, case.chance)
    if isinstance(document, dict) and KEPT in document and case.chance.random() < 0.6:
        document, words = sign(document), f"{words}, signed"
    file.write_text(written(document, case.chance))
    return words


def sign(document: dict) -> dict:
    """The same document with the checksum that a run would write."""
    rest = {name: value for name, value in document.items() if name != KEPT}
    text = json.dumps(rest, sort_keys=True)
    return {**rest, KEPT: hashlib.sha256(text.encode()).hexdigest()}


def log(file: Path, case: Case) -> str:
    """A log with one of its lines changed, or moved."""
    chance, lines = case.chance, file.read_text(errors="replace").split("\n")
    at = chance.randrange(len(lines))
    if chance.random() < 0.2:
        chance.shuffle(lines)
        words = "lines in another order"
    else:
        try:
            words, line = mutated(json.loads(lines[at]), chance)
            lines[at] = written(line, chance)
        except (ValueError, RecursionError):
            words, lines[at] = "a strange line", chance.choice(("[" * 5000, "{}", "1", '"x"'))
    file.write_text("\n".join(lines))
    return f"line {at + 1}: {words}"


def mutated(document: Any, chance: random.Random) -> tuple[str, Any]:
    """A copy of a JSON document with something at a random place changed."""
    document = copy.deepcopy(document)
    holder, key, path = [document], 0, "$"
    while chance.random() < 0.85 and isinstance(holder[key], dict | list) and holder[key]:
        holder = holder[key]
        key = (
            chance.choice([*holder]) if isinstance(holder, dict) else chance.randrange(len(holder))
        )
        path += f".{key}"
    top = path == "$"
    draw = chance.random()
    if draw < 0.15 and not top:
        del holder[key]
        return f"{path} removed", document
    if draw < 0.25 and isinstance(holder, list):
        holder.append(holder[key])
        words = "repeated"
    elif draw < 0.35 and isinstance(holder, dict):
        holder["strange"] = holder[key]
        words = "under another name too"
    elif draw < 0.45:
        holder[key] = {"deep": [holder[key]]}
        words = "nested"
    else:
        holder[key] = _json_value(chance)
        words = f"= {str(holder[key])[:40]!r}"
    return f"{path} {words}", holder[0] if top else document


def _json_value(chance: random.Random) -> Any:
    while True:
        value = chance.choice((anything(chance), HUGE, [], {}, None, "", -1, 1.5, True, 1e400))
        try:
            json.dumps(value).encode()
            return value
        except (TypeError, ValueError):
            continue


def written(document: Any, chance: random.Random) -> str:
    """A document as JSON, now and then deeper than Python reads, or with a name twice."""
    text = json.dumps(document)
    if chance.random() < 0.04:
        text = "[" * 100_000 + text + "]" * 100_000
    if chance.random() < 0.04 and text.startswith("{"):
        text = '{"format": 1, "step": -1, "kind": 3, ' + text[1:]
    return text


# Checkpoints


def header(file: Path, case: Case) -> str:
    """A checkpoint with something in its header changed; signed again half of the time."""
    data = file.read_bytes()
    size = int.from_bytes(data[:8], "little")
    try:
        document = json.loads(data[8 : 8 + size])
    except (ValueError, RecursionError):
        return bits(file, case)
    chance = case.chance
    if not isinstance(document, dict) or chance.random() < 0.1:
        wrong = chance.choice((0, size - 1, size + 1, 2**31, 2**63, 2**64 - 1))
        file.write_bytes(wrong.to_bytes(8, "little") + data[8:])
        return f"a header of {wrong} bytes"
    names = [name for name in document if name != "__metadata__"]
    name = chance.choice([*names, "__metadata__"])
    if name == "__metadata__" or not names or not isinstance(document[name], dict):
        words, document = mutated(document, chance)
    else:
        words = f"{name} {_field(document[name], chance)}"
    text = json.dumps(document).encode()
    if chance.random() < 0.6:
        text, words = _signed(text, data[8 + size :]), words + ", signed"
    file.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])
    return words


def _field(about: dict, chance: random.Random) -> str:
    field = chance.choice(("dtype", "shape", "data_offsets"))
    values: dict[str, tuple] = {
        "dtype": ("F64", "F16", "BF16", "I32", "F8_E4M3", "X", "", 3, None),
        "shape": ([], [0], [-1], [2**40], [2**63], [1, 1], "4", None, [4.0], [10**30]),
        "data_offsets": ([0, 0], [4, 0], [0, 2**40], [-4, 0], [], [0], "0", [0, 10**30], [1, 5]),
    }
    about[field] = chance.choice(values[field])
    return f"{field} = {about[field]!r}"


def resign(file: Path, change: Callable[[dict], Any]) -> None:
    """Change the header of a checkpoint, and sign it again."""
    data = file.read_bytes()
    size = int.from_bytes(data[:8], "little")
    text = json.dumps(change(json.loads(data[8 : 8 + size]))).encode()
    text = _signed(text, data[8 + size :])
    file.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])


def _signed(text: bytes, arrays: bytes) -> bytes:
    """A header with the right checksum, where it has a place for one."""
    document = json.loads(text)
    notes = document.get("__metadata__") if isinstance(document, dict) else None
    if not isinstance(notes, dict) or not isinstance(notes.get(KEPT), str):
        return text
    notes[KEPT] = "0" * 64
    blank = json.dumps(document, separators=(",", ":")).encode()
    digest = hashlib.sha256(len(blank).to_bytes(8, "little") + blank + arrays).hexdigest()
    return blank.replace(b'"' + b"0" * 64 + b'"', f'"{digest}"'.encode(), 1)


def unlinked(folder: Path) -> None:
    """Remove a folder with whatever lies in it."""
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.lexists(folder):
        os.unlink(folder)
