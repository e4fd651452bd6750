"""Repeat an experiment: obtain the results that are missing, keep each in a file, write the page.

    FOLDER/runs/ROW-SEED/             an ordinary run folder
    FOLDER/results/ROW-SEED.json      what was obtained
    FOLDER/report.html                the page, from all results in the folder

A result that is there is not obtained again. Results of several machines are merged by copying
their files into one folder; `collect` then writes the page without training anything.
"""

import dataclasses
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from ..errors import BadInput
from ..files import read_json, unlinked, write_whole
from ..progress import silent
from ..runs import Diverged
from ..runs.many import connected
from ..runs.many.cluster import Call, Cluster
from ..runs.many.many import HowFar
from .page import page_of
from .recipes import Job, Recipe, Result

PAGE = "report.html"


def reproduce(recipe: Recipe, job: Job, ray: str | None = None) -> list[Result]:
    """Repeat an experiment, and write its page whenever there is a new result.

    Args:
        recipe: the experiment.
        job: how it is repeated.
        ray: the address of a Ray cluster that does it, see `runs.many.connected`; without one it is
            done in this process, row by row.

    Returns:
        All results in the folder, also those of earlier calls.

    Raises:
        Diverged: if a run did before its first checkpoint, after all other runs are done.

    Example:
        >>> from ostinato.experiments import RECIPES
        >>> results = reproduce(RECIPES["toy-net"], Job(Path("toy")))
        >>> results[0].row, Path("toy/report.html").exists()
        ('below', True)
    """
    rows = recipe.chosen(job.rows)
    if not recipe.trains:  # there is but one size, and one seed
        job = dataclasses.replace(job, quick=False, seeds=1)
    if job.seeds < 1:
        raise BadInput(f"an experiment needs at least 1 seed, got {job.seeds}")
    runs, listener = HowFar(len(rows) * job.seeds, job.report), job.listener
    missing: dict[str, list[int]] = {}
    for row in rows:
        for seed in range(job.seeds):
            path = _path(job.folder, row.name, seed)
            if path.exists():
                _check_same(path, job)
                runs.over(recipe.named(row.name, seed))
            else:
                missing.setdefault(row.name, []).append(seed)

    def hear(row: str, seed: int, event: dict) -> None:
        runs.hear(recipe.named(row, seed), event)
        if listener is not None:
            listener(row, seed, event)

    diverged: list[Diverged] = []
    with connected(ray, job.folder) as cluster:
        unlinked(job.folder, job.folder / "results").mkdir(exist_ok=True)
        parts: Iterator[tuple[list[Result], Diverged | None]]
        if cluster is None:
            heard = dataclasses.replace(job, listener=hear, report=runs.within)
            parts = (_obtained(recipe, row, seeds, heard) for row, seeds in missing.items())
        else:
            parts = _on_cluster(cluster, recipe, missing, job)
        runs.within(0, None, "the first row")
        for obtained, error in parts:
            for result in obtained:
                write_result(job.folder, result)
                runs.over(recipe.named(result.row, result.seed))
            if obtained:
                collect(recipe, job.folder)
                runs.within(0, None, recipe.titled(obtained[0].row))
            diverged += [] if error is None else [error]
    runs.within(0, None, "writing the page")
    if diverged:
        raise diverged[0]
    return collect(recipe, job.folder)


def _obtained(
    recipe: Recipe, row: str, seeds: Sequence[int], job: Job
) -> tuple[list[Result], Diverged | None]:
    """The results of a row, and the error of a run that diverged: others need not suffer."""
    (chosen,), results = recipe.chosen([row]), []
    try:
        for result in recipe.obtain(chosen, seeds, job):
            results.append(result)
    except Diverged as error:
        return results, error
    return results, None


def _on_cluster(
    cluster: Cluster, recipe: Recipe, missing: dict[str, list[int]], job: Job
) -> Iterator[tuple[list[Result], Diverged | None]]:
    job = dataclasses.replace(job, listener=None, report=silent)  # these stay here
    for row, every in missing.items():
        for seeds in cluster.split(every):
            folders = [job.folder / "runs" / f"{row}-{seed}" for seed in seeds]
            given = recipe, row, seeds, job
            cluster.submit(Call(row, _obtained, given, folders, cores=len(seeds)))
    for _, result in cluster.results():
        yield result


def collect(recipe: Recipe, folder: Path) -> list[Result]:
    """Write the page of all results in a folder, and return them in the order of the rows."""
    order = {row.name: number for number, row in enumerate(recipe.rows)}
    results = [read_result(path) for path in sorted((folder / "results").glob("*.json"))]
    if not results:
        raise BadInput(f"{folder} has no results of {recipe.name}")
    known: set[tuple[str, int]] = set()
    for result in results:
        if result.row not in order:
            raise BadInput(f"{folder} has a result {result.row!r:.40}, not a row of {recipe.name}")
        if (result.row, result.seed) in known:
            raise BadInput(f"{folder} has two results of {result.row}, seed {result.seed}")
        known.add((result.row, result.seed))
    if len({result.quick for result in results}) > 1:
        raise BadInput(f"{folder} has results of both sizes, with and without --quick")
    results.sort(key=lambda result: (order[result.row], result.seed))
    page = page_of(recipe, results)
    write_whole(folder / PAGE, page.encode(errors="backslashreplace"))
    return results


def write_result(folder: Path, result: Result) -> None:
    """Write a result into its file."""
    data = json.dumps(dataclasses.asdict(result), indent=1, allow_nan=False)
    write_whole(_path(folder, result.row, result.seed), data.encode())


def read_result(path: Path) -> Result:
    """Read a result; raises `BadInput` for a file that is not one."""
    try:
        given = read_json(path)
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read: {error}") from None
    names = {field.name for field in dataclasses.fields(Result)}
    if not isinstance(given, dict) or given.keys() != names:
        raise BadInput(f"{path} is not a result of an experiment")
    wrong = None
    try:
        result = msgspec.convert(given, Result)
        if any(len(curve["x"]) != len(curve["y"]) for curve in result.curves.values()):
            wrong = "curves"
    except ValueError as error:  # "… - at `$.numbers[...]`"
        wrong = re.findall(r"\$\.(\w+)", str(error))[0]
    if wrong is not None:
        raise BadInput(f"{path} is not a result of an experiment: see {wrong!r}")
    return result


def _check_same(path: Path, job: Job) -> None:
    """Refuse a result of another size or with other settings; its minutes may differ."""
    before = read_result(path)
    if before.quick != job.quick:
        raise BadInput(f"{path} is of another size (--quick); choose another --folder")
    changes = {name: value for name, value in before.changes.items() if name != "minutes"}
    if changes != dict(job.changes):
        said = ", ".join(f"{name}={value}" for name, value in changes.items()) or "none"
        raise BadInput(f"{path} has other changes (--set): {said}; choose another --folder")


def _path(folder: Path, row: str, seed: int) -> Path:
    return folder / "results" / f"{row}-{seed}.json"
