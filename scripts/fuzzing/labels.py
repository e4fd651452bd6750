"""Labels of a run: a file of this or another version is harmed, and then one label is changed."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .harm import bits, cut, longer, replaced
from .outcomes import ACCEPTED, REFUSED, Case, Refused, attempt, check
from .values import anything, text

HARM: tuple[Callable[[Path, Case], str], ...] = (bits, cut, longer, replaced)


def labels(case: Case) -> str:
    """The change is refused and no byte differs, or it is made and nothing else is lost."""
    from ostinato.runs.folder.labels import FIELDS, NAME, Labels

    chance, file = case.chance, case.folder / NAME
    file.write_bytes(_written(chance))
    harmed = chance.choice(HARM)(file, case) if chance.random() < 0.5 else "unharmed"
    given = _given(chance)
    before = _content(file)
    case.what = f"{str(before)[:200]}, {harmed}, changed by {str(given)[:200]}"
    listed = Labels.read(case.folder)  # which never fails
    try:
        changed = attempt(lambda: Labels.change(case.folder, given))
    except Refused:
        check(_content(file) == before, "a change was refused, and the file is another")
        check([x.name for x in case.folder.iterdir()] in ([], [NAME]), "a change left something")
        return REFUSED
    kept, now = ({} if data is None else json.loads(data) for data in (before, _content(file)))
    for name in kept.keys() - {*FIELDS}:
        check(_same(now.get(name), kept[name]), f"the field {name!r} is lost")
    for name in FIELDS:
        if name not in given:
            check(getattr(changed, name) == getattr(listed, name), f"{name} changed too")
    check(Labels.read(case.folder) == changed, "what was written reads otherwise")
    return ACCEPTED


def _content(file: Path) -> bytes | None:
    """The bytes of a regular file, as far as they matter; `None` for anything else."""
    if file.is_symlink() or not file.is_file():
        return None
    with file.open("rb") as opened:
        return opened.read(1 << 20)


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one) == json.dumps(other)  # so that NaN is itself


def _written(chance: random.Random) -> bytes:
    """A file that somebody else may have written."""
    kept: dict[str, Any] = {"title": text(chance)[:120].strip(), "tags": ["v2"], "note": "x\ny"}
    for name in chance.sample([*kept], chance.choice((0, 0, 1, 3))):
        del kept[name]
    if chance.random() < 0.5:
        kept[chance.choice(("colour", "", "version", "Title", "\ud800"))] = _value(chance)
    if chance.random() < 0.2:
        kept[chance.choice(("title", "tags", "note", "archived"))] = _value(chance)
    words = json.dumps(kept, ensure_ascii=chance.random() < 0.5)
    code = chance.choice(("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16"))
    return words.encode(code, "surrogatepass")


def _value(chance: random.Random) -> Any:
    deep: Any = []
    for _ in range(chance.choice((1, 200, 800))):
        deep = [deep]
    odd = (
        deep,
        "x" * 4001,
        "x" * 70_000,
        10**300,
        float("nan"),
        None,
        True,
        {"a": {"b": "\udfff"}},
    )
    return chance.choice((*odd, text(chance)))


def _given(chance: random.Random) -> Any:
    good = ({"title": "mine"}, {"tags": ["a", "b"]}, {"note": "z" * 4000}, {"archived": True}, {})
    if chance.random() < 0.8:
        return chance.choice(good)
    name = chance.choice(("title", "tags", "note", "archived", "colour"))
    return chance.choice(({name: anything(chance)}, anything(chance)))
