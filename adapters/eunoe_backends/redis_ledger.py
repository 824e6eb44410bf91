"""Ledgers that several workers share, on any Redis-protocol server."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eunoe.stages.accounting import Ledger
from eunoe_backends.redis_link import RedisLink

_BATCH_MEMORY_SECONDS = 86_400
_MOST_WAITING_CHATS = 2_000
_MOST_CHATS_A_BATCH = 200

# KEYS: mark of the batch, set of chats, hash of the total, then a hash for each chat.
# ARGV: seconds to remember the batch, seconds to keep a chat (0: for ever), then for each hash the
# chat's name ("" for the total) and its count of figures, then each figure's name and amount.
# A batch whose mark is there was added before, and its answer was lost: it is not added twice.
_ADD_BATCH = """
if not redis.call('SET', KEYS[1], '1', 'NX', 'EX', ARGV[1]) then return 0 end
local at = 3
for k = 3, #KEYS do
  local chat, figures = ARGV[at], tonumber(ARGV[at + 1])
  at = at + 2
  for _ = 1, figures do
    redis.call('HINCRBY', KEYS[k], ARGV[at], ARGV[at + 1])
    at = at + 2
  end
  if k > 3 then
    redis.call('SADD', KEYS[2], chat)
    if ARGV[2] ~= '0' then redis.call('EXPIRE', KEYS[k], ARGV[2]) end
  end
end
return 1
"""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Entries on their way: under one name until the server has said that it has them."""

    name: str
    chats: Mapping[str, Ledger]


class RedisLedgerStore:
    """One ledger for each chat and one in total, added to atomically by any number of workers.

    While the server is away, entries wait here and are added when it is back, each once. A process
    that ends in between loses its own.

    Args:
        link: the line to the server.
        prefix: of all keys. All keys of a prefix share one slot of a cluster.
        keep_days: days after its last entry that a chat's ledger goes; 0 keeps it. The total stays.
    """

    def __init__(self, link: RedisLink, *, prefix: str = "eunoe", keep_days: int = 0) -> None:
        self._link = link
        self._prefix = f"{prefix}:{{ledger}}"
        self._keep_seconds = max(0, keep_days) * 86_400
        self._waiting: dict[str, Ledger] = {}
        self._batch: _Batch | None = None
        self._lock = threading.Lock()
        self._sending = threading.Lock()

    def add(self, chat: str, entry: Ledger) -> None:
        """Add to a chat and to the total; blocks at most the link's time-out."""
        with self._lock:
            if chat not in self._waiting and len(self._waiting) >= _MOST_WAITING_CHATS:
                chat = ""  # the total stays right
            self._waiting[chat] = self._waiting.get(chat, Ledger()) + entry
        self.flush()

    def flush(self) -> bool:
        """Send what waits; True if nothing waits any more."""
        if not self._sending.acquire(blocking=False):
            return False  # another thread is at it
        try:
            batch = self._next_batch()
            if batch is None:
                return True
            if self._link.call(lambda client: self._send(client, batch), False):
                with self._lock:
                    self._batch = None
                    return not self._waiting
            return False
        finally:
            self._sending.release()

    def _next_batch(self) -> _Batch | None:
        with self._lock:
            if self._batch is None and self._waiting:
                names = list(self._waiting)[:_MOST_CHATS_A_BATCH]
                chats = {name: self._waiting.pop(name) for name in names}
                self._batch = _Batch(uuid.uuid4().hex, chats)
            return self._batch

    def _send(self, client: Any, batch: _Batch) -> bool:
        keys = [f"{self._prefix}:batch:{batch.name}", f"{self._prefix}:chats", self._total_key]
        values: list[str | int] = [_BATCH_MEMORY_SECONDS, self._keep_seconds]
        rows = [("", Ledger.merge(list(batch.chats.values())))]
        for chat, ledger in batch.chats.items():
            if chat:
                keys.append(self._chat_key(chat))
                rows.append((chat, ledger))
        for chat, ledger in rows:
            figures = ledger.flat()
            values += [chat, len(figures)]
            for name, amount in figures.items():
                values += [name, amount]
        client.eval(_ADD_BATCH, len(keys), *keys, *values)
        return True

    @property
    def _total_key(self) -> str:
        return f"{self._prefix}:total"

    def _chat_key(self, chat: str) -> str:
        return f"{self._prefix}:chat:{chat}"

    def _unsent(self, chat: str | None) -> Ledger:
        """What the server does not have yet, of one chat or of all."""
        with self._lock:
            places = [self._waiting, self._batch.chats if self._batch is not None else {}]
        if chat is not None:
            return Ledger.merge([p.get(chat, Ledger()) for p in places])
        return Ledger.merge([ledger for p in places for ledger in p.values()])

    def of(self, chat: str) -> Ledger:
        """The ledger of a chat; only what waits here if the server is away.

        For ``""`` only what waits here: the server keeps such requests in the total alone.
        """
        if not chat:
            return self._unsent("")
        nothing: dict[str, str] = {}
        found = self._link.call(lambda client: client.hgetall(self._chat_key(chat)), nothing)
        return Ledger.from_flat(found) + self._unsent(chat)

    def total(self) -> Ledger:
        """All chats together; only what waits here if the server is away."""
        nothing: dict[str, str] = {}
        found = self._link.call(lambda client: client.hgetall(self._total_key), nothing)
        return Ledger.from_flat(found) + self._unsent(None)

    def chats(self) -> dict[str, Ledger]:
        """The ledgers by chat; empty if the server is away."""

        def read(client: Any) -> dict[str, Ledger]:
            names = sorted(client.smembers(f"{self._prefix}:chats"))
            pipe = client.pipeline(transaction=False)
            for name in names:
                pipe.hgetall(self._chat_key(name))
            found = zip(names, pipe.execute(), strict=True)
            return {name: Ledger.from_flat(figures) for name, figures in found if figures}

        nothing: dict[str, Ledger] = {}
        return self._link.call(read, nothing)
