"""What the host hands to a hook, read into one value with the gaps filled."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eunoe_openwebui.firsttext import first_text
from eunoe_openwebui.hostfacts import base_entry, host_embedding, stored_model_prompt
from eunoe_openwebui.turn import TURN_NOTES_KEY, TurnNotes, read_turn_notes, write_turn_notes
from eunoe_openwebui.valves import FilterUserValves
from eunoe_openwebui.window import base_model_id

_TEMPORARY = ("temporary:", "local:")
_CHANNEL = "channel:"
_RESUMED = "tool_approval_resume"
_WRITTEN = "base_user_prompt"


@dataclass(frozen=True, slots=True)
class HookArguments:
    """The arguments of a hook as they came; everything but the body may be missing."""

    body: dict[str, Any]
    user: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None
    model: Mapping[str, Any] | None
    request: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterRequest:
    """What the host handed over, read once.

    Attributes:
        body: the request to the model.
        model: the host's entry of the model.
        base: the entry of the model that a workspace model stands on; empty for others.
        model_prompt: the model's own system prompt, which the host adds after us.
        written: the newest user message before the host put documents in front of it.
        user: settings of the user.
        chat: name of the chat; empty for a program.
        turn: names the turn for what is done after its answer.
        answer: names the answer for those who are told of its requests.
        earlier: notes of the steps of this turn before.
        embedding: the host's function that embeds; None without one.
        loop: the host's event loop.
    """

    body: Mapping[str, Any]
    model: Mapping[str, Any]
    base: Mapping[str, Any]
    model_prompt: str
    written: str
    user: FilterUserValves
    chat: str
    earlier: TurnNotes
    turn: str = ""
    answer: str = ""
    embedding: Any = None
    loop: asyncio.AbstractEventLoop | None = None


async def read_hook_arguments(given: HookArguments) -> FilterRequest | None:
    """The request; None where there is nothing to do.

    That is, no messages, a user who wants none of it, or a list that no model is sent: once a user
    has allowed calls, the host shows the chat to their tools first.
    """
    user, messages = _user_valves_of(given.user), given.body.get("messages")
    if not messages or not user.enabled:
        return None
    metadata, model = given.metadata or {}, given.model or {}
    if metadata.get(_RESUMED) == "tools" and TURN_NOTES_KEY not in metadata:
        write_turn_notes(given.metadata, TurnNotes())
        return None
    if "base_system_prompt" in metadata:
        prompt = metadata["base_system_prompt"]
    else:
        prompt = await stored_model_prompt(str(given.body.get("model") or ""))
    return FilterRequest(
        body=given.body,
        model=model,
        base=base_entry(given.request, base_model_id(model)),
        model_prompt=str(prompt or ""),
        written=str(metadata.get(_WRITTEN) or ""),
        user=user,
        chat=chat_name(metadata, messages),
        earlier=read_turn_notes(metadata),
        turn=turn_name(given.metadata),
        answer=answer_name(given.metadata),
        embedding=host_embedding(given.request),
        loop=asyncio.get_running_loop(),
    )


def chat_name(metadata: Mapping[str, Any] | None, messages: object) -> str:
    """Name of the chat that goes on from request to request; empty where none does.

    All temporary chats of an open page share one id: their first question tells them apart, as it
    was written, in 16 bits that tell nothing of it. The steps of a turn have the name of the first:
    they may see that question without its flags. In a channel each answer is given a list of its
    own.
    """
    known = metadata or {}
    chat = str(known.get("chat_id") or "")
    if chat.startswith(_CHANNEL):
        return ""
    if not chat.startswith(_TEMPORARY):
        return chat
    if named := read_turn_notes(metadata).chat:
        return named
    given = messages if isinstance(messages, Sequence) else ()
    users = [m for m in given if isinstance(m, Mapping) and m.get("role") == "user"]
    written = str(known.get(_WRITTEN) or "") if len(users) == 1 else ""
    first = (written or first_text(next(iter(users), {}))).encode("utf-8", "replace")
    return f"{chat} {hashlib.blake2b(first, digest_size=2).hexdigest()}"


def turn_name(metadata: Mapping[str, Any] | None) -> str:
    """The chat; where there is none, the object that the host hands to all hooks of a turn."""
    return str((metadata or {}).get("chat_id") or f"turn {id(metadata)}")


def answer_name(metadata: Mapping[str, Any] | None) -> str:
    """The turn and its answer: several models may answer at once."""
    return f"{turn_name(metadata)} {(metadata or {}).get('message_id') or ''}"


def _user_valves_of(user: Mapping[str, Any] | None) -> FilterUserValves:
    """The user's settings; the defaults where there are none or they belong to another filter."""
    valves = (user or {}).get("valves")
    if isinstance(valves, FilterUserValves):
        return valves
    return FilterUserValves(**valves) if isinstance(valves, dict) else FilterUserValves()
