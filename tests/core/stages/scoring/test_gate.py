import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.gate import GATE_MEANING_LEAD, may_open, window_coverage
from eunoe.stages.scoring.index import RelevanceIndex

OLD = [
    "My dog is called Rex and he is a beagle.",
    "Lovely name!",
    "The deploy script is ops/deploy_prod.sh",
    "Noted.",
]
LONG = (
    "I am planning a long trip through the mountains with my dog and I need a list of things to "
    "pack, the weather will be cold, we walk six hours a day, sleep in huts, and I would like to "
    "carry as little as possible; can you write the list for me and say what it weighs?"
)
NEW = ["Let us plan the garden now.", "Sure, roses or tulips?", "Tulips, please.", "Done."]


def index_of(texts):
    index = RelevanceIndex()
    for i, text in enumerate(texts):
        role = "assistant" if i % 2 else "user"
        index.append(analyse_text(text, role=role), turn=i // 2, tokens=10)
    return index


def cover(text, start=4):
    return window_coverage(index_of(OLD + NEW), analyse_text(text, role="user"), start)


@pytest.mark.parametrize(
    "text",
    [
        "What is the name of my dog?",
        "Remind me what we said about my dog",
        "run ops/deploy_prod.sh",
        "Do you remember the beagle?",
    ],
)
def test_opens_for_what_is_out_of_view(text):
    assert cover(text).open


@pytest.mark.parametrize(
    "text",
    [
        "thanks, next",
        "ok",
        "",
        "Which tulips did we choose for the garden?",
        "Write a function that sorts a list of integers.",
        LONG,
    ],
)
def test_stays_closed(text):
    assert not cover(text).open


ORDER = (
    "Can you walk me through the order in which {} the garden, the roses, the tulips and the dog, "
    "one thing after another, in four short items and nothing else at all?"
)


def test_a_question_about_the_whole_chat_opens_it_whatever_is_in_view():
    asked = ORDER.format("I brought up")
    whole, plain = cover(asked), cover(ORDER.format("one looks after"))
    assert whole.best_inside > whole.best_outside > 0.0 > whole.score
    assert whole.by_whole
    assert whole.open
    assert whole.plain
    assert not plain.open
    assert not cover(asked, start=0).open
    assert not cover("Summarise what we said about trains").open  # nothing was


def test_it_may_be_as_long_as_it_likes():
    long = analyse_text(ORDER.format("I brought up") + " Please mind." * 60, role="user")
    assert long.words > 100
    assert may_open(long)
    assert may_open(long, templated=True)
    assert not may_open(analyse_text("What of the dog? " * 30, role="user"))


def test_everything_in_view_never_opens():
    assert not cover("What is the name of my dog?", start=0).open


def test_shares():
    got = cover("dog tulips")
    assert 0 < got.inside < 1
    assert got.missing == pytest.approx(got.outside)
    assert got.inside + got.missing == pytest.approx(1.0)
    assert got.best_outside > 0 < got.best_inside


@pytest.mark.property
@settings(max_examples=60)
@given(
    st.lists(st.sampled_from("dog Rex? what ops/deploy_prod.sh earlier we said ok".split())),
    st.sampled_from(["", ORDER.format("I brought up")]),
    st.integers(0, 90),
)
def test_what_may_not_open_never_does(words, asked, padding):
    text = " ".join([*words, asked, "garden " * padding])
    assert may_open(analyse_text(text, role="user")) or not cover(text).open


@pytest.mark.parametrize(
    ("text", "opens"),
    [
        ("ops/deploy_prod.sh (12 lines)", False),
        ("she asks for our colours", False),
        ("What is the name of my dog?", True),
        ("the name of my dog, as we said earlier", True),
    ],
)
def test_what_a_program_wrote_must_ask_or_point_back(text, opens):
    query = analyse_text(text, role="user")
    assert may_open(query)
    assert may_open(query, templated=True) is opens


@pytest.mark.property
@settings(max_examples=40)
@given(st.text(max_size=60), st.integers(-2, 12))
def test_shares_are_shares(text, start):
    got = cover(text, start)
    for share in (got.inside, got.outside, got.missing, got.best_inside, got.best_outside):
        assert 0.0 <= share <= 1.0 + 1e-9


PORTS = [
    "The PostgreSQL port is 5432.",
    "Noted.",
    "We promised Mrs. Kessler the W-8 form.",
    "Good.",
]
TABLE = ["I prepared the allergy column for the bread table.", "Fine."]
DEUTSCH = ["Der Port der Datenbank ist 5432.", "Notiert."]
SPANISH = ["El puerto de la base de datos es 5432.", "Anotado."]
CHINESE = ["数据库的端口是5432。", "记下了。"]


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (PORTS, "Tell me the PostgreSQL port."),
        (PORTS, "Please give me the port of PostgreSQL"),
        (PORTS, "Mrs. Kessler called. She asks which form we promised."),
        (TABLE, "Now run the allergy column that you prepared weeks ago"),
        (TABLE, "Show me the column you prepared"),
        (DEUTSCH, "Sag mir den Port der Datenbank."),
        (SPANISH, "Dime el puerto de la base de datos."),
        (CHINESE, "告诉我数据库的端口"),
    ],
)
def test_who_wants_something_of_before_opens_it_a_little(before, text):
    coverage = window_coverage(
        index_of([*before, *NEW]), analyse_text(text, role="user"), len(before)
    )
    assert coverage.wants
    assert coverage.open
    assert not coverage.plain


@pytest.mark.parametrize(
    "text",
    [
        "Show me how to plant tulips.",
        "Tell me the colour of the tulips.",
        "Give me an example of a loop.",
        "Write the loop with the port.",
        "I walked the dog in the rain.",
    ],
)
def test_other_statements_stay_closed(text):
    coverage = window_coverage(index_of([*PORTS, *NEW]), analyse_text(text, role="user"), 4)
    assert not coverage.open


# Relevance


def led(outside, inside, **more):
    """A statement whose words say nothing, with such relevance before the window and in it."""
    given = {"words": 12, "asks": False, "recalls": False, "follows": False, "wants": False}
    return dataclasses.replace(
        cover("ok"), relevant_outside=outside, relevant_inside=inside, **{**given, **more}
    )


@pytest.mark.parametrize(
    ("outside", "inside", "opens"),
    [
        (0.5, 0.0, True),
        (0.9, 0.3, True),
        (0.9, 0.31, False),
        (0.49, 0.0, False),
        (0.0, 0.0, False),
    ],
)
def test_a_message_that_leads_by_far_opens_it_a_little(outside, inside, opens):
    coverage = led(outside, inside)
    assert coverage.open is opens
    assert coverage.by_relevance is opens
    assert not coverage.plain


def test_relevance_has_no_say_over_long_messages():
    assert led(0.9, 0.0, words=25).open
    assert not led(0.9, 0.0, words=26).open


def test_thanks_before_a_question_do_not_keep_it_closed():
    assert led(0.9, 0.0, follows=True).open


def test_a_lead_is_sure_enough_where_much_was_carried_over():
    assert led(0.9, 0.0).sure
    assert not led(0.9, 0.4).sure


def test_a_question_that_somebody_else_asks_finds_what_was_said():
    before = [
        "Please write down: our colour is #7A3E1D, a warm brown, and the typeface is Bitter.",
        "Noted: colour #7A3E1D, typeface Bitter.",
        "The van leaves at six.",
        "Good.",
    ]
    told = "The designer of my cousin asks for colour and typeface for a flyer."
    older = [*before, *(f"Stop {i} of the tour is at {i} o'clock." for i in range(80))]
    index = index_of([*older, *NEW])
    coverage = window_coverage(index, analyse_text(told, role="user"), len(older))
    assert not coverage.asks
    assert coverage.relevance_leads
    assert coverage.open


def test_adjusted_relevance_counts_where_it_is_given():
    index, asked = index_of(OLD + NEW), analyse_text("fine, then", role="user")
    values = np.zeros(len(OLD + NEW))
    values[0] = 0.8
    assert window_coverage(index, asked, 4, values=values).relevant_outside == 0.8
    assert window_coverage(index, asked, 4, values=values, carried=[0]).relevant_outside == 0.0
    assert window_coverage(index, asked, 4, values=values, carried=[0]).relevant_inside == 0.8
    assert window_coverage(index, asked, 0, values=values).relevant_inside == 0.8


def test_what_was_carried_from_behind_the_question_does_not_count():
    index = index_of(TALK)
    asked = analyse_text("Which subject was number 7?", role="user")
    few = window_coverage(index, asked, 30, upto=30, carried=[7])
    assert window_coverage(index, asked, 40, upto=30, carried=[7, 30, 35]) == few


# Meaning


MEANT = "How do I enter?"
TALK = [f"We spoke about subject number {i} and about what follows." for i in range(80)]
START = 60


def meant(likeness, text=MEANT, start=START):
    index = index_of(TALK)
    query = analyse_text(text, role="user")
    given = None if likeness is None else np.array(likeness)
    answer = index.relevance(query, upto=len(TALK), likeness=given)
    return window_coverage(index, query, start, relevance=answer)


def noise(**peaks):
    """Likeness as it is for unlike texts; some messages stand out: ``m3=0.9``."""
    rows = 0.1 + 0.02 * np.sin(1.7 * np.arange(len(TALK)))
    for name, value in peaks.items():
        rows[int(name[1:])] = value
    return rows


@pytest.mark.parametrize(
    ("likeness", "text", "opens"),
    [
        (noise(m3=0.4), MEANT, True),
        (noise(m3=0.4), "Tell me the way in.", True),
        (noise(m3=0.4), "Remind me how to enter", True),
        (noise(m3=0.4), "It rains.", False),  # no question, no wish
        (noise(m3=0.4), "Ok, and how do I enter?", False),  # goes on with what is in view
        (noise(m3=0.4), "Which " + "very " * 25 + "old door?", False),  # brings its own context
        (noise(m3=0.4, m70=0.4), MEANT, False),  # in view as well
        (noise(m3=0.4, m70=0.38), MEANT, False),
        (noise(m70=0.4), MEANT, False),
        (noise(), MEANT, False),  # nothing stands out
        (noise(m3=float("nan")), MEANT, False),
        ([float("nan")] * len(TALK), MEANT, False),
        (None, MEANT, False),
    ],
)
def test_a_paraphrase_opens_it_a_little(likeness, text, opens):
    coverage = meant(likeness, text)
    assert (coverage.open, coverage.by_meaning) == (opens, opens)
    assert not (opens and coverage.plain)


def test_without_vectors_meaning_has_no_say():
    for text in (MEANT, "What is subject number 3?", "run ops/deploy_prod.sh", ""):
        coverage = meant(None, text)
        assert coverage.lead == -math.inf
        assert coverage == dataclasses.replace(coverage, lead=-math.inf)
        assert not coverage.by_meaning


@pytest.mark.parametrize("text", ["What is subject number 3?", "Remind me of subject number 3"])
def test_where_words_open_it_meaning_changes_nothing(text):
    plain, beside = meant(None, text, start=70), meant(noise(m3=0.9), text, start=70)
    assert plain.open
    assert not beside.by_meaning
    assert (beside.open, beside.plain) == (plain.open, plain.plain)


@pytest.mark.property
@settings(max_examples=60)
@given(
    st.floats(0.01, 5.0),
    st.floats(-0.9, 0.9),
    st.floats(0.2, 0.9),
    st.floats(0.0, 0.9),
)
def test_the_scale_of_an_embedder_does_not_count(scale, shift, before, within):
    rows = noise(m3=before, m70=within)
    ours, theirs = meant(rows), meant(scale * rows + shift)
    if abs(ours.lead - GATE_MEANING_LEAD) > 1e-6:
        assert theirs.by_meaning == ours.by_meaning


@pytest.mark.property
@settings(max_examples=60)
@given(st.floats(0.2, 0.9), st.lists(st.floats(0.0, 0.9), min_size=2, max_size=2))
def test_the_better_the_window_the_less_it_opens(before, within):
    low, high = (meant(noise(m3=before, m70=value)) for value in sorted(within))
    assert low.by_meaning or not high.by_meaning


def told(*lines):
    index = RelevanceIndex()
    for turn, (name, text) in enumerate(lines):
        index.append(analyse_text(text, role="user", name=name), turn=turn, tokens=10)
    return index


STORY = [
    ("Ann", "[31 December, 2023] I watched the fireworks from the roof in Kiel."),
    ("Bob", "[31 December, 2023] Nice."),
    ("Ann", "[2 January, 2024] I never eat meat, it makes me ill."),
    ("Bob", "[20 February, 2024] Oh."),
    ("Bob", "[20 February, 2024] Good."),
]


@pytest.mark.parametrize(
    ("text", "opens"),
    [
        ("Is Ann vegan?", True),
        ("Is Eve vegan?", False),
        ("Ann it is, then.", False),
        ("Ok, is Ann vegan?", False),
        ("Who did what on 31 December 2023?", True),
        ("Who did what on 20 February 2024?", False),
        ("Who did what on 5 June 2019?", False),
    ],
)
def test_a_person_or_a_day_opens_it_without_a_word_in_common(text, opens):
    query = analyse_text(text, role="user")
    coverage = window_coverage(told(*STORY), query, 3)
    assert coverage.best_outside == 0.0
    assert coverage.by_subject == coverage.open == opens
    assert coverage.plain >= opens


def test_what_the_window_tells_most_of_a_person_is_enough():
    query = analyse_text("Is Ann vegan?", role="user")
    assert not window_coverage(told(*STORY[3:], *STORY[:3]), query, 2).by_subject
