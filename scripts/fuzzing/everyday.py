"""Files as people have them, and frames: a sound one of each kind, harmed in one to three places.

Each kind of file is read by the task that it is for. Harm is done to its bytes, its lines or its
cells; a compressed file is harmed before or after it is compressed.
"""

import datetime
import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .command_line import ran
from .outcomes import ACCEPTED, Case, attempt, check
from .values import anything, path, text, word

DAYS = [str(datetime.date(2024, 1, 1) + datetime.timedelta(days=n)) for n in range(40)]
CELLS = (
    "", "NA", "2024-13-01", "31/12/2024", "2024-01-05", "12:30", "1e999", "north", "0", "-5", "1;2",
    "\t", '"', "a,b", "☃", "\x00", "\ufeff", "2024-01-01T00:00:00+25:00", "0001-01-01", "1_0",
)  # fmt: skip
FORECAST = {
    "task": "series",
    "target": "sold",
    "sequence": "shop",
    "known": "price",
    "words": "sky",
    "horizon": 2,
    "missing": "mask",
    "split": "60/20/20",
}
TEXTS = {"task": "classify", "text": "review", "label": "mood", "split": "60/20/20"}


def _sales(mark: str = ",") -> str:
    rows = [["day", "shop", "price", "sky", "sold"]]
    for n, day in enumerate(DAYS):
        for shop in ("north", "south"):
            rows.append([day, shop, f"{n % 7}.5", ("sun", "rain")[n % 2], str(20 + n % 5)])
    return "\n".join(mark.join(row) for row in rows) + "\n"


def _reviews(mark: str = ",") -> str:
    moods = [(f"a {('fine', 'dull')[n % 2]} film {n}", ("good", "bad")[n % 2]) for n in range(40)]
    return "\n".join(mark.join(row) for row in [("review", "mood"), *moods]) + "\n"


def _json(column: str) -> str:
    rows = [row.split(",") for row in _reviews().splitlines()[1:]]
    turns = {"review": lambda x: x[0], "turns": lambda x: [*x]}[column]
    return "".join(json.dumps({column: turns(row), "mood": row[1]}) + "\n" for row in rows)


# For each kind of file its name, its content, and the settings with which it is read.
KINDS: dict[str, tuple[str, Callable[[], str], dict[str, Any]]] = {
    "dates": ("sales.csv", _sales, {**FORECAST, "calendar": True, "gaps": "mask"}),
    "dates, tabs": ("sales.tsv", lambda: _sales("\t"), {**FORECAST, "duplicates": "mean"}),
    "dates, gzip": ("sales.csv.gz", _sales, {**FORECAST, "gaps": "fill"}),
    "texts": ("reviews.csv", _reviews, TEXTS),
    "texts, tabs": ("reviews.tsv", lambda: _reviews("\t"), TEXTS),
    "texts, gzip": ("reviews.csv.gz", _reviews, TEXTS),
    "lines of JSON": ("reviews.jsonl", lambda: _json("review"), TEXTS),
    "pairs": ("pairs.tsv", lambda: _reviews("\t"), {"source": "review", "target": "mood"}),
    "dialogues": ("talk.jsonl", lambda: _json("turns"), {"task": "dialogue", "split": "60/20/20"}),
    "CoNLL": ("tags.conll", lambda: "the\tD\ncat\tN\nsat\tV\n\n" * 20, {"task": "tag"}),
    "word/TAG": ("tags.txt", lambda: "the/D cat/N sat/V ./.\n" * 20, {"task": "tag"}),
    "Markdown": ("notes.md.gz", lambda: "# A *head*\n\nSome `words` follow.\n" * 40, {}),
}


READERS = (*KINDS, "folder", "frame", "older frame", "parquet")


def everyday(case: Case) -> str:
    """Read one file, folder or frame, which may be harmed."""
    kind = case.chance.choice([*READERS, "stores"])
    return _stores(case) if kind == "stores" else read_one(case, kind)


def read_one(case: Case, kind: str) -> str:
    """Read something of a kind that is one of the `READERS`."""
    if kind == "folder":
        return _folder(case)
    if kind not in KINDS:
        return _frame(case, kind)
    name, made, settings = KINDS[kind]
    file, (words, data) = case.folder / name, harmed(case.chance, made())
    cut = False
    if name.endswith(".gz"):
        data = gzip.compress(data)
        if cut := case.chance.random() < 0.3:
            data = data[: case.chance.randrange(2, len(data))]
            words += ", cut where it is compressed"
    file.write_bytes(data)
    case.what = f"{kind}: {words}"
    done = _read(file, settings)
    check(not cut, "half of a compressed file was read")
    return done


def _read(file: Path, settings: dict[str, Any]) -> str:
    from ostinato.runs import Config
    from ostinato.runs.build import build_task

    task = attempt(lambda: build_task(Config(file=str(file), batch=2, **settings)))
    batch = attempt(lambda: task.batch(0, 2))
    check(batch.weights.ndim == 2, "a batch without weights")
    check(all("\n" not in note for note in task.notes), "a note of several lines")
    return ACCEPTED


def harmed(chance: random.Random, content: str) -> tuple[str, bytes]:
    """What was done, and the bytes."""
    done = []
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        how = chance.choice((_cell, _cell, _cell, _lines, _lines, _odd))
        content = how(chance, content)
        done.append(how.__name__.strip("_"))
    data = content.encode(errors="surrogatepass")
    if chance.random() < 0.25:
        done.append("bytes")
        place = chance.randrange(len(data) + 1)
        more = chance.choice((b"\xff", b"\0", b"\xef\xbb\xbf", b"\r\n", chance.randbytes(5)))
        data = chance.choice((data[:place], data[:place] + more + data[place:], more, data[::-1]))
    if chance.random() < 0.1:
        done.append("UTF-16")
        data = data.decode(errors="replace").encode("utf-16")
    return f"harmed {', '.join(done) or 'not at all'}", data


def _cell(chance: random.Random, content: str) -> str:
    """Another cell in place of one."""
    lines = content.split("\n")
    n = chance.randrange(len(lines))
    mark = chance.choice(",\t /:")
    cells = lines[n].split(mark)
    cells[chance.randrange(len(cells))] = chance.choice((*CELLS, text(chance)[:200]))
    lines[n] = mark.join(cells)
    return "\n".join(lines)


def _lines(chance: random.Random, content: str) -> str:
    """Lines twice, left out, in another order, cut, or empty."""
    lines = content.split("\n")
    one, two = sorted(chance.sample(range(len(lines) + 1), 2))
    some = lines[one:two]
    changed = chance.choice(
        (some * 2, [], some[::-1], ["", *some], [x[:3] for x in some], some[:1])
    )
    return "\n".join([*lines[:one], *changed, *lines[two:]])


def _odd(chance: random.Random, content: str) -> str:
    """Something odd at the beginning, at the end or everywhere."""
    odd = chance.choice(
        ("\ufeff", "\n" * 5, "[", "{}", "null\n", "# a comment\n", text(chance)[:99])
    )
    old = chance.choice(("\n", ",", "\t", '"', "a", "2"))
    return chance.choice((odd + content, content + odd, content.replace(old, odd[:3]), odd))


def _folder(case: Case) -> str:
    """A folder of texts, for each label one."""
    top, chance = case.folder / "texts", case.chance
    for n, row in enumerate(_reviews().splitlines()[1:]):
        file = top / row.split(",")[1] / f"{n}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(row)
    for _ in range(chance.randint(0, 3)):
        place = chance.choice(sorted(top.rglob("*")))
        new = place.parent / chance.choice(
            ("odd\n.txt", "x.md", ".hidden", "deep/er/x.txt", "é.txt")
        )
        new.parent.mkdir(parents=True, exist_ok=True)
        new.write_bytes(harmed(chance, "a dull film\n")[1])
        if chance.random() < 0.3:
            (new.parent / f"link{chance.random()}.txt").symlink_to(chance.choice((top, "nowhere")))
    case.what = f"a folder with {[str(p.relative_to(top)) for p in top.rglob('*')][-3:]}"
    settings = {"task": "classify"} if chance.random() < 0.7 else {}
    return _read(top, settings)


class Older:
    """A frame that has the interchange protocol and nothing else."""

    def __init__(self, frame: Any):
        self._frame = frame

    def __dataframe__(self, *given: Any, **named: Any) -> Any:
        return self._frame.__dataframe__(*given, **named)


def _frame(case: Case, kind: str) -> str:
    """A frame of pandas, some of whose columns are odd, in memory or as Parquet."""
    import io

    import pandas

    from ostinato.tasks import Series

    chance = case.chance
    frame, done = pandas.read_csv(io.StringIO(_sales())), []
    for _ in range(chance.randint(0, 3)):
        name = chance.choice([*frame.columns, "new"])
        done.append(name)
        odd = [chance.choice((anything(chance), chance.choice(CELLS))) for _ in range(len(frame))]
        frame[name] = chance.choice((odd, odd[:1] * len(frame), pandas.Series(odd, dtype=object)))
    if chance.random() < 0.4:
        frame = chance.choice((frame.iloc[:1], frame.iloc[::-1], frame.T, frame.set_index("shop")))
    case.what = f"{kind} with odd {done}"
    settings = {name: value for name, value in FORECAST.items() if name not in ("task", "target")}
    if kind == "older frame":
        frame = Older(frame)
    if kind != "parquet":
        attempt(lambda: Series(frame, targets=["sold"], **settings).batch(0, 2))
        return ACCEPTED
    file = case.folder / "sales.parquet"
    try:
        frame.to_parquet(file)
    except Exception:  # what Arrow cannot write is in no file
        return ACCEPTED
    data = file.read_bytes()
    if chance.random() < 0.7:
        at = chance.randrange(len(data))
        file.write_bytes(chance.choice((data[:at], data[:at] + b"\xff" + data[at + 1 :])))
    return _read(file, FORECAST)


def _stores(case: Case) -> str:
    """`ostinato data make stores` with wrong arguments."""
    chance = case.chance
    name = chance.choice(("stores", "stores", word(chance)))
    words = ["data", "make", name, *chance.choice(([], ["--to", path(chance, case.folder)]))]
    case.what = " ".join(words)
    return ran(case, words, False)
