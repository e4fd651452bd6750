"""The contents of a report, in order."""

from ..lens.doctor.finding import Finding
from ..progress import Report, silent
from ..runs import Config, Saved
from ..runs.folder.events import Divergence, Valid
from .activity import reading
from .course import Course
from .key_numbers import key_numbers
from .network_charts import (
    gates,
    gradient_now,
    gradient_profiles,
    looks,
    spectrum,
    three_ways,
    units_over_time,
)
from .of_memory import heads_and_memory
from .of_reservoir import reservoir_spectra
from .page import Page, Sample, Section
from .series_charts import can_forecast, forecasts, place_of
from .subject import RunCourse, Subject
from .training_charts import gradient_maps, losses, memory_over_training, steps_taken

SAMPLES = 8


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
            ahead = forecasts(Saved(course.step, course.whole), course.task, place_of(course.task))
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
    sections = [
        Section("Where the network looks", [*looks(subject), *heads_and_memory(subject)]),
        Section("Inside the network", inside),
    ]
    return [section for section in sections if section.charts]


def samples_of(course: Course) -> list[Sample]:
    """Previews from validations, evenly spaced and at most `SAMPLES`, including the last."""
    found = [event for event in course.of_form(Valid) if event.get("preview")]
    places = range(len(found) - 1, -1, -max(1, -(-len(found) // SAMPLES)))
    return [_sample(course, found[place]) for place in reversed(places)]


def _sample(course: Course, event: Valid) -> Sample:
    value, metric = event["value"], course.goal.metric
    words = "" if value is None else f": {value:.4g} {metric}"
    return Sample(heading=f"Step {event['step']:,}{words}", text=event["preview"])
