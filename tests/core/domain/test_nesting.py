"""Values nested deeper than Python's calls can go, and texts that do not depend on the depth."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.domain.nesting import _deep_json, json_text, with_strings_changed, written_text

DEEP = 5 * sys.getrecursionlimit()
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def nested(depth: int, leaf: object = "leaf"):
    value = leaf
    for i in range(depth):
        value = [value] if i % 2 else {"k": value}
    return value


class Circle(list):
    """A list inside itself that minds being read again and again."""

    reads = 0

    def __iter__(self):
        self.reads += 1
        assert self.reads < 9, "read without end"
        return super().__iter__()


def test_what_stands_inside_itself_ends():
    circle = Circle()
    circle.append(["x", circle])
    assert _deep_json(circle, True, False, (",", ":")) == '[["x","[...]"]]'


def test_what_stands_inside_itself_is_copied_once():
    circle = Circle()
    circle += ["x", circle]
    changed = with_strings_changed(circle, str.upper)
    assert changed[0] == "X"
    assert changed[1] is changed


def test_what_stands_twice_side_by_side_is_written_twice():
    pair = ["x", {"k": 1}]
    for value in ([pair, pair], {"a": pair, "b": [pair, pair[1]]}):
        assert _deep_json(value, True, False, (", ", ": ")) == json.dumps(value)


@pytest.mark.parametrize("sort_keys", [True, False])
@pytest.mark.parametrize("ensure_ascii", [True, False])
@given(value=PLAIN)
def test_the_deep_text_is_that_of_json(sort_keys, ensure_ascii, value):
    """Else the hash of a message would depend on how deep the caller stands."""
    expected = json.dumps(
        value, sort_keys=sort_keys, ensure_ascii=ensure_ascii, separators=(",", ":")
    )
    assert _deep_json(value, ensure_ascii, sort_keys, (",", ":")) == expected


def test_keys_that_are_no_texts_are_written_as_json_does():
    value = {7: "a", None: "b", True: "c", 2.5: ("d", {3: []})}
    assert _deep_json(value, True, False, (", ", ": ")) == json.dumps(value)


def test_a_deep_value_is_written_whole():
    text = json_text(nested(DEEP))
    assert text.startswith('[{"k": [{"k": ')
    assert text.count("leaf") == 1
    assert text.count("[") == text.count("]") == DEEP // 2
    assert written_text(nested(DEEP)) == text
    assert json_text(nested(DEEP), indent=1) == text


def test_what_json_cannot_hold_is_written_as_python_does():
    assert json_text({(1, 2): "x"}) == "{(1, 2): 'x'}"
    assert json_text({"x": {1}}) == '{"x": "{1}"}'
    circle: list[object] = []
    circle.append(circle)
    assert json_text(circle) == "[[...]]"
    assert '"[...]"' in json_text(nested(DEEP, circle))


def test_indented_text_is_that_of_json():
    assert json_text({"a": [1]}, indent=1) == json.dumps({"a": [1]}, indent=1)


def test_strings_change_however_deep_and_nothing_is_written_into():
    value = nested(DEEP, frozenset({"kept", 5}))
    changed = with_strings_changed(value, str.upper)
    for _ in range(DEEP // 2):
        value, changed = value[0]["k"], changed[0]["K"]
    assert changed is value


def test_a_circle_stays_a_circle():
    circle: dict[str, object] = {"a": "x"}
    circle["b"] = [circle]
    changed = with_strings_changed(circle, str.upper)
    assert changed["A"] == "X"
    assert changed["B"][0] is changed
    assert list(circle) == ["a", "b"]


def test_whole_numbers_of_more_digits_than_python_writes():
    number = 10**5000
    for value in (number, [number], {"n": number}, {number: "n"}):
        assert hex(number) in json_text(value)
        assert hex(number) in written_text(value)
    assert json_text([number]) != json_text([number + 1])
