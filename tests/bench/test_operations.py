"""How many calls a request makes: what grows with the length of a chat, and how fast.

Counted are calls of Python functions and of built-in ones, by ``sys.setprofile``; unlike times the
counts are the same on every machine.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable

import pytest

from eunoe import ContextOrchestrator, Conversation, TokenBudget
from eunoe.pipeline.chat.transcript import PipelineMemory
from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.index import RelevanceIndex

SUBJECTS = "index replica cursor router ferry museum invoice garlic tenant nonce melody".split()
FILLING = "the of and to we in is that for on with as this have from by not are but can".split()


def spoken(rng: random.Random) -> str:
    """About forty words, some of them new."""
    words = rng.choices(FILLING, k=24) + rng.choices(SUBJECTS, k=12)
    words += [f"{rng.choice(SUBJECTS)}-{rng.randrange(10_000)}" for _ in range(4)]
    rng.shuffle(words)
    return " ".join(words)


def chat_of(size: int) -> list[dict[str, str]]:
    """Users and assistants in turn; a question stands last."""
    rng = random.Random(size)
    roles = ("user", "assistant")
    said = [{"role": roles[i % 2], "content": spoken(rng)} for i in range(size // 2 * 2)]
    return [*said, {"role": "user", "content": "Remind me: what of the ferry and the museum?"}]


def calls_of(work: Callable[[], object]) -> tuple[int, int]:
    """Calls of Python functions, and all calls, that some work makes."""
    counts = {"call": 0, "c_call": 0}

    def note(_frame: object, event: str, _argument: object) -> None:
        if event in counts:
            counts[event] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counts["call"], sum(counts.values())


def index_of(size: int) -> RelevanceIndex:
    index = RelevanceIndex()
    for i, message in enumerate(chat_of(size)[:-1]):
        analysis = analyse_text(message["content"], role=message["role"])
        index.append(analysis, turn=i // 2, tokens=60)
    return index


def warm_calls(size: int, question: str = "And now?") -> tuple[int, int]:
    """Calls of the request after the first one; two messages have come in between."""
    rng = random.Random(7)
    orchestrator = ContextOrchestrator(
        budget=TokenBudget(max_tokens=8_000), memory=PipelineMemory()
    )
    first = chat_of(size)
    more = [{"role": "assistant", "content": spoken(rng)}, {"role": "user", "content": question}]
    orchestrator.process_sync(Conversation.from_openai_messages(first))
    again = json.loads(json.dumps([*first, *more]))
    return calls_of(lambda: orchestrator.process_sync(Conversation.from_openai_messages(again)))


def test_appending_costs_the_same_in_a_long_chat():
    rng = random.Random(3)
    new = [analyse_text(spoken(rng), role=role) for role in ("user", "assistant")]
    counted = []
    for size in (500, 5_000):
        index = index_of(size)
        counted.append(
            calls_of(lambda: [index.append(a, turn=size, tokens=60) for a in new])  # noqa: B023
        )
    for short, long in zip(*counted, strict=True):
        assert abs(long - short) <= 0.1 * short


@pytest.mark.parametrize("size", [500, 5_000])
def test_a_question_to_the_index_takes_a_bounded_number_of_calls(size):
    index = index_of(size)
    query = analyse_text("Remind me: what of the ferry and the museum?", role="user")
    index.relevance(query)
    functions, calls = calls_of(lambda: index.relevance(query))
    assert functions < 400
    assert calls < 1_200


@pytest.mark.parametrize("question", ["And now?", "Remind me: what of the ferry and the museum?"])
def test_a_warm_request_grows_slower_than_the_chat(question):
    """About the same number of calls: messages that are known are compared in one go."""
    warm_calls(20, question)
    short, long = warm_calls(500, question), warm_calls(5_000, question)
    assert long[0] < 1.5 * short[0]
    assert long[1] - short[1] < 4_500


@pytest.mark.parametrize(
    "text",
    ["the dog and a house, ", "src/main.py getUserName() ", "数据库每天晚上变慢。", "May 5 "],
)
def test_analysing_is_linear(text):
    analyse_text(text * 20, role="user")
    short = calls_of(lambda: analyse_text(text * 100, role="user"))[1]
    long = calls_of(lambda: analyse_text(text * 1_000, role="user"))[1]
    assert long <= 10 * short + 200


def _said(role: str, text: str, **more: object) -> dict[str, object]:
    return {"role": role, "content": text, **more}


def _called(*ids: str) -> dict[str, object]:
    function = {"name": "look", "arguments": "{}"}
    calls = [{"id": i, "type": "function", "function": function} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _result(call_id: str) -> dict[str, object]:
    return _said("tool", "42 rows", tool_call_id=call_id)


_PICTURE = [
    {"type": "text", "text": "Here are the images from the tool results above"},
    {"type": "image_url", "image_url": {"url": "x"}},
]
BROKEN = {
    "strays": lambda n: [_result(f"x{i}") for i in range(n)],
    "strays among calls": lambda n: [
        m for i in range(n) for m in (_called(f"c{i}"), _said("assistant", "a"), _result(f"x{i}"))
    ],
    "late results": lambda n: [
        *(m for i in range(n) for m in (_called(f"c{i}"), _said("assistant", "wait"))),
        *(_result(f"c{i}") for i in range(n)),
    ],
    "late results of one id": lambda n: [
        *(m for _ in range(n) for m in (_called("c"), _said("assistant", "wait"))),
        *(_result("c") for _ in range(n)),
    ],
    "early results": lambda n: [
        *(_result(f"c{i}") for i in range(n)),
        *(m for i in range(n) for m in (_called(f"c{i}"), _said("assistant", "a"))),
    ],
    "one id": lambda n: [m for _ in range(n) for m in (_called("c"), _result("c"))],
    "results of one call": lambda n: [_called("c"), *(_result("c") for _ in range(n))],
    "calls in one message": lambda n: [
        _called(*(f"c{i}" for i in range(n))),
        *(_result(f"c{i}") for i in range(n)),
    ],
    "unanswered": lambda n: [_called(f"c{i}") for i in range(n)],
    "unanswered in turns": lambda n: [
        m for i in range(n) for m in (_said("user", f"q{i}"), _called(f"c{i}"))
    ],
    "pictures of results": lambda n: [
        m
        for i in range(n)
        for m in (
            _called(f"c{i}"),
            _result(f"c{i}"),
            {"role": "user", "content": [dict(p) for p in _PICTURE]},
        )
    ],
    "late systems": lambda n: [_said("system", f"s{i}") for i in range(n)],
    "nothing in them": lambda n: [_said("assistant", "") for _ in range(n)],
    "users": lambda n: [_said("user", f"u{i}") for i in range(n)],
    "answers": lambda n: [_said("assistant", f"a{i}") for i in range(n)],
    "pinned": lambda n: [
        m for i in range(n) for m in (_said("user", f"!pin q{i}"), _said("assistant", "a"))
    ],
}


@pytest.mark.parametrize("profile", ["anthropic", "mistral"])
@pytest.mark.parametrize("kind", BROKEN)
def test_mending_is_linear(kind, profile):
    """Of a broken history, twice as long takes about twice the calls, under the same budget."""

    def calls(size: int) -> int:
        chat = [_said("user", "task"), *BROKEN[kind](size), _said("user", "and now?")]
        asked = ContextOrchestrator(TokenBudget(600), memory=PipelineMemory(), on_overflow="keep")
        conversation = Conversation.from_openai_messages(chat)
        return calls_of(lambda: asked.process_sync(conversation, profile=profile))[1]

    assert calls(500) <= 2.4 * calls(250) + 2_000


def test_indexing_a_chat_is_linear():
    def grown(size: int) -> int:
        analyses = [analyse_text(m["content"], role=m["role"]) for m in chat_of(size)]

        def work() -> None:
            index = RelevanceIndex()
            for i, analysis in enumerate(analyses):
                index.append(analysis, turn=i, tokens=60)

        return calls_of(work)[1]

    assert grown(2_000) <= 10 * grown(200) * 1.1
