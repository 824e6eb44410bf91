"""The estimate without a vocabulary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.counting.estimate import FAMILY_FACTORS, estimate_tokens
from eunoe.stages.counting.tokenizer import find_tokenizer

TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=200)

# text, its o200k tokens
SAMPLES = [
    pytest.param(
        "Please look at the report again before the meeting on Thursday. " * 4, 49, id="en"
    ),
    pytest.param("请在星期四的会议之前再看一遍报告，谢谢。" * 4, 56, id="zh"),
    pytest.param("木曜日の会議の前に、もう一度レポートを見てください。" * 4, 80, id="ja"),
    pytest.param("목요일 회의 전에 보고서를 다시 한번 봐 주세요. " * 4, 53, id="ko"),
    pytest.param("กรุณาดูรายงานอีกครั้งก่อนการประชุมวันพฤหัสบดี " * 4, 73, id="th"),
    pytest.param("يرجى مراجعة التقرير مرة أخرى قبل اجتماع يوم الخميس. " * 4, 50, id="ar"),
    pytest.param("कृपया गुरुवार की बैठक से पहले रिपोर्ट फिर से देखें। " * 4, 58, id="hi"),
    pytest.param("Пожалуйста, посмотрите отчёт ещё раз до встречи в четверг. " * 4, 65, id="ru"),
    pytest.param('{"id": 4711, "name": "maple", "tags": ["a1", null, true]}\n' * 4, 100, id="json"),
    pytest.param("    if value is None:\n        return self.default\n" * 4, 44, id="code"),
    pytest.param("| maple | 4711 | 12.50 |\n" * 4, 48, id="table"),
    pytest.param("b1c9f00d7ae34582" * 6, 66, id="hex"),
    pytest.param("🦊🌍🍕🎸🔥👍😀🧶" * 6, 90, id="emoji"),
]


@pytest.mark.parametrize(("text", "real"), SAMPLES)
def test_one_sentence_is_never_far_under_and_not_wildly_over(text, real):
    assert 0.9 * real <= estimate_tokens(text) <= 1.4 * real


@pytest.mark.parametrize(("text", "real"), SAMPLES)
def test_the_table_of_samples_holds_the_real_counts(text, real):
    tokenizer = find_tokenizer("o200k")
    if not tokenizer.exact:
        pytest.skip("no vocabulary on this machine")
    assert tokenizer.count(text) == real


def test_nothing_takes_nothing_and_something_takes_something():
    assert estimate_tokens("") == 0
    assert 1 <= estimate_tokens("a") <= 2
    assert estimate_tokens("\U0010ffff\ud800\x00") >= 1


@pytest.mark.parametrize("family", [*FAMILY_FACTORS, "unheard of"])
def test_every_family_has_an_estimate(family):
    text = "The quick harbour, 数据库 and 4711. " * 20
    assert estimate_tokens(text, family) >= estimate_tokens(text) * 0.9


def test_a_long_text_counts_as_its_blocks_do():
    line = "All work and no play, 4711 times.\n"
    text = line * (2_200_000 // len(line))
    one = estimate_tokens(line * 1000)
    assert abs(estimate_tokens(text) / (one * len(text) / (1000 * len(line))) - 1) < 0.001
    assert estimate_tokens("é" + text) - estimate_tokens(text) in (0, 1, 2, 3)


@given(TEXT, TEXT)
def test_a_joined_text_takes_as_much_as_its_parts(first, second):
    joined = estimate_tokens(first + second)
    assert joined >= estimate_tokens(first)
    # at the seam one price is exchanged for another, of at most 3.1 tokens
    assert abs(joined - estimate_tokens(first) - estimate_tokens(second)) <= 5


@given(TEXT)
def test_the_same_text_takes_the_same(text):
    assert estimate_tokens(text) == estimate_tokens("".join(list(text))) >= bool(text)
