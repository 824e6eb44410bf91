import numpy as np

from eunoe.stages.structure.supersede import discount_superseded, stated_values, superseded


def test_values_in_text():
    assert stated_values("The deadline is 12.05.2024.") == {"deadline": "12.05.2024"}
    assert stated_values("response time was 250ms, budget: $500") == {
        "response time": "250ms",
        "budget": "$500",
    }
    assert stated_values("the sky is blue") == {}


def test_a_newer_value_overtakes_an_older_one():
    said = [
        stated_values(t)
        for t in ("budget is 500", "hello", "the budget is now 700", "budget is 700")
    ]
    assert superseded(said).tolist() == [True, False, False, False]


def test_history_switches_the_discount_off():
    values, flags = np.array([1.0, 1.0]), np.array([True, False])
    assert discount_superseded(values, flags).tolist() == [0.4, 1.0]
    assert discount_superseded(values, flags, history=True).tolist() == [1.0, 1.0]


def test_a_long_word_is_no_trap():
    assert stated_values("a" * 20_000) == {}
    assert stated_values("a-" * 10_000) == {}
