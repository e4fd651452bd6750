"""The page: one self-contained HTML file, which needs no network."""

import dataclasses
import json
import re
import string
import warnings
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from ..errors import NeedsExtra
from ..lens.doctor.evidence import Finding
from ..runs import Config
from .charts import Chart
from .figures import figure

HINT = (
    '<p class="hint how">Drag to zoom into a chart and double-click to go back; click a name in a '
    "legend to hide it.</p>"
)


class Section(NamedTuple):
    """A heading, and the charts below it."""

    heading: str
    charts: list[Chart]

    def html(self) -> str:
        if not _can_draw():
            return ""
        figures = "".join(
            f'<figure><h3>{escape(one.title)}</h3><div class="plot" '
            f'data-chart="{escape(one.name)}" role="img" aria-label="{escape(one.title)}"></div>'
            f"<figcaption>{escape(one.caption)}</figcaption></figure>"
            for one in self.charts
        )
        return (
            f'<section><h2>{escape(self.heading)}</h2><div class="grid">{figures}</div></section>'
        )


class Table(NamedTuple):
    """A table: words in rows and columns, and a line that explains them."""

    heading: str
    columns: list[str]
    rows: list[list[str]]
    caption: str = ""

    @property
    def charts(self) -> list[Chart]:
        return []

    def html(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(f"<tr>{self._cells(row)}</tr>" for row in self.rows)
        caption = f'<p class="hint">{escape(self.caption)}</p>' if self.caption else ""
        return (
            f"<section><h2>{escape(self.heading)}</h2>{caption}"
            f'<div class="wide"><table class="stacks"><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div></section>"
        )

    def _cells(self, row: list[str]) -> str:
        """The cells of a row; each says its column, for screens too narrow for a table."""
        return "".join(
            f'<td data-head="{escape(name)}">{escape(words)}</td>'
            for name, words in zip(self.columns, row, strict=True)
        )


class Words(NamedTuple):
    """A heading, and paragraphs below it."""

    heading: str
    paragraphs: list[str]

    @property
    def charts(self) -> list[Chart]:
        return []

    def html(self) -> str:
        words = "".join(f"<p>{escape(one)}</p>" for one in self.paragraphs)
        return f'<section class="words"><h2>{escape(self.heading)}</h2>{words}</section>'


Part = Section | Table | Words


class Sample(NamedTuple):
    """A text sampled from the network, under a heading with step and validation loss."""

    heading: str
    text: str


@dataclasses.dataclass(frozen=True)
class Reading:
    """A text, and the activation of every unit after each of its symbols.

    Attributes:
        pieces: the text, one piece per symbol; a multi-byte character belongs to its last byte.
        values: `(symbols, units)`.
        first: the unit to show first.
        caption: what the figure shows.
    """

    pieces: list[str]
    values: np.ndarray
    first: int
    caption: str


@dataclasses.dataclass(frozen=True)
class Page:
    """The contents of a page.

    Attributes:
        title: the name of the run.
        subtitle: task, cell and learner.
        notice: why the run stopped, if it diverged; else empty.
        numbers: the key numbers by name.
        findings: the doctor's findings.
        sections: the charts, and tables and charts of what was measured on request.
        samples: texts sampled during training.
        reading: a text with unit activations, or `None`.
        config: the settings.
        notes: what was done to the data, a sentence each.
    """

    title: str
    subtitle: str
    notice: str
    numbers: dict[str, str]
    findings: list[Finding]
    sections: Sequence[Part]
    samples: list[Sample]
    reading: Reading | None
    config: Config
    notes: Sequence[str] = ()


def html(page: Page) -> str:
    """The page as one HTML document.

    Example:
        >>> from ostinato.report.run_page import page_of
        >>> from ostinato.report.subject import course
        >>> page = page_of(course(open_run("runs/text-mlstm-1")), findings=[])
        >>> html(page)[:15]
        '<!DOCTYPE html>'
    """
    main = [
        f"<section><h2>Findings</h2>{_findings(page.findings)}</section>",
        *(part.html() for part in page.sections),
        _samples(page.samples),
        _reading(page.reading),
        _notes(page.notes),
        f"<section><h2>Settings</h2>{_settings(page.config)}</section>",
    ]
    return document(
        page.title,
        page.subtitle,
        main="".join(main),
        charts=charts_of(page.sections),
        notice=page.notice,
        numbers=page.numbers,
        activity=_numbers(page.reading),
    )


def _notes(notes: Sequence[str]) -> str:
    lines = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<section><h2>What was done to the data</h2><ul>{lines}</ul></section>" if notes else ""


def document(
    title: str,
    subtitle: str,
    *,
    main: str,
    charts: list[Chart],
    notice: str = "",
    numbers: dict[str, str] | None = None,
    activity: dict | None = None,
) -> str:
    """An HTML document with the style and the scripts of every page.

    Args:
        title, subtitle: the heading and the line below it.
        main: the HTML of the page's sections; a `Section` places its charts.
        charts: all charts of the page; without any, it has no hint about them.
        notice: a warning above everything else.
        numbers: key numbers by name.
        activity: the data of a `Reading`.
    """
    hint = plotly = ""
    if charts and _can_draw():
        from plotly.offline import get_plotlyjs

        hint, plotly = HINT, get_plotlyjs()
    elif charts:
        words = f"no chart is on this page: {NeedsExtra('drawing them', 'plotly', 'plot')}"
        warnings.warn(words, stacklevel=2)
        hint, charts = f'<p class="hint how">{escape(words)}</p>', []
    return string.Template(_part("page.html")).substitute(
        title=escape(title),
        subtitle=escape(subtitle),
        notice=f'<p class="notice">{_unbroken(notice)}</p>' if notice else "",
        numbers="".join(_pair(name, value) for name, value in (numbers or {}).items()),
        hint=hint,
        main=main,
        css=_part("page.css"),
        plotly=plotly,
        charts=_json({one.name: figure(one) for one in charts}),
        activity=_json(activity),
        js=_part("look.js") + _part("page.js"),
    )


def tables_page(
    title: str,
    subtitle: str,
    parts: Sequence[Part],
    numbers: dict[str, str] | None = None,
    notice: str = "",
) -> str:
    """A page of tables, charts and words as one HTML document; see `document`.

    Example:
        >>> table = Table("Results", ["cell", "bits"], [["lstm", "2.31"], ["gru", "2.35"]])
        >>> ">2.31</td>" in tables_page("A comparison", "two cells", [table])
        True
    """
    main, charts = "".join(part.html() for part in parts), charts_of(parts)
    return document(title, subtitle, main=main, charts=charts, notice=notice, numbers=numbers)


def charts_of(parts: Sequence[Part]) -> list[Chart]:
    """All charts of the parts of a page, in order."""
    return [one for part in parts for one in part.charts]


def _part(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _json(value: Any) -> str:
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


def _can_draw() -> bool:
    return find_spec("plotly") is not None


def _samples(samples: list[Sample]) -> str:
    if not samples:
        return ""
    articles = "".join(
        f'<article><h3>{escape(one.heading)}</h3><pre lang="zxx">{escape(one.text)}</pre></article>'
        for one in samples
    )
    hint = '<p class="hint">Sampled from the network at validations.</p>'
    return f'<section><h2>Samples</h2>{hint}<div class="samples">{articles}</div></section>'


def _reading(reading: Reading | None) -> str:
    if reading is None:
        return ""
    caption, last = escape(reading.caption), reading.values.shape[1] - 1
    return string.Template(_part("reading.html")).substitute(
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
    hint = '<p class="hint">Bold: settings that differ from their defaults.</p>'
    pairs, unusual = [], config.non_default()
    for name, value in config.flat().items():
        mark = ' class="changed"' if name in unusual else ""
        words = "–" if value is None else str(value)
        pairs.append(f"<div{mark}><dt>{escape(name)}</dt><dd>{escape(words)}</dd></div>")
    return f'{hint}<dl class="settings">{"".join(pairs)}</dl>'
