"""`ostinato studio`: look at runs in a browser, and start them there."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ..errors import BadInput
from ..studio.server import PORT, serve
from .arguments import Host, Port, path


def studio(
    folder: Annotated[
        Path | None,
        Argument(
            help="where the runs are, in all folders below too", parser=path, show_default="runs"
        ),
    ] = None,
    data: Annotated[
        Path | None,
        Option(
            help="where the files are that the page lets you choose from",
            parser=path,
            show_default="FOLDER, or the current folder without one",
        ),
    ] = None,
    port: Port = PORT,
    host: Host = "127.0.0.1",
    browser: Annotated[bool, Option("--open", help="open the page in a browser")] = False,
) -> None:
    """Look at runs in a browser: watch them train, compare them, start and stop them.

    The run folders are the only store: nothing is uploaded, and no page needs the internet. The
    address is printed with a token, without which nothing is answered. Ctrl-C ends the server, and
    runs that were started from it go on.

    Examples:
        ostinato studio
        ostinato studio experiments --data ~/tables --open
    """
    for given in (folder, data):
        if given is not None and not given.is_dir():
            raise BadInput(f"there is no folder {given}")
    runs, files = folder or Path("runs"), data or folder or Path()

    with ExitStack() as until_the_end:

        def opened(address: str) -> None:
            print(f"studio: {address}", flush=True)
            if browser:
                import webbrowser

                webbrowser.open(until_the_end.enter_context(leading_to(address)))

        serve(runs, data=files, host=host, port=port, opened=opened)
    sys.stdout.flush()


@contextmanager
def leading_to(address: str) -> Iterator[str]:
    """The address of a page that leads to another one, which only this user can read.

    Everybody can see the arguments of a process, and so an address that a browser is started with.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".html", prefix="ostinato-studio-") as file:
        file.write(f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={address}">\n')
        file.flush()
        yield Path(file.name).as_uri()
