import numpy as np

from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.evidence import EvidenceView, group_parts, passage_gain, term_parts
from eunoe.stages.scoring.index import RelevanceIndex
from eunoe.stages.scoring.postings import TermPostings
from eunoe.stages.scoring.settings import ScoringSettings

TEXTS = ("we play tennis", "nice weather", "a long talk about nothing", "violin lessons")


def parts(question):
    index, postings = RelevanceIndex(), TermPostings()
    for i, text in enumerate(TEXTS):
        analysis = analyse_text(text, role="user")
        index.append(analysis, turn=i, tokens=5)
        postings.append(analysis)
    length = np.array([float(analyse_text(t, role="user").length) for t in TEXTS])
    view = EvidenceView(postings, ScoringSettings(), length, np.array([0, 0, 0, 1]))
    query = analyse_text(question, role="user")
    profile = index.profile(query)
    view.ask(query.terms)
    return term_parts(view, profile), group_parts(view, profile)


def test_words_reach_neighbours_but_not_other_segments():
    words, _ = parts("tennis?")
    assert words["nearby"].argmax() == 0
    assert words["nearby"][1] > words["nearby"][2] > 0.0
    assert words["nearby"][3] == 0.0
    assert words["hits"].tolist()[1:] == [0.0, 0.0, 0.0]
    assert words["segment"].tolist() == [1.0, 1.0, 1.0, 0.0]


def test_a_group_finds_its_members():
    words, groups = parts("which sports?")
    assert words == {}
    assert groups["kind"].argmax() == 0
    assert groups["kind"][3] == 0.0


def test_nothing_known():
    assert parts("zzz?") == ({}, {})


def test_an_unknown_word_has_no_frequency():
    postings = TermPostings()
    postings.append(analyse_text("dog", role="user"))
    view = EvidenceView(postings, ScoringSettings(), np.ones(1), np.zeros(1, dtype=np.int64))
    view.ask(("dog", "cat"))
    assert view.idf("dog") > view.idf("cat") == 0.0
    assert [grid.tolist() for _, grid in view.grids(("dog",))] == [[[1.0]]]


def test_grids_come_in_parts_when_the_chat_is_long():
    words, size = ("dog", "cat", "hous"), 100_000
    postings = TermPostings()
    for _ in range(size):
        postings.append(analyse_text("dog house", role="user"))
    view = EvidenceView(
        postings, ScoringSettings(), np.full(size, 2.0), np.zeros(size, dtype=np.int64)
    )
    view.ask(words)
    sums = [(part.start, grid.sum(axis=1).tolist()) for part, grid in view.grids(words)]
    assert sums == [(0, [size]), (1, [0]), (2, [size])]


def test_words_gain_by_standing_in_a_passage_of_a_long_text():
    settings = ScoringSettings()
    assert passage_gain(settings, [6.0, 5.0], 40) == 0.0
    gains = [passage_gain(settings, [6.0, 5.0], length) for length in (80, 400, 2_000)]
    assert 0.0 < gains[0] < gains[1] < gains[2] < passage_gain(settings, [6.0] * 4, 2_000)
