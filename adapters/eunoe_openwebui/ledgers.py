"""The account of each chat and of all of them: in memory, and where the operator wants it kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from eunoe.domain.log import logger
from eunoe.stages.accounting.ledger import Ledger

_LEDGERS_REMEMBERED = 2_048
_STORES_OPEN = 4


@dataclass(frozen=True, slots=True)
class LedgerStores:
    """Where a setting keeps ledgers beside memory: stores of ``eunoe_backends``, or None."""

    file: Any = None
    server: Any = None


class LedgerBook:
    """What chats took so far. Safe across threads; a store that fails costs only what it keeps.

    Memory is bounded: chats met least recently are forgotten, the total stays right.
    """

    def __init__(self) -> None:
        self._chats: OrderedDict[str, Ledger] = OrderedDict()
        self._total = Ledger()
        self._stores: dict[tuple[str, str], LedgerStores] = {}
        self._lock = threading.Lock()

    def add(self, chat: str, entry: Ledger, *, file: str = "", url: str = "") -> Ledger:
        """Enter a turn; may block for as long as a file or a server takes.

        Args:
            chat: whose turn; empty for a program without a chat.
            entry: the ledger of the turn.
            file: to which a line of JSON is added; empty for none.
            url: of the Redis server that adds up over all workers; empty for none.

        Returns:
            The ledger of the chat so far, of a program that of the turn alone.
        """
        stores = self._open_stores(file, url)
        with self._lock:
            self._total = self._total + entry
            ours = self._remember(chat, entry) if chat else entry
        try:
            if stores.file is not None:
                stores.file.add(chat, entry)
            if stores.server is not None:
                stores.server.add(chat, entry)
                if chat:
                    ours = self._longer(chat, stores.server.of(chat).flat(), ours)
        except Exception as error:
            logger.warning("the ledger's store failed: %s", type(error).__name__)
        return ours

    def of(self, chat: str) -> Ledger:
        """The ledger of a chat as far as this process knows it."""
        with self._lock:
            return self._chats.get(chat, Ledger())

    @property
    def total(self) -> Ledger:
        """All requests of this process."""
        with self._lock:
            return self._total

    def _remember(self, chat: str, entry: Ledger) -> Ledger:
        ledger = self._chats.pop(chat, Ledger()) + entry
        self._chats[chat] = ledger
        if len(self._chats) > _LEDGERS_REMEMBERED:
            self._chats.popitem(last=False)
        return ledger

    def _longer(self, chat: str, figures: Mapping[str, int], ours: Ledger) -> Ledger:
        """The server's ledger where it knows more requests, as when other workers served some."""
        shared = Ledger.from_flat(figures)
        if shared.total.sent.requests <= ours.total.sent.requests:
            return ours
        with self._lock:
            self._chats[chat] = shared
        return shared

    def _open_stores(self, file: str, url: str) -> LedgerStores:
        """The stores for these settings, opened once; a file's chats are read into memory."""
        if not file and not url:
            return LedgerStores()
        with self._lock:
            found = self._stores.get((file, url))
        if found is not None:
            return found
        opened = _opened_stores(file, url)
        earlier = opened.file.chats() if opened.file is not None else {}
        with self._lock:
            if (file, url) in self._stores:
                return self._stores[file, url]
            while len(self._stores) >= _STORES_OPEN:
                self._stores.pop(next(iter(self._stores)))
            self._stores[file, url] = opened
            for chat, ledger in earlier.items():
                if chat and chat not in self._chats:
                    self._remember(chat, Ledger.from_flat(ledger.flat()))
        return opened


def _opened_stores(file: str, url: str) -> LedgerStores:
    """The stores of the package beside this one; none where it is missing or cannot open them."""
    stores = LedgerStores()
    try:
        from eunoe_backends import JsonLinesLedgerStore, RedisLedgerStore, RedisLink

        if file:
            stores = LedgerStores(file=JsonLinesLedgerStore(file))
        if url:
            stores = replace(stores, server=RedisLedgerStore(RedisLink.from_url(url)))
    except ImportError:
        logger.warning("ledgers stay in memory: the package eunoe is not installed")
    except Exception as error:
        logger.warning("a ledger's store cannot be opened: %s", type(error).__name__)
    return stores
