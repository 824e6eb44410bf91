"""The few things of ASGI that our servers need: a request read once, and answers of its own.

Source: ASGI specification, HTTP & WebSocket protocol, version 2.3.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import quote

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class ClientGoneError(Exception):
    """The caller closed the connection before its request was read."""


class Incoming:
    """One request of a caller.

    Attributes:
        method: in capitals.
        path: decoded; ``raw_path`` as it came; both below the place where the app is mounted.
        place: where the app is mounted, as it came; empty at the top.
        query: as it came, without the mark.
        headers: names in small letters, in order, doubles included.
    """

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method = str(scope["method"])
        root = str(scope.get("root_path") or "").rstrip("/")
        path = str(scope["path"])
        self.path = path.removeprefix(root)
        raw = bytes(scope.get("raw_path") or quote(path).encode())
        self.place = quote(root).encode()
        self.raw_path = raw.removeprefix(self.place)
        self.query = bytes(scope.get("query_string") or b"")
        self.headers: Headers = [(bytes(k).lower(), bytes(v)) for k, v in scope["headers"]]
        self._receive = receive
        self._read = asyncio.Event()

    def header(self, name: str) -> str:
        """The last value of a header; empty without one."""
        wanted = name.lower().encode()
        found = [value for key, value in self.headers if key == wanted]
        return found[-1].decode("latin-1").strip() if found else ""

    @property
    def has_body(self) -> bool:
        """Whether its headers announce a body."""
        return any(key in (b"content-length", b"transfer-encoding") for key, _ in self.headers)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The rest of the body as it comes.

        Raises:
            ClientGoneError: the caller left.
        """
        while not self._read.is_set():
            event = await self._receive()
            if event["type"] == "http.disconnect":
                raise ClientGoneError
            if not event.get("more_body", False):
                self._read.set()
            yield event.get("body", b"")

    async def read(self, most: int) -> tuple[bytes, bool]:
        """The body, and whether that is all of it, in ``most`` bytes; reading stops behind them."""
        data = bytearray()
        async for chunk in self.chunks():
            data += chunk
            if len(data) > most:
                break
        return bytes(data), self._read.is_set() and len(data) <= most

    async def gone(self) -> None:
        """Wait until the caller leaves; only once its request is read."""
        await self._read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


async def send_whole(
    send: Send, status: int, data: bytes, media: str, extra: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """An answer of our own."""
    headers = [
        (b"content-type", media.encode()),
        (b"content-length", str(len(data)).encode()),
        *extra,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})


async def send_error(
    send: Send,
    status: int,
    message: str,
    code: str,
    kind: str = "api_error",
    extra: Iterable[tuple[bytes, bytes]] = (),
) -> None:
    """An error in the form that OpenAI's clients read."""
    error = {"message": message, "type": kind, "param": None, "code": code}
    data = json.dumps({"error": error}).encode()
    await send_whole(send, status, data, "application/json", extra)


class Mounted:
    """An application with another one below a path of it.

    Args:
        app: gets everything else, the start and the end of the server included.
        path: of the other one, such as ``/observe``.
        below: serves the path and what lies below it; its ``root_path`` says where it is.
    """

    def __init__(self, app: Application, path: str, below: Application) -> None:
        self._app, self._path, self._below = app, path, below

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection, as ASGI calls it."""
        root = str(scope.get("root_path") or "").rstrip("/")
        inside = str(scope.get("path") or "").removeprefix(root)
        if scope["type"] == "http" and (inside + "/").startswith(self._path + "/"):
            await self._below({**scope, "root_path": root + self._path}, receive, send)
        else:
            await self._app(scope, receive, send)
