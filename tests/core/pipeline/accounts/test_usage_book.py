from __future__ import annotations

import pytest

from eunoe.pipeline.accounts.usage_book import UsageBook

COUNTED = 1000


def learnt(*ratios: float) -> UsageBook:
    """A book after reports of so many tokens for each that we counted."""
    book = UsageBook()
    for ratio in ratios:
        book.learn("m", COUNTED, (), {"prompt_tokens": round(COUNTED * ratio)})
    return book


@pytest.mark.parametrize(
    ("ratio", "factor"),
    [
        (1.0, 1.0),
        (1.02, 1.0),  # within what framing may take
        (1.03, 1.05),
        (1.12, 1.15),
        (1.15, 1.15),
        (1.9, 1.9),
        (0.95, 1.0),  # room unused, nothing worse
        (0.55, 1.0),  # a report without its cached part, perhaps
    ],
)
def test_the_factor_is_in_steps_and_rather_too_high(ratio: float, factor: float) -> None:
    assert learnt(*[ratio] * 3).factor("m") == pytest.approx(factor)


def test_one_odd_report_moves_nothing_far() -> None:
    assert learnt(1.1, 1.1, 1.9, 1.1).factor("m") == pytest.approx(1.1)


def test_small_changes_between_reports_do_not_move_it() -> None:
    ratios = (1.11, 1.13, 1.12, 1.14, 1.11, 1.12)
    book = learnt(*ratios[:3])
    before = book.factor("m")
    for ratio in ratios[3:]:
        book.learn("m", COUNTED, (), {"prompt_tokens": round(COUNTED * ratio)})
        assert book.factor("m") == before


def test_models_are_kept_apart_and_forgotten_in_the_end() -> None:
    book = learnt(1.5, 1.5, 1.5)
    assert book.factor("other") == 1.0
    for number in range(300):
        book.learn(f"m{number}", COUNTED, (), {"prompt_tokens": COUNTED})
    assert book.factor("m") == 1.0
