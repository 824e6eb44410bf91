"""What the provider's own servers refuse beside the rules of the list, and others may not.

It is data, see ``OwnServers`` in ``eunoe.domain.profile``; sources are named there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eunoe.domain.message import Message
from eunoe.domain.profile import ProviderProfile
from eunoe.domain.violation import Violation

OWN_SERVER_CODES = (
    "call-id",
    "tool-name",
    "tool-schema",
    "too-many-tools",
    "speaker-name",
    "answer-last",
    "blank-end",
)


def check_own_servers(
    messages: Sequence[Message],
    profile: ProviderProfile,
    tools: Sequence[Mapping[str, Any]] | None = None,
    *,
    no_prefill: bool = False,
) -> list[Violation]:
    """Everything that the provider's own servers refuse; what is about tools comes last.

    Args:
        tools: schemas that are sent along.
        no_prefill: the model takes no beginning of its answer.
    """
    found = [*check_call_ids(messages, profile), *_check_names(messages, profile)]
    found += _check_end(messages, profile, no_prefill)
    found.sort(key=lambda v: v.index)
    return [*found, *_check_schemas(tools or (), profile, len(messages))]


def check_call_ids(messages: Sequence[Message], profile: ProviderProfile) -> list[Violation]:
    """Call ids of a form that is refused."""
    form = profile.servers.call_id
    if form is None:
        return []
    return [
        Violation("call-id", i, f"call id {c.id!r} must be {form.words}")
        for i, m in enumerate(messages)
        for c in m.calls
        if not m.shape.legacy_call and not form.fits(c.id)
    ]


def _check_names(messages: Sequence[Message], profile: ProviderProfile) -> Iterable[Violation]:
    tool, speaker = profile.servers.tool_name, profile.servers.speaker_name
    for i, message in enumerate(messages):
        for call in message.calls if tool is not None else ():
            if tool is not None and not tool.fits(call.name):
                yield Violation("tool-name", i, f"tool name {call.name!r} must be {tool.words}")
        if speaker is not None and message.name and not speaker.fits(message.name):
            said = f"the name {message.name!r} must have {speaker.words}"
            yield Violation("speaker-name", i, said)


def _check_end(
    messages: Sequence[Message], profile: ProviderProfile, no_prefill: bool
) -> Iterable[Violation]:
    last = messages[-1] if messages else None
    if last is None or last.role != "assistant" or last.calls:
        return
    place = len(messages) - 1
    if no_prefill or (profile.servers.answer_last and not last.shape.prefix):
        yield Violation("answer-last", place, "an answer stands last, where a user must")
    elif profile.servers.blank_end and last.text[-1:].isspace():
        yield Violation("blank-end", place, "the answer that stands last ends with a blank")


def _check_schemas(
    tools: Sequence[Mapping[str, Any]], profile: ProviderProfile, place: int
) -> Iterable[Violation]:
    most, form = profile.servers.most_tools, profile.servers.tool_name
    if most and len(tools) > most:
        yield Violation("too-many-tools", place, f"{len(tools)} tools, {most} allowed")
    for i, tool in enumerate(tools if form is not None else ()):
        body = tool.get("function")
        name = (body if isinstance(body, Mapping) else tool).get("name")
        if form is not None and isinstance(name, str) and not form.fits(name):
            said = f"the name of tools[{i}], {name!r}, must be {form.words}"
            yield Violation("tool-schema", place, said)
