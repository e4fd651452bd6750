"""The commands of a page, pasted in order into an empty folder, find every file that they name."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from ostinato.cli.data import MADE

ROOT = Path(__file__).parent.parent
PLACES = ("README.md", "docs/*.md", "docs/tutorials/*.md")
PAGES = [p.relative_to(ROOT).as_posix() for place in PLACES for p in sorted(ROOT.glob(place))]
ENDS = r"txt|csv|tsv|npz|npy|wav|jsonl?|toml|py|h5|keras|onnx|conllu|gz|parquet|html|h|c|png|md"
FILE = re.compile(rf"(\./\w+|[\w./~-]+\.({ENDS})|(runs|contrasts|experiments)/[\w./-]+)(:\w+)?")
OUTPUTS = ("--out", "--run", "--save", "--picture", "--html", "-o", ">")
ENDINGS = {"c": (".c", ".h"), "onnx": (".onnx", "-step.onnx"), "folder": ("",), "html": (".html",)}


def blocks(text):
    """The fenced blocks: the language, the title, and the content."""
    found = re.finditer(r"(?:^|\n)```(\w*)([^\n]*)\n(.*?)\n```", text, re.DOTALL)
    return [(one[1], one[2], one[3]) for one in found]


def commands(block):
    """The commands of a block, each a list of words; `<` and `>` are words too."""
    for line in block.replace("\\\n", " ").split("\n"):
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split, words.commenters = True, "#"
        command = []
        for word in [*words, ";"]:
            if word in ("&&", "|", ";"):
                if command:
                    yield command
                command = []
            else:
                command.append(word)


def shown(title, block):
    """The file whose content a block shows, by its title or its first line."""
    return {*re.findall(r"title=\"(.+?)\"", title), *re.findall(r"\A# ([\w.-]+\.\w+)", block)}


def written(code):
    """The files that Python code writes, and the folders of its runs."""
    files = re.findall(r"Path\(\"([^\"]+)\"\)\.write", code)
    files += re.findall(r"(?:savez|savetxt|save|to_csv)\(\"([^\"]+)\"", code)
    return {*files, *re.findall(r"\"(runs/[\w-]+)\"", code)}


def made_by(words):
    """The files and folders that a command makes."""
    after = dict(zip(words, [*words[1:], ""], strict=True))
    made = {after[word] for word in OUTPUTS if word in after}
    if words[:3] == ["ostinato", "data", "make"]:
        ends = MADE[words[3]]()
        made |= {f"{after.get('--to', words[3])}{end}" for end in ends}
    elif words[:2] == ["ostinato", "export"]:
        made |= {f"{after['--out']}{end}" for end in ENDINGS.get(after["--to"], ())}
    elif words[:2] == ["ostinato", "train"] and "--run" not in words:
        kinds = {"--text": "classify", "--target": "series"}
        task = next((kind for option, kind in kinds.items() if option in words), "text")
        task = "arrays" if any(word.endswith(".npz") for word in words) else task
        made.add(f"runs/{after.get('--task', task)}-{after.get('--cell', 'mlstm')}-1")
    elif words[:2] == ["ostinato", "lens"]:
        made.add(f"{words[2]}/report.html")
    return made


def read_by(words):
    """The files and folders that a command names, other than those it makes."""
    made = {word for before, word in pairwise(words) if before in OUTPUTS}
    found = (FILE.fullmatch(x) for word in words if word not in made for x in word.split(","))
    return {one[1] for one in found if one}


def missing(text):
    """Every file that a command names and nothing before it has made, with the command."""
    there, found = set(), []
    for language, title, block in blocks(text):
        there |= shown(title, block)
        if language == "python":
            there |= written(block)
        if language not in ("bash", "console"):
            continue
        for words in commands(block):
            if words[0] not in ("pip", "cd"):  # in the source folder
                names = {name.removeprefix("./") for name in read_by(words)}
                found += [f"{name}: {shlex.join(words)}" for name in sorted(names - there)]
                there |= made_by(words)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_every_file_was_made_by_an_earlier_command(page):
    assert missing((ROOT / page).read_text(encoding="utf-8")) == []


def test_what_nothing_has_made_is_found():
    before = (
        "ostinato data make sales\nostinato train sales.csv --target sales \\\n    --horizon 7\n"
    )
    before += "ostinato lens runs/series-mlstm-1 && head own.csv  # and runs/none\n"
    after = (
        "ostinato train book.txt --cell cell.py:Cell --run runs/book\n"
        "ostinato export runs/book --to c --out it && cc it.c -o it && ./it < in.txt > out.txt\n"
        "cat out.txt it.h runs/series-mlstm-1/report.html runs/other\n"
    )
    cell = '```python title="cell.py"\nclass Cell: ...\n```'
    page = f"A page.\n\n```bash\n{before}```\n\nA cell:\n\n{cell}\n\n```bash\n{after}```\n"
    found = [line.partition(":")[0] for line in missing(page)]
    assert found == ["own.csv", "book.txt", "in.txt", "runs/other"]
