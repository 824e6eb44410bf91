"""Would the provider accept this list? The rules of a profile, checked on message values.

Sources: see ``ProviderProfile.source`` of each profile in ``eunoe.domain.profile``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from eunoe.domain.message import KNOWN_ROLES, PLAIN_SHAPE, RESULT_ROLES, Message
from eunoe.domain.profile import ProviderProfile
from eunoe.domain.violation import Violation

_ROLES = frozenset(KNOWN_ROLES)
_SPEAKERS = _ROLES - frozenset(RESULT_ROLES)


def beyond_talk(messages: Sequence[Message], start: int = 0) -> list[int]:
    """Places from ``start`` on of what is no plain talk, of which only the roles may be wrong."""
    return [
        i
        for i, m in enumerate(messages[start:], start)
        if m.shape is not PLAIN_SHAPE or m.calls or m.role not in _SPEAKERS
    ]


def check_messages(
    messages: Sequence[Message], profile: ProviderProfile, special: Sequence[int] | None = None
) -> list[Violation]:
    """Every rule of the profile that the list breaks, in the order of the messages.

    Args:
        special: ``beyond_talk`` of the messages, if it is at hand.

    Note:
        One pass over all, and one for each family of rules: O(messages + calls).
    """
    special = beyond_talk(messages) if special is None else special
    found = [
        Violation("shape", i, messages[i].shape.problem or f"unknown role {messages[i].role!r}")
        for i in special
        if messages[i].role not in _ROLES or messages[i].shape.problem
    ]
    found += _check_pairs(messages, special)
    if profile.system_at_head or profile.user_first or profile.alternate:
        found += _check_roles(messages, profile)
    found += _check_blocks(messages, special, profile)
    return sorted(found, key=lambda v: v.index)


def a_message(message: Message) -> str:
    """The kind of the message in words: "an assistant message"."""
    return f"{'an' if message.role == 'assistant' else 'a'} {message.role} message"


def is_visible_turn(message: Message) -> bool:
    """A message that strict templates count when roles must alternate: no tool flow, no system."""
    return message.role in ("user", "assistant") and not message.calls


def _check_pairs(messages: Sequence[Message], special: Sequence[int]) -> Iterable[Violation]:
    last, j = len(messages), 0
    for i in special:
        if i < j:
            continue
        message, j = messages[i], i + 1
        if message.is_result:
            yield Violation("orphan", i, f"a result without its call {message.answers!r}")
        elif message.shape.legacy_call:
            if j < last and messages[j].role == "function":
                j += 1
            elif j < last:
                yield Violation("unanswered", i, "a function call without result")
        elif message.calls:
            found, j = _check_results(messages, i)
            yield from found


def _check_results(messages: Sequence[Message], i: int) -> tuple[list[Violation], int]:
    """What is wrong with the results behind the call at ``i``, and where they end."""
    ids = [c.id for c in messages[i].calls]
    found: list[Violation] = []
    known = set(ids)
    if len(known) < len(ids):
        found.append(Violation("duplicate-call", i, "one id for two calls"))
    got: set[str | None] = set()
    j = i + 1
    while j < len(messages) and messages[j].role == "tool":
        for answer in messages[j].answered:
            if answer not in known:
                found.append(Violation("orphan", j, f"a result without its call {answer!r}"))
            elif answer in got:
                found.append(Violation("duplicate-result", j, f"a second result for {answer!r}"))
            got.add(answer)
        j += 1
    missing = [str(c) for c in ids if c not in got]
    if missing and (got or j < len(messages)):
        found.append(Violation("unanswered", i, f"calls without result: {', '.join(missing)}"))
    return found, j


def _check_roles(messages: Sequence[Message], profile: ProviderProfile) -> Iterable[Violation]:
    body = [i for i, m in enumerate(messages) if not m.is_system]
    first = body[0] if body else len(messages)
    if profile.system_at_head:
        for i in range(first, len(messages)):
            if messages[i].is_system:
                yield Violation("late-system", i, "a system message after the first turn")
    if profile.user_first and messages:
        if body and messages[first].role != "user":
            yield Violation(
                "first-not-user", first, f"the first turn is {messages[first].role}, not user"
            )
        if not any(m.role == "user" for m in messages):
            yield Violation("no-user", 0, "there is no user message")
    if profile.alternate:
        seen = [i for i in body if is_visible_turn(messages[i])]
        for i, j in pairwise(seen):
            if messages[i].role == messages[j].role:
                yield Violation(
                    "alternation", j, f"{messages[j].role} follows {messages[i].role} at {i}"
                )


def _check_blocks(
    messages: Sequence[Message], special: Sequence[int], profile: ProviderProfile
) -> Iterable[Violation]:
    items: set[str] = set()
    thinking = profile.reasoning_field_with_calls and any(
        messages[i].shape.reasoning_field for i in special
    )
    for i in special:
        message, shape = messages[i], messages[i].shape
        if shape is PLAIN_SHAPE and not (thinking and message.calls):
            continue
        for problem in message_problems(
            message, profile, is_last=i == len(messages) - 1, thinking_mode=thinking
        ):
            yield Violation(problem[0], i, problem[1])
        if profile.reasoning_pairs and shape.item_ids:
            ids = shape.item_ids
            twice = [x for n, x in enumerate(ids) if x in items or x in ids[:n]]
            if twice:
                yield Violation("duplicate-item", i, f"item {twice[0]} twice in one request")
            items.update(ids)


def message_problems(
    message: Message, profile: ProviderProfile, *, is_last: bool, thinking_mode: bool
) -> list[tuple[str, str]]:
    """What is wrong with one message by itself: (code, sentence) pairs.

    Args:
        is_last: it is the last of the list, where a server tool may still run.
        thinking_mode: reasoning came back with some message of the chat (DeepSeek's rule).
    """
    shape, found = message.shape, []
    if shape.substance == 0 or (
        shape.substance == 1 and profile.blank_refused and message.role != "tool"
    ):
        found.append(("empty-content", f"{a_message(message)} with nothing in it"))
    if shape.half_character:
        found.append(("surrogate", "half a character, which is no UTF-8"))
    if shape.server_result_alone or (shape.server_use_open and not is_last):
        found.append(("server-tool", "use and result of a server tool in different messages"))
    if profile.thinking_first and shape.thinking_late:
        found.append(("thinking-order", "the first block must be the thinking"))
    if profile.reasoning_pairs and shape.reasoning_last:
        found.append(("reasoning-pair", "reasoning without the item that must follow it"))
    if (
        profile.reasoning_field_with_calls
        and thinking_mode
        and message.calls
        and not message.shape.legacy_call
        and not shape.reasoning_field
    ):
        found.append(("reasoning-content", "calls without the reasoning they came with"))
    return found
