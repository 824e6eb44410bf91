"""Summaries that several workers share, on any Redis-protocol server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eunoe_backends.redis_link import RedisLink

_DAY_SECONDS = 86_400


class RedisSummaryStore:
    """Keeps summaries by a hash of what they sum up; the first one written stays.

    The server holds what the summaries say, in plain text; nobody finds one without the messages
    that it sums up. While the server is away, each worker has its own.

    Args:
        link: the line to the server.
        prefix: of all keys.
        keep_days: days after which a summary goes, at least 1; it is written anew if needed.
    """

    def __init__(self, link: RedisLink, *, prefix: str = "eunoe", keep_days: int = 30) -> None:
        self._link = link
        self._prefix = f"{prefix}:summary:"
        self._keep_seconds = max(1, keep_days) * _DAY_SECONDS

    def find(self, keys: Sequence[str]) -> list[str | None]:
        """The summary for each key; None where there is none, or while the server is away."""
        names = [self._prefix + key for key in keys]
        nothing: list[str | None] = [None] * len(names)
        return self._link.call(lambda client: list(client.mget(names)), nothing) if names else []

    def keep(self, key: str, text: str) -> str:
        """Keep a summary unless one is there; the one that is there."""
        name, sent = self._prefix + key, text.encode("utf-8", "replace").decode("utf-8")

        def put(client: Any) -> str:
            new = client.set(name, sent, nx=True, ex=self._keep_seconds)
            return text if new else str(client.get(name) or text)

        return self._link.call(put, text)
