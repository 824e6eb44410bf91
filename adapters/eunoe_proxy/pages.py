"""Web pages as callers: none may spend the operator's key."""

from __future__ import annotations

from urllib.parse import urlsplit

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def is_foreign_page(origin: str) -> bool:
    """Whether a request comes from a page of some website, which a browser says by ``Origin``.

    Pages of this machine, and programs with a scheme of their own (``vscode-webview://...``), are
    not foreign. A page can send requests to this machine though it may not read the answers.

    Source: RFC 6454, 7; Fetch standard, "Origin header".
    """
    if not origin:
        return False
    if origin.lower() == "null":  # a page in a sandbox
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return True
    return parts.scheme.lower() in ("http", "https") and parts.hostname not in _LOOPBACK
