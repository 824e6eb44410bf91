"""Passing one request on and its answer back, piece by piece; a caller that leaves ends both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

from eunoe.domain.log import logger
from eunoe_proxy.answers import AnswerWatch
from eunoe_proxy.upstream import Upstream, UpstreamError, end_to_end
from eunoe_web.asgi import ClientGoneError, Headers, Incoming, Send, send_error


@dataclass(slots=True)
class Passage:
    """How one request went.

    Attributes:
        status: of the server's answer; 0 without one.
        failure: one of the metrics' kinds; empty if all went well.
        left: the caller was gone before the end.
        watch: has seen the answer; None without one.
        seconds: from sending the request to the end of its answer.
    """

    status: int = 0
    failure: str = ""
    left: bool = False
    watch: AnswerWatch | None = None
    seconds: float = 0.0

    @property
    def answered(self) -> bool:
        """The server took the request and did not fail over it."""
        return 200 <= self.status < 300 and not self.failure


async def pass_on(
    incoming: Incoming,
    send: Send,
    upstream: Upstream,
    *,
    path: bytes,
    headers: Headers,
    content: bytes | AsyncIterable[bytes],
    account: Iterable[tuple[bytes, bytes]] = (),
    watched: bool = False,
) -> Passage:
    """Send a request upstream and its answer back as it comes.

    Args:
        incoming: of the caller.
        send: to the caller.
        upstream: the server.
        path: there.
        headers: to send; what concerns two neighbours alone is left out.
        content: to send.
        account: headers of ours to put beside those of the server.
        watched: read the usage of the answer.
    """
    passage = Passage()

    async def run() -> None:
        try:
            answer = await upstream.open(incoming.method, path, incoming.query, headers, content)
        except UpstreamError as error:
            passage.failure = error.code
            logger.warning("eunoe: the server at %s gave %s", upstream.host, error)
            message = f"eunoe proxy: the server behind gave {error}"
            await send_error(send, error.status, message, error.code, extra=account)
            return
        try:
            await _send_back(answer, send, upstream, passage, account, watched=watched)
        finally:
            await answer.aclose()

    if not await until_gone(run(), incoming):
        passage.left = passage.watch is None or not passage.watch.whole
    return passage


async def _send_back(
    answer: Any,
    send: Send,
    upstream: Upstream,
    passage: Passage,
    account: Iterable[tuple[bytes, bytes]],
    *,
    watched: bool,
) -> None:
    passage.status = answer.status_code
    headers = [*end_to_end(answer.headers.raw), *account]
    if watched:
        passage.watch = AnswerWatch(answer.status_code, headers)
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    try:
        async for chunk in answer.aiter_raw():
            if passage.watch is not None:
                passage.watch.feed(chunk)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    except Exception as error:
        if not upstream.broken(error):
            raise
        # The caller must see that the answer is not whole: the connection ends without an end.
        passage.failure = "upstream_broken"
        logger.warning("eunoe: the server at %s broke off its answer", upstream.host)
        return
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def until_gone(work: Coroutine[Any, Any, None], incoming: Incoming) -> bool:
    """Do some work, given up once the caller leaves; False if it was."""
    job = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(incoming.gone())
    try:
        await asyncio.wait({job, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not job.done():
            return False
        try:
            job.result()
        except (ClientGoneError, OSError):  # a server may refuse to send to who has left
            return False
        return True
    finally:
        for task in (job, gone):
            task.cancel()
        await asyncio.gather(job, gone, return_exceptions=True)


async def joined_body(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A body of which the beginning was read."""
    yield first
    async for chunk in rest:
        yield chunk
