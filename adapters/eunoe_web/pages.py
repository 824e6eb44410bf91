"""Web pages as callers: none may spend the operator's key, none may read what is observed."""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_LOCAL_ENDINGS = (".localhost", ".local", ".internal", ".home.arpa")
_OF_THIS_MACHINE = _LOOPBACK | {"host.docker.internal"}


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


def is_local_name(host: str) -> bool:
    """Whether the header ``Host`` has a name that no website can have: the public has none such.

    Source: RFC 6761, 6.3; RFC 6762, 3; RFC 8375; ICANN resolution 2024.07.29.06 (``internal``).
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    return bool(name) and ("." not in name or name.endswith(_LOCAL_ENDINGS))


def is_known_host(host: str, names: Collection[str] = ()) -> bool:
    """Whether the header ``Host`` names this machine, an address by digits, or one of ``names``.

    A website may have its own name lead to this machine; a browser then takes the answers for
    those of the website, but says that name (DNS rebinding).

    Args:
        host: as it came, with or without a port.
        names: other names of this machine.
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    if name in _OF_THIS_MACHINE or name in map(str.lower, names):
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_other_page(host: str, origin: str, site: str) -> bool:
    """Whether a request comes from a page that is not our own, of this machine or of another.

    Args:
        host: the header ``Host``.
        origin: the header ``Origin``; programs, and our own page where it only reads, send none.
        site: the header ``Sec-Fetch-Site``.

    Source: Fetch standard, "Origin header"; Fetch metadata request headers, 2.3.
    """
    if site.lower() in ("cross-site", "same-site"):
        return True
    if not origin:
        return False
    return origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}")
