"""Why a prompt cache was lost: the first place where a list differs from the one before it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from json import dumps
from typing import Any, Literal

from eunoe.domain.message import SYSTEM_ROLES
from eunoe.domain.ordinals import ordinal

TOOLS_ROLE = "tools"
PROMPT_ROLE = "prompt"
_HEAD_ROLES = (TOOLS_ROLE, PROMPT_ROLE)
ChangeKind = Literal["changed", "left out", "put in", "switched"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentPart:
    """One part of what was sent: the tools, a prompt that the host adds in front, or a message.

    Attributes:
        digest: hash of all that is sent of it; equal parts have equal digests.
        role: role of the message, or ``tools`` or ``prompt``.
        tokens: its size.
        text: its text, where it may be kept; used only to find the byte that changed.
    """

    digest: Hashable
    role: str = ""
    tokens: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheBust:
    """The first difference between two lists that follow each other.

    Attributes:
        index: place of the first part that is not as before; the tools, if any, are no message.
        role: its role.
        kind: ``changed``, ``left out`` (parts that stood here are gone), ``put in`` (new parts
            stand before what stood here) or ``switched`` (another model, which has read nothing).
        count: parts that were left out or put in; 1 for a change.
        byte: first byte of the text that differs, in UTF-8; None if the texts are not known.
        kept: tokens before it, which the cache can still give back.
        lost: tokens of the earlier list from there on, which must be read anew or are gone.
        again: of what is sent now, tokens that were sent before and must be read anew.
    """

    index: int
    role: str
    kind: ChangeKind
    count: int = 1
    byte: int | None = None
    kept: int = 0
    lost: int = 0
    again: int = 0

    def describe(self) -> str:
        """One clause for people, such as ``the system prompt changed at byte 812``."""
        if self.kind == "switched":
            return "the model changed"
        if self.kind != "changed":
            if self.count == 1:
                return f"the {ordinal(self.index)} message was {self.kind}"
            last = ordinal(self.index + self.count - 1)
            return f"the {ordinal(self.index)} to {last} messages were {self.kind}"
        if self.role == TOOLS_ROLE:
            return "the tools changed"  # how they are written out is the provider's affair
        if self.role == PROMPT_ROLE or (self.role in SYSTEM_ROLES and self.index == 0):
            what = "the system prompt"
        else:
            what = f"the {ordinal(self.index)} message"
        place = "" if self.byte is None else f" at byte {self.byte}"
        return f"{what} changed{place}"


def find_cache_bust(before: Sequence[SentPart], after: Sequence[SentPart]) -> CacheBust | None:
    """Find where a list stops repeating the one sent before it.

    Args:
        before: what was sent last, in order; the tools first, if there were any.
        after: what is sent now.

    Returns:
        None if one list opens the other: everything is still in the cache.

    Note:
        O(n). An unchanged part that stands elsewhere tells a cut or an insertion from a change.
    """
    shared = 0
    for old, new in zip(before, after, strict=False):
        if old.digest != new.digest:
            break
        shared += 1
    if shared in (len(before), len(after)):
        return None
    old, new = before[shared], after[shared]
    left_out = _place_of(new.digest, before, shared)
    put_in = _place_of(old.digest, after, shared)
    kind: ChangeKind = "changed"
    count = 1
    if new.role not in _HEAD_ROLES and old.role not in _HEAD_ROLES:
        if left_out is not None and (put_in is None or left_out <= put_in):
            kind, count = "left out", left_out
        elif put_in is not None:
            kind, count = "put in", put_in
    heads = sum(part.role in _HEAD_ROLES for part in before[:2])
    is_change = kind == "changed"
    head = next((role for role in _HEAD_ROLES if role in (old.role, new.role)), old.role)
    known = {part.digest for part in before[shared:]}
    return CacheBust(
        index=max(0, shared - heads),
        role=head,
        kind=kind,
        count=count,
        byte=first_changed_byte(old.text, new.text) if is_change else None,
        kept=sum(p.tokens for p in before[:shared]),
        lost=sum(p.tokens for p in before[shared:]),
        again=(new.tokens if is_change else 0)
        + sum(p.tokens for p in after[shared + is_change :] if p.digest in known),
    )


def _place_of(digest: Hashable, parts: Sequence[SentPart], start: int) -> int | None:
    """How many parts after ``start`` the digest stands; None if it does not."""
    return next((k - start for k in range(start, len(parts)) if parts[k].digest == digest), None)


def first_changed_byte(before: str, after: str) -> int | None:
    """Offset, in UTF-8 bytes, at which two texts part; None if both are empty or equal."""
    if before == after:
        return None
    old = before.encode("utf-8", "surrogatepass")
    new = after.encode("utf-8", "surrogatepass")
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[:middle] == new[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def sent_parts(
    messages: Sequence[Mapping[str, Any]],
    tokens: Sequence[int] = (),
    *,
    tools: Sequence[Mapping[str, Any]] | None = None,
    tool_tokens: int = 0,
    keep_text: bool = False,
) -> tuple[SentPart, ...]:
    """The parts of a list that is sent.

    Args:
        messages: as they are sent.
        tokens: size of each message; nothing if it is not known.
        tools: schemas sent along; they stand before all messages.
        tool_tokens: their size.
        keep_text: keep the texts, so that the changed byte can be named. Only for memory that may
            hold them.

    Returns:
        One part for the tools, if there are any, and one for each message.
    """
    parts = []
    if tools:
        parts.append(_sent_part(list(tools), TOOLS_ROLE, tool_tokens, keep_text))
    for k, message in enumerate(messages):
        size = tokens[k] if k < len(tokens) else 0
        parts.append(_sent_part(message, str(message.get("role") or ""), size, keep_text))
    return tuple(parts)


def _sent_part(value: Any, role: str, tokens: int, keep_text: bool) -> SentPart:
    encoded = dumps(value, sort_keys=True, ensure_ascii=True, default=repr)
    content = value.get("content") if isinstance(value, Mapping) else None
    text = content if keep_text and isinstance(content, str) else ""
    digest = blake2b(encoded.encode(), digest_size=12).hexdigest()
    return SentPart(digest=digest, role=role, tokens=tokens, text=text)
