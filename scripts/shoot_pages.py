"""Pictures of every kind of page, at 1,280 and 400 px, light and dark, for people to look at.

    python scripts/shoot_pages.py FOLDER [--only studio,report,contrast,export,site]

Trains what the pages show, which takes a few minutes, and keeps it in `FOLDER/made` for the next
time. Needs chromium, and for the site what `pip install '.[docs]'` in the source folder brings.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from environment import ROOT, ostinato

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from studio.browser import Browser  # noqa: E402
from studio.pages import served  # noqa: E402

SIZES, HIGHEST = (1280, 400), 3000
DRAWN = "document.querySelector('.main-svg')"
WRITTEN = "document.querySelector('#text').dataset.done"
# A chart is drawn when it is in sight, and on a narrow screen it is below the text.
LOOKED = (
    "document.querySelector('#found table') && "
    "(document.querySelector('#detail figure')?.scrollIntoView(), "
    "document.querySelector('#detail .main-svg'))"
)
# Address, what is waited for, and what is done then; and what that leads to.
PAGES = {
    "runs": ("", "document.querySelectorAll('tbody tr').length > 4"),
    "run": ("run?name=book-1", DRAWN),
    "run-series": ("run?name=sales", DRAWN),
    "inside": ("inside?name=book-1", "document.querySelectorAll('#text span').length > 99"),
    "inside-piece": (
        "inside?name=book-1",
        "document.querySelectorAll('#text span').length > 99",
        "document.querySelector('#text span:nth-child(90)').click();"
        "document.querySelector('#find').click()",
        LOOKED,
    ),
    "play": ("play?name=book-1", "document.querySelector('#go')", "go.click()", WRITTEN),
    "play-series": ("play?name=sales", "document.querySelectorAll('.main-svg').length > 2"),
    "play-heads": ("play?name=heads", DRAWN),
    "compare": ("compare?run=book-1&run=book-2&run=gru&run=sales", DRAWN),
    "compare-none": ("compare", "document.querySelector('#nothing')"),
    "start": ("start", "document.querySelector('#choose')"),
    "claims": ("claims", "document.querySelector('[data-claim]')"),
    "lost": ("nothing/here", "document.querySelector('h1')"),
    "no-run": ("run?name=nobody", "document.querySelector('#nothing')"),
}
SITE = (
    "index.html",
    "streaming.html",
    "serving.html",
    "getting_started.html",
    "lens.html",
    "hessian_free.html",
    "doctor.html",
    "coming_from.html",
    "studio.html",
    "tutorials/sales.html",
    "reference/cells.html",
    "reference/tasks_series.html",
)


def make(made: Path) -> None:
    """Runs, a report, a contrast and exported pages, each made once."""

    runs = made / "runs"
    made.mkdir(parents=True, exist_ok=True)
    table = made / "sales.csv"
    if not table.exists():
        table.write_text(sales())

    def once(place: Path, *words: object) -> None:
        if not place.exists():
            ostinato(*words)

    short = ("--steps", 200, "--units", 24, "--length", 32, "--batch", 8, "--validate-every", 40)
    text = ("train", "--lens", 100, *short)
    series = ("train", table, "--target", "sales", "--horizon", 7, "--quantiles", "0.1,0.5,0.9")
    for name, words in {
        "book-1": (*text, "--seed", 1),
        "book-2": (*text, "--seed", 2),
        "gru": (*text, "--cell", "gru", "--rate", 0.002),
        "sales": (*series, "--season", 7, *short),
        "heads": ("train", "--task", "ntm-copy", "--turing", "8x4", "--max-items", 3, *short[:4]),
    }.items():
        once(runs / name, *words, "--run", runs / name)
    once(made / "report", "lens", runs / "book-1", "--out", made / "report")
    once(made / "series", "lens", runs / "sales", "--out", made / "series")
    for name in ("book-1", "sales"):
        page = made / "exported" / name
        page.parent.mkdir(exist_ok=True)
        once(page.with_suffix(".html"), "export", runs / name, "--to", "html", "--out", page)
    contrast = ("contrast", "--tasks", "adding", "--set", "length=20", "--cells", "gru,simple")
    once(made / "contrast", *contrast, "--steps", 60, "--seeds", 3, "--out", made / "contrast")


def sales() -> str:
    """Two years of daily sales with a weekly course."""
    import datetime

    import numpy as np

    random, day = np.random.default_rng(0), datetime.date(2024, 1, 1)
    lines = ["date,price,sales"]
    for n in range(730):
        price = 3 + (n // 30) % 3
        value = 60 + 20 * np.sin(2 * np.pi * n / 7) - 5 * price + 4 * random.normal()
        lines.append(f"{day + datetime.timedelta(n)},{price},{value:.1f}")
    return "\n".join(lines) + "\n"


def shoot(out: Path, name: str, open_it: Callable[[Browser], None]) -> Iterator[str]:
    """A picture for each width and colour, and what the browser had to complain of."""
    for width in SIZES:
        for dark in (False, True):
            browser = Browser(width, 900, dark)
            try:
                open_it(browser)
                # No animation, no plot that is still being drawn.
                browser.run("new Promise((done) => setTimeout(done, 700))")
                high = browser.run("document.documentElement.scrollHeight")
                browser.size(width, min(max(high, 900), HIGHEST))
                browser.run("new Promise((done) => setTimeout(done, 300))")
                wide = browser.run("document.documentElement.scrollWidth")
                browser.picture(
                    out / f"{name}-{width}-{'dark' if dark else 'light'}.png", whole=False
                )
                if wide > width:
                    yield f"{name} is {wide} px wide at {width} px"
                yield from (f"{name}: {words}" for words in browser.console)
            finally:
                browser.close()


def files(folder: Path, *names: str) -> dict[str, Path]:
    return {name.replace("/", "-").removesuffix(".html"): folder / name for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="studio,report,contrast,export,site")
    parser.add_argument("--pages", help="these pictures alone, runs,site-lens")
    given = parser.parse_args()
    out, made = given.folder.resolve(), given.folder.resolve() / "made"
    only = given.only.split(",")
    make(made)
    complaints: list[str] = []

    def take(name: str, open_it: Callable[[Browser], None]) -> None:
        if given.pages is None or name in given.pages.split(","):
            complaints.extend(shoot(out, name, open_it))
            print(name, flush=True)

    if "studio" in only:
        with served(made / "runs", "--data", str(made)) as studio:
            for name, (path, ready, *more) in PAGES.items():

                def page(browser: Browser, at=studio.page(path), ready=ready, more=more) -> None:
                    browser.open(at)
                    browser.wait(ready, 180)
                    if more:
                        browser.run(more[0])
                        browser.wait(more[1], 180)
                    browser.wait("!document.querySelector('.wait:not([hidden])')", 180)

                take(f"studio-{name}", page)
    plain: dict[str, Path] = {}
    if "report" in only:
        for name in ("report", "series"):
            plain |= {name: next((made / name).glob("*.html"))}
    if "contrast" in only:
        plain |= {"contrast": next((made / "contrast").rglob("*.html"))}
    if "export" in only:
        plain |= {f"export-{page.stem}": page for page in (made / "exported").glob("*.html")}
    if "site" in only:
        site = made / "site"
        command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(site)]
        subprocess.run(command, cwd=ROOT, check=True)
        plain |= {f"site-{name}": path for name, path in files(site, *SITE).items()}
    for name, path in plain.items():
        take(name, lambda browser, at=path: browser.open(f"file://{at}"))
    print("\n".join(complaints) or "no page is too wide, and none complains")


if __name__ == "__main__":
    main()
