"""A caller's counter is held to what a counter promises."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from eunoe.domain.errors import CounterFaultError
from eunoe.domain.message import Message
from eunoe.stages.counting.checked import checked_counter
from eunoe.stages.counting.tokenizer import EstimateTokenizer, find_tokenizer

MESSAGE = Message(role="user", text="a")


class Answering:
    """Answers each text with the same."""

    exact = True

    def __init__(self, answer, name="answering"):
        self.answer, self.name = answer, name

    def count(self, text):
        return self.answer

    def count_batch(self, texts):
        return [self.answer for _ in texts]


class Whole(Answering):
    """Counts whole messages, too."""

    def count_message(self, message):
        return self.answer


class Raising:
    """Raises whatever it is asked."""

    exact = True
    name = "raising"

    def count(self, text):
        raise LookupError("no vocabulary")

    count_batch = count_message = count


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        (0, 0),
        (7, 7),
        (2.25, 3),
        (3.0, 3),
        (Fraction(1, 2), 1),
        (np.int64(9), 9),
        (np.float32(1.5), 2),
    ],
)
def test_a_part_of_a_token_counts_as_a_whole_one(answer, tokens):
    counter = checked_counter(Whole(answer))
    counts = [counter.count("a"), *counter.count_batch(["a"]), counter.count_message(None)]
    assert counts == [tokens] * 3
    assert {type(n) for n in counts} == {int}
    assert (counter.name, counter.exact) == ("answering", True)


@pytest.mark.parametrize(
    "answer", [None, "5", True, -1, -0.5, math.nan, math.inf, 10**13, 10**400, [1], Decimal("NaN")]
)
def test_what_is_no_number_of_tokens_is_a_fault(answer):
    counter = checked_counter(Whole(answer))
    for ask in (counter.count, lambda text: counter.count_batch([text]), counter.count_message):
        with pytest.raises(CounterFaultError, match="it answered"):
            ask("a")


def test_what_a_counter_raises_is_a_fault_named_by_its_class():
    counter = checked_counter(Raising())
    for ask in (counter.count, counter.count_batch, counter.count_message):
        with pytest.raises(CounterFaultError, match=r"^LookupError$") as caught:
            ask("a")
        assert isinstance(caught.value.__cause__, LookupError)


class Short(Answering):
    """Answers one text alone."""

    def __init__(self):
        super().__init__(1)

    def count_batch(self, texts):
        return [1]


class Silent(Short):
    """Answers nothing."""

    def count_batch(self, texts):
        return None


def test_each_text_has_one_count():
    with pytest.raises(CounterFaultError, match="1 counts for 2 texts"):
        checked_counter(Short()).count_batch(["a", "b"])
    with pytest.raises(CounterFaultError, match="TypeError"):
        checked_counter(Silent()).count_batch(["a"])


@pytest.mark.parametrize("name", [None, 5, ["a"], b"a"])
def test_a_name_is_text(name):
    with pytest.raises(CounterFaultError, match="its name is"):
        checked_counter(Answering(1, name))


def test_messages_are_counted_whole_only_where_the_counter_does_so():
    assert not hasattr(checked_counter(Answering(1)), "count_message")
    assert checked_counter(Whole(4)).count_message(MESSAGE) == 4


def test_our_own_counters_are_not_checked():
    for counter in (EstimateTokenizer("o200k"), find_tokenizer("o200k")):
        assert checked_counter(counter) is counter
