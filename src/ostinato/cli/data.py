"""`ostinato data`: list, download and locate data sets, and make files to try things with."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..data.datasets import DATASETS, File, get, locate, missing, named
from ..data.generated.effects import effect_files
from ..data.generated.everyday import book_text, reviews_table, walks_file
from ..data.generated.stores import sales_table, store_table
from ..errors import BadInput
from ..files import cache_folder, write_whole
from ..progress import Report
from .arguments import path
from .output import answer, print_json, writing
from .progress import progress

app = typer.Typer(no_args_is_help=True, help="List, download, locate and make data sets.")
# What can be made, by name: a function that gives the content of each file by the end of its name.
MADE: dict[str, Callable[[], dict[str, bytes]]] = {
    "stores": lambda: {".csv": store_table().encode()},
    "sales": lambda: {".csv": sales_table().encode()},
    "effect": effect_files,
    "book": lambda: {".txt": book_text().encode()},
    "walks": lambda: {".npz": walks_file()},
    "reviews": lambda: {".csv": reviews_table().encode()},
}

Name = Annotated[str, typer.Argument(help=f"one of {', '.join(DATASETS)}")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List the data sets, with source, size and licence."""
    sets = [_about(name) for name in DATASETS]

    def show() -> None:
        for x in sets:
            here = "downloaded" if x["here"] else "not downloaded"
            print(f"{x['name']}  ({x['bytes'] / 1e6:.1f} MB, {here})")
            print(f"    {x['description']}\n    from {x['source']}\n    licence: {x['licence']}")

    answer(sets, show, as_json, indent=2)


@app.command("get")
def get_(name: Name, as_json: Json = False) -> None:
    """Download a data set into the cache folder if it is missing, and verify it."""
    data, absent = named(name), missing(name)
    if absent:
        for file in absent:
            _say(f"downloading {file.url} ({file.size:,} bytes)")
        _say(f"to {cache_folder()}; source: {data.source}; licence: {data.licence}")
    with progress(quiet=as_json) as report:
        paths = get(name, _downloads(absent, report))
    if as_json:
        downloaded = [file.path for file in absent]
        print_json({**_about(name), "downloaded": downloaded}, indent=2)
    else:
        _say(f"{name} is complete, and its checksums are right")
        with writing():
            print("\n".join(map(str, paths)))


@app.command("path")
def path_(name: Name, as_json: Json = False) -> None:
    """Print the paths of a data set's files, one per line."""
    paths = [str(path) for path in locate(name)]
    document = {"name": name, "paths": paths}
    answer(document, lambda: print("\n".join(paths)), as_json, indent=2)


@app.command("make")
def make_(
    name: Annotated[str, typer.Argument(help=f"one of {', '.join(MADE)}")],
    to: Annotated[
        Path | None,
        typer.Option(help="The file to write.", show_default="as NAME says", parser=path),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make files to try things with.

    stores: a table of the daily sales of three stores. sales: a plain one of a single store.
    effect: a sound before and after an overdrive, effect-dry.wav and effect-wet.wav; --to is then
    their name without the end. book: the documentation topics of Python, book.txt. walks: labelled
    sequences, walks.npz. reviews: texts with labels, reviews.csv.
    """
    if name not in MADE:
        raise BadInput(f"there is no file {name!r:.60} to make; there are {', '.join(MADE)}")
    contents = MADE[name]()
    alone = to if len(contents) == 1 else None
    made = {Path(alone or f"{to or name}{end}"): x for end, x in contents.items()}
    for file, content in made.items():
        if file.is_dir():
            raise BadInput(f"{file} is a folder; name a file with --to")
        if os.path.lexists(file) and not file.is_file():
            raise BadInput(f"{file} is no plain file; name another one with --to")
        if file.exists() and file.read_bytes() != content:
            raise BadInput(
                f"{file} is there already, with other content; name another file with --to"
            )
    for file, content in made.items():
        write_whole(file, content)
    rows = [{"name": name, "path": str(path), "bytes": len(x)} for path, x in made.items()]
    document = rows[0] if len(rows) == 1 else rows
    answer(document, lambda: print("\n".join(map(str, made))), as_json, indent=2)


def _about(name: str) -> dict:
    data = named(name)
    here = not missing(name)
    return {
        "name": name,
        "description": data.description,
        "source": data.source,
        "licence": data.licence,
        "bytes": data.size,
        "files": [{"url": x.url, "bytes": x.size, "sha256": x.sha256} for x in data.files],
        "here": here,
        "paths": [str(path) for path in locate(name)] if here else [],
    }


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _downloads(files: Sequence[File], report: Report) -> Callable[[File, int], None]:
    """A callback that reports the bytes of all files together."""
    done = dict.fromkeys(files, 0)

    def show(file: File, count: int) -> None:
        done[file] = count
        words = f"{file.path}, {count / 1e6:.1f} of {file.size / 1e6:.1f} MB"
        report(sum(done.values()), sum(one.size for one in done), words)

    return show
