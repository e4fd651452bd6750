"""The pictures of the guides: `python scripts/guide_pictures.py [streaming lens ...]`.

Each is computed anew, and drawn on white, so that it can be read on a dark page too. Those of pages
are taken by chromium. All of them take about ten minutes.
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from environment import ROOT, ostinato

sys.path.insert(0, str(ROOT / "tests"))
BLUE, RED, GREY, BLACK = "#1f6fae", "#b4530f", "#8a949e", "#1c2126"


def panels(count: int = 1, size: tuple[float, float] = (8.4, 3.4)) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=110, layout="constrained", facecolor="white")
    axes = [*np.atleast_1d(figure.subplots(1, count))]
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes


def streaming(out: Path) -> None:
    """A stream of a noisy tide: the forecast of each next row, and those from now on."""
    from ostinato import Config, train
    from ostinato.tasks import Series

    random, steps = np.random.default_rng(0), np.arange(1200)
    tide = np.sin(steps / 5) + 0.6 * np.sin(steps / 9) + 0.15 * random.normal(size=1200)
    words = {"horizon": 20, "quantiles": "0.1,0.5,0.9", "split": "80/10/10", "length": 40}
    task = Series(tide, names=["tide"], **words)
    with tempfile.TemporaryDirectory() as folder:
        run = train(Config(cell="gru", units=24, steps=600), f"{folder}/tides", task=task)
        stream, begin, now = run.stream(), 1080, 1150
        made = np.stack([stream.step(tide[n]).values[0, :, 0] for n in range(now)])
    figure, (axes,) = panels()
    shown, ahead = steps[begin:now], steps[now : now + 20]
    past = made[begin - 1 : now - 1, 0]
    axes.fill_between(shown, past[:, 0], past[:, 2], color=BLUE, alpha=0.2, lw=0)
    axes.plot(shown, past[:, 1], color=BLUE, lw=1, label="forecast one row before")
    axes.plot(shown, tide[begin:now], ".", color=BLACK, ms=4, label="rows, as they came")
    axes.fill_between(ahead, made[-1, :, 0], made[-1, :, 2], color=RED, alpha=0.2, lw=0)
    axes.plot(ahead, made[-1, :, 1], color=RED, label="forecast now, with its 80 % interval")
    axes.plot(ahead, tide[now : now + 20], ".", color=GREY, ms=4, label="what came later")
    axes.axvline(now - 0.5, color=GREY, lw=0.8, ls="--")
    axes.set(xlabel="row", ylabel="tide", ylim=(-2.2, 3.1))
    axes.legend(frameon=False, ncols=2, loc="upper left")
    figure.savefig(out)


def lens(out: Path) -> None:
    """How far back three new cells look: by gradients, and by replaced inputs."""
    from ostinato.cells import GRU, LSTM, Simple
    from ostinato.lens import gradient_by_lag, influence_by_lag
    from ostinato.wiring import Network, Readout

    xs = jax.random.normal(jax.random.key(2), (100, 8, 2))
    figure, (left, right) = panels(2)
    for cell, colour in ((Simple, BLACK), (GRU, BLUE), (LSTM, RED)):
        made = cell(2, 32, key=jax.random.key(0))
        network = Network(made, Readout(32, 1, key=jax.random.key(1)))
        errors = next(iter(gradient_by_lag(network, xs, lambda output: output[..., 0]).values()))
        lags, moved = influence_by_lag(network, xs)
        left.semilogy(errors, color=colour, label=cell.__name__)
        right.semilogy(lags, moved, color=colour)
    left.set(title="Gradient of the last output", xlabel="steps back", ylabel="norm")
    right.set(title="Its change when one input is replaced", xlabel="steps back")
    left.legend(frameon=False)
    figure.savefig(out)


def coming_from(out: Path) -> None:
    """An LSTM of PyTorch and the cell made of it, on the same input."""
    import torch

    from ostinato.lens import gradient_by_lag
    from ostinato.through_time import unroll
    from ostinato.wiring import Network, Readout, from_torch

    torch.manual_seed(0)
    module = torch.nn.LSTM(1, 32)
    xs = np.sin(np.arange(120) / 4)[:, None, None].astype(np.float32)
    theirs = module(torch.tensor(xs))[0].detach().numpy()[:, 0]
    cell = from_torch(module)
    ours = np.asarray(unroll(cell, xs)[0])[:, 0]
    figure, (left, right) = panels(2)
    left.plot(theirs[:, :5], color=GREY, lw=4, alpha=0.5)
    left.plot(ours[:, :5], color=BLUE, lw=1)
    apart = np.abs(theirs - ours).max()
    left.set(title=f"Five units: PyTorch (grey), here (blue)\napart at most {apart:.0e}")
    left.set(xlabel="step", ylabel="output")
    network = Network(cell, Readout(32, 1, key=jax.random.key(1)))
    errors = next(iter(gradient_by_lag(network, xs, lambda output: output[..., 0]).values()))
    right.semilogy(errors[:60], color=RED)
    right.set(title="What the lens then shows of it:\nthe gradient by lag", xlabel="steps back")
    figure.savefig(out)


def taken(address: str, out: Path, height: int, before: str = "", width: int = 1000) -> None:
    """A picture of a page, after a script of ours has run in it."""
    from studio.browser import Browser

    browser = Browser(width, height)
    try:
        browser.open(address)
        browser.run(before or "0")
        browser.run("new Promise((done) => setTimeout(done, 1500))")
        browser.picture(out, whole=False)
    finally:
        browser.close()


def getting_started(out: Path) -> None:
    """The report of the text model that the guide trains."""
    with tempfile.TemporaryDirectory() as folder:
        follow("getting_started", folder, "data", "train", "lens")
        (page,) = Path(folder).rglob("report*.html")
        taken(f"file://{page}", out, 1130)


def export(out: Path) -> None:
    """The page made of the guide's forecaster, with its table pasted."""
    with tempfile.TemporaryDirectory() as folder:
        follow("export", folder, "data make sales", "train sales.csv")
        ostinato("export", "runs/sales", "--to", "html", "--out", "sales", folder=folder)
        table = json.dumps(Path(folder, "sales.csv").read_text())
        submit = f"table.value = {table}; form.requestSubmit()"
        taken(f"file://{folder}/sales.html", out, 1000, submit, 1280)


def book_writer(out: Path) -> None:
    """The page at the end of the tutorial on a book."""
    from pydoc_data.topics import topics

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "book.txt").write_text("\n\n".join(topics.values()), encoding="utf-8")
        follow("tutorials/book", folder, "train", "export")
        taken(f"file://{folder}/writer.html", out, 550, "form.requestSubmit()", 840)


def follow(page: str, folder: str, *beginnings: str) -> None:
    """Run the commands of a page that begin so, in their order."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"```bash\n(.+?)```", text, re.DOTALL))
    for line in blocks.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)[1:]
        if " ".join(words).startswith(beginnings):
            ostinato(*words, folder=folder)


def doctor(out: Path) -> None:
    """The findings of a plain network that cannot learn a dependency of a hundred steps."""
    with tempfile.TemporaryDirectory() as folder:
        words = ("--task", "adding", "--length", 100, "--cell", "simple")
        ostinato("train", *words, "--steps", 150, "--run", "sum", folder=folder)
        ostinato("lens", "sum", "--out", "report", folder=folder)
        (page,) = Path(folder).rglob("report*.html")
        taken(f"file://{page}", out, 318, "document.querySelector('.finding').scrollIntoView()")


def serving(out: Path) -> None:
    """The page for people of a served text model."""
    with tempfile.TemporaryDirectory() as folder:
        ostinato("train", "--budget", 60000, "--steps", 400, "--run", "book", folder=folder)
        command = [sys.executable, "-m", "ostinato", "serve", "book", "--port", "0"]
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            line = next(line for line in server.stdout if "http://" in line)
            address = next(word for word in line.split() if word.startswith("http://"))
            taken(address, out, 700)
        finally:
            server.terminate()
            server.wait(20)


MADE = (streaming, lens, coming_from, getting_started, export, doctor, serving)
PICTURES: dict[str, Callable[[Path], None]] = {made.__name__: made for made in MADE}
PICTURES["tutorials/book_writer"] = book_writer


def main() -> None:
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name](ROOT / "docs" / f"{name}.png")
        print(f"docs/{name}.png", flush=True)


if __name__ == "__main__":
    main()
