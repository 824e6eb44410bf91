"""Chats through the real host: what reaches a strict provider, and what the user is told."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from e2e.talk import (
    FILTER,
    FOLLOW_UPS,
    PLAIN_MODEL,
    PRICED_MODEL,
    WINDOW,
    WINDOW_MODEL,
    as_messages,
    long_chat,
    office_chat,
    told_tokens,
    words,
)
from e2e.upstream import Upstream, text_of
from e2e.webapi import RefusedError, WebApi
from eunoe.stages.accounting import token_text

BUDGET = 1500


def test_a_long_chat_fits_and_its_beginning_stays(admin: WebApi, fresh: Upstream) -> None:
    admin.set_valves(FILTER, {"max_tokens": BUDGET})
    last = admin.import_chat(PLAIN_MODEL, long_chat(40))
    lines = []
    for number in range(8):
        turn = admin.ask(PLAIN_MODEL, FOLLOW_UPS[number % 4], last)
        assert turn.message["content"].startswith("echo: ")
        lines.append(turn.status_lines)
        last = (turn.chat_id, turn.answer_id)
    assert _judged(fresh, BUDGET) == 8
    assert _new_beginnings(fresh) <= 1
    assert all(len(shown) == 1 for shown in lines)
    assert all(re.match(r"sent ≈?1?\.?\d+k? of 1\.5k · .*left out", s[0]) for s in lines), lines
    assert sum("from cache" in shown[0] for shown in lines) >= 6, lines
    assert not any("$" in shown[0] for shown in lines)  # nobody knows what this model costs


def test_an_old_fact_is_recalled_when_it_is_asked_for(admin: WebApi, fresh: Upstream) -> None:
    admin.set_valves(FILTER, {"max_tokens": BUDGET, "show_sources": True})
    chat = long_chat(40)
    chat[4] = ("user", "Our database is PostgreSQL 15 and it listens on port 54329.")
    last = admin.import_chat(PLAIN_MODEL, chat)
    turn = admin.ask(PLAIN_MODEL, "On which port does our PostgreSQL database listen?", last)
    assert _judged(fresh, BUDGET) == 1
    assert "54329" in "\n".join(text_of(m) for m in fresh.requests[0].messages)
    assert "recalled" in turn.status_lines[0]
    assert any("54329" in str(s.get("document")) for s in turn.message.get("sources") or [])


def test_an_old_fact_is_recalled_beside_a_document(admin: WebApi, fresh: Upstream) -> None:
    admin.set_valves(FILTER, {"max_tokens": 4000})
    last = admin.import_chat(PLAIN_MODEL, office_chat())
    question = "On which port does our database listen?"
    for text in ("Draft a note on the pond from it, please.", question):
        paper = {"type": "text", "context": "full", "name": "a.txt", "content": words(1500, 9)}
        turn = admin.ask(PLAIN_MODEL, text, last, files=[paper])
        last = (turn.chat_id, turn.answer_id)
    assert _judged(fresh, 4000) == 2
    texts = [text_of(message) for message in fresh.requests[-1].messages]
    assert words(1500, 9) in texts[-1]
    assert texts[-1].endswith(question)
    assert "54329" in "\n".join(texts[:-1])
    assert "recalled" in turn.status_lines[-1]


def test_a_short_chat_is_sent_as_it_is(admin: WebApi, fresh: Upstream) -> None:
    messages = as_messages(long_chat(3))[:-1]
    admin.complete(WINDOW_MODEL, messages)
    assert fresh.requests[0].messages == messages


def test_the_window_is_found_without_any_setting(admin: WebApi, fresh: Upstream) -> None:
    fresh.reset(window=WINDOW)
    messages = as_messages([*long_chat(100), ("user", "And now?")])
    admin.complete(WINDOW_MODEL, messages, max_tokens=1000)
    assert _judged(fresh, WINDOW - 1000) == 1
    assert fresh.requests[0].tokens > (WINDOW - 1000) * 0.2


def test_a_workspace_model_has_the_window_of_its_base_and_its_own_prompt_counts(
    admin: WebApi, fresh: Upstream
) -> None:
    prompt = "You are a tutor. " + " ".join(text for _, text in office_chat()[:14])
    with admin.workspace_model("tutor", WINDOW_MODEL, prompt) as tutor:
        fresh.reset(window=WINDOW)
        turn = admin.ask(tutor, "And now?", admin.import_chat(tutor, office_chat()))
    assert turn.message["content"].startswith("echo: ")
    assert text_of(fresh.requests[0].messages[0]).startswith("You are a tutor.")
    assert _judged(fresh, WINDOW * 85 // 100) == 1
    assert told_tokens(turn.status_lines[0]) == pytest.approx(fresh.requests[0].tokens, rel=0.1)


def test_an_answer_made_again_sees_the_same_chat(admin: WebApi, fresh: Upstream) -> None:
    admin.set_valves(FILTER, {"max_tokens": BUDGET})
    last = admin.import_chat(PLAIN_MODEL, long_chat(40))
    turn = admin.ask(PLAIN_MODEL, "Once more, please.", last)
    admin.answer(PLAIN_MODEL, turn.question, turn.chat_id)
    first, second = fresh.requests
    assert first.messages == second.messages


def test_a_program_without_a_chat(admin: WebApi, fresh: Upstream) -> None:
    admin.set_valves(FILTER, {"max_tokens": BUDGET})
    messages = as_messages([("system", "Be brief."), *long_chat(40), ("user", "And now?")])
    answer = admin.complete(PLAIN_MODEL, messages)
    assert answer["choices"][0]["message"]["content"] == "echo: And now?"
    assert "echo: And now?" in admin.stream(PLAIN_MODEL, messages)
    assert _judged(fresh, BUDGET) == 2
    for seen in fresh.requests:
        assert seen.messages[0] == messages[0]
        assert seen.messages[-1] == messages[-1]


def test_num_ctx_is_obeyed(admin: WebApi, fresh: Upstream) -> None:
    fresh.reset(window=2048)
    params = {"function_calling": "legacy", "num_ctx": 2048, "max_tokens": 500}
    last = admin.import_chat(PLAIN_MODEL, long_chat(100))
    turn = admin.ask(PLAIN_MODEL, "And now?", last, params=params)
    assert turn.message["content"] == "echo: And now?"
    assert fresh.requests[0].body["num_ctx"] == 2048
    assert _judged(fresh, 1548) == 1


def test_what_cannot_fit_is_refused_when_the_operator_wants_it(
    admin: WebApi, fresh: Upstream
) -> None:
    admin.set_valves(FILTER, {"max_tokens": 300, "on_overflow": "refuse"})
    with pytest.raises(RefusedError, match="300 are allowed"):
        admin.complete(PLAIN_MODEL, [{"role": "user", "content": words(2000, 5)}])
    turn = admin.ask(PLAIN_MODEL, words(2000, 5))
    assert "300 are allowed" in str(turn.message["error"])
    assert fresh.requests == []


def test_what_cannot_fit_is_shortened_by_default(admin: WebApi, fresh: Upstream) -> None:
    admin.set_valves(FILTER, {"max_tokens": 300})
    turn = admin.ask(PLAIN_MODEL, words(2000, 5))
    assert _judged(fresh, 300) == 1
    assert "shortened" in turn.status_lines[0]


def test_reported_usage_corrects_the_count(admin: WebApi, fresh: Upstream, installed: str) -> None:
    admin.set_valves(FILTER, {"max_tokens": BUDGET})
    fresh.charge = 1.5
    with admin.workspace_model(f"dear-{installed}", PLAIN_MODEL, usage=True) as model:
        last = admin.import_chat(model, long_chat(40, size=20))
        for number in range(6):
            turn = admin.ask(model, FOLLOW_UPS[number % 4] + words(60, number), last)
            last = (turn.chat_id, turn.answer_id)
    assert turn.message["usage"]["prompt_tokens"] == int(fresh.requests[-1].tokens * 1.5)
    assert _judged(fresh, BUDGET) == 6
    assert fresh.requests[-1].tokens * 1.5 <= BUDGET


def test_what_the_provider_reports_is_shown_after_the_answer(
    admin: WebApi, fresh: Upstream
) -> None:
    with admin.workspace_model("reporter", PLAIN_MODEL, usage=True) as model:
        first = admin.ask(model, office_chat()[0][1])
        turn = admin.ask(model, "And now?", (first.chat_id, first.answer_id))
        turn = admin.later(turn, f"sent {fresh.requests[-1].tokens} of ")
    assert f" · {fresh.cached_tokens()} from cache" in turn.status_lines[-1]


def test_what_a_priced_model_saves_is_told_and_kept(
    admin: WebApi, fresh: Upstream, installed: str, tmp_path: Path
) -> None:
    path = tmp_path / "ledger.jsonl"
    admin.set_valves(FILTER, {"max_tokens": 4000, "ledger_file": str(path)})
    with admin.workspace_model(f"saver-{installed}", PRICED_MODEL, usage=True) as model:
        last = admin.import_chat(model, office_chat() * 4)
        for text in FOLLOW_UPS:
            turn = admin.ask(model, text, last)
            turn = admin.later(turn, f"sent {token_text(fresh.requests[-1].tokens)} of 4k")
            last = (turn.chat_id, turn.answer_id)
    assert _judged(fresh, 4000) == len(FOLLOW_UPS)
    measured = turn.status_lines[-1]
    assert f" · {token_text(fresh.cached_tokens())} from cache" in measured
    assert " · saved ≈$0.0" in measured
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["chat"] for line in lines] == [turn.chat_id] * len(FOLLOW_UPS)
    sent = sum(line["figures"]["measured.sent.prompt"] for line in lines)
    assert sent == sum(seen.tokens for seen in fresh.requests)


def _judged(upstream: Upstream, budget: int) -> int:
    """Number of requests, after making sure that each is valid and within the budget."""
    for seen in upstream.requests:
        assert seen.problems == ()
        assert seen.tokens <= budget
    return len(upstream.requests)


def _new_beginnings(upstream: Upstream) -> int:
    """How often a request did not begin with all but the newest part of the one before."""
    views: list[list[dict[str, Any]]] = [seen.messages for seen in upstream.requests]
    pairs = itertools.pairwise(views)
    return sum(view[: len(before) - 1] != before[:-1] for before, view in pairs)
