"""How much of a request begins like the one before it in the same chat."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

from eunoe.domain.nesting import json_text

_VIEWS_REMEMBERED = 512


class ViewMemory:
    """Fingerprints of what was last sent to each model of a chat.

    Bounded, never text, lost on a restart. It feeds the status line and the ledger: what is sent
    never depends on it.
    """

    def __init__(self) -> None:
        self._views: OrderedDict[str, tuple[bytes, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def unchanged_tokens(self, chat: str, parts: Sequence[tuple[object, int]]) -> int | None:
        """Tokens of the leading parts that were sent before; the parts are remembered.

        Args:
            chat: whose view this is, by chat and model; empty for a caller without a chat.
            parts: (what is sent, its tokens), in order.

        Returns:
            None for the first request of a chat, or without a chat.
        """
        if not chat:
            return None
        view = tuple(_view_fingerprint(value) for value, _ in parts)
        with self._lock:
            before = self._views.pop(chat, None)
            self._views[chat] = view
            if len(self._views) > _VIEWS_REMEMBERED:
                self._views.popitem(last=False)
        if before is None:
            return None
        same = next((n for n, (a, b) in enumerate(zip(before, view, strict=False)) if a != b), None)
        same = min(len(before), len(view)) if same is None else same
        return sum(tokens for _, tokens in parts[:same])


def _view_fingerprint(value: object) -> bytes:
    text = json_text(value, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
