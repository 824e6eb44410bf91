"""What a question leaves unsaid is used where there is a cue, and changes nothing elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from eunoe.pipeline.chat.memory import ContentMemory, count_entries
from eunoe.pipeline.chat.transcript import Transcript
from eunoe.pipeline.recalling.lifting import lift_by_cues
from eunoe.stages.scoring.analysis import analyse_text
from judge import ThirdsCounter
from strategies import assistant, user

FILLER = tuple(f"The weather in town {i} was mild." for i in range(12))


def transcript_of(*texts):
    messages = [m for text in texts for m in (user(text), assistant("OK."))]
    counter = ThirdsCounter()
    entries = ContentMemory(1_000_000).read_all(messages)
    count_entries(entries, counter)
    transcript = Transcript(counter.name)
    transcript.grow(entries)
    return transcript


def lifted(question, *texts):
    transcript = transcript_of(*texts)
    query = analyse_text(question, role="user")
    answer = transcript.indexed(lambda: False).relevance(query, upto=len(transcript.entries))
    before = answer.values.copy()
    after = lift_by_cues(transcript, query, answer, answer.values)
    assert np.array_equal(before, answer.values)
    assert ((after >= 0) & (after <= 1)).all()
    return before[::2], after[::2]


def test_without_a_cue_nothing_changes():
    texts = ("The limit is 5.", "The limit is 6.", *FILLER)
    before, after = lifted("What is the limit?", *texts)
    assert np.array_equal(before, after)


def test_the_newer_value_counts_where_now_is_asked_for():
    texts = ("The limit is 5.", "The limit is 6.", "The limit is 7.", *FILLER)
    before, after = lifted("What is the limit now?", *texts)
    assert after[2] == before[2]
    assert (after[:2] < 0.1 * before[:2]).all()


def test_the_first_value_counts_too_where_the_past_is_asked_for():
    texts = ("The limit is 5.", "The limit is 6.", "The limit is 7.", *FILLER)
    before, after = lifted("What was the limit originally, and what is it now?", *texts)
    assert after[0] == before[0]
    assert after[2] == before[2]
    assert after[1] < before[1]


def test_the_same_text_counts_once():
    asked = "What is the port of the database?"
    before, after = lifted(asked, asked, asked, asked, "The port of the database is 1.", *FILLER)
    assert (after[:2] < 0.1 * before[:2]).all()
    assert np.array_equal(after[2:], before[2:])


def test_a_pronoun_stands_for_what_was_named_last():
    texts = ("bill.pdf expires in May.", "note.pdf expires in June.", *FILLER, "I open bill.pdf.")
    before, after = lifted("When does it expire?", *texts)
    assert after[0] > 2 * before[0]
    assert after[1] == before[1]
    before, after = lifted("When does note.pdf expire?", *texts)
    assert after[0] == before[0]


BY_NOUN = {
    "file": ("Who owns the file?", "{0}.py is owned by {1}.", "I open {0}.py again."),
    "link": ("Who reads the link?", "https://a.org/{0} is read by {1}.", "Open https://a.org/{0}"),
    "error": ("Who fixed the error?", "{0}Error was fixed by {1}.", "I see {0}Error again."),
    "zh": ("那个文件的负责人是谁？", "{0}.py的负责人是{1}。", "我又改了{0}.py。"),
    "zh-pronoun": ("那个的负责人是谁？", "{0}.py的负责人是{1}。", "我又改了{0}.py。"),
    "ja": ("そのファイルの担当者は誰？", "{0}.pyの担当者は{1}。", "また{0}.pyを開く。"),
    "ko": ("그 파일의 담당자는 누구?", "{0}.py의 담당자는 {1}.", "{0}.py를 또 연다."),
    "ru": ("Кто владелец файла?", "Владелец {0}.py — {1}.", "Я снова открыл {0}.py."),
}


@pytest.mark.parametrize("meant", [0, 1])
@pytest.mark.parametrize("case", BY_NOUN)
def test_a_noun_stands_for_the_newest_thing_of_its_type(case, meant):
    question, fact, opened = BY_NOUN[case]
    names, people = ("bill", "note"), ("Dana", "Ravi")
    texts = [fact.format(*pair) for pair in zip(names, people, strict=True)]
    opening = (opened.format(names[meant]), "Zeus is up.")
    before, after = lifted(question, *texts, *FILLER, *opening)
    assert after[meant] > max(before[meant], after[1 - meant])
    assert after[1 - meant] == before[1 - meant]


def test_the_words_that_point_need_not_be_said():
    facts = ("bill.py is owned by Dana.", "A script is a file.")
    opening = ("I open bill.py again.", "Zeus is up.")
    before, after = lifted("Who owns the file, that script?", *facts, *FILLER, *opening)
    assert after[0] > before[0]


def test_a_noun_passes_over_what_has_another_type():
    facts = ("bill.py was changed by Dana.", "KeyError was changed by Ravi.")
    before, after = lifted("Who changed the file?", *facts, *FILLER, "bill.py has a KeyError.")
    assert after[0] > before[0]
    assert after[1] == before[1]


@pytest.mark.parametrize("far", [1, 9])
def test_a_rare_word_ties_two_messages(far):
    texts = [*FILLER]
    texts[far] = "Ingrid lives in Kiel."
    others = [f"{name} lives in Rome." for name in ("Oskar", "Paula", "Tom", "Vera")]
    before, after = lifted("Where does my sister live?", *texts, "My sister is Ingrid.", *others)
    assert after[far] > before[far]
    assert after[far] > after[-len(others) :].max()


def test_no_question_no_lift():
    before, after = lifted("zebra", *FILLER)
    assert not before.any()
    assert not after.any()


def test_a_question_with_words_of_its_own_does_not_lean_on_its_pronoun():
    texts = ("bill.pdf is green.", "The garden needs sand.", *FILLER, "I open bill.pdf.")
    asked = "How much sand and gravel does the garden behind that green fence need?"
    before, after = lifted(asked, *texts)
    assert np.array_equal(before, after)


def test_the_more_a_pronoun_may_stand_for_the_less_each_counts():
    names = ("bill", "note", "deed", "visa", "pass")
    texts = [f"{name}.pdf expires in May." for name in names]
    one = lifted("When does it expire?", *texts, *FILLER, "I open bill.pdf.")
    opened = "I open " + ", ".join(f"{name}.pdf" for name in names) + "."
    all_of_them = lifted("When does it expire?", *texts, *FILLER, opened)
    assert one[1][0] / one[0][0] > all_of_them[1][0] / all_of_them[0][0]


def test_the_capital_of_a_question_word_is_no_name():
    texts = ("nota.pdf caduca en mayo.", "visa.pdf caduca en junio.", *FILLER, "Miro nota.pdf.")
    before, after = lifted("¿Cuándo caduca eso?", *texts)
    assert after[0] > 2 * before[0]
    assert after[1] == before[1]


def test_two_messages_that_only_share_a_name_are_no_chain():
    texts = ("My sister is Ingrid.", *FILLER, "Ingrid sells cheese.", "The wine is open.")
    before, after = lifted("Is my sister fond of cheese and wine?", *texts)
    assert np.array_equal(before, after)
