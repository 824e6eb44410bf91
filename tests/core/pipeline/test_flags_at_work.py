"""What the flags of section "Flags" do to a request, turn after turn, in every profile."""

from __future__ import annotations

import pytest

from ask import ask, sent_by
from eunoe import Fate
from judge import count_list, said
from strategies import PROFILE_NAMES, assistant, calling, image, part, result, user

SYSTEM = {"role": "system", "content": "be brief"}
FACT = "the gate code of the garden is 7391"


def filler(count: int, size: int = 30):
    """Turns about nothing in particular."""
    return [
        m
        for i in range(count)
        for m in (
            user(f"item {i}: " + "lorem " * size),
            assistant(f"noted {i}: " + "dolor " * size),
        )
    ]


def text_sent(answer) -> str:
    return "\n".join(said(m) for m in sent_by(answer))


def fates(answer) -> list[Fate]:
    return [d.fate for d in answer.report.decisions]


@pytest.mark.parametrize("profile", PROFILE_NAMES)
@pytest.mark.parametrize("policy", ["stable", "relevance", "window"])
def test_a_pin_holds_for_good_in_every_profile(profile, policy):
    chat = [SYSTEM, user("!pin " + FACT), assistant("ok"), *filler(30), user("what about item 7?")]
    for stop in (len(chat), len(chat) - 20):
        messages = (
            [*chat[:stop], user("go on")] if chat[stop - 1]["role"] != "user" else chat[:stop]
        )
        answer = ask(messages, 700, profile, policy=policy)
        assert FACT in text_sent(answer)
        assert "!pin" not in text_sent(answer)
        assert fates(answer)[1] in (Fate.KEPT, Fate.RECALLED)
        assert text_sent(answer).count(FACT) == 1


def test_without_the_pin_it_would_have_gone():
    chat = [SYSTEM, user(FACT), assistant("ok"), *filler(30), user("what about item 7?")]
    assert FACT not in text_sent(ask(chat, 700, policy="window"))


def test_a_pin_in_a_tool_loop_and_with_a_picture_holds():
    pinned = {"role": "user", "content": [part("!pin " + FACT), image(low=True)]}
    chat = [SYSTEM, pinned, assistant("ok"), *filler(30), user("look"), calling("a"), result("a")]
    answer = ask(chat, 700)
    assert answer.placements[1].message["content"] == [part("… " + FACT), image(low=True)]


@pytest.mark.parametrize("policy", ["stable", "relevance", "window"])
def test_a_pin_that_does_not_fit_is_not_lost_in_silence(policy):
    chat = [
        SYSTEM,
        user("!pin " + "important " * 300),
        assistant("ok"),
        *filler(9),
        user("and now?"),
    ]
    report = ask(chat, 400, policy=policy).report
    assert report.warnings == ("a flag keeps messages that the budget has no room for: the 2nd",)
    assert report.decisions[1].reason == "a flag keeps it, but the budget has no room for it"
    assert (
        policy == "relevance" or report.counts()["kept"] > 3
    )  # what does fit is there all the same


def test_of_several_pins_those_that_fit_are_kept():
    pins = [m for i in range(8) for m in (user(f"!pin fact {i} " + "x" * 300), assistant("ok"))]
    answer = ask([SYSTEM, *pins, *filler(9), user("and now?")], 400)
    there = [i for i in range(8) if f"fact {i} " in text_sent(answer)]
    assert there == [5, 6, 7]
    assert answer.report.warnings == (
        "a flag keeps messages that the budget has no room for: the 2nd, 4th, 6th, 8th, 10th",
    )


@pytest.mark.parametrize("profile", PROFILE_NAMES)
@pytest.mark.parametrize("policy", ["stable", "relevance", "window", "off"])
def test_what_was_dropped_never_comes_back(profile, policy):
    chat = [user("!drop " + FACT), assistant("ok"), user("what is the gate code of the garden?")]
    for budget in (0, 4000, 60):
        assert FACT not in text_sent(ask(chat, budget, profile, policy=policy))
    assert fates(ask(chat, 0, profile))[0] is Fate.DROPPED


def test_dropping_the_question_itself_changes_nothing():
    answer = ask([user("!drop hi there")])
    assert sent_by(answer) == [user("… hi there")]


@pytest.mark.parametrize("policy", ["stable", "relevance", "window"])
@pytest.mark.parametrize("profile", ["openai", "anthropic", "mistral"])
def test_a_tag_brings_its_messages_back_once(policy, profile):
    chat = [SYSTEM, user("!tag=code " + FACT), assistant("ok"), *filler(30)]
    question = "what is the gate code of the garden?"
    with_tag = ask([*chat, user("!keep_tag=code " + question)], 700, profile, policy=policy)
    assert text_sent(with_tag).count(FACT) == 1
    other = ask([*chat, user("!keep_tag=other item 3?")], 700, profile, policy="window")
    assert FACT not in text_sent(other)


@pytest.mark.parametrize("policy", ["stable", "relevance", "window"])
@pytest.mark.parametrize("count", [1, 2, 5, 6])
def test_recent_keeps_the_newest_once_each(policy, count):
    chat = [SYSTEM, *filler(30), user(f"!recent={count} and now?")]
    answer = ask(chat, 1500, policy=policy)
    newest = chat[-1 - count : -1]
    for message in newest:
        assert text_sent(answer).count(message["content"]) == 1


@pytest.mark.parametrize(
    ("wanted", "kept"), [(1, [0, 9]), (2, [0, 7, 8, 9]), (5, [*range(10)]), (9, [*range(10)])]
)
@pytest.mark.parametrize("policy", ["stable", "relevance", "window"])
def test_context_keeps_the_newest_turns(policy, wanted, kept):
    chat = [SYSTEM, *filler(4), user(f"!context={wanted} and now?")]
    answer = ask(chat, 4000, policy=policy)
    assert [p.index for p in answer.placements] == kept


def test_context_counts_with_a_budget_too():
    chat = [SYSTEM, *filler(30), user("!context=2 what about item 3?")]
    answer = ask(chat, 900)
    assert [p.index for p in answer.placements] == [0, 59, 60, 61]


@pytest.mark.parametrize(
    "tail",
    [[], [calling("a"), result("a")], [calling("a"), result("a"), calling("b"), result("b")]],
)
def test_flags_hold_through_a_tool_loop(tail):
    chat = [SYSTEM, *filler(4), user("!context=1,norecall look"), *tail]
    answer = ask(chat, 4000)
    assert [p.index for p in answer.placements] == [0, *range(9, 10 + len(tail))]


@pytest.mark.parametrize(
    ("limit", "cap", "flag", "expected"),
    [
        pytest.param(500, None, "!full", 500, id="full never above the budget"),
        pytest.param(500, 2000, "!full", 2000, id="full up to the operator's cap"),
        pytest.param(500, None, "!target=1000000", 500, id="a target never above the budget"),
        pytest.param(500, 2000, "!target=1000000", 2000, id="a target up to the cap"),
        pytest.param(500, 2000, "!target=800", 800, id="a target below the cap"),
        pytest.param(500, None, "!target=300", 300, id="a target below the budget"),
        pytest.param(500, 100, "!full", 500, id="a cap below the budget is none"),
        pytest.param(0, None, "!target=300", 300, id="a target without a budget"),
        pytest.param(0, None, "!full", 0, id="full without a budget"),
        pytest.param(500, None, "!full,target=300", 500, id="full over target"),
        pytest.param(500, None, "!why", 500, id="another flag"),
        pytest.param(500, None, "!target=soon", 500, id="a bad value"),
    ],
)
def test_budgets_by_flag(limit, cap, flag, expected):
    chat = [SYSTEM, *filler(20), user(f"{flag} and now?")]
    answer = ask(chat, limit, flag_cap=cap)
    assert answer.report.budget == expected
    if expected:
        assert answer.report.tokens_after <= expected
        assert count_list(sent_by(answer)) <= expected


def test_no_pasted_text_and_no_policy_switches_the_budget_off():
    for text in ("!see/full text", "!http://x.com/full hello", "!policy=off hi", "!!full hi"):
        assert ask([*filler(20), user(text)], 500).report.tokens_after <= 500


def test_standing_flags_are_read_from_the_history():
    chat = [user("!+context=1 hi"), assistant("ho"), *filler(2)]
    assert len(sent_by(ask([*chat, user("more")], 4000))) == 1
    assert len(sent_by(ask([*chat, user("!-context more")], 4000))) == 7
    switched_off = [*chat, user("!-context more"), assistant("ok"), user("and more")]
    assert len(sent_by(ask(switched_off, 4000))) == 9


@pytest.mark.parametrize("flag", ["context=1", "+context=1"])
def test_locked_flags_do_nothing_and_say_so(flag):
    chat = [*filler(2), user(f"!{flag} more")]
    answer = ask(chat, 4000, locked_flags=("context",))
    assert len(sent_by(answer)) == 5
    assert answer.report.warnings == ("the 5th message: !context is locked by the operator",)
    assert sent_by(answer)[-1] == user("… more")


def test_flags_can_be_switched_off_altogether():
    chat = [user("!drop a"), assistant("b"), user("!context=1 c")]
    answer = ask(chat, 4000, read_flags=False)
    assert [id(m) for m in sent_by(answer)] == [id(m) for m in chat]


def test_flags_are_stripped_in_every_turn_and_leave_a_mark():
    chat = [
        user("!why a"),
        assistant("!pin is mine"),
        user("!nosum,recall\n  b"),
        assistant("x"),
        user("c"),
    ]
    answer = ask(chat)
    assert [said(m) for m in sent_by(answer)] == ["… a", "!pin is mine", "… b", "x", "c"]
    assert [p.changed for p in answer.placements] == [True, False, True, False, False]
    assert chat[0] == user("!why a")


@pytest.mark.parametrize("text", ["!pin", "!full,why", "!pin   ", "!+nosum\n"])
def test_of_flags_and_nothing_else_the_mark_stays(text):
    """An empty message would be refused."""
    assert sent_by(ask([user(text)])) == [user("… ")]


def test_flags_and_nothing_else_are_in_force():
    chat = [*filler(20), user("!+context=2"), assistant("ok"), user("more")]
    assert len(sent_by(ask(chat))) == 3


def test_a_bad_value_warns_and_leaves_the_message_alone():
    chat = [user("!target=soon hi"), assistant("x"), user("y")]
    answer = ask(chat, 4000)
    assert [id(m) for m in sent_by(answer)] == [id(m) for m in chat] or sent_by(answer) == chat
    assert answer.report.warnings == (
        "the 1st message: !target=soon: allowed are whole numbers from 1 to 10000000",
    )


def test_bytes_of_an_old_turn_are_the_same_in_every_request():
    chat = [user("!pin,why " + FACT), assistant("ok"), user("!recall a"), assistant("b"), user("c")]
    first = [sent_by(ask(chat[:stop], 4000))[0] for stop in (1, 3, 5)]
    assert first[0] == first[1] == first[2]


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_recall_is_asked_for_or_refused(profile):
    chat = [SYSTEM, user(FACT), assistant("ok"), *filler(30)]
    question = "tell me the gate code of the garden"
    assert FACT in text_sent(ask([*chat, user("!recall " + question)], 700, profile))
    refused = ask([*chat, user("!norecall " + question)], 700, profile)
    assert FACT not in text_sent(refused)
    assert refused.report.recall_reason == "recall is off for this turn"


@pytest.mark.parametrize("policy", ["stable", "relevance", "window"])
def test_a_policy_for_one_turn(policy):
    chat = [SYSTEM, *filler(30), user(f"!policy={policy} and now?")]
    assert ask(chat, 700).report.policy == policy


def test_weight_raises_and_lowers_a_message():
    def chat(flag: str):
        return [
            user(flag + FACT),
            assistant("ok"),
            *filler(12),
            user("!recall the gate code, please?"),
        ]

    plain = ask(chat(""), 500).report.decisions[0].score
    assert ask(chat("!weight=3 "), 500).report.decisions[0].score > plain
    assert ask(chat("!weight=0 "), 500).report.decisions[0].score == 0.0


def test_parameters_of_the_scoring_for_one_turn():
    chat = [user(FACT), assistant("understood"), *filler(12)]
    one = ask([*chat, user("!recall,pair_coherence=0 gate code of the garden?")], 500).report
    two = ask([*chat, user("!recall,pair_coherence=1 gate code of the garden?")], 500).report
    assert one.decisions[0].score > 0
    assert two.decisions[1].score >= one.decisions[1].score


def test_a_pinned_message_without_words_is_not_said_to_be_recalled():
    """Reasoning alone cannot be quoted."""
    reasoning = {"role": "assistant", "content": [{"type": "reasoning", "id": "rs_1"}]}
    early = [user("!recent=3 the port is 5432"), reasoning]
    late = [m for k in range(6) for m in (user(f"note {k} " * 9), assistant("noted"))]
    answer = ask([*early, *late, user("!recent=14 and the port?")], 160)
    decision = answer.report.decisions[1]
    assert decision.fate is Fate.DROPPED
    assert "no words" in decision.reason


def test_nosum_is_taken_out_and_changes_nothing_where_nobody_writes_summaries():
    chat = [m for i in range(9) for m in (user(f"q{i} " * 30), assistant(f"a{i} " * 30))]
    plain, flagged = ask([*chat, user("… so?")], 400), ask([*chat, user("!nosum so?")], 400)
    assert sent_by(plain) == sent_by(flagged)
    assert flagged.report.warnings == ()
