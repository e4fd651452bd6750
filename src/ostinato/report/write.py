"""Write the report of a run."""

from importlib.util import find_spec
from pathlib import Path

from ..errors import BadInput
from ..files import unlinked, write_whole
from ..lens.doctor.finding import Finding
from ..runs import Run
from ..tasks import Task
from ..wiring import Network
from .of_run import page_of
from .page import html
from .pictures import write_picture
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
) -> Path:
    """Write `report.html` and a PNG of every chart.

    Args:
        run: the run, finished or not. Without a checkpoint the page shows only the log.
        findings: the doctor's findings, from `ostinato.runs.examine`.
        folder: where to write; by default the page goes into the run folder, and the pictures into
            its subfolder `report`.
        data: another file, to measure the network on instead of the validation part.
        task, like: your own task or network, if the run was trained with one.

    Returns:
        The path of the page.

    Example:
        >>> run = open_run("runs/text-mlstm-1")
        >>> write_report(run, findings=[])
        PosixPath('runs/text-mlstm-1/report.html')
    """
    if find_spec("plotly") is None or find_spec("matplotlib") is None:
        raise BadInput("the report needs plotly and matplotlib: pip install 'ostinato[plot]'")
    inside = unlinked(run.path, run.path / "report")
    whole = run.steps() or data
    page = page_of(subject(run, data, task, like) if whole else course(run, task), findings)
    pictures = inside if folder is None else folder
    pictures.mkdir(parents=True, exist_ok=True)
    for section in page.sections:
        for chart in section.charts:
            write_picture(chart, pictures / f"{chart.name}.png")
    path = (run.path if folder is None else folder) / PAGE
    write_whole(path, html(page).encode(errors="backslashreplace"))  # a path may not be UTF-8
    return path
