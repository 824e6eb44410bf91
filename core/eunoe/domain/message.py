"""What the stages know of one chat message: an immutable value, made once for each content."""

from __future__ import annotations

import hashlib
from typing import Literal, NamedTuple

SYSTEM_ROLES = ("system", "developer")
RESULT_ROLES = ("tool", "function")
KNOWN_ROLES = ("system", "developer", "user", "assistant", "tool", "function")

MediaKind = Literal["image", "image_low", "audio", "video", "file"]


class ToolCall(NamedTuple):
    """One call of a tool: the id that its result repeats, the tool, its arguments as text."""

    id: str | None
    name: str
    arguments: str


class MessageShape(NamedTuple):
    """What a provider's rules ask of a message, apart from its text.

    Attributes:
        problem: why it is no chat message at all; empty if it is one.
        substance: 2 something is in it, 1 nothing but blank text, 0 content is None or empty.
        half_character: it holds half a surrogate pair and cannot be sent as UTF-8.
        legacy_call: it calls through the old ``function_call`` field.
        prefix: it is marked as the beginning of the answer.
        reasoning_field: it has the key ``reasoning_content``.
        thinks: there are thinking blocks in the content.
        thinking_late: there are thinking blocks, but the first block is another.
        reasoning_last: the last block is a reasoning item, without the item that must follow.
        server_result_alone: a server tool's result without its use in the same message.
        server_use_open: a server tool's use without its result in the same message.
        item_ids: ids of content items, which must be unique within one request.
        asks_approval, approves: ids of MCP approval requests and responses.
        more_answers: ids of the calls that it answers beside the first, in blocks of results.
    """

    problem: str = ""
    substance: int = 2
    half_character: bool = False
    legacy_call: bool = False
    prefix: bool = False
    reasoning_field: bool = False
    thinks: bool = False
    thinking_late: bool = False
    reasoning_last: bool = False
    server_result_alone: bool = False
    server_use_open: bool = False
    item_ids: tuple[str, ...] = ()
    asks_approval: tuple[str, ...] = ()
    approves: tuple[str, ...] = ()
    more_answers: tuple[str, ...] = ()


PLAIN_SHAPE = MessageShape()


def text_digest(text: str) -> str:
    """A hash of a text, 24 hexadecimal digits; half surrogate pairs count too."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


class Message(NamedTuple):
    """One message as the stages see it. Two messages of equal content may share one value.

    Attributes:
        role: as given; unknown roles stay. A user's message with results in blocks is a ``tool``'s.
        text: the text parts, joined by line breaks.
        name: the speaker or tool, if named.
        calls: the tool calls, each once, though it may stand in several places.
        answers: the id of the call that this result answers, or of the first of them.
        pieces: what a model reads of a list of parts, part by part: texts, thinking, and unknown
            parts as JSON without base64; empty if the content is a plain string.
        reasoning: the reasoning that stands beside the content.
        media: the kinds of the parts that are no text.
        parts: types of the content parts; empty if the content is a plain string or None.
        shape: what the providers' rules ask.
        content_digest: hash of what is more than a role and a text; empty for a plain message.
    """

    role: str
    text: str
    name: str | None = None
    calls: tuple[ToolCall, ...] = ()
    answers: str | None = None
    pieces: tuple[str, ...] = ()
    reasoning: str = ""
    media: tuple[MediaKind, ...] = ()
    parts: tuple[str, ...] = ()
    shape: MessageShape = PLAIN_SHAPE
    content_digest: str = ""

    @property
    def digest(self) -> str:
        """Hash of role and content, ids and times of the host left out.

        It is the same in every process, so it survives a clone or an import of the chat.
        """
        return self.content_digest or text_digest(f"{self.role}\0{self.text}")

    @property
    def answered(self) -> tuple[str | None, ...]:
        """The ids of all calls that this result answers."""
        return (self.answers, *self.shape.more_answers)

    @property
    def is_system(self) -> bool:
        """System or developer: never cut."""
        return self.role in SYSTEM_ROLES

    @property
    def is_result(self) -> bool:
        """The result of a call."""
        return self.role in RESULT_ROLES
