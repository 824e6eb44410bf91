"""What models are asked outside of requests: before one, or after its answer for later ones."""

from __future__ import annotations

from eunoe.domain.conversation import Conversation
from eunoe.domain.settings import Settings
from eunoe.pipeline.advisers.advice import Advisers
from eunoe.pipeline.chat.flag_reading import strip_flags
from eunoe.pipeline.chat.transcript import PipelineMemory, last_turn_start


def prepare_chat(
    conversation: Conversation,
    advisers: Advisers,
    memory: PipelineMemory,
    settings: Settings,
    *,
    ahead: bool,
) -> bool:
    """Embed a chat and have it labelled, for as long as it takes.

    Args:
        conversation: as a request gives it.
        advisers: the models to ask.
        memory: of the orchestrator.
        settings: say whether flags are read.
        ahead: label by what later questions may need, not by the question that is asked now; such
            labels belong to the chat, so one without a ``session_id`` gets none.

    Returns:
        Whether all of it worked; if not, requests do without.
    """
    contents = memory.contents("")
    entries = contents.read_all(conversation.raw)
    read = strip_flags(conversation.raw, entries, contents, settings).entries
    start = last_turn_start(read)
    if ahead:
        return advisers.prepare_ahead(read[:start], read[start:], conversation.session_id or "")
    asked = next((e for e in read[start:] if e.message.role == "user"), None)
    return advisers.prepare(read[:start], asked)
