from __future__ import annotations

import pytest

from eunoe.domain.settings import POLICY_NAMES
from eunoe.pipeline.policies.presets.registry import BLOCK_PRESETS, PRESETS, WORD_PRESETS
from eunoe.stages.flags import read_flags
from preset_chats import asked, preset_chat


def test_presets_are_policies():
    assert set(PRESETS) < set(POLICY_NAMES)
    assert set(PRESETS) > BLOCK_PRESETS | WORD_PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_a_flag_names_them(name):
    reading = read_flags(f"!policy={name} hi")
    assert reading is not None
    assert (reading.flags.policy, reading.problems) == (name, ())


@pytest.mark.parametrize("name", PRESETS)
def test_one_message_within_the_room(name):
    plan = PRESETS[name](preset_chat(asked("dog"), "dog", room=1))
    assert plan is not None
    assert plan.chosen == (0,)
