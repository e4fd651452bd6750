"""The page in a real browser, which asks for nothing and has nothing to complain of."""

import json
import re
import shutil
import subprocess
from html import escape, unescape

import numpy as np
import pytest

from ostinato.lens.doctor.evidence import Finding
from ostinato.report.charts import Bars, Heat, Lines, Plane, Series
from ostinato.report.page import Page, Reading, Sample, Section, html
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


LOSS = Lines(
    name="loss",
    title="Loss",
    caption="It falls.",
    series=[Series("training", [1, 2], [2.0, None]), Series("validation", [1, 2], [3.0, 1.0])],
    x_title="step",
    y_title="bits per character",
    levels={"chance": 2.5, "bigram": 2.49, "order 5": 2.48},
)
HEAT = Heat(
    name="map",
    title="Gradient by lag: layer 2, candidate (U)",
    caption="It fades.",
    x=[50 * k for k in range(1, 31)],
    y=list(range(16)),
    values=[[10.0**-k] * 30 for k in range(16)],
    x_title="training step",
    y_title="lag (steps)",
    z_title="gradient (nats)",
    log=True,
)
PLANE = Plane(
    name="plane",
    title="Eigenvalues",
    caption="They lie on the circle.",
    points={f"layer {k}, update gate: radius 1.02, σ 12.34": [1 + 0j] for k in range(1, 7)},
)
BARS = Bars(
    name="bars",
    title="Gates",
    caption="Most are open.",
    bars=["layer 1, update gate", "layer 2, block input"],
    parts={"low (closed)": [0.1, 0.2], "between": [0.4, 0.3], "high (open)": [0.5, 0.5]},
)
VALUES = np.array([[0.5, -0.25], [0.1, 1.0], [0.0, 0.0]])
PAGE = Page(
    title="a run",
    subtitle="text",
    notice="it diverged",
    numbers={"steps": "2 of 2, done", "best validation": "2.345 bits per character, at step 1,000"},
    findings=[Finding("name", "words", "evidence", "ostinato train --rate 0.1 --clip off")],
    sections=[Section("Learning", [LOSS]), Section("More", [HEAT, PLANE, BARS])],
    samples=[Sample("Step 1: 2 bits", "a" * 300 + "\n<b>")],
    reading=Reading(["a", "\n", "</b>"], VALUES, 0, "A text."),
    config=Config(),
)


@pytest.mark.skipif(BROWSER is None, reason="there is no browser")
def test_opens_without_a_network(tmp_path):
    page = html(PAGE)
    document, console, requests = opened(tmp_path, page)
    assert console == [] and requests == []
    assert "main-svg" in document and 'title="unit 0: 0.5"' in document
    choose = "slide.value = 1; slide.dispatchEvent(new Event('input'));"
    changed = page.replace("</body>", f"<script>{choose}</script>{BAD}</body>")
    document, console, requests = opened(tmp_path, changed)
    assert 'title="unit 1: -0.25"' in document
    assert len(console) >= 1 and requests == ["http://example.invalid/x.png"]


# What is too wide, and which words of a chart lie on others or in its plot.
LOOK = """
const look = (frame) => {
  const inside = frame.contentDocument, wrong = [];
  const root = inside.documentElement;
  if (root.scrollWidth > root.clientWidth) wrong.push("the page is " + root.scrollWidth + " wide");
  const box = (element) => element.getBoundingClientRect();
  const apart = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) <= 1 ||
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) <= 1;
  let count = 0;
  for (const plot of inside.querySelectorAll(".plot")) {
    const legend = [...plot.querySelectorAll(".legendtext, .textpoint text")];
    const ticks = [...plot.querySelectorAll(".xtick text, .ytick text, .cbaxis text")];
    const titles = [...plot.querySelectorAll(".xtitle, .ytitle, .cbtitle text, .hcbtitle text")];
    const words = [...legend, ...ticks, ...titles].filter((one) => box(one).width > 0);
    count += words.length;
    const area = box(plot.querySelector(".plot .nsewdrag"));
    for (const one of words) {
      const say = (what) => wrong.push(plot.dataset.chart + ": " + one.textContent + " " + what);
      if (box(one).left < -1 || box(one).right > root.clientWidth + 1) say("is cut off");
      if (!apart(box(one), area)) say("lies in the plot");
      for (const other of words)
        if (one !== other && !apart(box(one), box(other))) say("lies on " + other.textContent);
    }
  }
  return { count, width: root.clientWidth, wrong };
};
setTimeout(() => {
  const frames = [...document.querySelectorAll("iframe")];
  found.textContent = JSON.stringify(frames.map(look));
}, 3000);
"""


@pytest.mark.skipif(BROWSER is None, reason="there is no browser")
def test_fits_the_screen_and_no_words_lie_on_others(tmp_path):
    widths, page = [400, 1200], escape(html(PAGE))
    frames = [
        f'<iframe style="border:0;width:{width}px;height:9000px" srcdoc="{page}"></iframe>'
        for width in widths
    ]
    around = f'<body>{"".join(frames)}<p id="found"></p><script>{LOOK}</script></body>'
    document, _, _ = opened(tmp_path, around)
    words = re.search(r'<p id="found">(.*?)</p>', document)
    assert words is not None
    every = json.loads(unescape(words[1]))
    assert [found["width"] for found in every] == widths
    for found in every:
        assert found["count"] > 40 and found["wrong"] == []
