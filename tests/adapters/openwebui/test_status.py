"""What the line above an answer says of a report."""

from __future__ import annotations

from typing import Any

import pytest

from eunoe.domain.report import DecisionList, Fate, Overrun, Report
from eunoe_openwebui.status import status_alarms, status_words
from eunoe_openwebui.turn import TurnNotes

KEPT = {0: Fate.KEPT}


def report(fates: dict[int, Fate], **more: Any) -> Report:
    sizes = [10] * (max(fates) + 1)
    return Report(
        decisions=DecisionList(sizes, fates), tokens_before=90, tokens_after=60, budget=80, **more
    )


@pytest.mark.parametrize(
    ("told", "earlier", "words"),
    [
        (report(KEPT), {}, ""),
        (report({1: Fate.KEPT}), {}, "1 message left out"),
        (report({3: Fate.KEPT}), {}, "3 messages left out"),
        (report(KEPT), {"left_out": 1}, "1 message left out"),
        (report({0: Fate.STUB}), {}, "1 tool result left out"),
        (report({0: Fate.STUB, 1: Fate.STUB}), {}, "2 tool results left out"),
        (report({0: Fate.GIST}), {}, "1 shortened"),
        (report(KEPT, mended=("a",)), {}, "1 fault of the list mended"),
        (report(KEPT, mended=("a", "b")), {}, "2 faults of the list mended"),
    ],
)
def test_what_became_of_the_messages(told: Report, earlier: dict[str, int], words: str) -> None:
    notes = TurnNotes(**earlier)  # type: ignore[arg-type]
    assert status_words(told, notes, factor=1, pinned=0) == words


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (report(KEPT), ""),
        (report(KEPT, tool_tokens=20), ""),
        (report(KEPT, tool_tokens=21), "tools take 21"),
        (report({0: Fate.GIST}, truncated=True), "a message was too long: shortened"),
        (
            report(KEPT, tool_tokens=85, infeasible=Overrun(needed=90, allowed=80)),
            "over the limit · tools take 85",
        ),
    ],
)
def test_what_does_not_fit(told: Report, words: str) -> None:
    assert status_alarms(told, allowed=80) == words


@pytest.mark.parametrize(
    ("text", "tools", "alarm"),
    [
        ("And now? " * 400, 0, "too long"),
        ("!target=x And now?", 0, "!target=x"),
        ("Hi", 900, "over"),
    ],
)
def test_what_went_wrong_is_said_before_what_was_done(
    plugin: Any, text: str, tools: int, alarm: str
) -> None:
    old = [{"role": role, "content": "river " * 300} for role in ("user", "assistant") * 4]
    tool = {"type": "function", "function": {"name": "a", "description": "look " * tools}}
    body = {"model": "own", "messages": [*old, {"role": "user", "content": text}], "tools": [tool]}
    plugin.call("request", body, valves={"max_tokens": 700}, __metadata__={"chat_id": "c"})
    pieces = plugin.status.split(" \N{MIDDLE DOT} ")
    places = [next(k for k, p in enumerate(pieces) if w in p) for w in (alarm, "left out")]
    assert places == sorted(places)
    assert "what may not be cut" not in plugin.status
