"""What the providers' own servers refuse beside the rules of the list."""

from __future__ import annotations

import pytest

from eunoe import lint
from eunoe.domain.profile import PROFILES, refuses_prefill
from eunoe.stages.own_servers import OWN_SERVER_CODES
from strategies import PROFILE_NAMES, assistant, calling, result, user


def codes(messages, profile, **more):
    return [v.code for v in lint(messages, profile, **more)]


def asked(call_id="a", name="look"):
    call = calling(call_id)
    call["tool_calls"][0]["function"]["name"] = name
    return [user("q"), call, result(call_id), assistant("x"), user("r")]


IDS = [
    ("aB3dE6gH9", PROFILE_NAMES),
    ("call_Ab12Cd34", tuple(p for p in PROFILE_NAMES if p != "mistral")),
    ("c" * 40, tuple(p for p in PROFILE_NAMES if p != "mistral")),
    ("c" * 41, tuple(p for p in PROFILE_NAMES if p not in ("mistral", "openai"))),
    ("c" * 65, ("anthropic", "gemini", "deepseek", "template", "permissive")),
    ("a:b", ("openai", "responses", "gemini", "deepseek", "template", "permissive")),
    ("", ("gemini", "deepseek", "template", "permissive")),
]


@pytest.mark.parametrize(("call_id", "taken_by"), IDS)
def test_forms_of_call_ids(call_id, taken_by):
    for profile in PROFILE_NAMES:
        wrong = [] if profile in taken_by else ["call-id"]
        assert codes(asked(call_id), profile) == [
            *wrong,
        ], profile


NAMES = [
    ("look_up-2", PROFILE_NAMES),
    ("look.up", ("gemini", "template", "permissive")),
    ("look up", ("template", "permissive")),
    ("", ("template", "permissive")),
    ("l" * 64, PROFILE_NAMES),
    ("l" * 65, ("anthropic", "gemini", "template", "permissive")),
    ("l" * 129, ("template", "permissive")),
]


@pytest.mark.parametrize(("name", "taken_by"), NAMES)
def test_names_of_tools_in_calls_and_schemas(name, taken_by):
    schema = {"type": "function", "function": {"name": name, "parameters": {}}}
    for profile in PROFILE_NAMES:
        wrong = profile not in taken_by
        assert codes(asked("aB3dE6gH9", name), profile) == ["tool-name"] * wrong, profile
        for tool in (schema, schema["function"]):
            assert codes([user("q")], profile, tools=[tool]) == ["tool-schema"] * wrong, profile


@pytest.mark.parametrize(("count", "wrong"), [(128, False), (129, True)])
def test_the_number_of_tools(count, wrong):
    tools = [{"type": "function", "function": {"name": f"t{i}"}} for i in range(count)]
    for profile in ("openai", "responses", "deepseek"):
        assert codes([user("q")], profile, tools=tools) == ["too-many-tools"] * wrong
    assert codes([user("q")], "anthropic", tools=tools) == []


@pytest.mark.parametrize(
    ("name", "wrong"), [("ann", False), ("Ann-2", False), ("Ann B", True), ("a<b", True)]
)
def test_names_of_speakers(name, wrong):
    assert codes([user("q", name=name)], "openai") == ["speaker-name"] * wrong
    assert codes([user("q", name=name)], "anthropic") == []


def test_an_answer_last():
    chat = [user("q"), assistant("The answer is")]
    refused = {p: codes(chat, p) for p in PROFILE_NAMES}
    assert {p for p, found in refused.items() if found} == {"mistral"}
    assert refused["mistral"] == ["answer-last"]
    assert codes([user("q"), assistant("The answer is", prefix=True)], "mistral") == []
    assert codes(chat, "anthropic", model_id="claude-opus-4-6") == ["answer-last"]
    assert codes([user("q"), calling("aB3dE6gH9")], "mistral") == []


def test_an_answer_last_that_ends_with_a_blank():
    chat = [user("q"), assistant("The answer is ")]
    assert codes(chat, "anthropic") == ["blank-end"]
    assert codes([*chat, user("r")], "anthropic") == []
    assert codes(chat, "openai") == []


@pytest.mark.parametrize(
    ("model", "refuses"),
    [
        ("claude-opus-4-6", True),
        ("anthropic/claude-sonnet-4.6", True),
        ("us.anthropic.claude-opus-4-6-v1", True),
        ("claude-opus-4-10", True),
        ("claude-sonnet-5", True),
        ("claude-sonnet-5-20270101", True),
        ("claude-opus-4-5", False),
        ("claude-sonnet-4-5-20250929", False),
        ("claude-opus-4-20250514", False),
        ("claude-3-7-sonnet-latest", False),
        ("claude-3-haiku", False),
        ("gpt-5", False),
        ("", False),
        (None, False),
    ],
)
def test_models_that_take_no_beginning_of_their_answer(model, refuses):
    assert refuses_prefill(model) is refuses


def test_every_profile_names_its_source():
    assert all(p.source for p in PROFILES.values())
    assert len(set(OWN_SERVER_CODES)) == len(OWN_SERVER_CODES)


def test_what_is_about_tools_comes_last():
    tools = [{"type": "function", "function": {"name": "no name"}}]
    assert codes(asked("c" * 65), "openai", tools=tools) == ["call-id", "tool-schema"]
