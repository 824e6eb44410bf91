"""The page of the observer as an ASGI application: its page, a snapshot, a stream, a letterbox."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection
from typing import Any

from eunoe.domain.log import logger
from eunoe_observer.event_log import EventLog, read_sent_events
from eunoe_observer.page import page_bytes, page_policy
from eunoe_web.asgi import (
    ClientGoneError,
    Incoming,
    Receive,
    Scope,
    Send,
    send_error,
    send_whole,
)
from eunoe_web.pages import is_known_host, is_other_page

LARGEST_POST = 8_000_000
MOST_STREAMS = 64
HEARTBEAT_SECONDS = 15.0
_LEAST_PAUSE = 0.1
"""Seconds between two pieces of a stream: what happens meanwhile comes in one."""
_JSON = "application/json"
_SAFE = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class ObserverApp:
    """Shows a log to people of this machine, and takes in what other processes send.

    ``GET /`` is the page, ``GET /events`` all rows, ``GET /events/7`` all of one request,
    ``GET /stream`` tells of changes as they come, ``POST /events`` takes one record or a list.
    Pages of websites get nothing of it, whatever name they gave this machine.

    Args:
        log: is shown.
        names: of this machine by which it may be called, beside its addresses and ``localhost``.
    """

    def __init__(self, log: EventLog, *, names: Collection[str] = ()) -> None:
        self.log = log
        self._names = tuple(names)
        self._streams: set[asyncio.Event] = set()
        self._ended = False

    def end(self) -> None:
        """End the streams: the server is about to stop. In the event loop of the server."""
        self._ended = True
        for woken in self._streams:
            woken.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection, as ASGI calls it."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            try:
                await self._serve(Incoming(scope, receive), send)
            except ClientGoneError:
                return

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            event = await receive()
            await send({"type": f"{event['type']}.complete"})
            if event["type"] == "lifespan.shutdown":
                return

    async def _serve(self, incoming: Incoming, send: Send) -> None:
        host, path, method = incoming.header("host"), incoming.path, incoming.method
        if not is_known_host(host, self._names):
            message = "eunoe observe: this name is not known here; --allow-host adds one"
            await _refuse(send, 403, message, "unknown_host")
        elif path in ("", "/") and method in ("GET", "HEAD"):
            await _send_page(incoming, send)
        elif is_other_page(host, incoming.header("origin"), incoming.header("sec-fetch-site")):
            message = "eunoe observe: other pages may not read or send here"
            await _refuse(send, 403, message, "foreign_page")
        elif path == "/events" and method == "POST":
            await self._take(incoming, send)
        elif method != "GET":
            await _refuse(send, 405, "eunoe observe: not that method here", "wrong_method")
        elif path == "/events":
            data = json.dumps(self.log.news(), separators=(",", ":")).encode()
            await send_whole(send, 200, data, _JSON, _SAFE)
        elif path == "/stream":
            await self._stream(incoming, send)
        else:
            number = path.removeprefix("/events/")
            sound = number.isascii() and number.isdigit() and len(number) < 16
            found = self.log.details(int(number)) if sound else None
            if found is None:
                await _refuse(send, 404, "eunoe observe: nothing is here", "not_found")
            else:
                await send_whole(send, 200, found, _JSON, _SAFE)

    async def _take(self, incoming: Incoming, send: Send) -> None:
        """Enter what was sent; JSON alone, which other pages may not send without asking."""
        if incoming.header("content-type").split(";")[0].strip().lower() != _JSON:
            await _refuse(send, 415, f"eunoe observe: send {_JSON}", "wrong_media")
            return
        data, whole = await incoming.read(LARGEST_POST)
        if not whole:
            await _refuse(send, 413, f"eunoe observe: over {LARGEST_POST:,} bytes", "too_large")
            return
        records = await asyncio.to_thread(read_sent_events, data)
        if records is None:
            await _refuse(send, 400, "eunoe observe: no event of a request", "no_event")
            return
        for record in records:
            await asyncio.to_thread(self.log.enter, record)
        await send({"type": "http.response.start", "status": 204, "headers": _SAFE})
        await send({"type": "http.response.body", "body": b""})

    async def _stream(self, incoming: Incoming, send: Send) -> None:
        """Server-sent events: the whole list first, then what changes, until somebody leaves.

        Source: HTML standard, 9.2 "Server-sent events".
        """
        if len(self._streams) >= MOST_STREAMS or self._ended:
            await _refuse(send, 503, "eunoe observe: too many watch", "too_many")
            return
        await incoming.read(0)
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            try:
                loop.call_soon_threadsafe(woken.set)
            except RuntimeError:  # the server has ended
                return

        self._streams.add(woken)
        unlisten = self.log.listen(tell)
        gone = asyncio.ensure_future(incoming.gone())
        gone.add_done_callback(lambda _: woken.set())
        try:
            await self._tell_on(incoming, send, woken, gone)
        except OSError:  # a server may refuse to send to who has left
            logger.debug("a watcher of the observer left")
        finally:
            unlisten()
            self._streams.discard(woken)
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)

    async def _tell_on(
        self, incoming: Incoming, send: Send, woken: asyncio.Event, gone: asyncio.Future[None]
    ) -> None:
        version = _known_version(incoming.header("last-event-id"), self.log.name)
        headers = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no"), *_SAFE]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        piece = self._piece(version)
        while True:
            version, data = piece
            await send({"type": "http.response.body", "body": data, "more_body": True})
            await asyncio.sleep(_LEAST_PAUSE)
            try:
                await asyncio.wait_for(woken.wait(), HEARTBEAT_SECONDS)
            except TimeoutError:
                piece = version, b": still here\n\n"
                continue
            woken.clear()
            if gone.done():
                return
            if self._ended:
                await send({"type": "http.response.body", "body": b""})
                return
            piece = self._piece(version)

    def _piece(self, version: int) -> tuple[int, bytes]:
        """The version that a watcher knows then, and what it is told."""
        news: dict[str, Any] = self.log.news(version)
        data = json.dumps(news, separators=(",", ":"))
        return news["version"], f"id: {self.log.name}-{news['version']}\ndata: {data}\n\n".encode()


def _known_version(last: str, name: str) -> int:
    """The version of this log that a watcher has seen; 0 for none."""
    log, _, number = last.partition("-")
    sound = log == name and number.isascii() and number.isdigit() and len(number) < 16
    return int(number) if sound else 0


async def _send_page(incoming: Incoming, send: Send) -> None:
    if incoming.path == "":  # the page's links begin where it lies
        place = incoming.place.rsplit(b"/", 1)[-1] + b"/"
        await send_whole(send, 308, b"", "text/plain", [(b"location", place), *_SAFE])
        return
    extra = [(b"content-security-policy", page_policy().encode()), *_SAFE]
    await send_whole(send, 200, page_bytes(), "text/html; charset=utf-8", extra)


async def _refuse(send: Send, status: int, message: str, code: str) -> None:
    await send_error(send, status, message, code, "invalid_request_error", _SAFE)
