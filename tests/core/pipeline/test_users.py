"""What people do with chats: the odd shapes that hosts and users really send."""

from __future__ import annotations

import pytest

from ask import ask, orchestrator, sent_by
from eunoe import BudgetError, Conversation, ConversationError, SettingsError
from judge import count_list, faults, said
from strategies import POLICIES, PROFILE_NAMES, assistant, calling, image, part, result, user

SYSTEM = {"role": "system", "content": "be brief"}
IMAGES = {
    "role": "user",
    "content": [
        part("Here are the images from the tool results above. Use them."),
        image(low=True),
    ],
}


@pytest.mark.parametrize("profile", PROFILE_NAMES)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "chat",
    [
        pytest.param([], id="nothing"),
        pytest.param([user("hi")], id="one question"),
        pytest.param([SYSTEM], id="only system"),
        pytest.param([assistant("hi")], id="only an answer"),
        pytest.param([result("a")], id="only a result"),
        pytest.param([calling("a")], id="only a call"),
        pytest.param([user(" ")], id="only a blank"),
        pytest.param([user(""), user("")], id="only blanks"),
        pytest.param([user("q"), assistant("The answer is")], id="prefill"),
        pytest.param(
            [SYSTEM, user("q"), calling("a"), result("a"), IMAGES], id="pictures after results"
        ),
        pytest.param([user("same")] * 50, id="equal questions"),
        pytest.param([user("same"), assistant("same")] * 25, id="equal turns"),
        pytest.param([assistant("x")] * 5, id="answers only"),
        pytest.param([SYSTEM] * 5, id="system messages only"),
    ],
)
@pytest.mark.parametrize("budget", [0, 1, 30, 400, 100_000])
def test_every_shape_is_answered_with_a_valid_list(profile, policy, chat, budget):
    answer = ask(chat, budget, profile, policy=policy, on_overflow="keep")
    sent = sent_by(answer)
    if not chat:
        assert sent == []
        return
    if any(said(m).strip() and m["role"] != "tool" for m in chat):
        assert sent
    assert faults(sent, profile) == []
    assert len(answer.report.decisions) == len(chat)
    if budget and answer.report.infeasible is None and policy != "off":
        assert answer.report.tokens_after <= budget


@pytest.mark.parametrize("profile", ["openai", "responses", "anthropic", "gemini", "deepseek"])
def test_pictures_after_results_stay_with_the_running_turn(profile):
    filler = [m for i in range(20) for m in (user("lorem " * 30), assistant("ipsum " * 30))]
    chat = [SYSTEM, *filler, user("draw"), calling("a"), result("a"), IMAGES]
    places = [p.index for p in ask(chat, 600, profile).placements]
    assert places[-4:] == [41, 42, 43, 44]


def test_an_approval_does_not_open_a_turn():
    asks = {
        "role": "assistant",
        "content": [{"type": "mcp_approval_request", "id": "m", "name": "rm", "arguments": "{}"}],
    }
    says = {
        "role": "user",
        "content": [{"type": "mcp_approval_response", "approval_request_id": "m", "approve": True}],
    }
    filler = [m for i in range(20) for m in (user("lorem " * 30), assistant("ipsum " * 30))]
    chat = [*filler, user("delete it"), asks, says]
    assert [p.index for p in ask(chat, 500).placements][-3:] == [40, 41, 42]


def test_ten_thousand_equal_messages_are_cut_like_any_others():
    chat = [user("same words here"), assistant("same words here")] * 5000 + [user("and now?")]
    answer = ask(chat, 2000)
    assert answer.report.tokens_after <= 2000
    assert sent_by(answer)[-1] is chat[-1]
    assert len(answer.report.decisions) == 10_001


@pytest.mark.parametrize("policy", POLICIES)
def test_three_hundred_parallel_calls(policy):
    ids = [f"c{i}" for i in range(300)]
    chat = [
        user("q"),
        calling(*ids),
        *(result(i) for i in reversed(ids)),
        assistant("x"),
        user("r"),
    ]
    assert sent_by(ask(chat, 0, policy=policy)) == chat
    if policy != "off":
        cut = ask(chat, 200, policy=policy)
        assert [p.index for p in cut.placements][-1] == 303
        assert cut.report.tokens_after <= 200


def test_a_result_of_thirty_six_megabytes():
    chat = [user("read it"), calling("a"), result("a", "0123456789 " * 3_300_000)]
    answer = ask(chat, 4000)
    assert answer.report.tokens_after <= 4000
    assert len(sent_by(answer)[2]["content"]) < 13_000


@pytest.mark.parametrize(
    "usage",
    [
        {},
        {"prompt_tokens": None},
        {"prompt_tokens": "many"},
        {"prompt_tokens": -5},
        {"x": [1]},
        {"prompt_tokens": 10**30},
    ],
)
def test_odd_usage_harms_nothing(usage):
    asked = orchestrator(100)
    conversation = Conversation.from_openai_messages([user("hi")])
    assert asked.process_sync(conversation, usage=usage).report.tokens_after == 8


@pytest.mark.parametrize("messages", [None, []])
def test_no_messages_at_all(messages):
    result_ = orchestrator(100).process_sync(Conversation.from_openai_messages(messages))
    assert sent_by(result_) == []
    assert len(result_.report.decisions) == 0
    assert result_.report.explain()


@pytest.mark.parametrize("messages", ["hi", {"role": "user"}, [None], [["role", "user"]], 5])
def test_what_is_no_list_of_messages_is_refused_at_the_door(messages):
    with pytest.raises(ConversationError):
        Conversation.from_openai_messages(messages)


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_odd_content_goes_through_and_the_report_names_it(profile):
    chat = [user("q"), assistant("x"), {"content": "no role"}, user("r")]
    report = ask(chat, 0, profile).report
    assert any("role is missing" in v for v in report.violations) or report.mended


@pytest.mark.parametrize("content", [5, 2.5, True, {"text": "when?"}])
def test_a_question_of_another_type_is_not_lost(content):
    chat = [user("q"), assistant("x"), {"role": "user", "content": content}]
    answer = ask(chat)
    assert [p.index for p in answer.placements] == [0, 1, 2]
    assert isinstance(sent_by(answer)[2]["content"], str)
    assert answer.report.mended == (
        f"[2] content is {type(content).__name__}; it was sent as text",
    )
    assert answer.report.violations == ()


@pytest.mark.parametrize(
    ("given", "said_"),
    [
        ({"profile": "claude"}, "profile is 'claude'; allowed: openai, "),
        ({"policy": "best"}, "policy is 'best'; allowed: stable, relevance, window, "),
    ],
)
def test_unknown_names_say_what_is_known(given, said_):
    with pytest.raises(SettingsError) as caught:
        orchestrator(100).process_sync(Conversation.from_openai_messages([user("hi")]), **given)
    assert said_ in str(caught.value)


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_nothing_resembles_the_question_and_still_the_last_turns_are_there(profile):
    chat = [m for i in range(30) for m in (user(f"lorem {i} " * 9), assistant(f"ipsum {i} " * 9))]
    for policy in ("stable", "relevance", "window"):
        answer = ask([*chat, user("zyzzyva?")], 600, profile, policy=policy)
        sent = "\n".join(said(m) for m in sent_by(answer))
        assert all(f"lorem {i} " in sent for i in (27, 28, 29)), policy
        assert policy != "relevance" or answer.report.recall_reason.endswith("recency fallback")


@pytest.mark.parametrize("overflow", ["raise", "truncate", "keep"])
@pytest.mark.parametrize("policy", POLICIES)
def test_off_sends_everything_whatever_the_budget(overflow, policy):
    chat = [user("lorem " * 50), assistant("ipsum " * 50), user("q")]
    answer = ask(chat, 100, policy=policy, on_overflow=overflow)
    if policy == "off":
        assert [id(m) for m in sent_by(answer)] == [id(m) for m in chat]
        assert answer.report.tokens_after > 100
    else:
        assert answer.report.tokens_after <= 100


async def test_the_same_answer_off_the_event_loop():
    chat = [user("lorem " * 50), assistant("ipsum " * 50), user("q")]
    conversation = Conversation.from_openai_messages(chat, "s1")
    awaited = await orchestrator(100).process(conversation)
    assert sent_by(awaited) == sent_by(orchestrator(100).process_sync(conversation))
    assert awaited.conversation.session_id == "s1"
    assert awaited.token_count == awaited.report.tokens_after
    with pytest.raises(BudgetError):
        await orchestrator(3).process(conversation)


def test_the_report_counts_what_the_judge_counts():
    chat = [SYSTEM, user("q"), calling("a"), result("a"), assistant("x", name="bot"), user("r")]
    assert ask(chat).report.tokens_before == count_list(chat) + 1


class Clock:
    """Says that time is over from a certain question on."""

    def __init__(self, patience: int) -> None:
        self.patience = patience

    def __call__(self) -> bool:
        self.patience -= 1
        return self.patience < 0


@pytest.mark.parametrize("profile", PROFILE_NAMES)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("patience", [0, 1, 2, 5])
def test_when_time_is_over_the_newest_turns_are_sent_with_the_same_guarantees(
    profile, policy, patience
):
    chat = [SYSTEM]
    for i in range(120):
        chat += [user(f"lorem {i} " * 9), assistant(f"ipsum {i} " * 9)]
    chat.append(user("what was lorem 7?"))
    conversation = Conversation.from_openai_messages(chat)
    budget = 0 if policy == "off" else 700
    answer = orchestrator(budget).process_sync(
        conversation, profile=profile, policy=policy, expired=Clock(patience)
    )
    sent = sent_by(answer)
    assert faults(sent, profile) == []
    assert sent[0] is SYSTEM
    assert said(sent[-1]).endswith("what was lorem 7?")
    assert policy == "off" or answer.report.tokens_after <= 700
    if policy == "relevance" and patience == 0:
        assert answer.report.warnings
    again = orchestrator(budget).process_sync(conversation, profile=profile, policy=policy)
    assert faults(sent_by(again), profile) == []
