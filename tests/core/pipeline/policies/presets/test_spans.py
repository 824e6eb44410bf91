from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies

from eunoe.domain.certificate import Certificate, NoCertificate, Unproven
from eunoe.pipeline.policies.presets.spans import (
    certify_spans,
    fill_spans,
    newest_turns,
    plan_spans,
    run_that_fits,
)
from eunoe.stages.structure.waveform import gain_wave
from preset_chats import asked, preset_chat, talk


@pytest.mark.parametrize(
    ("cost", "start", "room", "run"),
    [
        ([1, 1, 1, 1], 1, 4, (0, 4)),
        ([1, 1, 1, 1], 1, 2, (1, 3)),
        ([1, 1, 1, 1], 3, 2, (2, 4)),
        ([1, 1, 5, 1], 1, 3, (0, 2)),
        ([5, 1, 1, 1], 1, 9, (0, 4)),
        ([1, 5, 1], 1, 4, (1, 1)),
        ([], 0, 4, (0, 0)),
    ],
)
def test_the_run_grows_onwards_and_then_back(cost, start, room, run):
    assert run_that_fits(cost, start, room) == run


@given(
    strategies.lists(strategies.integers(1, 5), min_size=1, max_size=9),
    strategies.integers(0, 20),
    strategies.data(),
)
def test_a_run_fits_and_holds_its_start(cost, room, data):
    start = data.draw(strategies.integers(0, len(cost) - 1))
    low, high = run_that_fits(cost, start, room)
    assert sum(cost[low:high]) <= room
    assert low <= start <= high
    assert (high > start) == (cost[start] <= room)


WAVE = np.array([0.1, 0.5, 0.9, 0.0, 0.8, 0.3])
SPANS = [(1, 2, 2.0), (4, 5, 3.0)]


@pytest.mark.parametrize(
    ("room", "chosen"),
    [
        pytest.param(4, [4, 5, 1, 2], id="all"),
        pytest.param(3, [4, 5, 2], id="the weaker is split at its best turn"),
        pytest.param(2, [4, 5], id="the stronger alone"),
        pytest.param(1, [4], id="the stronger is split"),
        pytest.param(0, [], id="none"),
    ],
)
def test_best_spans_first(room, chosen):
    assert fill_spans(preset_chat(asked(*"abcdef"), "x", room=room), WAVE, SPANS) == chosen


def test_among_equal_spans_the_newest():
    chat = preset_chat(asked(*"abcdef"), "x", room=2)
    assert fill_spans(chat, WAVE, [(1, 2, 2.0), (4, 5, 2.0)]) == [4, 5]


@pytest.mark.parametrize(("room", "chosen"), [(9, [4, 5, 2, 3, 0, 1]), (5, [4, 5, 2, 3]), (1, [])])
def test_newest_turns_whole(room, chosen):
    chat = preset_chat(talk(*"abcdef"), "x", room=room)
    assert newest_turns(chat, 3) == chosen
    assert newest_turns(chat, 1) == chosen[:2]


def test_silence_sends_the_last_turns():
    chat = preset_chat(asked(*"abcdef"), "x", fallback_turns=3)
    plan = plan_spans(chat, np.zeros(6), "spans")
    assert plan is not None
    assert (plan.chosen, plan.reason) == ((3, 4, 5), "nothing stands out: recency fallback")
    assert plan.values.tolist() == [0.0] * 6
    assert plan_spans(preset_chat(asked(*"abcdef"), "x", room=0), np.zeros(6), "spans") is None


def test_fewer_than_two_turns_go_through():
    plan = plan_spans(preset_chat(talk("a", "b"), "x"), np.array([1.0]), "spans")
    assert plan is not None
    assert plan.chosen == (0, 1)


def test_a_certificate_by_hand():
    chat = preset_chat(asked(*"abcdef"), "x", room=2)
    gains = gain_wave(WAVE)  # 0.9 and 0.8 stand out, 0.5 hardly does
    best = float(gains[2] + gains[4])
    certificate = certify_spans(chat, WAVE, [2, 4])
    assert (certificate.value, certificate.upper_bound) == pytest.approx((best, best))
    split = certify_spans(chat, WAVE, [1, 2])
    assert split.ratio == pytest.approx(float(gains[1] + gains[2]) / best)
    assert certify_spans(chat, WAVE, []).ratio == 0.0


@given(
    strategies.lists(strategies.floats(0, 1), min_size=2, max_size=8),
    strategies.integers(1, 20),
    strategies.data(),
)
def test_no_choice_within_the_room_beats_the_bound(values, room, data):
    size = len(values)
    cost = data.draw(strategies.lists(strategies.integers(1, 5), min_size=size, max_size=size))
    chat = preset_chat(asked(*(f"word{i}" for i in range(size))), "x", room=room, cost=cost)
    chosen = data.draw(strategies.lists(strategies.integers(0, size - 1), unique=True))
    if sum(cost[k] for k in chosen) > room:
        return
    certificate = certify_spans(chat, np.array(values), chosen)
    gain = float(gain_wave(np.array(values))[chosen].sum())
    assert gain <= certificate.upper_bound + 1e-9
    assert 0.0 <= certificate.ratio <= 1.0


def test_spans_have_a_certificate_and_a_fallback_says_why_not():
    wave = np.array([0.0, 0.0, 0.9, 0.8, 0.0, 0.0])
    found = plan_spans(preset_chat(asked(*"abcdef"), "x", room=9), wave, "spans")
    assert found is not None
    assert isinstance(found.certificate, Certificate)
    assert 0.5 < found.certificate.ratio <= 1.0
    fallback = plan_spans(preset_chat(asked(*"abcdef"), "x", room=9), np.zeros(6), "spans")
    assert fallback is not None
    assert fallback.certificate == NoCertificate(Unproven.RECENCY)
