"""The page in a real browser, which asks for nothing and has nothing to complain of."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from ostinato.lens.doctor.finding import Finding
from ostinato.report.activity import Reading
from ostinato.report.charts import Lines, Series
from ostinato.report.page import Page, Section, html
from ostinato.runs import Config

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
BAD = '<img src="http://example.invalid/x.png"><script>console.error("oh")</script>'


def opened(folder, page: str) -> tuple[str, list[str], list[str]]:
    """The document after its scripts have run, its words to the console, and its requests."""
    (folder / "page.html").write_text(page)
    quiet = ("--disable-background-networking", "--disable-component-update", "--no-first-run")
    log = folder / "net.json"
    assert BROWSER is not None
    found = subprocess.run(
        [
            BROWSER,
            *("--headless", "--no-sandbox", "--disable-gpu", *quiet),
            *("--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'profile'}"),
            *("--enable-logging=stderr", "--v=0", f"--log-net-log={log}"),
            *("--virtual-time-budget=5000", "--dump-dom", f"file://{folder / 'page.html'}"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    console = re.findall(r".*CONSOLE.*", found.stderr)
    # Those of a page have an origin ("null" for a file); the browser's own have none.
    requests = [
        event["params"]["url"]
        for event in json.loads(log.read_text())["events"]
        if event.get("params", {}).get("initiator", "not an origin") != "not an origin"
    ]
    return found.stdout, console, [url for url in requests if not url.startswith("file:")]


@pytest.mark.skipif(BROWSER is None, reason="there is no browser")
def test_opens_without_a_network(tmp_path):
    chart = Lines(
        name="loss",
        title="Loss",
        caption="It falls.",
        series=[Series("training", [1, 2], [2.0, None]), Series("validation", [1, 2], [3.0, 1.0])],
        x_title="step",
        y_title="loss",
        levels={"chance": 2.5},
    )
    values = np.array([[0.5, -0.25], [0.1, 1.0], [0.0, 0.0]])
    page = html(
        Page(
            title="a run",
            subtitle="text",
            notice="it diverged",
            numbers={"steps": "2 of 2, done"},
            findings=[Finding("name", "words", "evidence", "advice")],
            sections=[Section("Learning", [chart])],
            reading=Reading(["a", "\n", "</b>"], values, 0, "A text."),
            config=Config(),
        )
    )
    document, console, requests = opened(tmp_path, page)
    assert console == [] and requests == []
    assert "main-svg" in document and 'title="unit 0: 0.5"' in document
    choose = "slide.value = 1; slide.dispatchEvent(new Event('input'));"
    changed = page.replace("</body>", f"<script>{choose}</script>{BAD}</body>")
    document, console, requests = opened(tmp_path, changed)
    assert 'title="unit 1: -0.25"' in document
    assert len(console) >= 1 and requests == ["http://example.invalid/x.png"]
