"""`ostinato sample`: generate text from a trained network."""

import math
import sys
from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any

import jax
import numpy as np
from typer import Option

from .. import decoding
from ..decoding.text import as_text, until
from ..errors import BadInput
from ..runs import open_run, play_run
from ..runs.analysis.playing import beginning
from .arguments import Json, RunFolder, check_seed
from .output import print_json, writing
from .progress import progress


def sample(
    run: RunFolder,
    prompt: Annotated[str, Option(help="text to continue", show_default="a newline")] = "",
    length: Annotated[int, Option(help="how many characters (or bytes) to generate")] = 1000,
    temperature: Annotated[
        float | None,
        Option(
            help="lower is more conservative; 0 takes the most probable symbol", show_default="1"
        ),
    ] = None,
    top_k: Annotated[int | None, Option(help="sample from this many most probable symbols")] = None,
    top_p: Annotated[
        float | None, Option(help="sample from the most probable symbols that sum to this")
    ] = None,
    beam: Annotated[
        int | None, Option(help="find the most probable text, with this many beams")
    ] = None,
    seed: Annotated[int | None, Option(help="random seed", show_default="0")] = None,
    stop: Annotated[str | None, Option(help="stop before this text")] = None,
    alternatives: Annotated[
        int | None,
        Option(help="print each symbol on a line, with this many of the most probable"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Generate text from a trained network, and print it as it is generated.

    Examples:
        ostinato sample runs/text-lstm-1 --prompt "To be" --temperature 0.8
        ostinato sample runs/text-lstm-1 --top-p 0.9 --seed 7 --stop "."
        ostinato sample runs/text-lstm-1 --prompt "if (" --length 20 --alternatives 5
    """
    chosen = {"temperature": temperature, "top-k": top_k, "top-p": top_p, "seed": seed}
    given = [name for name, value in chosen.items() if value is not None]
    if beam is not None and given:
        raise BadInput(f"--beam searches for the most probable text and takes no --{given[0]}")
    for name, value in (("beam", beam), ("stop", stop)):
        if alternatives is not None and value is not None:
            raise BadInput(f"--alternatives are those of sampled symbols and take no --{name}")
    if stop == "":
        raise BadInput("--stop needs a text to stop at, got an empty one")
    check_seed(seed or 0)
    trained = open_run(run)
    heat = 1.0 if temperature is None else temperature
    settings: dict[str, Any] = {"temperature": heat, "top_k": top_k, "top_p": top_p}
    how = {**settings, "seed": seed or 0}
    if alternatives is not None:
        step, network = trained.saved()
        drawn = play_run(trained, prompt, length, network=network, alternatives=alternatives, **how)
        _show_steps({"run": str(run), "step": step, "prompt": prompt, **how}, drawn, as_json)
        return
    with trained.precision():
        vocabulary, start = beginning(trained, prompt)
        pieces: Iterator[np.ndarray]
        step, network = trained.saved()
        result: dict = {"run": str(run), "step": step, "prompt": prompt}
        if beam is None:
            key = jax.random.key(seed or 0)
            pieces = decoding.sample(network, start, length, key=key, **settings)
            result |= how
        else:
            with progress(quiet=as_json) as report:
                report(0, None, "searching for the most probable text")
                symbols, log_probability = decoding.beam(network, start, length, beam)
            pieces = iter([symbols])
            result |= {"beam": beam, "bits": -log_probability / math.log(2)}
        texts = until(as_text(pieces, vocabulary), stop)
        if as_json:
            print_json({**result, "text": "".join(texts)})
        else:
            _show(prompt, texts)


def _show(prompt: str, texts: Iterator[str]) -> None:
    """Write the prompt and its continuation, each piece as soon as it is generated."""
    last = ""
    for text in chain([prompt], texts):
        with writing():
            sys.stdout.write(text)
        last = text or last
    if not last.endswith("\n"):
        with writing():
            sys.stdout.write("\n")


def _show_steps(result: dict[str, Any], drawn: Iterator[dict[str, Any]], as_json: bool) -> None:
    """Each symbol with its probability and its alternatives, as soon as it is generated."""
    if as_json:
        steps = list(drawn)
        text = "".join(step["piece"] for step in steps)
        print_json({**result, "text": text, "steps": steps})
        return
    for step in drawn:
        others = "  ".join(f"{name!r} {p:.1%}" for name, p in step["alternatives"])
        with writing():
            print(f"{step['piece']!r:8}{step['probability']:7.1%}   {others}")
