"""What is said of each message, and pictures of what can only be quoted."""

from __future__ import annotations

import pytest

from ask import ask, sent_by
from eunoe import Fate
from judge import count_list, faults
from strategies import PROFILE_NAMES, assistant, calling, image, part, result, user


def said_of(answer):
    decisions = answer.report.decisions
    said = [(str(d.fate), d.reason) for d in decisions]
    assert decisions.columns().reasons == [reason for _, reason in said]
    return said


KEPT = ("kept", "in the window")


@pytest.mark.parametrize(
    ("chat", "profile", "place", "expected"),
    [
        pytest.param(
            [user("q"), result("a"), assistant("x"), user("r")],
            "openai",
            1,
            ("dropped", "it cannot stand in the list: a result without its call"),
            id="what no list can hold",
        ),
        pytest.param(
            [user("q"), result("a")],
            "openai",
            1,
            ("recalled", "it cannot stand in the list: a result without its call"),
            id="the same in the current turn",
        ),
        pytest.param(
            [user("!drop it"), assistant("x"), user("r")],
            "openai",
            0,
            ("dropped", "a flag leaves it out"),
            id="a flag",
        ),
        pytest.param(
            [user("!drop it"), assistant("x"), user("r")],
            "openai",
            1,
            ("recalled", "its question is not in the list"),
            id="an answer whose question is gone",
        ),
        pytest.param(
            [user("q"), assistant(""), assistant("x"), user("r")],
            "anthropic",
            1,
            ("dropped", "there is nothing in it"),
            id="nothing",
        ),
        pytest.param(
            [
                user("q"),
                {"role": "assistant", "content": [{"type": "text", "text": "x", "id": "i"}]},
                user("r"),
                {"role": "assistant", "content": [{"type": "text", "text": "y", "id": "i"}]},
                user("s"),
            ],
            "responses",
            1,
            ("dropped", "it cannot stand in the list: an item id twice"),
            id="an item that comes again",
        ),
    ],
)
def test_why_a_message_is_not_in_its_place(chat, profile, place, expected):
    answer = ask(chat, profile=profile)
    assert said_of(answer)[place] == expected
    assert said_of(answer)[-1] in (KEPT, expected)


def talk(turns):
    return [m for k in range(turns) for m in (user(f"{k} " * 90), assistant(f"{k} " * 90))]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("window", "before the window"),
        ("stable", "before the window, and the question does not need it"),
        ("relevance", "other messages matter more to the question"),
    ],
)
def test_why_older_messages_are_left_out(policy, expected):
    fact = [user("The door code is 4711."), assistant("Noted.")]
    answer = ask([*talk(1), *fact, *talk(8), user("What is the door code?")], 400, policy=policy)
    assert {why for fate, why in said_of(answer) if fate == "dropped"} == {expected}


def thought(call_id, **more):
    return {**calling(call_id), "reasoning_content": "hm", **more}


ANSWERED = [user("q"), thought("a"), result("a"), assistant("x", reasoning_content="y")]
UNSHOWN = "its pictures and files are only named"


@pytest.mark.parametrize(
    ("chat", "profile"),
    [
        pytest.param(
            [
                *ANSWERED,
                user("r"),
                calling("b"),
                {**result("b"), "content": [part("seen"), image()]},
            ],
            "deepseek",
            id="a call without its reasoning",
        ),
        *(
            pytest.param(
                [user("r"), {**result("b"), "content": [part("seen"), image()]}],
                profile,
                id=f"a result without its call, {profile}",
            )
            for profile in PROFILE_NAMES
        ),
    ],
)
def test_a_picture_of_the_current_turn_is_shown_where_it_can_only_be_quoted(chat, profile):
    answer = ask(chat, profile=profile)
    sent = sent_by(answer)
    assert faults(sent, profile) == []
    [block] = [m for m in sent if m["content"] != "r" and "<recalled" in str(m["content"])]
    assert "seen\n[image]\n</recalled>" in block["content"][0]["text"]
    assert block["content"][1] == image()
    assert said_of(answer)[-1][0] == "recalled"
    assert UNSHOWN not in said_of(answer)[-1][1]

    tight = ask(chat, 300, profile)
    assert count_list(sent_by(tight)) <= 300
    assert "[image]" in str(sent_by(tight))
    assert str(image()) not in str(sent_by(tight))
    assert said_of(tight)[-1][1].endswith(f"; {UNSHOWN}")


def test_a_recalled_picture_is_said_to_be_named_only_and_not_counted():
    old = {"role": "user", "content": [part("My dachshund Waldi wears a red collar."), image()]}
    chat = [old, assistant("Nice."), *talk(20), user("What colour is the collar of Waldi?")]
    answer = ask(chat, 1500)
    assert said_of(answer)[0] == ("recalled", f"the question needs it; {UNSHOWN}")
    assert answer.report.tokens_after == ask(sent_by(answer)).report.tokens_before


@pytest.mark.parametrize("profile", ["mistral", "template"])
def test_pictures_of_quoted_steps_stand_behind_them(profile):
    shown = {**result("a"), "content": [part("seen"), image()]}
    chat = [user("q"), calling("a"), shown, user("r")]
    answer = ask(chat, profile=profile)
    [sent] = sent_by(answer)
    assert [p["type"] for p in sent["content"]] == ["text", "image_url", "text"]
    assert "tool: seen\n[image]" in sent["content"][0]["text"]
    assert sent["content"][1:] == [image(), part("r")]
    assert said_of(answer) == [KEPT] * 4


@pytest.mark.parametrize("profile", ["mistral", "template"])
def test_what_was_shortened_is_said_so_inside_another_message(profile):
    shown = {
        "role": "user",
        "content": [part("Here are the images from the tool results above."), image()],
    }
    steps = [m for k in range(4) for m in (calling(f"c{k}"), result(f"c{k}", "row " * 400))]
    chat = [user("look"), *steps, shown]
    answer = ask(chat, 1600, profile)
    fates = [d.fate for d in answer.report.decisions]
    assert fates[2] is Fate.STUB
    assert "to save room" in str(sent_by(answer))
    assert fates[-1] is Fate.KEPT
