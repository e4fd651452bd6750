"""`ostinato train`: learn a text or a task."""

import dataclasses
import inspect
import os
import signal
from pathlib import Path
from typing import Annotated, Any

import typer

from ..data.datasets import text_path
from ..errors import BadInput
from ..runs import Config, open_run
from ..runs import train as run_training
from ..runs.tensorboard import tensorboard_writer
from .display import display
from .output import print_json
from .paths import check_new_folder, path

RUNS = "runs"


def train(
    context: typer.Context,
    run: Path | None,
    resume: bool,
    tensorboard: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Learn a text, or a task with data of its own.

    Without a file it learns the documentation topics that come with Python. Everything is kept in
    the run folder; a run that was stopped goes on with --resume.

    Examples:
        ostinato train
        ostinato train book.txt --budget 220000 --steps 5000
        ostinato train --task adding --length 200 --units 128
        ostinato train --resume --run runs/text-mlstm-1
    """
    if resume:
        if run is None:
            raise BadInput("--resume needs --run, the folder of the run to go on with")
        own = open_run(run).config
        asked = {name: given[name] for name in given if _was_given(context, name)}
        config = dataclasses.replace(own, **_with_file(asked, own.task))
    else:
        config = Config(**_with_file(given, given["task"]))
        check_new_folder(run or Path(RUNS), "--run")
        run = run or _next_folder(config)
    with display(run, quiet=as_json) as show:
        listeners = [show]
        if tensorboard:
            listeners.append(tensorboard_writer(run / "tensorboard"))

        def hear(event: dict) -> None:
            for listener in listeners:
                listener(event)

        done = run_training(config, run, resume=resume, listener=hear)
    end = next(e for e in reversed(done.events()) if e["kind"] == "end")
    if as_json:
        print_json({"run": str(done.path), **end})
    if end["reason"] == "interrupted":
        raise typer.Exit(128 + end.get("signal", signal.SIGINT))


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _with_file(given: dict[str, Any], task: str) -> dict[str, Any]:
    """The settings with a file in place of the name of a data set."""
    file = given.get("file")
    if file is None or task != "text" or os.path.lexists(file) or len(Path(file).parts) != 1:
        return given
    return {**given, "file": str(text_path(file) or file)}


def _next_folder(config: Config) -> Path:
    """The first of `runs/text-lstm-1`, `-2`, … that is not there yet."""
    number = 1
    while os.path.lexists(folder := Path(RUNS) / f"{config.task}-{config.cell}-{number}"):
        number += 1
    return folder


def _parameters() -> list[inspect.Parameter]:
    """The command line of the configuration: every setting is an option, the file an argument."""

    def parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
        keyword = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(name, keyword, annotation=annotation, default=default)

    found = [parameter("context", typer.Context, inspect.Parameter.empty)]
    for setting in dataclasses.fields(Config):
        words = setting.metadata["help"]
        if setting.name == "file":
            option: Any = typer.Argument(help=words, show_default=False)
        else:
            option = typer.Option(help=words)
        annotation = Annotated[setting.type, option]  # type: ignore[name-defined]
        found.append(parameter(setting.name, annotation, setting.default))
    words = "the run folder (by default the next free one in runs/)"
    run = typer.Option("--run", help=words, parser=path)
    resume = typer.Option("--resume", help="go on with the run of --run")
    board = typer.Option("--tensorboard", help="also write the numbers for TensorBoard")
    as_json = typer.Option("--json", help="print one JSON document at the end and nothing else")
    found.append(parameter("run", Annotated[Path | None, run], None))
    found.append(parameter("resume", Annotated[bool, resume], False))
    found.append(parameter("tensorboard", Annotated[bool, board], False))
    found.append(parameter("as_json", Annotated[bool, as_json], False))
    return found


train.__signature__ = inspect.Signature(_parameters())  # type: ignore[attr-defined]
train.__annotations__ = {p.name: p.annotation for p in _parameters()}
