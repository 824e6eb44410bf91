import numpy as np

from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.evidence import EvidenceView, group_parts, term_parts
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
    profile = index.profile(analyse_text(question, role="user"))
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
