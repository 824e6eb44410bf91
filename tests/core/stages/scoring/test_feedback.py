import numpy as np
import pytest

from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.evidence import EvidenceView
from eunoe.stages.scoring.feedback import feedback_column
from eunoe.stages.scoring.index import RelevanceIndex
from eunoe.stages.scoring.postings import TermPostings
from eunoe.stages.scoring.settings import ScoringSettings, SignalWeights

PLAIN = ScoringSettings(feedback_near=0.0)


def column(texts, score, evidence=None, *, asked=(), settings=PLAIN, segment=None):
    postings = TermPostings()
    analyses = [analyse_text(text, role="user") for text in texts]
    postings.extend(analyses)
    length = np.array([float(a.length) for a in analyses])
    where = np.zeros(len(texts), dtype=np.int64) if segment is None else np.array(segment)
    view = EvidenceView(postings, settings, length, where)
    known = np.ones(len(texts)) if evidence is None else np.array(evidence)
    return feedback_column(view, np.array(score), known, asked)


def test_what_shares_a_word_with_the_best_message_gains():
    texts = ("harbour cranes", "cranes again", "tulips in spring")
    found = column(texts, [5.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    assert found[1] > 0.0
    assert found[2] == 0.0


def test_nobody_teaches_itself():
    found = column(("harbour cranes", "tulips in spring"), [5.0, 0.0], [1.0, 0.0])
    assert found.tolist() == [0.0, 0.0]


def test_words_that_were_asked_for_count_elsewhere():
    texts = ("harbour cranes", "cranes again")
    asked = analyse_text("cranes", role="user").terms
    found = column(texts, [5.0, 0.0], [1.0, 0.0], asked=asked)
    assert found is None or found[1] == 0.0


def test_only_messages_that_something_speaks_for_teach():
    texts = ("harbour cranes", "cranes again", "tulips in spring")
    assert column(texts, [5.0, 0.0, 0.0], [0.0, 0.0, 0.0]) is None
    taught = column(texts, [9.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    assert taught[1] == 0.0


def test_the_better_message_teaches_more():
    texts = ("harbour cranes", "violin lessons", "cranes again", "violin again")
    found = column(texts, [4.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0])
    assert found[2] > found[3] > 0.0


def test_a_long_message_gains_less():
    texts = ("harbour cranes", "cranes again", "cranes " + " ".join(f"word{i}" for i in range(90)))
    found = column(texts, [5.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    assert found[1] > 2.0 * found[2] > 0.0


def test_what_stands_beside_gains_within_its_segment():
    texts = ("harbour cranes", "cranes again", "tulips in spring", "nice weather")
    settings = ScoringSettings(feedback_near=0.5)
    evidence = [1.0, 0.0, 0.0, 0.0]
    found = column(texts, [5.0, 0.0, 0.0, 0.0], evidence, settings=settings)
    assert found[1] > found[2] > found[3] > 0.0
    apart = column(texts, [5.0, 0.0, 0.0, 0.0], evidence, settings=settings, segment=(0, 0, 1, 1))
    assert apart[2] == apart[3] == 0.0


def test_the_value_is_the_formula():
    texts = ("harbour cranes", "cranes", "tulips")
    s = ScoringSettings(feedback_near=0.0, b=0.0)
    found = column(texts, [5.0, 0.0, 0.0], [1.0, 0.0, 0.0], settings=s)
    presence = 1.0 / (1.0 + s.k1)
    crane = np.log(1.0 + (3.0 - 2.0 + 0.5) / 2.5)
    harbour = np.log(1.0 + (3.0 - 1.0 + 0.5) / 1.5)
    weight = crane * presence / (harbour * presence)
    assert found[1] == pytest.approx(s.weights.feedback * weight * crane * presence / 5.0)


def test_it_can_be_turned_off():
    off = ScoringSettings(weights=SignalWeights(feedback=0.0))
    assert column(("harbour cranes", "cranes"), [5.0, 0.0], settings=off) is None
    assert column(("", ""), [0.0, 0.0]) is None


def test_later_messages_do_not_matter_to_earlier_answers():
    index, longer = RelevanceIndex(), RelevanceIndex()
    texts = ["the harbour has cranes", "cranes are loud", "tulips in spring", "the harbour master"]
    for i, text in enumerate([*texts, "harbour cranes tulips", "loud master"]):
        analysis = analyse_text(text, role="user")
        longer.append(analysis, turn=i, tokens=5)
        if i < len(texts):
            index.append(analysis, turn=i, tokens=5)
    query = analyse_text("what about the harbour?", role="user")
    one, other = index.relevance(query), longer.relevance(query, upto=len(texts))
    assert one.signals["feedback"][1] > 0.0
    assert one.values.tobytes() == other.values.tobytes()
