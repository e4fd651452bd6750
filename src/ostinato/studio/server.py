"""Run the server: `ostinato studio`."""

import ipaddress
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import BadInput, NeedsExtra

PORT = 6680
HEADERS_WITHIN = 10.0  # seconds for a request to arrive
CONNECTIONS = 1000


def is_local(host: str) -> bool:
    """Whether only this machine can reach an address.

    Example:
        >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0")
        (True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def serve(
    folder: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    opened: Callable[[str], None] | None = None,
) -> None:
    """Serve the pages over the runs of a folder, until interrupted.

    Args:
        folder: where the runs are, in all folders below too.
        host: the address to listen on. Any but the loopback address needs a token, which is part of
            the address that is printed.
        port: 0 for any that is free.
        opened: called with the address as soon as it answers.
    """
    try:
        import uvicorn
    except ImportError:
        raise NeedsExtra("the studio", "uvicorn and others", "studio") from None
    from .app import Studio
    from .guard import LOOPBACK, Guard

    taken = _listening(host, port)
    port = taken.getsockname()[1]
    local = is_local(host)
    token = secrets.token_urlsafe(24)
    name = f"[{host}]" if ":" in host else host
    hosts = {f"{one}:{port}" for one in (*LOOPBACK, name)} if local else None
    guard = Guard(Studio(Path(folder), token).app(), hosts, token, closed=not local)
    config = uvicorn.Config(
        guard,
        http=_impatient(),
        ws="none",
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_keep_alive=20,
        timeout_graceful_shutdown=1,
        limit_concurrency=CONNECTIONS,
    )
    server = uvicorn.Server(config)
    address = f"http://{name}:{port}/" + ("" if local else f"?token={token}")
    if opened is not None:
        opened(address)  # the socket listens: a browser that comes now waits a moment
    server.run(sockets=[taken])


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except (OSError, OverflowError) as error:
        found.close()
        words = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"cannot listen on {host}:{port}: {words}; choose another --port") from None
    found.listen(256)
    return found


def _impatient() -> Any:
    """uvicorn's protocol, except that a connection without a whole request is soon closed."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(HEADERS_WITHIN, self._give_up)

        def _give_up(self) -> None:
            if self.cycle is None and not self.transport.is_closing():
                self.transport.close()

    return Impatient
