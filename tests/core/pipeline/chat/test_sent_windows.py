"""What is remembered of the windows that were sent."""

from __future__ import annotations

from eunoe.pipeline.chat.sent_windows import SentWindow, SentWindows


def test_another_start_than_the_request_before_is_told():
    sent = SentWindows()
    assert not sent.was_otherwise("a", SentWindow(8, 3, ""))
    sent.note("a", SentWindow(8, 3, ""))
    assert not sent.was_otherwise("a", SentWindow(10, 3, ""))
    assert sent.was_otherwise("a", SentWindow(10, 5, ""))
    assert not sent.was_otherwise("b", SentWindow(10, 5, ""))


def test_the_same_request_again_is_told_the_same():
    sent = SentWindows()
    sent.note("a", SentWindow(8, 3, ""))
    again = SentWindow(10, 5, "")
    for _ in range(3):
        assert sent.was_otherwise("a", again)
        sent.note("a", again)


def test_a_summary_that_came_is_told_also_to_the_same_request():
    sent = SentWindows()
    sent.note("a", SentWindow(8, 3, ""))
    assert sent.was_otherwise("a", SentWindow(8, 3, "said"))
    sent.note("a", SentWindow(8, 3, "said"))
    assert not sent.was_otherwise("a", SentWindow(8, 3, "said"))


def test_a_shorter_request_has_nothing_before_it():
    sent = SentWindows()
    sent.note("a", SentWindow(8, 3, ""))
    assert not sent.was_otherwise("a", SentWindow(6, 5, ""))


def test_only_a_few_are_remembered():
    sent = SentWindows()
    for k in range(20):
        sent.note(k, SentWindow(8, 3, ""))
    assert not sent.was_otherwise(0, SentWindow(10, 5, ""))
    assert sent.was_otherwise(19, SentWindow(10, 5, ""))
