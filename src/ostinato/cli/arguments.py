"""Arguments that several verbs take, checked before any work is done."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import BadInput
from .help import TOGETHER

if TYPE_CHECKING:
    from ..runs.loop.devices import Devices

MAX_SEED = 2**32 - 1


def path(given: str | Path) -> Path:
    """Parse an option that is a path, and refuse what cannot be one."""
    words = str(given) if isinstance(given, Path) else given
    if not words:
        raise typer.BadParameter("a path cannot be empty")
    try:
        os.fsencode(words)
    except UnicodeEncodeError:
        raise typer.BadParameter("a path cannot contain half of a surrogate pair") from None
    if "\0" in words:
        raise typer.BadParameter("a path cannot contain a null character")
    return Path(words)


def check_new_folder(folder: Path, option: str) -> None:
    """Refuse a folder that cannot be created or written to.

    Example:
        >>> check_new_folder(Path("book.txt/run"), "--run")
        Traceback (most recent call last):
        ostinato.errors.BadInput: --run book.txt/run cannot be created: book.txt is a file
    """
    above = folder
    while not os.path.lexists(above) and above != above.parent:
        above = above.parent
    try:
        if not above.exists():
            os.stat(above)  # a broken link, or a cycle of links
        os.stat(folder)  # fails if a name is too long
    except FileNotFoundError:
        if above.is_symlink():
            raise BadInput(
                f"{option} {folder} cannot be created: {above} is a broken link"
            ) from None
    except OSError as error:
        if not isinstance(error, NotADirectoryError):
            raise BadInput(f"{option} {folder} cannot be created: {error.strerror}") from None
    if not above.is_dir():
        if above == folder:
            raise BadInput(f"{option} must be a folder; {folder} is a file")
        raise BadInput(f"{option} {folder} cannot be created: {above} is a file")
    if not os.access(above, os.W_OK | os.X_OK):
        raise BadInput(f"{option} {folder} cannot be written to: no permission in {above}")


def check_new_file(target: Path, option: str, read: Path | None = None) -> None:
    """Refuse a file that cannot be written because of where it is, or that is `read`, the input.

    Example:
        >>> check_new_file(Path("nowhere/page.html"), "--html")
        Traceback (most recent call last):
        ostinato.errors.BadInput: --html must be a file in an existing folder, got nowhere/page.html
    """
    if target.is_dir() or not target.parent.is_dir():
        raise BadInput(f"{option} must be a file in an existing folder, got {target}")
    if read is not None and target.exists() and read.exists() and target.samefile(read):
        raise BadInput(f"{option} would replace what is read, {read}; give another file")


def check_page(target: Path, option: str) -> None:
    """Refuse a file for a page that cannot be written, or that would replace anything but a page.

    Example:
        >>> Path("sales.csv").touch()
        >>> check_page(Path("sales.csv"), "--html")
        Traceback (most recent call last):
        ostinato.errors.BadInput: --html would replace sales.csv, which is not a page...
    """
    check_replaced(target, option, OURS, "a page of Ostinato")


def check_replaced(target: Path, option: str, mark: bytes, what: str) -> None:
    """Refuse a file that cannot be written, or that would replace one that lacks a mark.

    Args:
        target: the file to write.
        option: the option that names it.
        mark: stands near the beginning of every file that may be replaced.
        what: the file that has the mark, in words.
    """
    check_new_file(target, option)
    if not target.exists():
        return
    head = b""
    try:
        if target.is_file():  # a pipe would block
            with target.open("rb") as file:
                head = file.read(1 << 16)
    except OSError as error:
        raise BadInput(f"{option} {target} cannot be read: {error.strerror}") from None
    if mark not in head:
        raise BadInput(f"{option} would replace {target}, which is not {what}; give another file")


OURS = " – Ostinato</title>".encode()


def check_seed(seed: int | None) -> None:
    """Refuse a seed of more than 32 bits, which JAX would truncate."""
    if not 0 <= (seed or 0) <= MAX_SEED:
        raise BadInput(f"--seed must be from 0 to {MAX_SEED}, got {seed}")


def names_of(words: str | None, option: str, example: str = "") -> list[str] | None:
    """The names of an option that takes several, separated by commas; `None` if it is not given."""
    if words is None:
        return None
    names = [part.strip() for part in words.split(",") if part.strip()]
    if not names:
        raise BadInput(f"{option} is names separated by commas{example}; got {words!r:.60}")
    return names


def chosen(**options: Any) -> dict[str, Any]:
    """The options that are given, by name; `None` stands for one that is not."""
    return {name: value for name, value in options.items() if value is not None}


def changes(given: list[str]) -> dict[str, Any]:
    """The settings of --set by name; `from_text` says how values are written.

    Example:
        >>> changes(["units=20,10", "cell=gru", "validate-every=5"])
        {'units': (20, 10), 'cell': 'gru', 'validate_every': 5}
    """
    from ..runs.config.sections import from_text  # late, because it imports JAX

    settings: dict[str, Any] = {}
    for words in given:
        name, equals, value = words.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise BadInput(f"--set is name=value, such as units=20; got {words!r:.60}")
        if name in settings:
            raise BadInput(f"--set {name} is given twice")
        settings[name] = from_text(name, value)
    return settings


def shared(
    devices: int | None,
    distributed: bool,
    coordinator: str | None,
    processes: int | None,
    process: int | None,
) -> "Devices":
    """The devices that share the work of a verb, after the processes have been joined."""
    from ..runs.loop.joining_processes import join_processes  # late, because they import JAX
    from ..runs.loop.processes import shared_devices

    check_together(distributed, coordinator, processes, process)
    if distributed:
        if devices is not None:
            raise BadInput("all devices of all processes share the work; leave out --devices")
        join_processes(coordinator, processes, process)
    return shared_devices(1 if devices is None else devices)


def check_together(distributed: bool, *place: Any) -> None:
    """Refuse to say where processes are if they are not to work together."""
    if not distributed and any(x is not None for x in place):
        raise BadInput("--coordinator, --processes and --process need --distributed")


Json = Annotated[bool, typer.Option("--json", help="print one JSON document")]
Ray = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="train on a Ray cluster: HOST:PORT, auto for that of this machine, local to start one",
        show_default=False,
    ),
]
RunFolder = Annotated[Path, typer.Argument(help="the run folder", parser=path)]

# Of verbs that are a server.
Port = Annotated[
    int, typer.Option("--port", help="the port; 0 for any that is free", min=0, max=65535)
]
Host = Annotated[
    str,
    typer.Option(
        "--host", help="the address to listen on; by default only this machine can reach it"
    ),
]

# Of verbs whose work several devices or processes share; see `shared`.
DeviceCount = Annotated[
    int | None, typer.Option("--devices", help="devices that share each batch", show_default="1")
]
Distributed = Annotated[bool, typer.Option("--distributed", help=TOGETHER["distributed"])]
Coordinator = Annotated[str | None, typer.Option(help=TOGETHER["coordinator"])]
Processes = Annotated[int | None, typer.Option(help=TOGETHER["processes"])]
Process = Annotated[int | None, typer.Option(help=TOGETHER["process"])]
