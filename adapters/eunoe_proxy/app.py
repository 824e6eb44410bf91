"""The proxy as an ASGI application: chats are fitted, everything else goes through."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

from eunoe.domain.errors import BudgetError
from eunoe.domain.log import log_fault, logger
from eunoe.domain.ports import Embedder, EntityExtractor, Observer, Summarizer
from eunoe_proxy.accounts import EnteredAnswer, LedgerKeeper, ProxyAccounts
from eunoe_proxy.behind import WorkBehind
from eunoe_proxy.fitting import DEADLINE, FAULT, TOO_LARGE, ChatFitter, Fitted, untouched
from eunoe_proxy.guarding import PREFIX, refusal_of
from eunoe_proxy.headers import account_headers
from eunoe_proxy.metrics import MEDIA_TYPE, ProxyMetrics
from eunoe_proxy.packed import unpacked, without_encoding
from eunoe_proxy.passing import Passage, joined_body, pass_on, until_gone
from eunoe_proxy.settings import ProxyOptions, ProxySettings, prices_of
from eunoe_proxy.telling import request_line
from eunoe_proxy.upstream import Upstream, with_readable_encoding
from eunoe_proxy.watching import ProxyWatch
from eunoe_proxy.windows import WindowList
from eunoe_proxy.wishes import Wishes, read_wishes
from eunoe_web.asgi import (
    ClientGoneError,
    Event,
    Incoming,
    Receive,
    Scope,
    Send,
    send_error,
    send_whole,
)

CHAT_PATH = f"{PREFIX}/chat/completions"
_SLASHES = re.compile("/+")
_LONGEST_GOODBYE = 5.0
_LIST_SHARE = 0.3
"""Of the deadline, for the server's list of models."""
_FAILED_FITS = {DEADLINE: "deadline", FAULT: "fault", TOO_LARGE: "too_large"}


def create_app(
    upstream: str,
    *,
    embedder: Embedder | None = None,
    summarizer: Summarizer | None = None,
    keeper: LedgerKeeper | None = None,
    observer: Observer | None = None,
    entity_extractor: EntityExtractor | None = None,
    **options: Unpack[ProxyOptions],
) -> ProxyApp:
    """The application for any ASGI server.

    Args:
        upstream: address of the server behind, its version included.
        embedder: lets meaning count beside words.
        summarizer: sums up, behind the answers, what a cut leaves out.
        keeper: where answers are entered, in place of the file of the options.
        observer: is told of each chat request, when it is chosen and again when it is answered.
        entity_extractor: finds names beside our own, for what "it" may stand for.
        options: fields of ``ProxySettings``.

    Raises:
        BackendError: httpx is not installed.
        SettingsError: an option is not allowed.
    """
    return ProxyApp(
        ProxySettings(upstream=upstream, **options),
        embedder=embedder,
        summarizer=summarizer,
        keeper=keeper,
        observer=observer,
        entity_extractor=entity_extractor,
    )


class ProxyApp:
    """One process may serve any number of callers; several processes need not know each other.

    What it takes beside the settings of the operator, and what it raises: as in ``create_app``.
    """

    def __init__(
        self,
        settings: ProxySettings,
        *,
        embedder: Embedder | None = None,
        summarizer: Summarizer | None = None,
        keeper: LedgerKeeper | None = None,
        observer: Observer | None = None,
        entity_extractor: EntityExtractor | None = None,
    ) -> None:
        self.settings = settings
        self.metrics = ProxyMetrics()
        self._upstream = Upstream(settings)
        self._windows = WindowList(self._upstream, _LIST_SHARE * settings.deadline)
        self._accounts = ProxyAccounts(settings.ledger, keeper, prices_of(settings))
        prices = self._accounts.prices
        self._watch = ProxyWatch(observer, prices) if observer is not None else None
        models = (embedder, summarizer, entity_extractor)
        self._fitter = ChatFitter(
            settings, self._accounts.book, prices, *models, watched=observer is not None
        )
        self._behind = WorkBehind()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection, as ASGI calls it."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            began = False

            async def noting(event: Event) -> None:
                nonlocal began
                began = True
                await send(event)

            try:
                await self._serve(Incoming(scope, receive), noting)
            except ClientGoneError:
                self.metrics.count_failure("client_left")
            except Exception as error:
                self.metrics.count_failure("fault")
                log_fault(error, "the request ends")
                if not began:
                    message = "eunoe proxy: a fault of the proxy; its log says where"
                    await send_error(send, 500, message, "internal_error")

    async def close(self) -> None:
        """Finish what is still to be entered, then close the connections."""
        await self._behind.close(_LONGEST_GOODBYE)
        self._fitter.close()
        await self._upstream.close()

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            event = await receive()
            if event["type"] == "lifespan.startup":
                self._upstream.connect()
                await self._fitter.warm_up()
                await send({"type": "lifespan.startup.complete"})
            elif event["type"] == "lifespan.shutdown":
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _serve(self, incoming: Incoming, send: Send) -> None:
        path = incoming.path
        if path == "/health":
            await send_whole(send, 200, b'{"status":"ok"}', "application/json")
        elif path == "/metrics":
            await send_whole(send, 200, self.metrics.text().encode(), MEDIA_TYPE)
        elif (no := refusal_of(incoming, self.settings)) is not None:
            await send_error(send, no.status, f"eunoe proxy: {no.message}", no.code, no.kind)
        elif _SLASHES.sub("/", path).rstrip("/") == CHAT_PATH and incoming.method == "POST":
            await self._chat(incoming, send)
        else:
            self.metrics.count_passed()
            content = incoming.chunks() if incoming.has_body else (await incoming.read(0))[0]
            passage = await self._pass_on(incoming, send, content)
            self._count_failure(passage)

    async def _chat(self, incoming: Incoming, send: Send) -> None:
        """Fit a chat, pass it on, enter what the answer reports."""
        wishes = read_wishes(incoming)
        data, whole = await incoming.read(self.settings.largest_body)
        plain, fitted = data, untouched(data, TOO_LARGE)
        if whole:
            plain = await self._unpacked(incoming, data)
            found = await self._fit(incoming, send, plain, wishes)
            if found is None:
                return
            fitted = found
        kind = _FAILED_FITS.get(fitted.why, "")
        if kind:
            self.metrics.count_failure(kind)
        if fitted.report is not None:
            self.metrics.count_choosing(fitted.seconds * 1000)
        content: Any = data if whole else joined_body(data, incoming.chunks())
        if fitted.body != plain:
            content, incoming.headers = fitted.body, without_encoding(incoming.headers)
        if self._watch is not None:
            self._watch.chosen_soon(self._behind.do, fitted.watched, kind)
        began = time.perf_counter()
        passage = await self._pass_on(incoming, send, content, fitted, wishes)
        passage.seconds = time.perf_counter() - began
        self._count_failure(passage)
        if not passage.answered or passage.watch is None:
            if self._watch is not None:
                self._behind.do(partial(self._watch.answered, fitted.watched, passage))
            refused = passage.status and not passage.failure
            outcome = "left" if passage.left else "refused" if refused else "failed"
            self.metrics.count_outcome(outcome)
            logger.info(request_line(fitted, passage))
            return
        told = replace(fitted, body=b"")  # it may be large, and wait
        if not self._behind.do(partial(self._enter, told, wishes, passage)):
            self.metrics.count_outcome("left" if passage.left else "answered")

    async def _unpacked(self, incoming: Incoming, data: bytes) -> bytes:
        """A body that the caller may have compressed; as it came if that cannot be undone."""
        encoding = incoming.header("content-encoding")
        if not encoding:
            return data
        undo = partial(unpacked, data, encoding, self.settings.largest_body)
        plain = await asyncio.get_running_loop().run_in_executor(self._fitter.workers, undo)
        return data if plain is None else plain

    async def _fit(
        self, incoming: Incoming, send: Send, data: bytes, wishes: Wishes
    ) -> Fitted | None:
        """The body to send; None if the caller is gone or the request was refused."""
        found: list[Fitted] = []

        async def run() -> None:
            key = incoming.header("authorization")
            try:
                window_of = partial(self._windows.find, key=key)
                found.append(await self._fitter.fit(data, wishes, window_of))
            except BudgetError as error:
                self.metrics.count_failure("over_budget")
                self.metrics.count_outcome("refused")
                if self._watch is not None:
                    self._watch.refused(error)
                message = f"eunoe proxy: {error}"
                code, kind = "context_length_exceeded", "invalid_request_error"
                await send_error(send, 400, message, code, kind)

        if not await until_gone(run(), incoming):
            self.metrics.count_failure("client_left")
            self.metrics.count_outcome("left")
        return found[0] if found else None

    async def _pass_on(
        self,
        incoming: Incoming,
        send: Send,
        content: Any,
        fitted: Fitted | None = None,
        wishes: Wishes | None = None,
    ) -> Passage:
        """One request, with the account of a chat beside its answer."""
        account, headers = [], incoming.headers
        if fitted is not None:
            account = account_headers(fitted.figures, wishes or Wishes())
            headers = with_readable_encoding(headers)
        return await pass_on(
            incoming,
            send,
            self._upstream,
            path=incoming.raw_path[len(PREFIX) :],
            headers=headers,
            content=content,
            account=account,
            watched=fitted is not None,
        )

    def _count_failure(self, passage: Passage) -> None:
        kind = passage.failure
        if not kind and passage.status >= 400:
            kind = "upstream_5xx" if passage.status >= 500 else "upstream_4xx"
        if not kind and passage.left:
            kind = "client_left"
        if kind:
            self.metrics.count_failure(kind)

    def _enter(self, fitted: Fitted, wishes: Wishes, passage: Passage) -> None:
        """Learn from an answer and enter it; runs in a thread, and never raises."""
        outcome, watch = "left" if passage.left else "answered", passage.watch
        entered: EnteredAnswer | None = None
        try:
            if watch is None or fitted.report is None or fitted.forecast is None:
                return
            entered = self._accounts.enter(
                watch,
                model=fitted.model,
                counted=fitted.report.tokens_after,
                forecast=fitted.forecast,
                session=fitted.session,
                named=bool(wishes.session),
                watched=fitted.watched is not None,
            )
            if entered is None:
                outcome, passage.failure = "failed", "upstream_broken"
                self.metrics.count_failure("upstream_broken")
                return
            before, after = fitted.report.tokens_before, fitted.report.tokens_after
            cached, saved = entered.cached, entered.saved
            self.metrics.count_tokens(fitted.model, before=before, after=after, cached=cached)
            self.metrics.count_saved(fitted.model, saved)
            if entered.ledger is not None:
                self.metrics.count_cost(fitted.model, entered.ledger)
        except Exception as error:
            logger.warning("eunoe could not enter an answer: %s", type(error).__name__)
        finally:
            self.metrics.count_outcome(outcome)
            logger.info(request_line(fitted, passage, entered))
            if self._watch is not None:
                self._watch.answered(fitted.watched, passage, entered.ledger if entered else None)
