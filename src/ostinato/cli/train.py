"""`ostinato train`: train a network on a text or another task."""

import inspect
import signal
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import BadInput, needing
from ..files import next_folder, unlinked
from ..runs import Config, join_processes, open_run
from ..runs import train as run_training
from ..runs.build import recipe_is_open
from ..runs.config.config import read_toml
from ..runs.loop.processes import index as process_index
from .arguments import check_new_folder, check_together, chosen, path
from .display import display
from .help import OWN, TOGETHER
from .options import keyword, parameters
from .output import print_json

RUNS = "runs"
KINDS = {  # of the options of the command itself that take a value
    "run": Path | None,
    "config": Path | None,
    "coordinator": str | None,
    "processes": int | None,
    "process": int | None,
}


def command(arguments: Iterable[str] = ()) -> Callable:
    """The command, with the options for these arguments."""

    def train(
        run: Path | None,
        config: Path | None,
        resume: bool,
        tensorboard: bool,
        as_json: bool,
        distributed: bool,
        coordinator: str | None,
        processes: int | None,
        process: int | None,
        **given: Any,
    ) -> None:
        """Train a network on a text, a table, labelled sequences, or a built-in task.

        Without a file it learns the documentation topics that come with Python. Everything is kept
        in the run folder; a run that was stopped continues with --resume. Settings can also come
        from a TOML file (--config) with the sections task, network, cell, learner and training;
        options win over the file.

        Examples:
            ostinato train
            ostinato train book.txt --budget 220000 --steps 5000
            ostinato train data.csv --target y --horizon 10
            ostinato train reviews.csv --text review --label sentiment
            ostinato train walks.npz --cell gru --bidirectional
            ostinato train --task adding --length 200 --units 128
            ostinato train --cell mine.py:MyCell --config settings.toml
            ostinato train --resume --run runs/text-mlstm-1
            srun ostinato train book.txt --run runs/big --distributed
        """
        place = coordinator, processes, process
        check_together(distributed, *place)
        asked = chosen(**given)
        if "steps" in asked and "epochs" in asked:
            raise BadInput("give either --steps or --epochs, not both")
        if config is not None:
            asked = {**read_toml(config), **asked}
        _train(asked, run, resume, tensorboard, as_json, place if distributed else None)

    options = parameters(arguments)
    names = {parameter.name for parameter in options}
    options += [parameter for parameter in _own_parameters() if parameter.name not in names]
    train.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    train.__annotations__ = {parameter.name: parameter.annotation for parameter in options}
    return train


def _train(
    asked: dict[str, Any],
    run: Path | None,
    resume: bool,
    tensorboard: bool,
    as_json: bool,
    place: tuple[str | None, int | None, int | None] | None,
) -> None:
    if place is not None:
        join_processes(*place)
    if resume:
        if run is None:
            raise BadInput("--resume needs --run, the folder of the run to continue")
        config = open_run(run).config.replace(**asked)
    else:
        config = Config(**asked)
        check_new_folder(run or Path(RUNS), "--run")
        run = run or next_folder(f"{RUNS}/{_name(config)}-")
    first, events = process_index() == 0, deque[dict](maxlen=1)
    with display(run, quiet=as_json or not first) as show:
        listeners = [show, events.append]
        if tensorboard and first:
            listeners.append(tensorboard_writer(unlinked(run, run / "tensorboard")))

        def hear(event: dict) -> None:
            for listener in listeners:
                listener(event)

        done = run_training(config, run, resume=resume, listener=hear)
    end = events[-1]
    if as_json and first:
        print_json({"run": str(done.path), **end})
    if end["reason"] == "interrupted":
        raise typer.Exit(128 + end.get("signal", signal.SIGINT))


def _name(config: Config) -> str:
    """What a run is called: by its task and its cell, if that does not depend on the data."""
    return str(config.task) if recipe_is_open(config) else f"{config.task}-{config.cell}"


def _own_parameters() -> list[inspect.Parameter]:
    """The options of the command itself."""
    options = []
    for name, words in (OWN | TOGETHER).items():
        kind: Any = KINDS.get(name, bool)
        parser = path if kind == Path | None else None
        option = typer.Option(f"--{name}", help=words, parser=parser)
        default = False if kind is bool else None
        options.append(
            keyword("as_json" if name == "json" else name, Annotated[kind, option], default)
        )
    return options


def tensorboard_writer(folder: str | Path) -> Callable[[dict], None]:
    """A listener that writes the metrics and previews of a training run for TensorBoard.

    Example:
        >>> write = tensorboard_writer("tensorboard")
        >>> for event in open_run("runs/text-mlstm-1").events():
        ...     write(event)
        >>> [path.name.split(".")[0] for path in Path("tensorboard").iterdir()]
        ['events']
    """
    with needing("--tensorboard", "tensorboardX", "tensorboard"):
        from tensorboardX import SummaryWriter
    writer = None  # created at the first event, when the run folder exists

    def hear(event: dict) -> None:
        nonlocal writer
        writer = writer or SummaryWriter(str(folder))
        kind, step = event["kind"], event["step"]
        if kind == "train":
            for name, value in event.items():
                if isinstance(value, int | float) and name != "step":
                    writer.add_scalar(f"train/{name}", value, step)
        elif kind == "valid":
            writer.add_scalar("valid/value", event["value"], step)
            for name, value in event["metrics"].items():
                if value is not None:
                    writer.add_scalar(f"valid/{name}", value, step)
            if "preview" in event:
                writer.add_text("preview", event["preview"], step)
        writer.flush()

    return hear
