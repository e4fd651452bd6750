"""What holds on every page of the studio, at any width: boxes have labels, one heading stands free.

And what a narrow screen shows of a table can be read: it is large enough, and nothing is cut off.
"""

import jax
import pytest

from ostinato.report.page import Table, tables_page
from ostinato.runs import Config, train
from studio.browser import BROWSER, Browser
from studio.pages import a_log, served, write_run
from studio.test_pages_in_a_browser import LOOK, UNLABELLED, browsing

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no chromium on this machine")

# Pairs of texts, one of them in the heading, whose letters lie on each other.
COLLIDING = """(() => {
    const boxes = (node) => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return [...range.getClientRects()].filter((box) => box.width > 1 && box.height > 1);
    };
    const all = { visibilityProperty: true, opacityProperty: true };
    const seen = (element) => element.checkVisibility(all);
    const texts = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode;
        if (node.data.trim() && seen(node.parentElement)) texts.push(node);
    }
    const heading = document.querySelector('h1');
    const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1
        || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
    const letters = boxes(heading);
    return texts.filter((node) => !heading.contains(node)
        && boxes(node).some((b) => letters.some((a) => !apart(a, b)))).map((node) => node.data);
})()"""
HEADINGS = "[...document.querySelectorAll('h1')].filter((x) => x.checkVisibility()).length"
# Texts that are too small, and cells that are cut off or reach out of the screen.
UNREADABLE = """[...document.querySelectorAll('table th, table td')]
    .filter((cell) => cell.checkVisibility()).flatMap((cell) => {
        const box = cell.getBoundingClientRect(), style = getComputedStyle(cell);
        const small = [cell, ...cell.querySelectorAll('*')].some((one) =>
            parseFloat(getComputedStyle(one).fontSize) < 11);
        const hidden = style.overflow !== 'visible' && cell.scrollWidth > cell.clientWidth;
        const range = document.createRange();
        range.selectNodeContents(cell);
        const out = [...range.getClientRects()].some((text) => text.left < box.left - 1
            || text.right > box.right + 1);
        const away = box.left < 0 || box.right > innerWidth
            || cell.scrollWidth > cell.clientWidth + 1;
        return small || hidden || out || away ? [cell.outerHTML] : [];
    })"""
LONG = {f"a_rather_long_setting_{n}": "value " * n for n in range(1, 9)}
PLACES = {
    "": "tbody tr",
    "?view=archived": ".empty:not([hidden])",
    "run?name=one": ".main-svg",
    "run?name=nobody": "#nothing",
    "compare": "#nothing",
    "compare?run=one&run=two&run=three": ".main-svg",
    "compare?run=nobody": "#nothing",
    "inside?name=one": ".notice",
    "inside?name=nobody": "#nothing",
    "play?name=one": "#go",
    "play?name=nobody": "#nothing",
    "no/such/page": "h1",
}


def check(page, address, ready, widths=(1280, 400)):
    """Everything that holds on every page; `browsing` says that nothing was on the console."""
    page.size(widths[0])
    page.open(address)
    page.wait(f"document.querySelector({ready!r})", 120)
    for width in widths:
        page.size(width)
        assert page.run(HEADINGS) == 1, address
        assert page.run(COLLIDING) == [], (address, width)
        assert page.run(UNLABELLED) == [], address
        assert page.run("document.documentElement.scrollWidth") <= width, address


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    events = a_log(40)
    look = {**LOOK, "gradient": {".cell.R": [1.0, 0.5, 0.1]}}
    for seed, name in enumerate(("one", "two", "three")):
        rest = {key: value * (seed + 1) for key, value in LONG.items()}
        write_run(folder / name, [*events[:-1], look, events[-1]], {"seed": seed, **rest})
    with served(folder) as found:
        yield found


def test_boxes_have_labels_and_one_heading_stands_free_on_every_page(studio):
    lost = ("inside?name=nobody", "no/such/page")
    with browsing(studio) as page:
        for place, ready in PLACES.items():
            check(page, studio.page(place), ready)
            if "nobody" in place or place in lost:
                # The browser itself reports an answer of 404 or 400.
                page.console[:] = [x for x in page.console if "Failed to load resource" not in x]


def test_tables_of_a_comparison_can_be_read_on_a_narrow_screen(studio):
    with browsing(studio, width=400, height=900) as page:
        page.open(studio.page("compare?seeds=0&run=one&run=two&run=three"))
        page.wait("document.querySelectorAll('main table').length === 2")
        assert page.run("document.querySelectorAll('main td').length") > 30
        assert page.run(UNREADABLE) == []
        page.run("document.querySelector('main td').style.fontSize = '9px'")
        page.run("document.querySelector('main td:last-child').style.width = '900px'")
        assert len(page.run(UNREADABLE)) == 2


def test_tables_of_a_report_can_be_read_on_a_narrow_screen(tmp_path):
    columns = ["entry", "mean squared error", "95 % interval", "gradient-equivalents", "tuned", ""]
    row = ["gru", "0.02507 ± 0.015", "-0.01101 to 0.06114", "1,920", "rate 0.014", "gru is better"]
    page = tmp_path / "page.html"
    page.write_text(tables_page("Two cells", "on adding", [Table("Results", columns, [row] * 2)]))
    browser = Browser(400, 900)
    try:
        browser.open(f"file://{page}")
        assert browser.run("document.querySelectorAll('td').length") == 12
        assert browser.run(UNREADABLE) == [] and browser.console == []
        named = "getComputedStyle(document.querySelectorAll('td')[2], '::before').content"
        assert browser.run(named) == '"95 % interval"'
    finally:
        browser.close()


@pytest.mark.slow
def test_pages_that_need_a_network_have_labels_and_one_heading_too(tmp_path):
    small = {"cell": "gru", "units": 6, "steps": 2, "batch": 2, "length": 10}
    with jax.enable_x64(False):  # as in the process that answers
        train(Config(**small), tmp_path / "text")
        train(Config(task="lorenz", samples=400, washout=10, **small), tmp_path / "series")
    with served(tmp_path) as studio, browsing(studio) as page:
        check(page, studio.page("inside?name=text"), "#text span")
        check(page, studio.page("play?name=text"), "#go")
        check(page, studio.page("play?name=series"), "#ahead .main-svg")
        check(page, studio.page("start"), "#choose")
        check(page, studio.page("claims"), "[data-claim]")
