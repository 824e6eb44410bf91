"""What the line above an answer says of a report."""

from __future__ import annotations

from typing import Any

import pytest

from eunoe.domain.report import DecisionList, Fate, Report
from eunoe_openwebui.status import status_words
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
        (
            report({0: Fate.GIST}, truncated=True),
            {},
            "1 shortened · a message was too long: shortened",
        ),
        (report(KEPT, mended=("a",)), {}, "1 fault of the list mended"),
        (report(KEPT, mended=("a", "b")), {}, "2 faults of the list mended"),
    ],
)
def test_what_became_of_the_messages(told: Report, earlier: dict[str, int], words: str) -> None:
    notes = TurnNotes(**earlier)  # type: ignore[arg-type]
    assert status_words(told, notes, allowed=80, factor=1, pinned=0) == words
