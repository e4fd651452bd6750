"""From a run folder to a report."""

from importlib.util import find_spec
from pathlib import Path

from ..errors import BadInput
from ..files import write_whole
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
        run: the run, finished or not; of one without a checkpoint the page shows the log.
        findings: what the doctor says of it.
        folder: where; by default the page goes into the run folder, and the pictures into `report`
            there.
        data: another file, to measure the network on and to show its units on.
        task, like: a task or a network of your own, where the run was given one.

    Returns:
        The path of the page.

    Example:
        >>> run = open_run("runs/text-mlstm-1")
        >>> write_report(run, examine(run))
        PosixPath('runs/text-mlstm-1/report.html')
    """
    if find_spec("plotly") is None or find_spec("matplotlib") is None:
        raise BadInput("the report needs two more packages: pip install 'ostinato[plot]'")
    whole = run.steps() or data
    page = page_of(subject(run, data, task, like) if whole else course(run, task), findings)
    pictures = run.path / "report" if folder is None else folder
    pictures.mkdir(parents=True, exist_ok=True)
    for section in page.sections:
        for chart in section.charts:
            write_picture(chart, pictures / f"{chart.name}.png")
    path = (run.path if folder is None else folder) / PAGE
    write_whole(path, html(page).encode(errors="backslashreplace"))  # a path may be no UTF-8
    return path
