"""Run the server: `ostinato studio`."""

from collections.abc import Callable
from pathlib import Path

from ..errors import needing
from ..web import listening, name_in_address, uvicorn_options

PORT = 6680


def serve(
    folder: str | Path,
    *,
    data: str | Path | None = None,
    host: str = "127.0.0.1",
    port: int = PORT,
    opened: Callable[[str], None] | None = None,
) -> None:
    """Serve the pages over the runs of a folder, until interrupted.

    Args:
        folder: where the runs are, in all folders below too.
        data: where the files are that a page may choose from; by default where the runs are.
        host: the address to listen on.
        port: 0 for any that is free.
        opened: called with the address as soon as it answers. The address has the token, without
            which nothing is answered.
    """
    with needing("the studio", "uvicorn and others", "studio"):
        import uvicorn
    from .app import Studio
    from .guard import Guard

    danger = (
        ": the token in the address is all that keeps them from your files, and the connection is "
        "not encrypted"
    )
    taken, port, hosts = listening(host, port, danger)
    studio = Studio(Path(folder), None if data is None else Path(data))
    guard = Guard(studio.app(), hosts, port)
    server = uvicorn.Server(uvicorn.Config(guard, timeout_graceful_shutdown=1, **uvicorn_options()))
    if opened is not None:  # the socket listens: a browser that comes now waits a moment
        opened(f"http://{name_in_address(host)}:{port}/?token={guard.token}")
    server.run(sockets=[taken])
