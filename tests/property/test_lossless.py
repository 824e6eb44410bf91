"""Law: a kept message is the caller's own object; nothing is written into the input or made up."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ask import ask, bytes_of, sent_by
from eunoe import BudgetError, Fate
from eunoe.wire.result_blocks import speaks_as_user
from judge import HEADS, STRICT_TURNS, SYSTEM_FIRST, count_list, current_turn, is_blank, said
from strategies import budgets, chats, policies, profiles

pytestmark = pytest.mark.property


@st.composite
def answers(draw, **kinds):
    """A chat, its profile, and what the library answers for it (None where it cannot fit)."""
    messages, profile = draw(chats(**kinds)), draw(profiles)
    budget = draw(budgets(count_list(messages), count_list(current_turn(messages))))
    before = copy.deepcopy(messages)
    overflow = draw(st.sampled_from(["raise", "truncate"]))
    try:
        result = ask(messages, budget, profile, policy=draw(policies), on_overflow=overflow)
    except BudgetError:
        result = None
    return messages, before, profile, result


@settings(max_examples=100)
@given(answer=answers(flags=True, odd=True))
def test_the_input_is_untouched(answer):
    messages, before, _, _ = answer
    assert bytes_of(messages) == bytes_of(before)


@settings(max_examples=120)
@given(answer=answers(flags=True))
def test_kept_messages_are_the_callers_own_objects(answer):
    messages, _, profile, result = answer
    if result is None:
        return
    for placement in result.placements:
        if placement.index is None:
            assert placement.changed
            continue
        own = messages[placement.index]
        if not placement.changed:
            assert placement.message is own
            continue
        flagged = said(own).startswith("!") and own["role"] == "user"
        half = "\ud83d" in said(own)
        shortened = placement.fate in (Fate.GIST, Fate.STUB)
        empty_result = own["role"] in ("tool", "function")
        merged = profile in STRICT_TURNS and own["role"] == "user"
        assert flagged or half or shortened or empty_result or merged, placement
        assert placement.message is not own
        assert placement.message["role"] == own["role"]
        if merged and not shortened and not flagged and not half:
            assert said(placement.message).endswith(said(own))


@settings(max_examples=120)
@given(answer=answers(flags=True))
def test_order_stays_and_no_message_comes_twice(answer):
    messages, _, profile, result = answer
    if result is None:
        return
    places = [p.index for p in result.placements if p.index is not None]
    assert len(set(places)) == len(places)
    moving = ("tool", "function", *(HEADS if profile in SYSTEM_FIRST else ()))
    fixed = [i for i in places if messages[i]["role"] not in moving]
    assert fixed == sorted(fixed)
    systems = [i for i in places if messages[i]["role"] in HEADS]
    assert systems == sorted(systems)


@settings(max_examples=120)
@given(answer=answers(flags=True))
def test_system_messages_are_never_lost_or_reworded(answer):
    messages, _, _, result = answer
    if result is None:
        return
    there = {id(m) for m in sent_by(result)}
    systems = [m for m in messages if m["role"] in HEADS]
    assert all(id(m) in there for m in systems)
    assert sum(m["role"] in HEADS for m in sent_by(result)) == len(systems)


@settings(max_examples=100)
@given(answer=answers())
def test_the_question_is_there(answer):
    messages, _, _, result = answer
    asked = [i for i, m in enumerate(messages) if m["role"] == "user" and not is_blank(m)]
    asked = [i for i in asked if speaks_as_user(messages[i])]
    asked = [i for i in asked if not _is_answer_to_host(messages[i])]
    if result is None or not asked:
        return
    shown = [i for i in range(asked[-1], len(messages)) if _is_answer_to_host(messages[i])]
    [sent] = [p for p in result.placements if p.index == asked[-1]] or [None]
    if sent is None and shown:  # roles alternate: pictures of results stand behind the question
        sent = next(p for p in result.placements if p.index in shown)
        whole = said(messages[asked[-1]]) in said(sent.message)
        cut = result.report.decisions[asked[-1]].fate is Fate.GIST and result.report.truncated
        assert whole or cut
        return
    assert sent is not None
    if sent.fate is Fate.KEPT and "\ud83d" not in said(messages[asked[-1]]):
        assert said(sent.message).endswith(said(messages[asked[-1]]))


def _is_answer_to_host(message) -> bool:
    content = message["content"]
    first = content[0] if isinstance(content, list) and content else {}
    shown = str(first.get("text", "")).startswith("Here are the images")
    return shown or first.get("type") == "mcp_approval_response"
