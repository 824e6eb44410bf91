"""A running turn that is shortened: pictures of results, what its steps are counted as."""

from __future__ import annotations

import pytest

from ask import ask, sent_by
from eunoe import BudgetError, Fate
from judge import count, count_list, faults, said
from strategies import PROFILE_NAMES, assistant, calling, image, part, result, user

SYSTEM = {"role": "system", "content": "be brief"}


def loop(steps: int, size: int = 300):
    return [
        m
        for i in range(steps)
        for m in (calling(f"c{i}"), result(f"c{i}", f"row {i} " + "x" * 3 * size))
    ]


SHOWN = "Here are the images from the tool results above. Use them."


def pictures(steps: int, *, shown: bool, said: str = "", thinking: bool = False):
    """A loop whose results are pictures: in the result, or shown by the host behind it."""
    chat = []
    for i in range(steps):
        call = calling(f"c{i}")
        if thinking:
            use = {"type": "tool_use", "id": f"c{i}", "name": "look", "input": {}}
            call = {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}, use]}
        words = [part(said)] if said else []
        chat += [call, result(f"c{i}", said if shown else [*words, image()])]
        chat += [{"role": "user", "content": [part(SHOWN), image()]}] if shown else []
    return chat


@pytest.mark.parametrize("thinking", [False, True])
@pytest.mark.parametrize("shown", [False, True])
@pytest.mark.parametrize("said", ["", "saved"])
@pytest.mark.parametrize("profile", [p for p in PROFILE_NAMES if p not in ("mistral", "template")])
def test_old_pictures_of_a_running_turn_are_elided(profile, said, shown, thinking):
    steps = pictures(8, shown=shown, said=said, thinking=thinking)
    chat = [SYSTEM, user("click through the site"), *steps]
    answer = ask(chat, 3000, profile)
    sent = sent_by(answer)
    assert count_list(sent) <= 3000
    assert faults(sent, profile) == []
    assert sent[:2] == chat[:2]
    assert sent[-1] == chat[-1]  # the newest picture stays
    old = [m for m in sent if m["role"] == "tool" and "to save room" in str(m["content"])]
    assert 4 <= len(old) < 8
    assert all((said in str(m["content"])) for m in old)
    calls = [m for m in chat if m["role"] == "assistant"]
    assert [m for m in sent if m["role"] == "assistant"] == calls
    fates = {d.index: d.fate for d in answer.report.decisions}
    assert fates[3] is Fate.STUB
    assert answer.report.truncated
    assert not shown or fates[4] is Fate.DROPPED


def test_an_elided_picture_says_what_it_took():
    sent = sent_by(ask([user("look"), *pictures(6, shown=True, said="saved")], 2500))
    assert sent[2]["content"] == (
        "saved\n[pictures elided to save room; "
        f"{count_list([{'role': 'user', 'content': [part(SHOWN), image()]}]) + 1} tokens. "
        "Call the tool again to see them.]"
    )


def test_what_a_user_says_between_steps_stays():
    chat = [user("look"), *pictures(5, shown=True, said="saved")]
    sent = sent_by(ask([*chat[:7], assistant("so far"), *chat[7:]], 2500))
    assert assistant("so far") in sent
    approval = {"type": "mcp_approval_response", "approval_request_id": "r", "approve": True}
    request = {"type": "mcp_approval_request", "id": "r", "name": "f", "arguments": "{}"}
    asked = [{"role": "assistant", "content": [request]}, {"role": "user", "content": [approval]}]
    shown = pictures(1, shown=True)
    sent = sent_by(ask([user("look"), *asked, *loop(40), *shown], 1600))
    assert len(sent) < 60  # old steps are left out
    assert sent[1:3] == asked
    assert sent[-1] == shown[-1]


@pytest.mark.parametrize("low", [0.3, 0.95])
def test_steps_without_their_pictures_are_left_out_where_stubs_are_not_enough(low):
    chat = [user("look"), *pictures(60, shown=True, said="saved")]
    sent = sent_by(ask(chat, 1500, low_water=low))
    assert 0 < count_list(sent) <= 1500
    assert sent[0] == chat[0]
    assert sent[-3:] == chat[-3:]
    assert low < 0.9 or count_list(sent) > 1300  # no more than must be


@pytest.mark.parametrize("size", [0, 30])
def test_a_long_result_with_a_picture_is_clipped_in_its_text(size):
    content = [part("head " + "word " * 900 + "tail"), image()]
    sent = sent_by(ask([user("look"), calling("a"), result("a", content)], 1500 + size))[2]
    assert sent["content"][1] == image()
    text = sent["content"][0]["text"]
    assert text.startswith("head ")
    assert text.endswith("tail")
    assert 500 < count(sent) - 765 < 740 + size


@pytest.mark.parametrize("parallel", [1, 3])
@pytest.mark.parametrize("low", [0.4, 0.6, 0.8])
def test_stubs_are_made_down_to_the_low_mark_and_no_further(low, parallel):
    """At the first request that is too large, and at none before; a stub stays from then on."""
    chat = [SYSTEM, user("the task")]
    for i in range(16 if parallel == 1 else 8):
        ids = [f"c{i}_{k}" for k in range(parallel)]
        chat += [calling(*ids), *(result(c, f"row {c} " + "x" * 180) for c in ids)]
    head, before, step = count_list([SYSTEM]), [], parallel + 1
    for stop in range(2 + step, len(chat) + 1, step):
        answer = ask(chat[:stop], 1000, low_water=low)
        stubs = [d.index for d in answer.report.decisions if d.fate is Fate.STUB]
        results = sum(m["role"] == "tool" for m in chat[:stop])
        if len(before) < len(stubs) < results - parallel:
            mark = head + int((1000 - head) * low)
            assert count_list(sent_by(answer)) <= mark
            saved = count(chat[stubs[-1]]) - count(sent_by(answer)[stubs[-1]])
            assert count_list(sent_by(answer)) + saved > mark
            assert before or count_list(chat[:stop]) > 1000 >= count_list(chat[: stop - step])
        before = stubs
    assert before


def test_a_turn_that_is_kept_is_kept_whole():
    chat = [user("the task"), *loop(6)]
    answer = ask(chat, 1500, on_overflow="keep")
    assert all(a is b for a, b in zip(sent_by(answer), chat, strict=True))
    assert answer.report.infeasible is not None


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(loop(6), id="results"),
        pytest.param(pictures(4, shown=True), id="shown pictures"),
        pytest.param(pictures(4, shown=False, thinking=True), id="reasoning"),
    ],
)
def test_the_error_names_the_least_that_is_enough(steps):
    chat = [SYSTEM, user("look"), *steps]
    with pytest.raises(BudgetError) as caught:
        ask(chat, 1, "anthropic")
    needed = caught.value.needed
    assert needed < count_list(chat) - 800
    assert ask(chat, needed, "anthropic").report.tokens_after == needed
    with pytest.raises(BudgetError):
        ask(chat, needed - 1, "anthropic")
    for overflow in ("truncate", "keep"):
        report = ask(chat, 1, "anthropic", on_overflow=overflow).report
        assert report.infeasible.needed == report.tokens_after


def test_what_is_a_stub_is_not_clipped_and_the_largest_result_is_first():
    ids = ["p", "q", "r"]
    newest = [
        calling(*ids),
        result("p", "a " * 90),
        result("q", "b " * 3000),
        result("r", "c " * 90),
    ]
    sent = sent_by(ask([user("look"), *loop(3), *newest], 900))
    old = [m["content"] for m in sent[2:8:2]]
    assert all(text.startswith("[result elided to save room") for text in old)
    assert (sent[-3], sent[-1]) == (newest[1], newest[3])
    assert "characters left out" in sent[-2]["content"]


def test_the_text_between_sources_stays_while_sources_are_shortened():
    facts = "fact " * 900
    asked = (
        f"<source id='1'>{facts}</source>\nMind this.\n<source id='2'>{facts}</source>\nWhat is it?"
    )
    text = said(sent_by(ask([user(asked)], 400, on_overflow="truncate"))[0])
    assert "</source>\nMind this.\n<source id='2'>" in text
    found = said(sent_by(ask([user("look"), calling("a"), result("a", asked)], 400))[2])
    assert "</source>\nMind this.\n<source id='2'>" in found


def test_a_system_message_between_steps_stays():
    note = {"role": "system", "content": "[memory] x"}
    sent = sent_by(ask([user("look"), *loop(2), note, *loop(60, size=60)], 600))
    assert len(sent) < 40
    assert note in sent


@pytest.mark.parametrize("shown", [False, True])
def test_the_newest_step_is_never_left_out(shown):
    """The model has not seen it yet: rather the request does not fit."""
    chat = [user("look"), *loop(3), *pictures(1, shown=shown)]
    with pytest.raises(BudgetError):
        ask(chat, 500)
    kept = ask(chat, 500, on_overflow="truncate")
    assert sent_by(kept)[-2:] == chat[-2:]
    assert kept.report.infeasible is not None


def thinking(steps: int):
    chat = []
    for i in range(steps):
        thought = {"type": "thinking", "thinking": "hm " * 60, "signature": f"s{i}"}
        use = {"type": "tool_use", "id": f"c{i}", "name": "look", "input": {}}
        chat += [{"role": "assistant", "content": [thought, use]}, result(f"c{i}", "ok")]
    return chat


def test_steps_with_reasoning_are_left_out_only_before_the_request_is_refused():
    """A provider wants all reasoning of a turn back, as long as that can be."""
    chat = [user("look"), *thinking(12)]
    for overflow in ("raise", "keep"):
        if overflow == "raise":
            with pytest.raises(BudgetError):
                ask(chat, 500, "anthropic")
        else:
            assert sent_by(ask(chat, 500, "anthropic", on_overflow=overflow)) == chat
    answer = ask(chat, 500, "anthropic", on_overflow="truncate")
    sent = sent_by(answer)
    assert sent[0] is chat[0]
    assert sent[1:] == chat[-len(sent) + 1 :]
    assert 2 < len(sent) < 20
    assert count_list(sent) <= 500
    assert answer.report.infeasible is None


@pytest.mark.parametrize("profile", ["mistral", "template"])
def test_where_roles_alternate_the_task_stays_before_the_pictures(profile):
    """Not inside the quotation: what is quoted is no instruction."""
    chat = [SYSTEM, user("click through the site"), *pictures(3, shown=True, said="saved")]
    answer = ask(chat, profile=profile)
    [system, sent] = sent_by(answer)
    assert system is SYSTEM
    assert [p["type"] for p in sent["content"]] == ["text"] * 3 + ["image_url"] + (
        ["text", "text", "image_url"] * 2
    )
    assert sent["content"][0] == part("click through the site")
    texts = [p["text"] for p in sent["content"] if p["type"] == "text"]
    assert [t.count("tool: saved") for t in texts] == [0, 1, 0, 1, 0, 1, 0]
    assert all("click through" not in t for t in texts[1:])
    assert faults(sent_by(answer), profile) == []
    assert {d.fate for d in answer.report.decisions} == {Fate.KEPT}
    again = [*chat, assistant("done"), user("thanks")]
    assert [p.index for p in ask(again, profile=profile).placements] == [0, 10, 11, 12]
    assert sent_by(ask(again, profile=profile))[1] == sent
    # another question is put to it; where steps came between, all that was before is quoted
    more = sent_by(ask([*chat, user("and now?")], profile=profile))[1]["content"]
    assert more == [*sent["content"], part("and now?")]
    steps = [calling("d"), result("d", "saved")]
    text = said(sent_by(ask([*chat, *steps, user("and now?")], profile=profile))[1])
    assert text.startswith("<recalled")
    assert text.endswith("and now?")
    assert text.count("tool: saved") == 4
    assert text.count("<recalled") == 1


def test_a_quoted_text_too_loses_of_its_sources_first():
    """Of a result without its call, which can only be quoted."""
    facts = "harbour cluster " * 200
    told = f"<source id='1'>{facts}</source>\nMind this.\n<source id='2'>{facts}</source>\nAsk her."
    answer = ask([result("lost", told)], 300)
    text = said(sent_by(answer)[0]).replace("<\\/", "</")
    assert "</source>\nMind this.\n<source id='2'>" in text
    assert text.endswith("</source>\nAsk her.\n</recalled>")
    assert answer.report.tokens_after <= 300


@pytest.mark.parametrize("profile", ["mistral", "template"])
@pytest.mark.parametrize("budget", range(700, 920, 15))
def test_what_was_merged_with_the_question_is_clipped_with_it(profile, budget):
    """Steps that can only be quoted there take room that the question alone cannot give back."""
    asked = user("look at the harbour and say what stands there")
    chat = [asked, *pictures(1, shown=True, said="the mast says 5432")]
    once = ask(chat, budget, profile, on_overflow="truncate")
    sent = sent_by(once)
    assert sent_by(ask(sent, budget, profile, on_overflow="truncate")) == sent
    assert (once.report.infeasible is None) is (count_list(sent) <= budget)
    assert once.report.infeasible is None or budget < 790
    assert sent[-1]["content"][-1] == image()


@pytest.mark.parametrize("budget", range(1, 60, 7))
def test_a_result_that_is_as_short_as_can_be_is_not_clipped_again(budget):
    chat = [user("look"), calling("a"), result("a", "harbour cluster " * 300)]
    once = sent_by(ask(chat, budget, on_overflow="truncate"))
    assert sent_by(ask(once, budget, on_overflow="truncate")) == once
