"""Write the report of a run."""

import dataclasses
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ..errors import NeedsExtra
from ..files import unlinked, write_whole
from ..lens.doctor.finding import Finding
from ..progress import Report, each, silent
from ..runs import Run
from ..tasks import Task
from ..wiring import Network
from .page import Section, Table, charts_of, html
from .pictures import write_picture
from .run_page import page_of
from .subject import course, subject

PAGE = "report.html"


def write_report(
    run: Run,
    findings: list[Finding],
    folder: Path | None = None,
    data: Path | None = None,
    *,
    task: Task | None = None,
    like: Network | None = None,
    measures: Sequence[Table | Section] = (),
    report: Report = silent,
) -> Path:
    """Write `report.html` and a PNG of every chart.

    Charts on the page need plotly, pictures matplotlib; what is not installed is left out with a
    warning.

    Args:
        run: the run, finished or not. Without a checkpoint the page shows only the log.
        findings: the doctor's findings, from `ostinato.runs.examine`.
        folder: where to write; by default the page goes into the run folder, and the pictures into
            its subfolder `report`.
        data: another file, to measure the network on instead of the validation part.
        task, like: your own task or network, if the run was trained with one.
        measures: more tables and charts for the page, from `ostinato.report.measures`.
        report: hears what is measured or drawn now.

    Returns:
        The path of the page.

    Example:
        >>> run = open_run("runs/text-mlstm-1")
        >>> write_report(run, findings=[])
        PosixPath('runs/text-mlstm-1/report.html')
    """
    inside = unlinked(run.path, run.path / "report")
    whole = run.steps() or data
    report(0, None, "reading the data and the network")
    about = subject(run, data, task, like) if whole else course(run, task)
    page = dataclasses.replace(page_of(about, findings, report), measures=measures)
    path = (run.path if folder is None else folder) / PAGE
    path.parent.mkdir(parents=True, exist_ok=True)
    if find_spec("matplotlib") is None:
        missing = NeedsExtra("drawing them", "matplotlib", "plot")
        warnings.warn(f"no chart is written as PNG: {missing}", stacklevel=2)
    else:
        pictures = inside if folder is None else folder
        pictures.mkdir(exist_ok=True)
        charts = charts_of([*page.sections, *measures])
        for chart in each(charts, report, "drawing the charts as PNG", len(charts)):
            write_picture(chart, pictures / f"{chart.name}.png")
    report(0, None, "writing the page")
    write_whole(path, html(page).encode(errors="backslashreplace"))  # a path may not be UTF-8
    return path
