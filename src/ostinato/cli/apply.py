"""`ostinato apply`: use a trained network on new input.

One verb for all tasks: what goes in and what comes out depends on the task of the run alone, so a
run of translation translates, a run of tagging tags, and a task of one's own does what its `apply`
does. A verb per task would be the same options several times.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from ..errors import BadInput
from ..files import write_whole
from ..runs import open_run
from ..tasks import AnsweringTask
from ..tasks.pictures import Picture
from .arguments import RunFolder, check_new_file, check_new_folder, chosen, path
from .output import print_json, writing
from .progress import progress


def apply(
    run: RunFolder,
    file: Annotated[
        Path | None,
        Argument(help="what to read", show_default="standard input", parser=path),
    ] = None,
    beam: Annotated[
        int | None, Option(help="how many answers a search keeps", show_default="5")
    ] = None,
    n_best: Annotated[
        int | None, Option(help="how many answers to give for each input", show_default="1")
    ] = None,
    penalty: Annotated[
        float | None, Option(help="of short answers; 0 for none", show_default="1")
    ] = None,
    temperature: Annotated[
        float | None,
        Option(help="draw answers at random, sharper below 1", show_default="search"),
    ] = None,
    seed: Annotated[int | None, Option(help="of the drawing", show_default="0")] = None,
    targets: Annotated[
        Path | None,
        Option(help="score these answers, one per line, instead of searching", parser=path),
    ] = None,
    rescore: Annotated[
        Path | None,
        Option(help="rank the n-best lists of another system instead of searching", parser=path),
    ] = None,
    weight: Annotated[
        float | None,
        Option(help="with --rescore: the share of this network", show_default="0.5"),
    ] = None,
    steps: Annotated[
        int | None,
        Option(
            help="forecast so many steps, from forecasts that the network made itself",
            show_default="the run's horizon",
        ),
    ] = None,
    future: Annotated[
        Path | None,
        Option(
            help="forecasts: a table of the rows after the last one, with what is known ahead",
            parser=path,
        ),
    ] = None,
    pictures: Annotated[
        Path | None,
        Option(help="a new folder for pictures of where the network looked", parser=path),
    ] = None,
    save: Annotated[
        Path | None,
        Option(
            help="a new file: .npy for the frames that a run on clips draws, .wav for a sound",
            parser=path,
        ),
    ] = None,
    out: Annotated[Path | None, Option(help="another name of --save", parser=path)] = None,
    as_json: Annotated[
        bool, Option("--json", help="print a JSON document per input, one per line")
    ] = False,
) -> None:
    """Apply a trained network to new input: translate, tag, recognise, caption, forecast.

    The task of the run says what is read and what is printed: a translation run reads sentences,
    one per line, and prints their translations; a run that executes programs reads a program per
    line, with `;` in place of its newlines, and prints their outputs; a tagging run reads and
    prints CoNLL-U; a run on a series reads a table and prints what comes after its last row; a run
    on pictures or clips reads an .npz or .npy file and prints a caption for each, or the frames
    that come next; a run on an audio effect reads a WAV file and saves another.

    Examples:
        ostinato apply runs/translate-gru-1 sentences.en
        echo "forty-two" | ostinato apply runs/translate-gru-1 --n-best 3
        ostinato apply runs/translate-gru-1 sentences.en --targets candidates.de --json
        ostinato apply runs/translate-gru-1 sentences.en --rescore moses.nbest --weight 0.3
        ostinato apply runs/series-gru-1 sunspots.csv --steps 11
        ostinato apply runs/series-gru-1 sales.csv --future prices.csv
        ostinato apply runs/caption-gru-1 pictures.npz
        ostinato apply runs/video-lstm-1 clips.npy --steps 20 --save next.npy
        ostinato apply runs/audio-lstm-1 dry.wav --out wet.wav
    """
    if save is not None and out is not None:
        raise BadInput("--save and --out are two names of one option; leave out one")
    save, option = (save, "--save") if out is None else (out, "--out")
    asked = chosen(
        beam=beam,
        n_best=n_best,
        penalty=penalty,
        temperature=temperature,
        seed=seed,
        targets=targets,
        rescore=rescore,
        weight=weight,
        steps=steps,
        future=future,
    )
    if pictures is not None:
        check_new_folder(pictures, "--pictures")
        asked["pictures"] = True
    if save is not None:
        check_new_file(save, option, file)
        asked["save"] = True
    trained = open_run(run)
    kind = trained.config.task.kind
    able = kind.able(AnsweringTask)
    able.check_options(asked, {"save": option})
    if save is not None and save.suffix != able.save_as and able.save_as:
        raise BadInput(f"{option} must be an {able.save_as} file, got {save}")
    typed = (file is None or str(file) == "-") and sys.stdin is not None and sys.stdin.isatty()
    with trained.precision(), progress(quiet=as_json or typed) as report:
        report(0, None, "reading the network and the input")
        answers = _noted(trained.answers(file, asked, report), pictures, quiet=as_json)
        if save is not None:
            content, words = kind.saved(answers)
            write_whole(save, content)
        for answer in answers:
            if as_json:
                print_json(answer)
                continue
            with writing():
                if (n_best or 1) == 1 or "answers" not in answer:
                    print(answer["text"], flush=True)
                    continue
                for one in answer["answers"]:
                    print(f"{one['score']:.4f}\t{one['text']}", flush=True)
                print(flush=True)
    if save is not None:
        print(f"saved in {save}: {words}")


def _noted(
    answers: Iterable[dict[str, Any]], pictures: Path | None, quiet: bool
) -> Iterator[dict[str, Any]]:
    """The answers, whose pictures are drawn and whose notes are said."""
    for number, answer in enumerate(answers, 1):
        if pictures is not None and "picture" in answer:
            _draw(answer["picture"], pictures, number)
        if not quiet:
            for note in answer.get("notes", ()):
                print(f"data: {note}", file=sys.stderr)
        yield answer


def _draw(picture: dict[str, Any], folder: Path, number: int) -> None:
    """Write a picture into the folder, as `1.png` and so on."""
    from ..report.network_charts import weights  # imported late because it loads the lens
    from ..report.pictures import write_picture

    folder.mkdir(parents=True, exist_ok=True)
    write_picture(weights(Picture(**picture), f"{number}"), folder / f"{number}.png")
