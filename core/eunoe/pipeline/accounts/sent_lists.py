"""What was last sent in each chat: how much of the next request repeats it, and why it does not.

``cut`` in a report tells of breaks that eunoe decides. This tells of the others: a system prompt
with the time in it, an edited message, other tools, another model.
"""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eunoe.domain.budget import LEAST_CACHED_TOKENS
from eunoe.domain.message import SYSTEM_ROLES
from eunoe.domain.nesting import json_text
from eunoe.domain.placement import Placement
from eunoe.pipeline.chat.memory import content_key
from eunoe.stages.accounting.cache_bust import (
    PROMPT_ROLE,
    TOOLS_ROLE,
    CacheBust,
    SentPart,
    find_cache_bust,
)

_CHATS_REMEMBERED = 512
_MODELS_OF_A_CHAT = 4
_PARTS_REMEMBERED = 1_000_000
_LONGEST_PROMPT_KEPT = 32_768
"""Characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentList:
    """A request as it goes out: numbers, and the text of the system prompt alone.

    Attributes:
        given: fingerprint of each part as it was given: tools, the host's own prompt, messages.
        given_tokens: tokens of each of them; empty of a request that is remembered.
        sent: the same of each part that is sent, with its tokens.
        tokens: of each part that is sent.
        origins: place in ``given`` of each part that is sent; -1 for text that eunoe wrote.
        heads: parts before the messages, in both.
        prompt: text of the system prompt, if it is not very long.
        roles: of the parts that are sent, in order.
    """

    given: array[int]
    given_tokens: array[int]
    sent: array[int]
    tokens: array[int]
    origins: array[int]
    heads: int
    prompt: str
    roles: tuple[str, ...]

    def parts(self) -> list[SentPart]:
        """The parts for a comparison; hosts join those that hold the prompt: all have its text."""
        return [
            SentPart(
                digest=digest,
                role=role,
                tokens=size,
                text=self.prompt if k <= self.heads and _holds_prompt(role) else "",
            )
            for k, (digest, role, size) in enumerate(
                zip(self.sent, self.roles, self.tokens, strict=True)
            )
        ]


def _holds_prompt(role: str) -> bool:
    return role == PROMPT_ROLE or role in SYSTEM_ROLES


def sent_list(
    given: Sequence[Mapping[str, Any]],
    placements: Sequence[Placement],
    sizes: Sequence[int],
    *,
    tools: object = None,
    tool_tokens: int = 0,
    prompt: str = "",
    prompt_tokens: int = 0,
) -> SentList:
    """Describe a request.

    Args:
        given: the messages before anything was chosen.
        placements: what is sent of them.
        sizes: tokens of each given message; of new text a rough estimate is made.
        tools: schemas sent along.
        tool_tokens: their size.
        prompt: text that the host puts in front of the first message.
        prompt_tokens: its size.
    """
    heads = [(TOOLS_ROLE, {"tools": tools}, tool_tokens)] if tools else []
    if prompt:
        heads.append((PROMPT_ROLE, {"prompt": prompt}, prompt_tokens))
    front = [_fingerprint(value) for _, value, _ in heads]
    front_tokens = [size for _, _, size in heads]
    known = [_fingerprint(message) for message in given]
    known_tokens = sizes[:]  # of sizes that are worked out when looked at, all at once
    sent, tokens = _prints_and_tokens(placements, known, known_tokens)
    base = len(heads)
    origins = [-1 if placed.index is None else base + placed.index for placed in placements]
    roles = [str(placed.message.get("role") or "") for placed in placements]
    return SentList(
        given=array("q", [*front, *known]),
        given_tokens=array("q", [*front_tokens, *known_tokens]),
        sent=array("q", [*front, *sent]),
        tokens=array("q", [*front_tokens, *tokens]),
        origins=array("q", [*range(base), *origins]),
        heads=base,
        prompt=_prompt_text(prompt, placements),
        roles=(*(role for role, _, _ in heads), *roles),
    )


def _prints_and_tokens(
    placements: Sequence[Placement], known: Sequence[int], sizes: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Fingerprint and tokens of each message that is sent; new text has about four letters each."""
    sent: list[int] = []
    tokens: list[int] = []
    for placed in placements:
        if placed.index is not None and not placed.changed:
            sent.append(known[placed.index])
            tokens.append(sizes[placed.index])
        else:
            sent.append(_fingerprint(placed.message))
            tokens.append(len(json_text(placed.message.get("content"))) // 4)
    return sent, tokens


def _prompt_text(front: str, placements: Sequence[Placement]) -> str:
    """The system prompt, the host's part of it in front; empty if it is too long to be kept."""
    first = placements[0].message if placements else {}
    content = first.get("content") if first.get("role") in SYSTEM_ROLES else ""
    whole = front + (content if isinstance(content, str) else "")
    return whole if len(whole) <= _LONGEST_PROMPT_KEPT else ""


def _fingerprint(raw: Mapping[str, Any]) -> int:
    """64 bits; good within this process alone."""
    return hash(content_key(raw))


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheOutlook:
    """How a request goes on from the one before it in its chat.

    Attributes:
        repeated: tokens of the leading parts that were sent before; None for the first request.
        unchanged: tokens of the leading parts that were given before: what an untouched chat would
            repeat at most; 0 for the first request, None where the host goes on from what was sent.
        bust: why the rest must be read anew, where that is not what eunoe decided and costs more
            than the smallest prefix that providers cache; else None.
    """

    repeated: int | None = None
    unchanged: int | None = 0
    bust: CacheBust | None = None


class SentLists:
    """What was last sent to each model of each chat; bounded, lost on a restart, never logged.

    What is sent never depends on it. Safe across threads.
    """

    def __init__(self) -> None:
        self._chats: OrderedDict[str, OrderedDict[str, SentList]] = OrderedDict()
        self._parts = 0
        self._lock = threading.Lock()

    def follow(
        self,
        chat: str,
        now: SentList,
        *,
        model_id: str = "",
        continued: bool = False,
        remember: bool = True,
    ) -> CacheOutlook:
        """Compare a request with the one before it, and remember it in its place.

        Args:
            chat: whose request; empty for a caller without a chat, of whom nothing is known.
            now: the request.
            model_id: each model has a cache of its own.
            continued: a later step of a turn, for which the host went on from what was sent.
            remember: False only looks.
        """
        if not chat:
            return CacheOutlook()
        with self._lock:
            models = self._chats.get(chat, OrderedDict())
            before = models.get(model_id)
            newest = next(reversed(models.values()), None)
            if remember:
                self._remember(chat, model_id, _as_one_turn(before, now) if continued else now)
        if before is None:
            return CacheOutlook(bust=_switched(newest, now))
        same = _same_at_start(before.sent, now.sent)
        bust = _hosts_change(before, now, same, continued=continued)
        kept = _same_at_start(before.given, now.given)
        return CacheOutlook(
            repeated=sum(now.tokens[:same]),
            unchanged=None if continued else sum(now.given_tokens[:kept]),
            bust=bust,
        )

    def _remember(self, chat: str, model_id: str, now: SentList) -> None:
        models = self._chats.pop(chat, OrderedDict())
        before = models.pop(model_id, None)
        models[model_id] = replace(now, given_tokens=array("q"))
        self._chats[chat] = models
        self._parts += _size(now) - (_size(before) if before else 0)
        if len(models) > _MODELS_OF_A_CHAT:
            self._parts -= _size(models.popitem(last=False)[1])
        while len(self._chats) > 1 and (
            len(self._chats) > _CHATS_REMEMBERED or self._parts > _PARTS_REMEMBERED
        ):
            self._parts -= sum(map(_size, self._chats.popitem(last=False)[1].values()))


def _size(record: SentList) -> int:
    return len(record.given) + len(record.sent)


def _same_at_start(one: array[int], other: array[int]) -> int:
    most = min(len(one), len(other))
    if one[:most] == other[:most]:
        return most
    return next(k for k in range(most) if one[k] != other[k])


def _hosts_change(
    before: SentList, now: SentList, same: int, *, continued: bool
) -> CacheBust | None:
    """The break, where the part at which it stands was given in another form than before.

    Elsewhere the window was cut, or what was recalled left again: eunoe's own decisions.
    """
    if same >= min(len(before.sent), len(now.sent)):
        return None
    place = same
    if same >= min(before.heads, now.heads) and before.heads == now.heads:
        place = _same_at_start(before.given, now.given)
        missing = place >= min(len(before.given), len(now.given))
        if continued or missing or before.origins[same] != place:
            return None
    bust = find_cache_bust(before.parts(), now.parts())
    if bust is None or bust.again < LEAST_CACHED_TOKENS:
        return None
    return replace(bust, index=max(0, place - before.heads))


def _switched(other: SentList | None, now: SentList) -> CacheBust | None:
    """Another model takes over a chat; one that was asked the same beside it does not."""
    if other is None or len(now.given) <= len(other.given):
        return None
    known = set(other.sent)
    again = sum(n for d, n in zip(now.sent, now.tokens, strict=True) if d in known)
    if again < LEAST_CACHED_TOKENS:
        return None
    return CacheBust(index=0, role="", kind="switched", lost=sum(other.tokens), again=again)


def _as_one_turn(before: SentList | None, now: SentList) -> SentList:
    """A later step of a turn, told as if the whole chat had been given to it.

    Its list goes on from what the step before it sent, so its places are those of that list; the
    next turn is given the whole chat again.
    """
    if before is None:
        return now
    shift = len(before.given) - len(before.sent)
    origins = [
        place if place < 0 else before.origins[place] if place < len(before.sent) else place + shift
        for place in now.origins
    ]
    given = before.given + now.given[len(before.sent) :]
    return replace(now, given=given, origins=array("q", origins))
