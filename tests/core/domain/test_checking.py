from __future__ import annotations

import sys

import pytest

from eunoe.domain.checking import (
    require_choice,
    require_members,
    require_model_name,
    require_names,
    require_number,
    require_switch,
    require_text_or_none,
    require_tools,
    require_whole,
)
from eunoe.domain.errors import SettingsError

NAN, INFINITE = float("nan"), float("inf")


def deep() -> list[object]:
    value: list[object] = []
    for _ in range(5 * sys.getrecursionlimit()):
        value = [value]
    return value


CASES = [
    (lambda v: require_whole("n", v, "x"), [0, 7], [-1, True, 1.0, "7", None, NAN, [7]]),
    (lambda v: require_whole("n", v, "x", least=1), [1], [0]),
    (lambda v: require_whole("n", v, "x", most=9), [0, 9], [10, 10**30]),
    (lambda v: require_model_name("n", v), ["", "m"], [None, 5, b"m", ["m"], ("m",)]),
    (
        lambda v: require_number("n", v, "x"),
        [0, 0.5, 7],
        [-0.1, NAN, INFINITE, 10**400, True, "1", None],
    ),
    (lambda v: require_choice("n", v, ("a", "b")), ["a"], ["", "c", None, ["a"], 5]),
    (lambda v: require_switch("n", v), [True, False], ["false", 0, 1, None]),
    (lambda v: require_names("n", v), [(), ("a",)], ["a", ["a"], (1,), None]),
    (lambda v: require_text_or_none("n", v, "a text"), ["", "a", None], [5, b"a", ["a"]]),
    (lambda v: require_tools(v), [None, [], [{}], ({"a": 1},)], ["t", {}, 5, {"a"}, iter([])]),
    (lambda v: require_members("n", v, ("real",), "x"), [5], ["5", int, None]),
]


@pytest.mark.parametrize(("check", "fine", "refused"), CASES)
def test_what_is_fine_passes_and_the_rest_is_refused(check, fine, refused):
    for value in fine:
        check(value)
    for value in refused:
        with pytest.raises(SettingsError):
            check(value)


def test_the_error_says_which_tool():
    with pytest.raises(SettingsError) as caught:
        require_tools([{}, "search"])
    assert str(caught.value) == "tools[1] is 'search'; allowed: a tool schema (a dict)"


def test_a_long_or_deep_value_is_shown_in_part():
    for value in ("x" * 10_000_000, deep()):
        with pytest.raises(SettingsError) as caught:
            require_switch("n", value)
        assert len(str(caught.value)) < 300
        assert type(value).__name__ in str(caught.value)
        assert caught.value.value is value
