from __future__ import annotations

import pytest

from eunoe.stages.accounting.reading_speed import ReadingSpeed

TIMINGS = {"cache_n": 6000, "prompt_n": 500, "prompt_ms": 1000.0, "predicted_n": 35}


@pytest.mark.parametrize(
    "usage", [TIMINGS, {"timings": TIMINGS}, {"prompt_tokens": 6500, **TIMINGS}]
)
def test_the_time_of_a_token_is_read_wherever_hosts_put_it(usage: object) -> None:
    assert ReadingSpeed().learn(usage).seconds(6000) == pytest.approx(12.0)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        "text",
        {},
        {"prompt_tokens": 5},
        {"prompt_n": 500},
        {"prompt_n": 31, "prompt_ms": 50.0},  # a batch takes no longer
        {"prompt_n": 500, "prompt_ms": 0},
        {"prompt_n": 500, "prompt_ms": float("nan")},
        {"prompt_n": 500, "prompt_ms": float("inf")},
        {"prompt_n": -500, "prompt_ms": 3},
        {"prompt_n": True, "prompt_ms": True},
        {"prompt_n": "500", "prompt_ms": "3"},
        {"timings": None},
    ],
)
def test_what_says_nothing_teaches_nothing(usage: object) -> None:
    speed = ReadingSpeed((2.0,))
    assert speed.learn(usage) == speed
    assert ReadingSpeed().learn(usage).seconds(6000) == 0


def test_the_best_of_the_newest_speeds_counts() -> None:
    speed = ReadingSpeed()
    for taken in (100.0, 1000.0, 2000.0):
        speed = speed.learn({"prompt_n": 100, "prompt_ms": taken})
    assert speed.seconds(1000) == pytest.approx(1.0)
    for _ in range(9):
        speed = speed.learn({"prompt_n": 100, "prompt_ms": 2000.0})
    assert speed.seconds(1000) == pytest.approx(20.0)
