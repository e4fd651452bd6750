"""`ostinato apply`: use a trained network on new input.

One verb for all tasks: what goes in and what comes out depends on the task of the run alone, so a
run of translation translates, a run of tagging tags, and a task of one's own does what its `apply`
does. A verb per task would be the same options several times.
"""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from ..errors import BadInput
from ..runs import open_run
from ..tasks.applying import Applying
from ..tasks.pictures import Picture
from .output import print_json, writing
from .paths import check_new_folder, path


def apply(
    run: Annotated[Path, Argument(help="the run folder", parser=path)],
    file: Annotated[
        Path | None,
        Argument(help="what to read", show_default="standard input", parser=path),
    ] = None,
    beam: Annotated[int, Option(help="how many answers a search keeps")] = 5,
    n_best: Annotated[int, Option(help="how many answers to give for each input")] = 1,
    penalty: Annotated[float, Option(help="of short answers; 0 for none")] = 1.0,
    targets: Annotated[
        Path | None,
        Option(help="score these answers, one per line, instead of searching", parser=path),
    ] = None,
    steps: Annotated[
        int | None,
        Option(
            help="forecast so many steps, from forecasts that the network made itself",
            show_default="the run's horizon",
        ),
    ] = None,
    pictures: Annotated[
        Path | None,
        Option(help="a new folder for pictures of where the network looked", parser=path),
    ] = None,
    as_json: Annotated[
        bool, Option("--json", help="print a JSON document per input, one per line")
    ] = False,
) -> None:
    """Apply a trained network to new input: translate, tag, recognise, caption, forecast.

    The task of the run says what is read and what is printed: a translation run reads sentences,
    one per line, and prints their translations; a run that executes programs reads a program per
    line, with `;` in place of its newlines, and prints their outputs; a tagging run reads and
    prints CoNLL-U; a run on a series reads a table and prints what comes after its last row; a run
    on pictures reads an .npz or .npy file and prints a caption for each.

    Examples:
        ostinato apply runs/translate-gru-1 sentences.en
        echo "forty-two" | ostinato apply runs/translate-gru-1 --n-best 3
        ostinato apply runs/translate-gru-1 sentences.en --targets candidates.de --json
        ostinato apply runs/series-gru-1 sunspots.csv --steps 11
        ostinato apply runs/caption-gru-1 pictures.npz
    """
    how = Applying(beam, n_best, penalty, targets, steps, pictures is not None)
    if pictures is not None:
        check_new_folder(pictures, "--pictures")
    if targets is not None and n_best > 1:
        raise BadInput("--targets are scored as they are; leave out --n-best")
    found = open_run(run)
    with found.precision():
        task = found.config.task
        answers = task.kind.apply(found.network(), file, task.settings, found.artefacts, how)
        for number, answer in enumerate(answers, 1):
            if pictures is not None and "picture" in answer:
                _draw(answer["picture"], pictures, number)
            if as_json:
                print_json(answer)
                continue
            with writing():
                if n_best == 1 or "answers" not in answer:
                    print(answer["text"], flush=True)
                    continue
                for one in answer["answers"]:
                    print(f"{one['score']:.4f}\t{one['text']}", flush=True)
                print(flush=True)


def _draw(picture: dict[str, Any], folder: Path, number: int) -> None:
    """Write a picture into the folder, as `1.png` and so on."""
    from ..report.of_network import weights  # imported late because it loads the lens
    from ..report.pictures import write_picture

    folder.mkdir(parents=True, exist_ok=True)
    write_picture(weights(Picture(**picture), f"{number}"), folder / f"{number}.png")
