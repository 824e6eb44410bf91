"""Events of real requests, for tests of what is done with them."""

from __future__ import annotations

from typing import Any

from eunoe import ContextOrchestrator, Conversation, RequestEvent, TokenBudget

SECRET = "xylophone"


class Notebook:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[RequestEvent] = []

    def observe(self, event: RequestEvent) -> None:
        self.events.append(event)


def secret_talk(turns: int) -> list[dict[str, Any]]:
    """A chat in which every message holds a word that no event may hold."""
    chat = [{"role": "system", "content": f"Be brief, {SECRET}."}]
    chat += [{"role": "user", "content": f"The {SECRET} code of the cellar door is 4711."}]
    chat += [{"role": "assistant", "content": f"Noted, {SECRET}."}]
    for turn in range(turns):
        chat.append({"role": "user", "content": f"Question {turn} {SECRET}: " + "more " * 30})
        chat.append({"role": "assistant", "content": f"Answer {turn} {SECRET}: " + "fine " * 60})
    return [*chat, {"role": "user", "content": f"What is the code of the cellar door, {SECRET}?"}]


def event_of(turns: int = 40, budget: int = 2000, **more: Any) -> RequestEvent:
    """The event of one request."""
    notebook = Notebook()
    engine = ContextOrchestrator(TokenBudget(budget), on_overflow="truncate", observer=notebook)
    given = {"model_id": "gpt-4o", "session_id": "c", **more}
    engine.process_sync(Conversation.from_openai_messages(secret_talk(turns)), **given)
    return notebook.events[0]
