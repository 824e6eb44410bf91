"""What a caller asks of the proxy for one request, in headers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eunoe.domain.message import SYSTEM_ROLES
from eunoe.domain.nesting import json_text
from eunoe.stages.flags import FLAG_POLICIES
from eunoe_web.asgi import Incoming

POLICY_HEADER = "X-Eunoe-Policy"
TOKENS_HEADER = "X-Eunoe-Max-Tokens"
SESSION_HEADER = "X-Eunoe-Session"
_LONGEST_SESSION = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """Headers of a caller, read.

    Attributes:
        policy: None for what the operator set; ``off`` is for the operator to say.
        max_tokens: a cap below the operator's; 0 for none.
        session: whose request, for the ledger; empty if the caller does not say.
        caller: tells callers apart by their key, within this process alone.
        ignored: names of headers whose value means nothing.
    """

    policy: str | None = None
    max_tokens: int = 0
    session: str = ""
    caller: int = 0
    ignored: tuple[str, ...] = ()


def read_wishes(incoming: Incoming) -> Wishes:
    """The wishes; a value that means nothing is named and left aside."""
    ignored = []
    policy: str | None = incoming.header(POLICY_HEADER).lower() or None
    if policy is not None and policy not in FLAG_POLICIES:
        policy = None
        ignored.append(POLICY_HEADER)
    text, tokens = incoming.header(TOKENS_HEADER), 0
    if text:
        sound = text.isascii() and text.isdigit() and len(text) <= 9
        tokens = int(text) if sound else 0
        if not tokens:
            ignored.append(TOKENS_HEADER)
    session = "".join(c for c in incoming.header(SESSION_HEADER) if c.isprintable())
    return Wishes(
        policy=policy,
        max_tokens=tokens,
        session=session[:_LONGEST_SESSION],
        caller=hash(incoming.header("authorization")),
        ignored=tuple(ignored),
    )


def session_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """A name for a chat that has none: a hash of its system messages and its first question.

    The hash stays the same while the chat grows. Chats that begin alike share it, and one whose
    system message changes gets another: the sums over all sessions are right in any case.
    """
    digest = hashlib.sha256()
    for message in messages:
        digest.update(json_text(message).encode("utf-8", "surrogatepass") + b"\n")
        if message.get("role") not in SYSTEM_ROLES:
            break
    return "chat-" + digest.hexdigest()[:16]
