from __future__ import annotations

from typing import Any

import pytest

from eunoe.stages.atoms import build_atoms, opens_turn
from eunoe.wire.openai import read_message
from strategies import assistant, calling, image, part, result, user

IMAGES = {
    "role": "user",
    "content": [part("Here are the images from the tool results above."), image()],
}
APPROVES = {
    "role": "user",
    "content": [{"type": "mcp_approval_response", "approval_request_id": "m1", "approve": True}],
}
ASKS = {
    "role": "assistant",
    "content": [{"type": "mcp_approval_request", "id": "m1", "name": "rm", "arguments": "{}"}],
    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "rm", "arguments": "{}"}}],
}
ASKS_ALONE = {"role": "assistant", "content": ASKS["content"]}
OLD_CALL = {
    "role": "assistant",
    "content": None,
    "function_call": {"name": "look", "arguments": "{}"},
}
OLD_RESULT = {"role": "function", "name": "look", "content": "42"}
SYSTEM = {"role": "system", "content": "x"}


def atoms_of(*raws: dict[str, Any], used: tuple[str, ...] = ()):
    messages = [read_message(r) for r in raws]
    return build_atoms(messages, 0, len(messages), 7, used)


def grouped(*raws: dict[str, Any], used: tuple[str, ...] = ()):
    return [a.indices for a in atoms_of(*raws, used=used)]


@pytest.mark.parametrize(
    ("raws", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([user("q"), assistant("a")], [(0,), (1,)], id="plain"),
        pytest.param([user("q"), calling("a"), result("a")], [(0,), (1, 2)], id="one call"),
        pytest.param(
            [user("q"), calling("a", "b"), result("b"), result("a"), assistant("x")],
            [(0,), (1, 2, 3), (4,)],
            id="parallel, in another order",
        ),
        pytest.param(
            [user("q"), calling("a"), result("a"), calling("a"), result("a")],
            [(0,), (1, 2), (3, 4)],
            id="the same id in two calls is paired by position",
        ),
        pytest.param(
            [user("q"), calling("a"), assistant("wait"), result("a")],
            [(0,), (1, 3), (2,)],
            id="late result",
        ),
        pytest.param(
            [user("q"), calling("a"), calling("a"), result("a"), assistant("x"), result("a")],
            [(0,), (1, 5), (2, 3), (4,)],
            id="behind another message a result is no second one of the call before it",
        ),
        pytest.param(
            [user("q"), result("a"), calling("a"), assistant("x")],
            [(0,), (2, 1), (3,)],
            id="early result",
        ),
        pytest.param(
            [user("q"), calling("a"), SYSTEM, result("a")],
            [(0,), (1, 3), (2,)],
            id="system between",
        ),
        pytest.param(
            [user("q"), calling("a"), result("a"), IMAGES, assistant("x")],
            [(0,), (1, 2, 3), (4,)],
            id="pictures of a result travel with it",
        ),
        pytest.param(
            [user("q"), ASKS, APPROVES, result("c")],
            [(0,), (1, 3, 2)],
            id="an approval travels with the call",
        ),
        pytest.param(
            [user("q"), ASKS_ALONE, APPROVES, assistant("x")],
            [(0,), (1, 2), (3,)],
            id="an approval travels with what asked for it",
        ),
        pytest.param(
            [user("q"), ASKS_ALONE, assistant("x"), APPROVES],
            [(0,), (1,), (2,), (3,)],
            id="but it is not moved",
        ),
        pytest.param(
            [user("q"), calling("a"), ASKS_ALONE, result("a"), APPROVES],
            [(0,), (1, 3), (2,), (4,)],
            id="an approval is no picture of a result",
        ),
        pytest.param(
            [user("q"), OLD_CALL, OLD_CALL, OLD_RESULT, OLD_RESULT],
            [(0,), (1,), (2, 3), (4,)],
            id="old calls have no ids",
        ),
        pytest.param(
            [user("q"), calling("look"), assistant("x"), OLD_RESULT, result("look")],
            [(0,), (1, 4), (2,), (3,)],
            id="the name in an old result is no id",
        ),
        pytest.param([user("q"), OLD_CALL, OLD_RESULT], [(0,), (1, 2)], id="old function call"),
        pytest.param(
            [user("q"), calling("a"), calling("a"), result("a"), result("a")],
            [(0,), (1,), (2, 3), (4,)],
            id="a second result of the nearest call goes to no other",
        ),
    ],
)
def test_messages_are_grouped(raws, expected):
    assert grouped(*raws) == expected


def test_system_messages_are_known_in_a_turn_with_calls_too():
    found = atoms_of(user("q"), calling("a"), SYSTEM, result("a"))
    assert [(a.indices, a.system) for a in found] == [((0,), False), ((1, 3), False), ((2,), True)]


@pytest.mark.parametrize(
    ("raws", "broken"),
    [
        pytest.param([user("q"), result("a")], {1: "a result without its call"}, id="orphan"),
        pytest.param(
            [user("q"), calling("a"), result("a"), result("a")],
            {3: "a second result for one call"},
            id="double",
        ),
        pytest.param(
            [user("q"), calling("a"), result("b")], {2: "a result without its call"}, id="other id"
        ),
        pytest.param(
            [user("q"), calling("a", "a"), result("a")], {1: "one id for two calls"}, id="twin ids"
        ),
        pytest.param(
            [user("q"), OLD_CALL, assistant("x")],
            {1: "a function call without result"},
            id="old call without result",
        ),
        pytest.param(
            [user("q"), OLD_CALL, result("look")],
            {1: "a function call without result", 2: "a result without its call"},
            id="an old call takes no tool result",
        ),
        pytest.param(
            [user("q"), OLD_RESULT], {1: "a result without its call"}, id="old result alone"
        ),
        pytest.param(
            [user("q"), calling("look"), OLD_RESULT],
            {2: "a result without its call"},
            id="a tool call takes no function result",
        ),
        pytest.param([user("q"), calling("a"), result("a"), assistant("x")], {}, id="sound"),
    ],
)
def test_what_can_never_stand_is_broken(raws, broken):
    assert {a.first: a.broken for a in atoms_of(*raws) if a.broken} == broken


@pytest.mark.parametrize(
    ("raws", "unanswered"),
    [
        pytest.param([user("q"), calling("a", "b"), result("a")], {1: ("b",)}, id="half answered"),
        pytest.param([user("q"), calling("a", "b")], {1: ("a", "b")}, id="open"),
        pytest.param([user("q"), calling("a"), result("a")], {}, id="answered"),
        pytest.param(
            [user("q"), calling("a"), calling("b"), result("b")], {1: ("a",)}, id="first dead"
        ),
    ],
)
def test_calls_without_result_are_named(raws, unanswered):
    assert {a.first: a.unanswered for a in atoms_of(*raws) if a.unanswered} == unanswered


def test_an_early_result_needs_an_id_that_is_used_nowhere_else():
    early = [user("q"), result("a"), calling("a")]
    assert grouped(*early) == [(0,), (2, 1)]
    assert grouped(*early, used=("a",)) == [(0,), (1,), (2,)]
    assert grouped(user("q"), result("a"), result("a"), calling("a")) == [(0,), (1,), (2,), (3,)]
    assert grouped(user("q"), result("a"), calling("a"), assistant("x"), calling("a")) == [
        (0,),
        (1,),
        (2,),
        (3,),
        (4,),
    ]


def test_a_late_result_goes_to_the_nearest_open_call_of_its_id():
    raws = [user("q"), calling("a"), assistant("x"), calling("a"), assistant("y"), result("a")]
    assert grouped(*raws) == [(0,), (1,), (2,), (3, 5), (4,)]


def test_atoms_know_turn_and_system():
    atoms = atoms_of(SYSTEM, {"role": "developer", "content": "y"}, user("q"))
    assert [a.system for a in atoms] == [True, True, False]
    assert {a.turn for a in atoms} == {7}
    assert atoms_of(user("q"), result("a"), calling("a"))[1].first == 1


def test_only_the_turn_asked_for_is_grouped():
    messages = [
        read_message(r) for r in [user("q"), calling("a"), result("a"), user("r"), result("a")]
    ]
    assert [a.indices for a in build_atoms(messages, 3, 5, 1)] == [(3,), (4,)]


@pytest.mark.parametrize(
    ("raw", "before", "opens"),
    [
        pytest.param(user("hi"), None, True, id="first"),
        pytest.param(user("hi"), assistant("a"), True, id="after an answer"),
        pytest.param(user("hi"), result("a"), True, id="after a result"),
        pytest.param(user("hi"), user("ho"), True, id="after a user"),
        pytest.param(user("  \n"), assistant("a"), False, id="blank"),
        pytest.param({"role": "user", "content": None}, None, False, id="nothing"),
        pytest.param({"role": "user", "content": [image()]}, None, True, id="a picture"),
        pytest.param({"role": "user", "content": [image()]}, result("a"), True, id="own picture"),
        pytest.param(IMAGES, result("a"), False, id="pictures of a result"),
        pytest.param(IMAGES, assistant("a"), True, id="the same words elsewhere"),
        pytest.param(IMAGES, None, True, id="the same words first"),
        pytest.param(
            user("Here are the images from the tool results above"),
            result("a"),
            True,
            id="no picture",
        ),
        pytest.param(APPROVES, ASKS, False, id="an approval"),
        pytest.param(assistant("hi"), None, False, id="an answer"),
        pytest.param(SYSTEM, None, False, id="system"),
    ],
)
def test_what_opens_a_turn(raw, before, opens):
    previous = read_message(before) if before is not None else None
    assert opens_turn(read_message(raw), previous) is opens
