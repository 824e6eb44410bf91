"""Whatever a model writes, labels are read or nothing is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe_backends.label_reading import LABEL_WORTH, read_labels, read_numbers

K, H, M, S, D = LABEL_WORTH.values()


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ('{"1": "K", "2": "D", "3": "M"}', [K, D, M]),
        ('{"1": "k", "3": "high"}', [K, None, H]),
        ('Sure!\n```json\n{"labels": {"1": "K", "2": "H"}}\n```', [K, H, None]),
        ('{"labels": ["K", "S", "D"]}', [K, S, D]),
        ('["K", "H", "?"]', [K, H, None]),
        ('[{"id": 2, "label": "K"}, {"id": 1, "label": "D"}]', [D, K, None]),
        ("1: K\n2. D\n3) M", [K, D, M]),
        ("1=K, 2=S", [K, S, None]),
        ('{"1": "K", "2": "H", ', [K, H, None]),
        ("K D M", [K, D, M]),
        ("[K, D, M].", [K, D, M]),
        ('<think>1 may be D, see [2]. {hm}</think>\n{"1": "K", "2": "D"}', [K, D, None]),
        ("<think>1: D? No: it is needed.</think>\n1: K\n2: D", [K, D, None]),
        ('{"1": {"label": "K", "reason": "a port"}, "2": {"label": "D"}}', [K, D, None]),
        ('{"1": "K - needed", "2": "D (thanks)", "3": ["M"]}', [K, D, M]),
        ('{"K": [1, 3], "D": [2]}', [K, D, K]),
        ('[["1", "K"], ["2", "D"]]', [K, D, None]),
        ('[{"message": 1, "reason": "a port", "label": "K"}]', [K, None, None]),
        ("| 1 | K |\n| 2 | D |", [K, D, None]),
        ("**1**: K\n2. **D**\n- 3 -> M", [K, D, M]),
        ("{'1': 'K', '2': 'D',}", [K, D, None]),
        ("1 K, 2 D; 3 M", [K, D, M]),
        ("I cut 3 K of text, 2 D printers and 1 S.", None),
        ("version 1.5 K", None),
        ('{"1": "Kitchen", "2": "Dog", "3": 7}', None),
        ('{"a": ' * 300 + '{"1": "K"}' + "}" * 300, [K, None, None]),
        ('{"9": "K", "0": "K", "-1": "K"}', None),
        ("K D", None),
        ("I think that all of them matter.", None),
        ("Kind Deeds Matter", None),
        ("", None),
        ("null", None),
        ("{" * 5000, None),
    ],
)
def test_forms_of_an_answer(text, labels):
    assert read_labels(text, 3) == labels


@given(st.lists(st.sampled_from(sorted(LABEL_WORTH)), min_size=1, max_size=50))
def test_every_form_says_the_same(letters):
    worth = [LABEL_WORTH[letter] for letter in letters]
    numbered = dict(enumerate(letters, 1))
    forms = [json.dumps(numbered), json.dumps(letters), " ".join(letters)]
    forms.append("\n".join(f"{k}: {letter}" for k, letter in numbered.items()))
    assert [read_labels(form, len(letters)) for form in forms] == [worth] * 4


@given(st.text(max_size=200), st.integers(0, 20))
def test_any_text_is_read_without_a_fault(text, count):
    found = read_labels(text, count)
    assert found is None or len(found) == count
    assert len(read_numbers(text, 3)) <= 3


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ('{"topics": [2, 7, 2]}', [2, 7]),
        ('["T3", "4", 5, 6]', [3, 4, 5]),
        ("T2 and T9", [2, 9]),
        ("none", []),
        ('{"topics": []}', []),
    ],
)
def test_numbers_of_topics(text, numbers):
    assert read_numbers(text, 3) == numbers
