"""A page of words, tables and charts that is not about a single run: self-contained HTML."""

import dataclasses
import string
from html import escape

from .charts import Chart
from .figures import figure
from .page import part_of_page, script_json, section


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of text; numbers are right-aligned from the second column on."""

    header: list[str]
    rows: list[list[str]]


@dataclasses.dataclass(frozen=True)
class Part:
    """A heading with paragraphs, a table and charts below it, each of which may be missing."""

    heading: str
    words: list[str] = dataclasses.field(default_factory=list)
    table: Table | None = None
    charts: list[Chart] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Document:
    """The contents of a page; `notice` is a warning below the title, or empty."""

    title: str
    subtitle: str
    parts: list[Part]
    notice: str = ""


def document_html(document: Document) -> str:
    """The document as one HTML file that needs no network.

    Example:
        >>> table = Table(["model", "bits"], [["LSTM", "1.88"]])
        >>> parts = [Part("Rows", table=table)]
        >>> page = document_html(Document("Table 4.5", "Krause (2015)", parts))
        >>> "<td>1.88</td>" in page
        True
    """
    from plotly.offline import get_plotlyjs

    charts = [chart for part in document.parts for chart in part.charts]
    return string.Template(part_of_page("document.html")).substitute(
        title=escape(document.title),
        subtitle=escape(document.subtitle),
        notice=f'<p class="notice">{escape(document.notice)}</p>' if document.notice else "",
        parts="".join(_part(part) for part in document.parts),
        css=part_of_page("page.css"),
        plotly=get_plotlyjs() if charts else "",
        charts=script_json({chart.name: figure(chart) for chart in charts}),
        js=part_of_page("page.js") if charts else "",
    )


def _part(part: Part) -> str:
    inside = "".join(f"<p>{escape(words)}</p>" for words in part.words)
    if part.table is not None:
        inside += _table(part.table)
    return section(part.heading, part.charts, inside)


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.header)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
