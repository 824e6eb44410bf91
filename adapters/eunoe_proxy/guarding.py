"""Who and what is not let through: paths of nobody, and whoever may not use the operator's key."""

from __future__ import annotations

from dataclasses import dataclass

from eunoe_proxy.settings import ProxySettings
from eunoe_web.asgi import Incoming
from eunoe_web.pages import is_foreign_page, is_known_host, is_local_name

PREFIX = "/v1"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer of ours in place of the server's: its status, its words, code and type."""

    status: int
    message: str
    code: str
    kind: str


def refusal_of(incoming: Incoming, settings: ProxySettings) -> Refusal | None:
    """Why a request does not go on; None if it does.

    Where the operator's key is sent along, no page of a website may use it, be it under a name of
    its own that leads here (DNS rebinding: such a page says no ``Origin`` when it reads), and
    nobody may have it sent back (``TRACE``).

    Source: RFC 9110, 9.3.8.
    """
    path = incoming.path
    if not path.startswith(PREFIX + "/") or not _is_plain(path):
        message = f"nothing is here; base_url ends with {PREFIX}"
        return Refusal(404, message, "not_found", "invalid_request_error")
    if not settings.api_key:
        return None
    if is_foreign_page(incoming.header("origin")):
        message = "pages of websites may not use the operator's key"
        return Refusal(403, message, "foreign_page", "permission_error")
    if not _is_own_name(incoming.header("host"), settings):
        message = "this name is not known here; --allow-host adds one"
        return Refusal(403, message, "unknown_host", "permission_error")
    if incoming.method == "TRACE":
        message = "TRACE would show the operator's key"
        return Refusal(405, message, "method_not_allowed", "invalid_request_error")
    return None


def _is_own_name(host: str, settings: ProxySettings) -> bool:
    """Whether a request calls us by a name that no website can have, or by one that is known.

    Programs of the first version of HTTP say no name; browsers always do.
    """
    return not host or is_local_name(host) or is_known_host(host, settings.hosts)


def _is_plain(path: str) -> bool:
    """No segment leads out of the server's own paths, also where it has parameters (``..;a``)."""
    segments = path.replace("\\", "/").split("/")
    return not {".", ".."} & {segment.partition(";")[0] for segment in segments}
