"""In a chat with tools the values that calls may pass come back, though no question names them."""

from __future__ import annotations

import pytest

from ask import ask, sent_by
from eunoe import Certificate
from judge import faults, said
from strategies import assistant, calling, result, user

FILLER = "That is all there is to say about it, and it was said in many words before. " * 3


def lookup(k, text):
    return [calling(f"call_{k}"), result(f"call_{k}", text)]


def chat(question="Yes, please go on."):
    """Four look-ups, two of which hold the same values, and talk without any."""
    return [
        user("I want to change my booking."),
        *lookup(1, "user_id ann_lee_3817, reservation HATH22, paid by card_7719"),
        assistant("I see your booking."),
        user("Good."),
        *lookup(2, "reservation HATH22 again, user_id ann_lee_3817, card_7719"),
        assistant(FILLER),
        user("And the flights?"),
        *lookup(3, "flights HAT271 and HAT039, seats left on 2024-05-19"),
        assistant(FILLER),
        user("Thanks."),
        assistant(FILLER),
        user(question),
    ]


def test_the_values_come_back():
    answer = ask(chat(), 240, policy="relevance")
    text = "\n".join(map(said, sent_by(answer)))
    missing = [v for v in ("ann_lee_3817", "HATH22", "card_7719", "HAT271") if v not in text]
    assert missing == []
    assert faults(sent_by(answer), "openai") == []


def test_values_that_are_there_bring_nothing_a_second_time():
    answer = ask(chat(), 240, policy="relevance")
    text = "\n".join(map(said, sent_by(answer)))
    assert text.count("card_7719") == 1


def test_what_the_question_asks_for_comes_first():
    asked = chat("What was on seats left on 2024-05-19?")
    answer = ask(asked, 140, policy="relevance")
    assert "HAT271" in "\n".join(map(said, sent_by(answer)))


def test_a_small_window_brings_values_back_unasked_and_leaves_room_for_calls():
    too_long = [user("And more?"), assistant(FILLER * 8), user("Yes, please go on.")]
    answer = ask([*chat()[:-1], *too_long], 360, "openai")
    text = "\n".join(map(said, sent_by(answer)))
    assert "HAT271" in text
    assert answer.report.tokens_after <= 200
    assert "may pass values" in answer.report.recall_reason
    assert faults(sent_by(answer), "openai") == []


def test_a_window_without_a_finished_turn_brings_values_back_unasked():
    looked_up = [m for k in range(5, 12) for m in lookup(k, f"reservation QX{k}41Z, " + FILLER * 4)]
    too_long = [user("Check all of them."), *looked_up, assistant(FILLER * 8)]
    answer = ask([*chat()[:-1], *too_long, user("Yes, please go on.")], 1200, "openai")
    assert "may pass values" in answer.report.recall_reason
    assert answer.report.recalled > 0
    assert answer.report.tokens_after <= 800
    assert faults(sent_by(answer), "openai") == []


def test_a_small_window_of_talk_brings_nothing_back_unasked():
    talk = [*(m for k in range(9) for m in (user(f"Point HATH{k}."), assistant(FILLER)))]
    answer = ask([*talk, user("Yes, please go on.")], 260)
    assert answer.report.recalled == 0


@pytest.mark.parametrize("policy", ["stable", "relevance"])
def test_certificates_hold(policy):
    for budget in range(100, 500, 50):
        certificate = ask(chat("And HAT271?"), budget, policy=policy).report.certificate
        held = isinstance(certificate, Certificate)
        assert not held or certificate.value <= certificate.upper_bound + 1e-9


@pytest.mark.parametrize("policy", ["stable", "relevance", "lethe"])
@pytest.mark.parametrize("question", ["And HAT271?", "What did I say about the harbour earlier?"])
def test_candidates_that_were_not_looked_at_count_in_the_certificate(policy, question):
    talk = [*chat(question)[:-1], *(user(f"The harbour has {k} gates.") for k in range(20))]
    messages = [*talk, *chat(question)[-1:]]
    few = ask(messages, 400, policy=policy, max_candidates=1).report.certificate
    many = ask(messages, 400, policy=policy, max_candidates=10_000).report.certificate
    assert few.upper_bound >= many.value - 1e-9
