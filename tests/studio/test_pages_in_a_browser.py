"""The pages in a real browser, used as a person would, with nothing on the console.

Debian's chromium is enough; without one these tests are skipped and say so.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import jax
import pytest

from ostinato.files import locked
from ostinato.runs import Config, train
from studio.browser import BROWSER, Browser
from studio.pages import START, a_log, served, train_event, write_run

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no chromium on this machine")
BAD = '<img src="http://example.invalid/x.png"><script>console.error("oh")</script>'
SERIES = "sales, 1 step ahead, from 1 to 8\nactual    ▁▂▃▄▅▆▇█\nforecast  ▂▂▃▄▅▆▇▇"
LOOK = {"kind": "lens", "step": 19, "lags": [0, 1, 2], "memory": {".cell.R": 2.0}}


@contextlib.contextmanager
def browsing(studio, **size):
    """A browser that must find nothing to complain of, and ask nobody else."""
    browser = Browser(**size)
    try:
        yield browser
        own = (studio.address.rstrip("/"), "data:", "blob:", "about:")
        assert [url for url in browser.requests if not url.startswith(own)] == []
        assert browser.console == []
    finally:
        browser.close()


def logged(seed=0):
    events = a_log(40)
    look = {**LOOK, "gradient": {".cell.R": [1.0, 0.5 / (seed + 1), 0.1]}}
    bad = {"kind": "valid", "step": 39, "value": 0.2, "preview": BAD}
    drawn = {"kind": "valid", "step": 38, "value": 0.2, "preview": SERIES}
    return [*events[:-1], look, drawn, bad, events[-1]]


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    for seed in (0, 1):
        write_run(folder / f"seed-{seed}", logged(seed), {"seed": seed})
    write_run(folder / "other", logged(), {"steps": 40, "note": BAD})
    write_run(folder / "<b>bold", logged(), {"rate": 0.5})
    many = [train_event(n, 50.0 if n == 4321 else 2.0) for n in range(1, 8001)]
    write_run(folder / "long", [{**START, "steps": 8000}, *many])
    with served(folder) as found, locked(folder / "long"), locked(folder / "seed-0"):
        found.folder = folder
        yield found


def test_runs_are_filtered_sorted_chosen_and_compared(studio):
    with browsing(studio) as page:
        page.open(studio.page())
        page.wait("document.querySelectorAll('tbody tr').length === 5")
        assert (
            "<b>bold" in page.text("tbody")
            and page.run("document.querySelector('tbody b')") is None
        )
        page.type("#filter", "seed<1 steps>=40 rate=0.5 bold")
        page.wait("document.querySelectorAll('tbody tr').length === 1")
        page.type("#filter", "nothing=1")
        page.wait("document.querySelector('.empty').innerText.includes('No run matches')")
        page.type("#filter", "seed")
        page.run("document.activeElement.blur()")
        page.click("[data-sort=name]")
        assert page.text("tbody tr .of-name").startswith("seed-0")
        for key in "jxkxc":
            page.key(key)
        page.wait("location.pathname === '/compare' && document.querySelector('.main-svg')")
        assert "2 runs as 1 lines" in page.text(".subtitle")
        page.click("[data-across=seconds]")
        page.wait("document.querySelector('.plot').textContent.includes('seconds of training')")
        page.click("#seeds")
        page.wait("document.querySelector('.subtitle').innerText === '2 runs'")
        assert "seed" in page.text("#main") and "gradient" in page.text("#main").lower()


def test_a_run_is_shown_as_it_trains_and_text_stays_text(studio):
    path = studio.folder / "seed-0"
    with browsing(studio) as page:
        page.open(studio.page("run?name=seed-0"))
        page.wait("document.querySelector('.main-svg')")
        assert "running" in page.text(".title") and page.run(
            "!document.querySelector('#stop').hidden"
        )
        assert (
            BAD in page.text("#samples") and page.run("document.querySelector('#main img')") is None
        )
        assert SERIES in page.text("#samples .unbroken")  # eight levels are no data to draw
        assert page.run("document.querySelector('#samples svg')") is None
        assert page.text("#notes") == "3 rows were sorted by date"
        assert page.text(".tabs") == "Course"  # nothing is saved that the others could show
        written = time.monotonic()
        with open(path / "events.jsonl", "a") as log:
            log.write(json.dumps(train_event(77, 0.5)) + "\n")
        page.wait("document.getElementById('n-step').innerText.startsWith('77')", 10)
        assert time.monotonic() - written < 2
        page.wait("document.querySelector('[data-chart=loss]').data[0].x.at(-1) === 77", 5)
        page.key("?")
        page.wait("document.querySelector('dialog').open")


def test_a_run_is_named_deleted_and_brought_back(studio):
    with browsing(studio) as page:
        page.open(studio.page("run?name=other"))
        page.wait("document.querySelector('.state.done')")
        page.click("#edit")
        page.type("#label-title", "Our <b>best")
        page.type("#label-tags", "#paper, v2")
        page.type("#label-note", BAD)
        page.click("#save")
        page.wait("document.querySelector('h1').innerText === 'Our <b>best'")
        assert BAD in page.text(".note") and page.text(".tags").split() == ["#paper", "#v2"]
        page.click("#delete")
        page.wait("location.pathname === '/' && document.querySelector('#undo')")
        page.wait("document.querySelectorAll('tbody tr').length === 4")
        page.click("#undo")
        page.wait("document.querySelectorAll('tbody tr').length === 5")
        page.type("#filter", "tag=v2")
        page.wait("document.querySelectorAll('tbody tr').length === 1")
        page.open(studio.page("run?name=other"))
        page.wait("document.querySelector('.state.done')")
        page.click("#archive")
        page.wait("document.querySelector('.tags').innerText.includes('archived')")
        page.open(studio.page())
        page.wait("document.querySelectorAll('tbody tr').length === 4")
        page.click("[data-view=archived]")
        page.wait("document.querySelectorAll('tbody tr').length === 1")
    shutil.rmtree(studio.folder / "other")
    write_run(studio.folder / "other", logged(), {"steps": 40, "note": BAD})


def test_zooming_asks_for_what_was_left_out(studio):
    with browsing(studio) as page:
        page.open(studio.page("run?name=long"))
        page.wait("document.querySelector('[data-chart=loss] .main-svg')")
        shown = "document.querySelector('[data-chart=loss]')"
        first = page.run(f"{shown}.data[0].x.length")
        assert first < 8000 and page.run(f"{shown}.data[0].y.some((y) => y > 50)")
        page.run(f"{shown}.scrollIntoView()")
        box = page.run(
            f"(({{x, y, width, height}}) => [x, y, width, height])"
            f"({shown}.querySelector('.nsewdrag').getBoundingClientRect())"
        )
        height = box[1] + box[3] / 2
        page.drag((box[0] + 0.50 * box[2], height), (box[0] + 0.56 * box[2], height))
        page.wait(f"{shown}.data[0].x.length > 300 && {shown}.data[0].x.at(-1) < 5000", 20)
        steps = page.run(f"{shown}.data[0].x")
        assert steps == [*range(steps[0], steps[-1] + 1)] and 4321 in steps


UNLABELLED = """[...document.querySelectorAll("input, select, textarea")].filter((box) =>
    !box.labels?.length && !box.matches("[aria-label], [aria-labelledby]"))
    .map((box) => box.outerHTML)"""


def test_pages_fit_narrow_screens_and_dark_ones(studio):
    with browsing(studio, width=400, height=800, dark=True) as page:
        for path in ("", "run?name=long", "compare?run=seed-0&run=other", "compare"):
            page.open(studio.page(path))
            page.wait("document.querySelector('main').children.length > 1")
            if path.startswith("run") or "=" in path:
                page.wait("document.querySelector('.main-svg')")
            wide = "document.documentElement.scrollWidth"
            assert page.run(wide) <= 400, path
            assert page.run(UNLABELLED) == [], path
        assert page.run("document.querySelector('h1').getBoundingClientRect().top") > 60
        ground = page.run("getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(20, 23, 26)"


TRAIN = [sys.executable, "-m", "ostinato", "train", "--json", "--units", "16", "--length", "20"]


@pytest.mark.slow
def test_a_run_that_trains_in_another_process_is_stopped_resumed_and_looked_into(tmp_path):
    run = tmp_path / "runs" / "mine"
    run.parent.mkdir()
    options = ["--steps", "20000", "--lens", "50", "--validate-every", "200", "--run", str(run)]
    training = subprocess.Popen([*TRAIN, *options], stdout=subprocess.DEVNULL)
    try:
        while not (run / "events.jsonl").exists():
            time.sleep(0.2)
        with served(run.parent) as studio:
            with browsing(studio) as page:
                page.open(studio.page("run?name=mine"))
                page.wait("document.querySelector('.main-svg')")
                first = page.run("document.getElementById('n-step').innerText")
                page.wait(f"document.getElementById('n-step').innerText !== '{first}'")
                page.click("#stop")
                page.wait("!document.querySelector('#resume').hidden", 90)
                assert training.wait(60) == 128 + signal.SIGTERM
                page.click("#resume")
                page.wait("!document.querySelector('#stop').hidden", 120)
                page.click("#stop")
                page.wait("!document.querySelector('#resume').hidden", 120)
                page.wait("document.querySelector('#findings .finding, #findings .fine')", 120)
                page.open(studio.page("inside?name=mine"))
                page.wait("document.querySelectorAll('#text span').length > 1000", 120)
                page.click("#find")
                page.wait("document.querySelector('#found table')", 120)
                assert "by chance" in page.text("#found")
                page.wait(
                    "document.querySelector('#found').innerText.includes('Before training')", 60
                )
                page.click("#text span:nth-child(120)")
                page.wait("document.querySelector('#detail .main-svg')", 120)
                assert "Similar states" in page.text("#detail")
                page.type("#own", "def f(x):\n    return (x)")
                page.click("#read")
                page.wait("document.querySelectorAll('#text span').length === 24", 60)
                page.open(studio.page("play?name=mine"))
                page.wait("document.querySelector('#prompt')")
                page.type("#prompt", "def ")
                page.click("#go")
                page.wait("document.querySelectorAll('#text span').length === 400", 120)
                page.wait("document.querySelector('#text').dataset.done")
    finally:
        training.kill()
        training.wait()


SMALL = {"cell": "gru", "units": 6, "steps": 2, "batch": 2}
PLAYED = {
    "series": {"task": "lorenz", "samples": 400, "washout": 10, "length": 20},
    "heads": {"task": "ntm-copy", "turing": "8x4", "max_items": 3},
    "attention": {"task": "addition", "attention": "dot"},
}


@pytest.mark.slow
def test_play_shows_forecasts_heads_and_attention_on_any_screen(tmp_path):
    with jax.enable_x64(False):  # as in the process that answers
        for name, settings in PLAYED.items():
            train(Config(**SMALL, **settings), tmp_path / name)
    maps = "[...document.querySelectorAll('.plot')].filter((x) => x.data?.[0].type === 'heatmap')"
    with served(tmp_path) as studio, browsing(studio, width=1200) as page:
        page.open(studio.page("play?name=series"))
        page.wait("document.querySelectorAll('#ahead .svg-container').length === 3", 120)
        assert "Forecast of column 3 from step 240" in page.text("#ahead")
        page.type("#at-begin", "399")
        page.type("#at-steps", "7")
        page.click("#forecast")
        page.wait("document.querySelector('[data-chart=forecast-1]').data[1].x[0] === 399")
        assert page.run("document.querySelector('[data-chart=forecast-1]').data[1].x.length") == 7
        for name, count in (("heads", 4), ("attention", 1)):
            page.size(1200)
            page.open(studio.page(f"play?name={name}"))
            page.wait(f"{maps}.length >= {count}", 120)
            page.size(400, 9000)
            page.wait(
                f"{maps}.every((x) => x.data[0].colorbar?.orientation !== undefined"
                " || !x.data[0].colorbar)"
            )
            high = "x.querySelector('.heatmaplayer').getBoundingClientRect().height > 100"
            page.wait(f"{maps}.every((x) => {high})")  # no part of the other scale takes its place
            assert page.run("document.documentElement.scrollWidth") <= 400
        assert "Attention" in page.text("#sections")


@pytest.mark.slow
def test_a_run_is_started_from_the_form_and_claims_are_checked(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "tables").mkdir()
    days = "".join(f"2024-01-{day:02},Ulm,{day % 7}\n" for day in range(1, 32))
    (tmp_path / "tables" / "sales.csv").write_text(f"date,<b>store,sales\n{days}")
    given = ("--data", str(tmp_path))
    with served(tmp_path / "runs", *given) as studio, browsing(studio) as page:
        page.open(studio.page("start"))
        page.wait("document.querySelector('#choose')", 120)
        page.click("#choose")
        page.wait("document.querySelector('[data-folder=tables]')")
        page.click("[data-folder=tables]")
        page.wait("document.querySelector('[data-file=\"sales.csv\"]')")
        page.click("[data-file='sales.csv']")
        page.wait("document.querySelectorAll('.column').length === 3", 60)
        assert page.run("task.value") == "series" and "words" in page.text(".column:nth-child(2)")
        page.click("[data-column=sales] [data-role=target]")
        page.click(".column:nth-child(2) [data-role=sequence]")
        file = tmp_path / "tables" / "sales.csv"
        words = f"ostinato train {file} --task series --target sales --sequence '<b>store'"
        assert page.text("#line") == words and page.run(UNLABELLED) == []
        page.size(400)
        assert page.run("document.documentElement.scrollWidth") <= 400
        page.open(studio.page("start"))
        page.wait("document.querySelector('#choose')", 120)
        page.run("task.value = 'adding'; task.dispatchEvent(new Event('change'))")
        page.type("[name=units]", "8")
        page.type("[name=steps]", "30")
        assert page.text("#line") == "ostinato train --task adding --units 8 --steps 30"
        page.click("#go")
        page.wait("location.pathname === '/run'", 120)
        page.wait("document.querySelector('.state.done')", 120)
        page.wait("document.querySelector('#findings .finding, #findings .fine')", 120)
        page.open(studio.page("play?name=adding-mlstm-1"))
        page.wait("document.querySelector('#sections .main-svg')", 120)
        page.open(studio.page("claims"))
        page.wait("document.querySelector('[data-claim=toy-net]')", 120)
        page.click("[data-claim=toy-net]")
        page.wait("document.querySelector('.answer .fine')", 120)


@pytest.mark.slow
def test_a_page_goes_on_after_the_server_was_killed(tmp_path):
    run = write_run(tmp_path / "run", [START, train_event(1)])
    with locked(run):
        with served(tmp_path) as studio:
            port = studio.port
            page = Browser()
            page.open(studio.page("run?name=run"))
            page.wait("document.querySelector('.main-svg')")
            os.kill(studio.process.pid, signal.SIGKILL)
        with open(run / "events.jsonl", "a") as log:
            log.write(json.dumps(train_event(2)) + "\n")
        with served(tmp_path, port=port) as studio:
            page.run(f"fetch('{studio.page()}').then(() => 1)")  # as in another tab
            page.wait("document.getElementById('n-step').innerText.startsWith('2 ')", 30)
        page.close()
    shutil.rmtree(run)
