"""Running an application by uvicorn until it is told to stop."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

from eunoe.domain.errors import BackendError
from eunoe_web.asgi import Application

_BACKLOG = 2048
LAST_PORT = 65_535


def serve(
    app: Application,
    *,
    host: str = "127.0.0.1",
    port: int,
    grace: float = 30.0,
    extra: str,
    ready: Callable[[str], None] | None = None,
    ending: Callable[[], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; then finish what is being answered.

    Args:
        app: to serve.
        host: address to listen at.
        port: 0 takes a free one.
        grace: seconds that running answers get at the end.
        extra: of this package that brings uvicorn, for the error.
        ready: is told the address, once requests are taken in.
        ending: is called in the event loop before running answers are waited for, to end those
            that never end by themselves.

    Raises:
        BackendError: uvicorn is not installed.
        OSError: the address cannot be had.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise BackendError(f"a server needs uvicorn: pip install 'eunoe[{extra}]'") from error
    listening = listening_socket(host, port)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,  # those of the server behind are passed on
        date_header=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=max(1, round(grace)),
    )
    with listening, _ending_well():
        shown = f"[{host}]" if ":" in host else host
        if ready is not None:
            ready(f"http://{shown}:{listening.getsockname()[1]}")
        server = uvicorn.Server(config)
        if ending is not None:
            _call_before(server, ending)
        server.run(sockets=[listening])


def _call_before(server: Any, ending: Callable[[], None]) -> None:
    """Have something called when the server begins to end."""
    shutdown = server.shutdown

    async def first(*given: Any, **named: Any) -> None:
        ending()
        await shutdown(*given, **named)

    server.shutdown = first


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket whose connections send small pieces at once.

    The protocol is named, else asyncio takes the connections for something other than TCP, leaves
    Nagle's algorithm on, and an answer's body waits 40 ms for the caller to acknowledge its head.

    Raises:
        OSError: the address cannot be had.
    """
    if not 0 <= port <= LAST_PORT:
        raise OSError(f"port is {port}; allowed: 0 to {LAST_PORT}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere two could listen at once
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(_BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


@contextlib.contextmanager
def _ending_well() -> Iterator[None]:
    """The server raises SIGTERM once more when it has ended; being asked to stop is no failure."""

    def heard(number: int, frame: Any) -> None:
        return None

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
