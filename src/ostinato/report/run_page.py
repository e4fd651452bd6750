"""The page of a run: its contents in order, the key numbers at its top, and writing it."""

import dataclasses
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from ..errors import NeedsExtra
from ..files import unlinked, write_whole
from ..learning.schedules import epochs
from ..lens.doctor.evidence import Finding
from ..progress import Report, each, silent
from ..runs import Config, Run, Saved
from ..runs.build import steps_of
from ..runs.folder.events import Divergence, Valid, ending, logged_steps, opens
from ..tasks import PicturedTask, Task
from ..wiring import Network
from .network_charts import (
    confusions,
    gates,
    gradient_now,
    gradient_profiles,
    looks,
    reading,
    spectrum,
    three_ways,
    units_over_time,
)
from .page import Page, Sample, Section, Table, charts_of, html
from .pictures import write_picture
from .series_charts import all_forecasts, can_forecast, trust
from .special_charts import heads_and_memory, reservoir_spectra
from .subject import RunCourse, Subject, course, subject
from .training_charts import (
    Course,
    gradient_maps,
    losses,
    memory_over_training,
    speed_by_step,
    steps_taken,
)

SAMPLES = 8
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
    whole = run.steps() or data
    report(0, None, "reading the data and the network")
    about = subject(run, data, task, like) if whole else course(run, task)
    return write_page(about, findings, folder, measures=measures, report=report)


def pictures_of_run(run: Run) -> Path:
    """The folder of a run for pictures, which must not be a link."""
    return unlinked(run.path, run.path / "report")


def write_page(
    about: RunCourse,
    findings: list[Finding],
    folder: Path | None = None,
    *,
    measures: Sequence[Table | Section] = (),
    report: Report = silent,
) -> Path:
    """`write_report` of a run whose data and network have been read."""
    run = about.run
    inside = pictures_of_run(run)
    page = page_of(about, findings, report)
    page = dataclasses.replace(page, sections=[*page.sections, *measures])
    path = (run.path if folder is None else folder) / PAGE
    path.parent.mkdir(parents=True, exist_ok=True)
    if find_spec("matplotlib") is None:
        missing = NeedsExtra("drawing them", "matplotlib", "plot")
        warnings.warn(f"no chart is written as PNG: {missing}", stacklevel=2)
    else:
        pictures = inside if folder is None else folder
        pictures.mkdir(exist_ok=True)
        charts = charts_of(page.sections)
        for chart in each(charts, report, "drawing the charts as PNG", len(charts)):
            write_picture(chart, pictures / f"{chart.name}.png")
    report(0, None, "writing the page")
    write_whole(path, html(page).encode(errors="backslashreplace"))  # a path may not be UTF-8
    return path


def page_of(course: RunCourse, findings: list[Finding], report: Report = silent) -> Page:
    """The page of a run: all charts of a `Subject`, or those from the log of a `RunCourse`.

    `report` hears what is measured now.

    Example:
        >>> from ostinato.report.subject import course
        >>> page = page_of(course(open_run("runs/text-mlstm-1")), findings=[])
        >>> page.sections[0].heading
        'Learning'
    """
    config = course.run.config
    diverged = course.of_form(Divergence)
    shown = {"network shown": f"step {course.step:,}"} if isinstance(course, Subject) else {}
    with course.run.precision():
        return Page(
            title=course.run.path.resolve().name,
            subtitle=f"{config.task}, {_cells(config)}, trained with {config.learner}",
            notice=diverged[-1]["words"] if diverged else "",
            numbers=key_numbers(course) | shown,
            findings=findings,
            sections=sections_of(course, report),
            samples=samples_of(course),
            reading=reading(course) if isinstance(course, Subject) else None,
            config=config,
            notes=course.start.get("notes", ()),
        )


def _cells(config: Config) -> str:
    """What the network is made of, in words."""
    if getattr(config, "turing", None):
        return f"a neural Turing machine of {config.turing} with {config.cell} cells"
    return f"{config.cell} cells"


def sections_of(course: RunCourse, report: Report = silent) -> list[Section]:
    """All charts of a run; `report` hears what is measured now."""
    maps, memory, ahead = gradient_maps(course), memory_over_training(course), []
    pictures: list[Section] = []
    if isinstance(course, Subject):
        report(0, None, "charts: where the gradient goes")
        gradient = gradient_now(course)
        maps = maps or gradient_profiles(course, gradient)
        report(0, None, "charts: how far back the network looks")
        memory = [*three_ways(course, gradient), *memory]
        report(0, None, "charts: inside the network")
        pictures = pictures_of(course)
        if can_forecast(course.task):
            report(0, None, "charts: the forecast")
            ahead = all_forecasts(Saved(course.step, course.whole), course.task)
            ahead += trust(course.whole, course.task)
    sections = [
        Section("Learning", losses(course)),
        Section("Where the gradient goes", maps),
        Section("Memory", memory),
        Section("Forecast", ahead),
        *pictures,
        Section("Steps", steps_taken(course)),
    ]
    return [section for section in sections if section.charts]


def pictures_of(subject: Subject) -> list[Section]:
    """Charts of the network at work on a few sequences: attention, heads, gates and units."""
    inside = [*gates(subject), *spectrum(subject), *reservoir_spectra(subject)]
    if subject.symbols is None:
        inside.append(units_over_time(subject))
    seen = [*looks(subject), *heads_and_memory(subject)]
    sections = [
        Section("What is taken for what", confusions(subject)),
        Section((subject.task.ability(PicturedTask) or PicturedTask).pictured, seen),
        Section("Inside the network", inside),
    ]
    return [section for section in sections if section.charts]


def samples_of(course: Course) -> list[Sample]:
    """Previews from validations, evenly spaced and at most `SAMPLES`, including the last."""
    previews = [event for event in course.of_form(Valid) if event.get("preview")]
    places = range(len(previews) - 1, -1, -max(1, -(-len(previews) // SAMPLES)))
    return [_sample(course, previews[place]) for place in reversed(places)]


def _sample(course: Course, event: Valid) -> Sample:
    value, metric = event["value"], course.goal.metric
    words = "" if value is None else f": {value:.4g} {metric}"
    return Sample(heading=f"Step {event['step']:,}{words}", text=event["preview"])


def key_numbers(course: RunCourse) -> dict[str, str]:
    """Parameters, steps, epochs, time, speed and best validation, as far as the log has them.

    Example:
        >>> from ostinato.report.subject import course
        >>> told = key_numbers(course(open_run("runs/text-mlstm-1")))
        >>> told["steps"]
        '4 of 4, done'
    """
    task, start = course.task, course.start
    most = steps_of(course.run.config, task)
    entries = [*course.events, *logged_steps(course.events)]
    done = min(most, max((entry["step"] for entry in entries), default=0))
    told = {}
    if "parameters" in start:
        told["parameters"] = f"{start['parameters']:,}"
    told["steps"] = f"{done:,} of {most:,}, {_ending(course)}"
    config = course.run.config
    size, first = config.batch_size, config.curriculum
    if (count := epochs(task, size, done, config.steps, first)) is not None:
        told["epochs"] = f"{count:.3g}" if count < 1000 else f"{count:,.0f}"
    if seconds := total_seconds(course):
        told["time"] = in_words(seconds)
    if rate := speed(course):
        told["speed"] = f"{rate:,.0f} symbols per second"
    valid = [(e["value"], e["step"]) for e in course.of_form(Valid) if e["value"] is not None]
    if valid:
        pick = max if task.metric.higher_is_better else min
        value, step = pick(valid, key=lambda one: one[0])
        told["best validation"] = f"{value:.4g} {task.metric.name}, at step {step:,}"
    else:
        told["best validation"] = "none yet"
    told["chance"] = f"{task.chance:.4g} {task.metric.name}"
    for name, value in start.get("baselines", {}).items():
        if name not in ("chance", "bigram"):
            told[f"{name} baseline"] = f"{value:.4g} {task.metric.name}"
    return told


def total_seconds(course: Course) -> float:
    """The total time of a run; each resume restarts the clock, so the parts are added up."""
    total = latest = 0.0
    for event in course.events:
        if opens(event):
            total, latest = total + latest, 0.0
        elif event["kind"] == "train" or event["kind"] == "end":
            latest = max(latest, event.get("seconds", 0.0))
    return total + latest


def speed(course: Course) -> float | None:
    """Symbols per second of training: the median over log entries.

    The median leaves out the compilation time in the first entry.
    """
    speeds = [value for _, value in speed_by_step(course)]
    return median(speeds) if speeds else None


def in_words(seconds: float) -> str:
    """A duration in its two largest units.

    Example:
        >>> in_words(7.25), in_words(190), in_words(7400)
        ('7.2 s', '3 min 10 s', '2 h 3 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 59.95 else "1 min 0 s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60:,} h {minutes % 60} min"


def _ending(course: Course) -> str:
    end = ending(course.events)
    if end is None:
        return "unfinished"
    return end["reason"] if end["kind"] == "end" else "diverged"
