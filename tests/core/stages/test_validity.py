from __future__ import annotations

import pytest

from eunoe.domain.profile import PROFILES
from eunoe.stages.validity import check_messages, is_visible_turn
from eunoe.wire.openai import read_message
from strategies import PROFILE_NAMES, assistant, calling, image, part, result, user

SYSTEM = {"role": "system", "content": "be brief"}
DEVELOPER = {"role": "developer", "content": "be kind"}
OLD_CALL = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
OLD_RESULT = {"role": "function", "name": "f", "content": "42"}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
SERVER_USE = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
SERVER_RESULT = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}

ALL = PROFILE_NAMES
HEAD_FIRST = ("anthropic", "gemini", "mistral", "template")
STRICT = ("mistral", "template")
NO_BLANKS = ("anthropic", "gemini", "mistral")


def blocks(*content):
    return {"role": "assistant", "content": list(content)}


def found(messages, profile):
    read = [read_message(m) for m in messages]
    return [(v.code, v.index) for v in check_messages(read, PROFILES[profile])]


FAULTS = [
    pytest.param([user("q"), result("a"), assistant("x")], [("orphan", 1)], ALL, id="orphan"),
    pytest.param(
        [user("q"), calling("a"), result("b")],
        [("orphan", 2), ("unanswered", 1)],
        ALL,
        id="other id",
    ),
    pytest.param(
        [user("q"), calling("a"), result("a"), result("a"), assistant("x")],
        [("duplicate-result", 3)],
        ALL,
        id="double result",
    ),
    pytest.param([user("q"), calling("a"), user("r")], [("unanswered", 1)], ALL, id="dead call"),
    pytest.param(
        [user("q"), calling("a", "b"), result("a")],
        [("unanswered", 1)],
        ALL,
        id="half answered at the end",
    ),
    pytest.param(
        [user("q"), calling("a"), user("r"), result("a"), assistant("x")],
        [("unanswered", 1), ("orphan", 3)],
        ("openai", "permissive"),
        id="late result",
    ),
    pytest.param(
        [user("q"), calling("a", "a"), result("a")], [("duplicate-call", 1)], ALL, id="twin ids"
    ),
    pytest.param([user("q"), OLD_CALL, user("r")], [("unanswered", 1)], ALL, id="old call alone"),
    pytest.param(
        [user("q"), OLD_RESULT, assistant("x")], [("orphan", 1)], ALL, id="old result alone"
    ),
    pytest.param(
        [user("q"), OLD_CALL, OLD_RESULT, OLD_RESULT], [("orphan", 3)], ALL, id="two old results"
    ),
    pytest.param(
        [user("q"), calling("a"), OLD_RESULT],
        [("unanswered", 1), ("orphan", 2)],
        ALL,
        id="mixed kinds",
    ),
    pytest.param(
        [user("q"), assistant("x"), SYSTEM, user("r")],
        [("late-system", 2)],
        HEAD_FIRST,
        id="late system",
    ),
    pytest.param([user("q"), DEVELOPER], [("late-system", 1)], HEAD_FIRST, id="late developer"),
    pytest.param(
        [SYSTEM, assistant("x"), user("q")], [("first-not-user", 1)], HEAD_FIRST, id="answer first"
    ),
    pytest.param([SYSTEM], [("no-user", 0)], HEAD_FIRST, id="only system"),
    pytest.param(
        [assistant("x")], [("first-not-user", 0), ("no-user", 0)], HEAD_FIRST, id="only an answer"
    ),
    pytest.param([user("q"), user("r")], [("alternation", 1)], STRICT, id="two users"),
    pytest.param(
        [user("q"), assistant("x"), assistant("y")], [("alternation", 2)], STRICT, id="two answers"
    ),
    pytest.param(
        [user("q"), calling("a"), result("a"), user("r")],
        [("alternation", 3)],
        STRICT,
        id="no answer to tools",
    ),
    pytest.param(
        [user("q"), {"role": "assistant", "content": None}],
        [("empty-content", 1)],
        ALL,
        id="nothing",
    ),
    pytest.param(
        [user("q"), {"role": "assistant", "content": []}],
        [("empty-content", 1)],
        ALL,
        id="no parts",
    ),
    pytest.param([user("q"), assistant("")], [("empty-content", 1)], NO_BLANKS, id="empty text"),
    pytest.param(
        [user("q"), blocks(part(" "), part(""))],
        [("empty-content", 1)],
        NO_BLANKS,
        id="blank parts",
    ),
    pytest.param([user("cut \ud83d off")], [("surrogate", 0)], ALL, id="half a character"),
    pytest.param(
        [{**user("q"), "x": ["\ud83d"]}], [("surrogate", 0)], ALL, id="half a character in a field"
    ),
    pytest.param(
        [user("q"), blocks(part("x"), THINKING)],
        [("thinking-order", 1)],
        ("anthropic",),
        id="thinking late",
    ),
    pytest.param(
        [user("q"), blocks(SERVER_USE, part("x")), user("r"), assistant("s")],
        [("server-tool", 1)],
        ALL,
        id="server use open",
    ),
    pytest.param(
        [user("q"), blocks(SERVER_RESULT, part("x"))],
        [("server-tool", 1)],
        ALL,
        id="server result alone",
    ),
    pytest.param(
        [user("q"), blocks(part("x"), REASONING)],
        [("reasoning-pair", 1)],
        ("responses",),
        id="reasoning last",
    ),
    pytest.param(
        [user("q"), blocks({**part("x"), "id": "m"}), user("r"), blocks({**part("y"), "id": "m"})],
        [("duplicate-item", 3)],
        ("responses",),
        id="item twice",
    ),
    pytest.param(
        [user("q"), blocks({**part("x"), "id": "m"}, {**part("y"), "id": "m"})],
        [("duplicate-item", 1)],
        ("responses",),
        id="item twice in one",
    ),
    pytest.param(
        [user("q"), calling("a"), result("a"), assistant("x", reasoning_content="hm")],
        [("reasoning-content", 1)],
        ("deepseek",),
        id="call without reasoning",
    ),
    pytest.param(
        [user("q"), {"role": "critic", "content": "x"}], [("shape", 1)], ALL, id="unknown role"
    ),
    pytest.param(
        [{"content": "q"}, user("q")], [("shape", 0)], ("openai", "permissive"), id="no role"
    ),
    pytest.param([{"role": "user", "content": 5}], [("shape", 0)], ALL, id="a number"),
]


@pytest.mark.parametrize(("messages", "faults", "refused_by"), FAULTS)
def test_every_rule_fires_where_it_holds_and_nowhere_else(messages, faults, refused_by):
    for profile in ALL:
        seen = found(messages, profile)
        if profile in refused_by:
            assert set(faults) <= set(seen), profile
        elif len(refused_by) > 2 or refused_by != ("openai", "permissive"):
            assert not {f[0] for f in faults} & {s[0] for s in seen}, profile
    assert found(messages, refused_by[0]) == sorted(
        found(messages, refused_by[0]), key=lambda x: x[1]
    )


LEGAL = [
    pytest.param([], ALL, id="nothing"),
    pytest.param([user("q")], ALL, id="one question"),
    pytest.param([SYSTEM, DEVELOPER, user("q"), assistant("a"), user("r")], ALL, id="plain"),
    pytest.param([SYSTEM], ("openai", "responses", "deepseek", "permissive"), id="only system"),
    pytest.param([user("q"), assistant("prefill")], ALL, id="prefill"),
    pytest.param(
        [user("q"), calling("a", "b"), result("b"), result("a"), assistant("x")], ALL, id="parallel"
    ),
    pytest.param([user("q"), calling("a", "b")], ALL, id="open calls at the very end"),
    pytest.param([user("q"), OLD_CALL], ALL, id="open old call at the very end"),
    pytest.param([user("q"), OLD_CALL, OLD_RESULT, assistant("x")], ALL, id="old call"),
    pytest.param(
        [user("q"), OLD_CALL, OLD_RESULT, assistant("x", reasoning_content="hm")],
        ALL,
        id="old call without reasoning",
    ),
    pytest.param(
        [user("q"), calling("a"), result("a"), calling("a"), result("a"), assistant("x")],
        ALL,
        id="same id again",
    ),
    pytest.param(
        [user("q"), calling("a"), result("a", ""), assistant("x")],
        ALL,
        id="an empty text as result",
    ),
    pytest.param(
        [user("q"), assistant("x"), SYSTEM, user("r")],
        ("openai", "deepseek", "responses"),
        id="late system",
    ),
    pytest.param(
        [user("q"), user("r"), assistant("x")], ("openai", "anthropic", "gemini"), id="two users"
    ),
    pytest.param([{"role": "user", "content": [image()]}], ALL, id="a picture alone"),
    pytest.param([user("q"), blocks(THINKING, part("x"))], ALL, id="thinking first"),
    pytest.param(
        [user("q"), blocks({**THINKING, "type": "redacted_thinking"}, part("x"))],
        ALL,
        id="redacted",
    ),
    pytest.param([user("q"), blocks(SERVER_USE, SERVER_RESULT, part("x"))], ALL, id="server tool"),
    pytest.param(
        [user("q"), blocks(part("x"), SERVER_USE)], ALL, id="server tool running at the end"
    ),
    pytest.param([user("q"), blocks(REASONING, part("x"))], ALL, id="reasoning and its item"),
    pytest.param(
        [
            user("q"),
            calling("a", reasoning_content=""),
            result("a"),
            assistant("x", reasoning_content="hm"),
        ],
        ALL,
        id="every call with reasoning",
    ),
    pytest.param(
        [user("q"), {"role": "assistant", "content": None, "refusal": "no"}], ALL, id="a refusal"
    ),
    pytest.param(
        [user("q"), {"role": "assistant", "content": None, "audio": {"id": "x"}}], ALL, id="audio"
    ),
]


@pytest.mark.parametrize(("messages", "taken_by"), LEGAL)
def test_every_legal_list_passes(messages, taken_by):
    assert {profile: found(messages, profile) for profile in taken_by} == {p: [] for p in taken_by}


def test_violations_say_what_is_wrong():
    read = [read_message(m) for m in [user("q"), calling("a", "b"), result("a"), user("r")]]
    [violation] = check_messages(read, PROFILES["openai"])
    assert violation.message == "calls without result: b"


@pytest.mark.parametrize(
    ("raw", "visible"),
    [
        (user("q"), True),
        (assistant("a"), True),
        (calling("a"), False),
        (result("a"), False),
        (SYSTEM, False),
    ],
)
def test_strict_templates_count_questions_and_answers_only(raw, visible):
    assert is_visible_turn(read_message(raw)) is visible
