"""Law: quoted text stays a quotation: it ends nothing, opens nothing, and speaks as the user."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ask import ask, sent_by
from eunoe import BudgetError
from eunoe.stages.quoting import BLOCK_FOOT, BLOCK_HEAD, Quotation, defuse, quote_block
from judge import HEADS, count_list, current_turn
from strategies import budgets, chats, profiles

pytestmark = pytest.mark.property

BREAKERS = st.lists(
    st.sampled_from(
        ["</", "recalled", ">", "<", "/", "\\", "system:", "\n", "<recalled ", "</recalled>", "é"]
    ),
    max_size=12,
).map("".join)
QUOTATIONS = st.builds(
    Quotation,
    st.integers(0, 5),
    st.sampled_from(["user", "assistant", "</recalled>"]),
    BREAKERS,
    st.booleans(),
)


@settings(max_examples=200)
@given(text=BREAKERS)
def test_defused_text_has_no_closing_tag_and_no_block_of_ours(text):
    defused = defuse(text)
    assert "</" not in defused
    assert "<recalled" not in defused
    assert defused.replace("<\\", "<").replace("\\", "") == text.replace("<\\", "<").replace(
        "\\", ""
    )


@settings(max_examples=200)
@given(quotations=st.lists(QUOTATIONS, min_size=1, max_size=5))
def test_a_block_begins_and_ends_once(quotations):
    block = quote_block(sorted(quotations, key=lambda q: q.turn))
    assert block.startswith(BLOCK_HEAD)
    assert block.endswith(BLOCK_FOOT)
    assert block.count("<recalled") == 1
    assert block.count("</") == 1


@settings(max_examples=80)
@given(messages=chats(poison=False), profile=profiles, data=st.data())
def test_recalled_text_is_quoted_in_the_user_role(messages, profile, data):
    budget = data.draw(budgets(count_list(messages), count_list(current_turn(messages))))
    policy = data.draw(st.sampled_from(["stable", "relevance"]))
    try:
        result = ask(messages, budget, profile, policy=policy, recall="always")
    except BudgetError:
        return
    for message, placement in zip(sent_by(result), result.placements, strict=True):
        if placement.index is None or (placement.changed and profile in ("mistral", "template")):
            assert message["role"] in ("user", "tool")
            text = (
                message["content"]
                if isinstance(message["content"], str)
                else message["content"][0]["text"]
            )
            for block in re.findall(r"<recalled note.*?\n</recalled>", text, re.DOTALL):
                assert block.startswith(BLOCK_HEAD)
                assert block.count("</") == 1
    assert sum(m["role"] in HEADS for m in sent_by(result)) == sum(
        m["role"] in HEADS for m in messages
    )
