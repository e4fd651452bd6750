"""`ostinato lens`: diagnose a run and write its report."""

from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.text import Text
from typer import Option

from ..lens.doctor.evidence import Finding
from ..report.measures import check_measures, measure
from ..report.page import Section, Table
from ..report.run_page import pictures_of_run, write_page
from ..report.subject import RunCourse, course, subject
from ..runs import examine, open_run
from ..runs.loop.processes import all_or_none
from ..runs.loop.processes import index as process_index
from .arguments import (
    Coordinator,
    DeviceCount,
    Distributed,
    Json,
    Process,
    Processes,
    RunFolder,
    check_new_folder,
    names_of,
    path,
    shared,
)
from .output import print_json, show_table, writing
from .progress import progress


def lens(
    run: RunFolder,
    data: Annotated[
        Path | None,
        Option(help="another file to measure on", show_default="the validation part", parser=path),
    ] = None,
    out: Annotated[
        Path | None,
        Option(help="folder for the report", show_default="the run folder", parser=path),
    ] = None,
    measures: Annotated[
        str | None,
        Option(
            "--measure",
            help="also measure, separated by commas: fixed-points, lyapunov, echo-state, paths, "
            "conditions",
            show_default="none",
        ),
    ] = None,
    devices: DeviceCount = None,
    distributed: Distributed = False,
    coordinator: Coordinator = None,
    processes: Processes = None,
    process: Process = None,
    as_json: Json = False,
) -> None:
    """Say what looks wrong with a run, and write a report: report.html and each chart as PNG.

    The page is self-contained: it opens in any browser, without an internet connection.

    Examples:
        ostinato lens runs/text-mlstm-1
        ostinato lens runs/text-mlstm-1 --data other.txt --out report
        ostinato lens runs/adding-lstm-1 --measure fixed-points,lyapunov,conditions
    """
    names = names_of(measures, "--measure", ", such as fixed-points,lyapunov") or []
    check_measures(names)
    shared(devices, distributed, coordinator, processes, process)
    opened, first = open_run(run), process_index() == 0
    if out is not None:
        check_new_folder(out, "--out")
    pictures_of_run(opened)  # what takes long comes after what may be refused
    with progress(quiet=as_json or not first) as report:
        report(0, None, "reading the data and the network")
        with all_or_none():
            about: RunCourse
            if names or opened.steps() or data:
                about = whole = subject(opened, data)
            else:
                about, whole = course(opened), None
        measured = {} if whole is None or not names else measure(whole, names, report)
        tables = [table for one in measured.values() for table in one.tables]
        charts = [section for one in measured.values() for section in one.charts]
        findings = examine(opened, about.task, report=report, devices=devices or 1)
        if not first:
            return
        if not as_json:
            with writing():
                _show(findings)
                for table in tables:
                    show_table(Console(highlight=False), table)
        more: list[Table | Section] = [*tables, *charts]
        page = write_page(about, findings, out, measures=more, report=report)
    if as_json:
        told = [finding._asdict() for finding in findings]
        numbers = {name: one.numbers for name, one in measured.items()}
        asked = {"measures": numbers} if names else {}
        print_json({"run": str(run), "findings": told, **asked, "report": str(page)})
        return
    with writing():
        Console(highlight=False).print(Text(f"report: {page}"), soft_wrap=True)


def _show(findings: list[Finding]) -> None:
    console = Console(highlight=False)
    if not findings:
        console.print("No finding: nothing looks wrong.")
    for finding in findings:
        console.print(Text(finding.name, style="bold"))
        for words in (finding.words, finding.evidence, f"Try: {finding.advice}"):
            console.print(Text(f"  {words}"), soft_wrap=True)  # so that commands can be copied
        console.print()
