"""Short pieces of text on what a request took, for a status line.

    sent 7.9k of 8k · 6.1k from cache · 3 recalled · saved ≈$0.011

What is estimated has a ``≈`` before its number; what a provider reported has none. A saving is
always an estimate: the untouched chat was never sent.
"""

from __future__ import annotations

from eunoe.domain.cost import money_text
from eunoe.stages.accounting.ledger import Ledger
from eunoe.stages.accounting.price import PICODOLLARS

STATUS_SEPARATOR = " · "
_LEAST_SAVING = 0.0005
_SHORTEST_TIME = 0.5


def token_text(tokens: int) -> str:
    """A count in few characters: 950, 7.9k, 128k, 1.2M."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            text = f"{tokens / size:.1f}" if tokens < 100 * size else f"{tokens // size}"
            return text.removesuffix(".0") + unit
    return str(tokens)


def sent_piece(ledger: Ledger, *, allowed: int = 0) -> str:
    """``sent 7.9k of 8k``: tokens of all requests in the ledger; "" if there are none."""
    sent = ledger.total.sent
    if not sent.requests:
        return ""
    about = "" if ledger.is_measured else "≈"
    limit = f" of {token_text(allowed)}" if allowed and sent.requests == 1 else ""
    return f"sent {about}{token_text(sent.prompt)}{limit}"


def cache_piece(ledger: Ledger, *, expected: int = 0) -> str:
    """``6.1k from cache``; "" if nothing came from it.

    Args:
        ledger: of the request or turn.
        expected: tokens that should have come from the cache, where far fewer did; else 0. Then it
            is ``0 of ≈6.1k from cache``.
    """
    cached = ledger.total.sent.cached
    about = "" if ledger.is_measured else "≈"
    if expected:
        return f"{about}{token_text(cached)} of ≈{token_text(expected)} from cache"
    return f"{about}{token_text(cached)} from cache" if cached else ""


def seconds_piece(seconds: float) -> str:
    """``saved ≈12 s``: time that a local model did not spend on reading; "" if it is little."""
    if seconds < _SHORTEST_TIME:
        return ""
    if seconds >= 120:
        return f"saved ≈{seconds / 60:.0f} min"
    return f"saved ≈{seconds:.1f} s" if seconds < 10 else f"saved ≈{seconds:.0f} s"


def recalled_piece(recalled: int) -> str:
    """``3 recalled``; "" for none."""
    return f"{recalled} recalled" if recalled > 0 else ""


def saved_piece(ledger: Ledger) -> str:
    """``saved ≈$0.011`` against an untouched chat, ``≈$0.002 dearer`` if it would have cost less.

    "" if no price is known, or the difference is too small to show.
    """
    total = ledger.total
    saved = (total.untouched.cost - total.sent.cost) / PICODOLLARS
    if total.sent.unpriced or abs(saved) < _LEAST_SAVING:
        return ""
    return f"saved ≈{money_text(saved)}" if saved > 0 else f"≈{money_text(-saved)} dearer"


def accounting_line(
    entry: Ledger,
    *,
    allowed: int = 0,
    recalled: int = 0,
    chat: Ledger | None = None,
    expected: int = 0,
    seconds: float = 0.0,
) -> str:
    """All pieces of one request or turn, joined; the pieces that say nothing are left out.

    Args:
        entry: the ledger of the request or turn.
        allowed: tokens that the request may take; 0 without a limit.
        recalled: messages that came back.
        chat: the ledger of the whole chat. If given, the saving is that of the chat so far: in a
            single turn a cut costs more than it saves, and pays in the turns after it.
        expected: tokens that the cache owed, where it gave far fewer; else 0.
        seconds: that a local model did not spend on reading what it had in its cache.
    """
    saved = saved_piece(entry if chat is None else chat)
    pieces = (
        sent_piece(entry, allowed=allowed),
        cache_piece(entry, expected=expected),
        recalled_piece(recalled),
        f"{saved} so far" if saved and chat is not None else saved,
        seconds_piece(seconds),
    )
    return STATUS_SEPARATOR.join(piece for piece in pieces if piece)
