from __future__ import annotations

import numpy as np
import pytest

from eunoe.pipeline.policies.presets.lethus import (
    entity_mentions,
    lethus_wave,
    lifted_turns,
    meant_matches,
    plan_lethus,
    word_lift,
)
from preset_chats import asked, preset_chat

LINES = asked("dog", "cloud", "sun", "dog")


def test_decay_by_hand():
    # cosines 1, 0, 0, 1; age in turns 3 .. 0; 0.5 + 0.5 * 0.98**3
    assert lethus_wave(preset_chat(LINES, "dog")).tolist() == pytest.approx(
        [0.5 + 0.5 * 0.98**3, 0, 0, 1]
    )


@pytest.mark.parametrize("question", ["what dog did i mention earlier", "dog on 12 May 2024"])
def test_no_decay_when_the_question_points_back(question):
    chat = preset_chat(LINES, question)
    wave = lethus_wave(chat)
    assert wave[0] == wave[3] > 0


def test_decay_is_bounded():
    chat = preset_chat(asked("dog", *["cloud"] * 400, "dog"), "dog")
    wave = lethus_wave(chat)
    assert wave[0] > 0.5 * wave[-1]


def test_words_of_the_question():
    chat = preset_chat(asked("dog cloud lamp", "dog", "dog sun", "sun"), "dog cloud lamp sun")
    assert word_lift(chat).tolist() == pytest.approx([1.3, 1.0, 1.2, 1.0])


NAMED = asked(
    "the server runs config.yaml", "cloud", "config.yaml needs API_KEY", "API_KEY is lost", "sun"
)


def test_named_entities_and_what_is_linked_to_them():
    chat = preset_chat(NAMED, "open config.yaml")
    mentions = entity_mentions(chat.entities[:-1])
    assert {"config.yaml", "api_key"} <= set(mentions)
    assert lifted_turns(chat, ["config.yaml"], mentions).tolist() == [0, 2, 3]
    assert lifted_turns(chat, ["api_key"], mentions).tolist() == [0, 2, 3]


def test_the_lift_by_hand():
    lines = asked("config.yaml", "sun", "lamp", "tree")
    chat = preset_chat(lines, "config.yaml")
    lift = word_lift(chat)[0]
    assert lethus_wave(chat)[0] == pytest.approx(lift * 1.2 * (0.5 + 0.5 * 0.98**3))


def test_a_pronoun_means_what_was_named_last():
    lines = asked("cloud", "look at app.py and db.py", "sun", "lamp")
    chat = preset_chat(lines, "change it")
    mentions = entity_mentions(chat.entities[:-1])
    ghost = dict.fromkeys(mentions, 0.9**2)
    by_turn = meant_matches(chat, ghost, mentions)
    assert by_turn.tolist() == pytest.approx([0, 0.81 * len(mentions), 0, 0])
    wave = lethus_wave(chat)
    assert wave.argmax() == 1
    assert wave[1] == pytest.approx(0.35 * by_turn[1] * (0.5 + 0.5 * 0.98**2))
    plan = plan_lethus(chat)
    assert plan is not None
    assert plan.chosen == (1,)


def test_three_matches_at_most():
    lines = asked("a1.py b1.py c1.py d1.py e1.py", "sun")
    chat = preset_chat(lines, "change it")
    mentions = entity_mentions(chat.entities[:-1])
    assert meant_matches(chat, dict.fromkeys(mentions, 1.0), mentions).tolist() == [3.0, 0.0]


def test_entities_named_everywhere_are_no_entities():
    chat = preset_chat(asked(*["see app.py"] * 65), "app.py")
    mentions = entity_mentions(chat.entities[:-1])
    assert len(mentions["app.py"]) == 65
    assert lifted_turns(chat, ["app.py"], {}).tolist() == []
    plain = chat.turn_cosine * (0.5 + 0.5 * 0.98 ** np.arange(64, -1, -1))
    assert lethus_wave(chat).tolist() == pytest.approx((plain * word_lift(chat)).tolist())


def test_a_question_that_names_something_means_nothing_else():
    lines = asked("Berta likes tea", "look at app.py", "sun")
    assert lethus_wave(preset_chat(lines, "does Berta like it"))[1] == 0.0


def test_names_that_an_extractor_finds_are_lifted_and_meant():
    lines = asked("cloud", "look at acme", "sun", "lamp")
    found = [(), ("acme",), (), ()]

    def with_names(question, *names):
        said = [*found, names]
        return preset_chat(lines, question, find_names=lambda places: [said[i] for i in places])

    assert not lethus_wave(preset_chat(lines, "change it")).any()
    wave = lethus_wave(with_names("change it"))
    assert wave[1] == pytest.approx(0.35 * 0.9**2 * (0.5 + 0.5 * 0.98**2))
    plain = lethus_wave(preset_chat(lines, "open acme"))
    assert lethus_wave(with_names("open acme", "acme"))[1] == pytest.approx(1.2 * plain[1])
