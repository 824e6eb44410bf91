"""Poisoned histories, what is sent for them, and that the report says so."""

from __future__ import annotations

import pytest

from ask import ask, sent_by
from eunoe import ContextOrchestrator, Conversation, Fate
from judge import faults, said
from strategies import PROFILE_NAMES, assistant, calling, image, part, result, user

SYSTEM = {"role": "system", "content": "be brief"}
NO_RESULT = "[no result was recorded for this call]"
HEAD_FIRST = ("anthropic", "gemini", "mistral", "template")
STRICT = ("mistral", "template")


def blocks(*content):
    return {"role": "assistant", "content": list(content)}


def places(answer):
    return [p.index for p in answer.placements]


@pytest.mark.parametrize(
    ("chat", "sent", "said"),
    [
        pytest.param(
            [user("q"), result("a"), assistant("x"), user("r")],
            [0, 2, 3],
            "[1] left out of the list: a result without its call",
            id="orphan",
        ),
        pytest.param(
            [user("q"), calling("a"), result("a"), result("a", "again"), assistant("x"), user("r")],
            [0, 1, 2, 4, 5],
            "[3] left out of the list: a second result for one call",
            id="double result",
        ),
        pytest.param(
            [user("q"), result("a"), calling("a"), assistant("x"), user("r")],
            [0, 2, 1, 3, 4],
            "[1] a result was moved behind its call [2]",
            id="early result",
        ),
        pytest.param(
            [user("q"), calling("a"), assistant("wait"), result("a"), user("r")],
            [0, 1, 3, 2, 4],
            "[3] a result was moved behind its call [1]",
            id="late result",
        ),
        pytest.param(
            [user("q"), calling("a", "b"), result("a"), assistant("x"), user("r")],
            [0, 1, 2, None, 3, 4],
            "[1] no result was recorded for b; a stub says so",
            id="missing result",
        ),
        pytest.param(
            [user("q"), calling("a"), user("r")],
            [0, 1, None, 2],
            "[1] no result was recorded for a; a stub says so",
            id="dead call",
        ),
        pytest.param(
            [user("q"), calling("a", "a"), result("a"), assistant("x"), user("r")],
            [0, 3, 4],
            "[1] left out of the list: one id for two calls",
            id="twin ids",
        ),
        pytest.param(
            [user("q"), assistant("x"), {"role": "user", "content": None}, user("r")],
            [0, 1, 3],
            "[2] a user message with nothing in it was left out",
            id="nothing in it",
        ),
        pytest.param(
            [user("q"), blocks(part("x"), {"type": "server_tool_use", "id": "s"}), user("r")],
            [0, 2],
            "[1] left out of the list: use and result of a server tool in different messages",
            id="server tool open",
        ),
    ],
)
def test_what_every_provider_refuses_is_mended(chat, sent, said):
    answer = ask(chat)
    assert places(answer) == sent
    assert said in answer.report.mended
    assert faults(sent_by(answer), "openai") == []
    kept = [i for i, d in enumerate(answer.report.decisions) if d.fate is Fate.KEPT]
    assert kept == sorted(i for i in sent if i is not None)


def test_an_empty_result_gets_a_text():
    chat = [user("q"), calling("a"), {"role": "tool", "tool_call_id": "a", "content": None}]
    answer = ask(chat)
    assert sent_by(answer)[2] == result("a", "[no output]")
    assert answer.placements[2].changed


def test_a_stub_stands_among_the_results_of_its_call():
    chat = [user("q"), calling("a", "b", "c"), result("b"), assistant("x"), user("r")]
    sent = sent_by(ask(chat))
    assert [m.get("tool_call_id") for m in sent] == [None, None, "b", "a", "c", None, None]
    assert sent[3] == result("a", NO_RESULT)
    shown = {
        "role": "user",
        "content": [part("Here are the images from the tool results above"), image()],
    }
    chat = [user("q"), calling("a", "b"), result("b"), shown, assistant("x"), user("r")]
    assert [m["role"] for m in sent_by(ask(chat))][1:5] == ["assistant", "tool", "tool", "user"]


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_half_characters_are_replaced(profile):
    answer = ask([user("cut \ud83d off"), assistant("x"), user("q")], 0, profile)
    assert sent_by(answer)[0] == user("cut \ufffd off")
    assert "[0] half a character was replaced" in answer.report.mended


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_late_system_messages_move_only_where_they_are_refused(profile):
    late = {"role": "system", "content": "[memory] x"}
    chat = [SYSTEM, user("q"), assistant("a"), late, user("r"), assistant("b"), {**late}, user("s")]
    answer = ask(chat, 0, profile)
    if profile in HEAD_FIRST:
        assert places(answer) == [0, 3, 6, 1, 2, 4, 5, 7]
        assert answer.report.mended == ("late system messages were moved to the head",)
    else:
        assert sent_by(answer) == chat
        assert answer.report.mended == ()
    assert all(not p.changed for p in answer.placements)


@pytest.mark.parametrize("profile", HEAD_FIRST)
def test_an_answer_first_gets_a_marker_before_it(profile):
    chat = [SYSTEM, assistant("Hello, how can I help?"), user("q")]
    answer = ask(chat, 0, profile)
    assert [p.index for p in answer.placements] == [0, None, 1, 2]
    assert sent_by(answer)[1]["content"].startswith("(")
    assert "a marker was put before the first answer" in answer.report.mended[0]


@pytest.mark.parametrize("profile", HEAD_FIRST)
def test_a_chat_of_system_messages_alone_gets_a_user(profile):
    answer = ask([SYSTEM], 0, profile)
    assert [m["role"] for m in sent_by(answer)] == ["system", "user"]


@pytest.mark.parametrize("profile", PROFILE_NAMES)
@pytest.mark.parametrize("content", [None, [], "", " "])
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_no_list_is_empty_where_something_was_given(profile, role, content):
    answer = ask([{"role": role, "content": content}], 0, profile)
    assert faults(sent_by(answer), profile) == []
    assert len(sent_by(answer)) >= 1
    assert ask([], 0, profile).conversation.to_openai_messages() == []


OLD_CALL = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
OLD_RESULT = {"role": "function", "name": "f", "content": "42"}


def test_a_block_without_a_question_parts_no_call_from_its_stub():
    chat = [result("lost", "17 rows"), calling("a"), calling("b")]
    for profile in PROFILE_NAMES:
        assert faults(sent_by(ask(chat, 0, profile)), profile) == []


def test_an_answer_whose_question_was_cut_goes_with_its_results():
    approves = {
        "role": "user",
        "content": [{"type": "mcp_approval_response", "approval_request_id": "m", "approve": True}],
    }
    chat = [calling("a"), assistant("wait"), approves, result("a"), assistant("x"), user("r")]
    for profile in PROFILE_NAMES:
        answer = ask(chat, 0, profile)
        assert faults(sent_by(answer), profile) == []
        assert places(answer).count(0) == places(answer).count(3)


@pytest.mark.parametrize("profile", PROFILE_NAMES)
@pytest.mark.parametrize("policy", ["stable", "relevance", "lethes", "dycp"])
def test_a_call_keeps_its_place_where_its_result_came_early(profile, policy):
    turn = [user("q"), result("a", "17 rows"), assistant("wait"), assistant("still"), calling("a")]
    chat = [*turn, assistant("17 rows"), user("how many rows?"), assistant("17"), user("rows?")]
    filler = [m for i in range(9) for m in (user(f"z{i} " * 9), assistant("y " * 9))]
    whole = [*filler, *chat]
    answer = ask(whole, 260, profile, policy=policy, recall="always")
    shown = [i for i in places(answer) if i is not None and whole[i]["role"] != "tool"]
    assert shown == sorted(shown)


ASKS = {"type": "mcp_approval_request", "id": "m", "name": "rm", "arguments": "{}"}
APPROVES = {"type": "mcp_approval_response", "approval_request_id": "m", "approve": True}


@pytest.mark.parametrize("profile", ["openai", "responses", "deepseek", "permissive"])
@pytest.mark.parametrize("policy", ["relevance", "lethes"])
@pytest.mark.parametrize(
    "between", [[], [blocks(ASKS), {"role": "user", "content": [APPROVES]}]], ids=["", "approved"]
)
def test_no_list_opens_with_an_answer_whose_question_was_cut(profile, policy, between):
    """The answer is quoted instead, also where an approval stands between."""
    told = "The harbour violin is in box 17, beside the harbour violin case."
    filler = [m for i in range(9) for m in (user(f"z{i} " * 9), assistant("y " * 9))]
    chat = [user("lorem ipsum " * 60), *between, assistant(told), *filler]
    answer = ask([*chat, user("harbour violin?")], 170, profile, policy=policy, recall="always")
    assert sent_by(answer)[0]["role"] == "user"
    assert told in str(sent_by(answer))


@pytest.mark.parametrize("content", [None, "", " "])
def test_an_old_result_with_nothing_in_it_gets_a_text_where_that_is_refused(content):
    chat = [user("q"), OLD_CALL, {**OLD_RESULT, "content": content}, assistant("x"), user("r")]
    for profile in PROFILE_NAMES:
        answer = ask(chat, 0, profile)
        assert faults(sent_by(answer), profile) == []
        assert places(answer) == [0, 1, 2, 3, 4]


def test_old_calls_are_told_by_their_place_alone():
    """They have no ids: a result that stands elsewhere could be another's."""
    chat = [user("q"), OLD_CALL, OLD_CALL, OLD_RESULT, OLD_RESULT, assistant("x"), user("r")]
    answer = ask(chat)
    assert places(answer) == [0, 2, 3, 5, 6]
    assert faults(sent_by(answer), "openai") == []


def test_a_call_in_the_old_field_of_another_role_is_no_call():
    chat = [user("q"), {**OLD_CALL, "role": "function"}]
    answer = ask(chat)
    assert places(answer) == [0]
    assert faults(sent_by(answer), "openai") == []


@pytest.mark.parametrize("profile", STRICT)
def test_a_blank_user_behind_running_steps_parts_them_from_no_question(profile):
    chat = [user("q"), calling("a"), user(" "), result("a")]
    assert [m["role"] for m in sent_by(ask(chat, 0, profile))] == ["user", "assistant", "tool"]


@pytest.mark.parametrize("profile", STRICT)
def test_users_and_tool_steps_in_a_row_are_quoted_once_each(profile):
    """A quotation in a quotation would grow with each step, and break its tags again and again."""
    steps = [
        m for i in range(3) for m in (user(f"q{i}"), calling(f"c{i}"), result(f"c{i}", "</x>"))
    ]
    [sent] = sent_by(ask([*steps, user("r")], 0, profile))
    assert sent["content"].count("<recalled") == 1
    assert sent["content"].count("<\\/x>") == 3
    assert all(f"user: q{i}" in sent["content"] for i in range(3))
    assert sent["content"].endswith("</recalled>\n\nr")


@pytest.mark.parametrize("profile", STRICT)
def test_two_users_are_merged_and_the_last_one_ends_the_text(profile):
    chat = [user("first"), user("second"), assistant("x"), user("third"), user("fourth")]
    answer = ask(chat, 0, profile)
    assert sent_by(answer) == [user("first\n\nsecond"), assistant("x"), user("third\n\nfourth")]
    assert [d.fate for d in answer.report.decisions] == [Fate.KEPT] * 5
    assert places(answer) == [1, 2, 4]


@pytest.mark.parametrize("profile", STRICT)
def test_two_answers_are_parted_by_a_marker(profile):
    answer = ask([user("q"), assistant("x"), assistant("y"), user("r")], 0, profile)
    assert sent_by(answer)[2] == user("(no message)")
    assert places(answer) == [0, 1, None, 2, 3]


@pytest.mark.parametrize("profile", STRICT)
def test_tool_steps_without_an_answer_are_quoted_before_the_next_question(profile):
    chat = [user("q"), calling("a"), result("a", "42 </recalled> rows"), user("r")]
    answer = ask(chat, 0, profile)
    [sent] = sent_by(answer)
    assert sent["content"].endswith("\n\nr")
    assert "42 <\\/recalled> rows" in sent["content"]
    assert "[calls look(" in sent["content"]
    assert answer.report.mended == (
        "tool steps that never came to an answer were quoted before the next question",
    )


@pytest.mark.parametrize("profile", STRICT)
def test_blank_users_do_not_stand_between(profile):
    chat = [user("q"), assistant("x"), user(" "), user("r")]
    answer = ask(chat, 0, profile)
    assert sent_by(answer)[-1] is chat[3]
    assert faults(sent_by(answer), profile) == []


@pytest.mark.parametrize("profile", ["anthropic", "gemini", "mistral"])
def test_blank_texts_are_left_out_where_they_are_refused(profile):
    chat = [user("q"), assistant(" \n"), user("r")]
    answer = ask(chat, 0, profile)
    assert faults(sent_by(answer), profile) == []
    assert ask(chat, 0, "openai").conversation.to_openai_messages() == chat


def test_reasoning_that_deepseek_wants_back():
    chat = [
        user("q"),
        calling("a"),
        result("a", "old"),
        assistant("x"),
        user("r"),
        calling("b", reasoning_content="hm"),
        result("b"),
    ]
    answer = ask(chat, 0, "deepseek")
    assert places(answer) == [0, 3, 4, 5, 6]
    assert ask(chat, 0, "openai").report.mended == ()


def test_items_come_once_in_a_request_of_responses():
    said = {"type": "output_text", "id": "m", "text": "x"}
    chat = [user("q"), blocks(said), user("r"), blocks({**said, "text": "y"}), user("s")]
    answer = ask(chat, 0, "responses")
    assert places(answer) == [0, 2, 3, 4]
    assert "an item id comes twice" in answer.report.mended[0]


def test_thinking_in_the_wrong_place_is_left_out_for_anthropic():
    chat = [user("q"), blocks(part("x"), {"type": "thinking", "thinking": "hm"}), user("r")]
    assert places(ask(chat, 0, "anthropic")) == [0, 2]
    assert places(ask(chat, 0, "openai")) == [0, 1, 2]


def test_a_running_call_at_the_end_is_left_alone():
    chat = [user("q"), calling("a", "b")]
    for profile in PROFILE_NAMES:
        assert [id(m) for m in sent_by(ask(chat, 0, profile))] == [id(m) for m in chat]


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_a_running_call_gets_no_stub_where_other_things_are_cut(profile):
    filler = [m for i in range(20) for m in (user("lorem " * 30), assistant("ipsum " * 30))]
    chat = [SYSTEM, *filler, user("look"), calling("a", "b")]
    sent = sent_by(ask(chat, 500, profile))
    assert sent[-1] is chat[-1]


def test_blank_system_messages_stay_though_a_provider_may_refuse_them():
    chat = [{"role": "system", "content": " "}, user("q"), assistant(""), user("r")]
    answer = ask(chat, 0, "anthropic")
    assert places(answer) == [0, 1, 3]
    assert answer.report.violations == ("[0] a system message with nothing in it",)


def test_a_dead_call_whose_id_comes_again_is_left_out():
    chat = [
        user("q"),
        calling("a"),
        user("r"),
        calling("a"),
        result("a"),
        assistant("x"),
        user("s"),
    ]
    answer = ask(chat)
    assert places(answer) == [0, 2, 3, 4, 5, 6]
    assert "whose id is used for another call too" in answer.report.mended[0]


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_what_of_the_current_turn_cannot_stand_is_quoted(profile):
    chat = [user("q"), assistant("x"), user("look"), result("lost", "17 rows")]
    answer = ask(chat, 0, profile)
    assert any("17 rows" in str(m["content"]) for m in sent_by(answer))
    assert answer.report.decisions[3].fate is Fate.RECALLED
    assert faults(sent_by(answer), profile) == []


@pytest.mark.parametrize("profile", ["anthropic", "gemini", "mistral", "template"])
@pytest.mark.parametrize("policy", ["stable", "off"])
def test_a_marker_behind_lone_system_messages_is_reported(profile: str, policy: str):
    only = [{"role": "system", "content": "be brief"}]
    answer = ContextOrchestrator().process_sync(
        Conversation.from_openai_messages(only), profile=profile, policy=policy
    )
    assert answer.conversation.to_openai_messages()[0] is only[0]
    assert len(answer.report.mended) == 1


def test_an_early_result_goes_when_another_of_its_id_comes():
    """Either may be the true one."""
    chat = [user("q"), result("a", "x"), calling("a"), assistant("ok"), user("r")]
    assert [p.index for p in ask(chat).placements] == [0, 2, 1, 3, 4]
    answer = ask([*chat, result("a", "y")])
    assert [p.index for p in answer.placements] == [0, 3, None, 4]
    assert (
        "[1] left out of the list: a result before its call, and another result of the same id"
    ) in answer.report.mended


@pytest.mark.parametrize("profile", ["mistral", "template"])
def test_a_mended_message_is_not_merged_with_the_one_before(profile):
    """Its text is the caller's no more, so nobody could tell where the one before ends."""
    answer = ask([user("one"), user("half \ud83d")], profile=profile)
    assert [m["content"] for m in sent_by(answer)] == ["half \ufffd"]
    fates = [d.fate for d in answer.report.decisions]
    assert fates == [Fate.DROPPED, Fate.KEPT]
    [sent] = sent_by(ask([user("half \ud83d"), user("two")], profile=profile))
    assert sent["content"] == "half \ufffd\n\ntwo"


@pytest.mark.parametrize("profile", ["mistral", "template"])
def test_pictures_are_quoted_in_a_word(profile):
    shown = {"role": "user", "content": [part("see"), image(), image(low=True)]}
    chat = [shown, calling("a"), result("a"), user("r")]
    text = said(sent_by(ask(chat, profile=profile))[0])
    assert text.split("\n")[1:5] == [
        "1 user: see",
        "[image]",
        "[image]",
        "assistant: " + ('[calls look({"q": "find a"})]'),
    ]


@pytest.mark.parametrize("profile", ["mistral", "template"])
def test_what_cannot_be_quoted_is_not_said_to_be(profile):
    """The question was mended, and where roles alternate nothing else can hold a quotation."""
    chat = [user("The port of the database is 5432."), assistant("Noted.")]
    for k in range(30):
        chat += [user(f"Tell of garden {k}. " + "so " * 30), assistant("It grows. " * 12)]
    asked = "Which port does the database have? \ud83d"
    plain = ask([*chat, user(asked[:-1])], 400, profile)
    assert plain.report.recalled
    answer = ask([*chat, user(asked)], 400, profile)
    assert "<recalled" not in str(sent_by(answer))
    assert answer.report.recalled == 0
    assert not any(d.fate is Fate.RECALLED for d in answer.report.decisions)


def test_an_item_twice_in_one_message_takes_no_other_with_it():
    once, again = {**part("x"), "id": "m"}, {**part("y"), "id": "m"}
    chat = [user("q"), {"role": "assistant", "content": [once]}, user("r")]
    chat += [{"role": "assistant", "content": [again, again]}, user("s")]
    answer = ask(chat, profile="responses")
    assert faults(sent_by(answer), "responses") == []
    assert [p.index for p in answer.placements] == [0, 1, 2, 4]


@pytest.mark.parametrize("profile", ["openai", "anthropic", "gemini"])
def test_a_stub_goes_with_its_call_where_the_list_may_not_open_with_it(profile):
    chat = [user("please look " * 150), assistant("I look. " * 150), user("please look " * 150)]
    chat += [calling("a", content="the harbour fee is 7 crowns"), user("Which harbour fee?")]
    answer = ask(chat, 150, profile, policy="relevance")
    assert faults(sent_by(answer), profile) == []
    assert "7 crowns" in str(sent_by(answer))
    assert not any(m["role"] == "tool" for m in sent_by(answer))


def test_reasoning_alone_is_not_said_to_be_quoted():
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    chat = [user("long " * 300), {"role": "assistant", "content": [thinking]}]
    report = ask([*chat, user("!recent=2 Go on.")], 150).report
    assert report.decisions[1].fate is Fate.DROPPED
    assert "no words to quote" in report.decisions[1].reason
