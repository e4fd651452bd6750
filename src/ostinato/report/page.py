"""The page: one self-contained HTML file, which needs no network."""

import dataclasses
import json
import re
import string
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

from ..lens.doctor.finding import Finding
from ..runs import Config
from .activity import Reading
from .charts import Chart
from .figures import figure


class Section(NamedTuple):
    """A heading, and the charts below it."""

    heading: str
    charts: list[Chart]


class Sample(NamedTuple):
    """A text sampled from the network, under a heading with step and validation loss."""

    heading: str
    text: str


@dataclasses.dataclass(frozen=True)
class Page:
    """The contents of a page.

    Attributes:
        title: the name of the run.
        subtitle: task, cell and learner.
        notice: why the run stopped, if it diverged; else empty.
        numbers: the key numbers by name.
        findings: the doctor's findings.
        sections: the charts.
        samples: texts sampled during training.
        reading: a text with unit activations, or `None`.
        config: the settings.
    """

    title: str
    subtitle: str
    notice: str
    numbers: dict[str, str]
    findings: list[Finding]
    sections: list[Section]
    samples: list[Sample]
    reading: Reading | None
    config: Config


def html(page: Page) -> str:
    """The page as one HTML document.

    Example:
        >>> from ostinato.report.of_run import page_of
        >>> from ostinato.report.subject import course
        >>> page = page_of(course(open_run("runs/text-mlstm-1")), findings=[])
        >>> html(page)[:15]
        '<!DOCTYPE html>'
    """
    from plotly.offline import get_plotlyjs

    charts = {one.name: figure(one) for part in page.sections for one in part.charts}
    return string.Template(part_of_page("page.html")).substitute(
        title=escape(page.title),
        subtitle=escape(page.subtitle),
        notice=f'<p class="notice">{_unbroken(page.notice)}</p>' if page.notice else "",
        numbers="".join(_pair(name, value) for name, value in page.numbers.items()),
        findings=_findings(page.findings),
        sections="".join(section(one.heading, one.charts) for one in page.sections),
        samples=_samples(page.samples),
        reading=_reading(page.reading),
        settings=_settings(page.config),
        css=part_of_page("page.css"),
        plotly=get_plotlyjs(),
        charts=script_json(charts),
        activity=script_json(_numbers(page.reading)),
        js=part_of_page("page.js"),
    )


def part_of_page(name: str) -> str:
    """The text of a file that pages are made of."""
    return (files(__package__) / name).read_text(encoding="utf-8")


def script_json(value: Any) -> str:
    """JSON for a script element; `<` is escaped so that nothing in it can end the element."""
    words = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return words.replace("<", "\\u003c")


def _unbroken(words: str) -> str:
    """Escaped text in which options such as `--clip` are never broken across lines."""
    return re.sub(r"--[\w-]+", r'<span class="option">\g<0></span>', escape(words))


def _pair(name: str, value: str) -> str:
    return f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"


def _findings(findings: list[Finding]) -> str:
    if not findings:
        return '<p class="fine">No finding: nothing looks wrong.</p>'
    return "".join(
        f'<article class="finding"><h3>{escape(one.name)}</h3><p>{escape(one.words)}</p>'
        f'<p class="evidence">{escape(one.evidence)}</p>'
        f'<p class="advice"><b>Try:</b> {_unbroken(one.advice)}</p></article>'
        for one in findings
    )


def section(heading: str, charts: list[Chart], inside: str = "") -> str:
    """A section of a page: its heading, other HTML, and its charts, which the script draws."""
    figures = "".join(
        f'<figure><h3>{escape(one.title)}</h3><div class="plot" data-chart="{escape(one.name)}" '
        f'role="img" aria-label="{escape(one.title)}"></div>'
        f"<figcaption>{escape(one.caption)}</figcaption></figure>"
        for one in charts
    )
    grid = f'<div class="grid">{figures}</div>' if charts else ""
    return f"<section><h2>{escape(heading)}</h2>{inside}{grid}</section>"


def _samples(samples: list[Sample]) -> str:
    if not samples:
        return ""
    found = "".join(
        f'<article><h3>{escape(one.heading)}</h3><pre lang="zxx">{escape(one.text)}</pre></article>'
        for one in samples
    )
    hint = '<p class="hint">Sampled from the network at validations.</p>'
    return f'<section><h2>Samples</h2>{hint}<div class="samples">{found}</div></section>'


def _reading(reading: Reading | None) -> str:
    if reading is None:
        return ""
    caption, last = escape(reading.caption), reading.values.shape[1] - 1
    return string.Template(part_of_page("reading.html")).substitute(
        caption=caption, first=reading.first, last=last
    )


def _numbers(reading: Reading | None) -> dict | None:
    """Data for the page's script: the text, and each unit's activations to three digits."""
    if reading is None:
        return None
    units = [[float(f"{x:.3g}") for x in unit] for unit in reading.values.T.tolist()]
    return {"pieces": reading.pieces, "units": units}


def _settings(config: Config) -> str:
    """All settings; those that differ from their defaults are marked."""
    found, unusual = [], config.unusual()
    for name, value in config.flat().items():
        mark = ' class="changed"' if name in unusual else ""
        words = "–" if value is None else str(value)
        found.append(f"<div{mark}><dt>{escape(name)}</dt><dd>{escape(words)}</dd></div>")
    return "".join(found)
