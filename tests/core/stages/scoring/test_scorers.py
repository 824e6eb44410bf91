import numpy as np
import pytest

from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.index import RelevanceIndex
from eunoe.stages.scoring.scorers import (
    CompositeScorer,
    DecayScorer,
    EmbeddingScorer,
    KeywordScorer,
    LabelScorer,
    RelevanceScorer,
    ScorerOpinions,
    SmartScorer,
    StaticScorer,
    pair_coherence,
)

CHAT = [("user", "my dog"), ("assistant", "nice"), ("tool", "dog dog dog"), ("user", "rain")]


@pytest.fixture
def index():
    out = RelevanceIndex()
    for i, (role, text) in enumerate(CHAT):
        out.append(analyse_text(text, role=role), turn=i // 3, tokens=3)
    return out


def query(text):
    return analyse_text(text, role="user")


def test_keyword_is_bm25_over_its_maximum_with_a_floor(index):
    values = KeywordScorer().score(index, query("dog"))
    assert values.max() == 1.0
    assert values[1] == values[3] == 0.1
    assert KeywordScorer().score(index, query("zebra")).tolist() == [1.0] * 4


def test_smart_pulls_the_answer_and_pushes_tools(index):
    values = SmartScorer().score(index, query("dog"))
    keyword = KeywordScorer(floor=0.05).score(index, query("dog"))
    assert values[1] == pytest.approx(0.8 * keyword[0])
    assert values[2] == pytest.approx(0.5 * keyword[2])


def test_pairs_pull_both_ways():
    roles = np.array([1, 2, 1, 3, 2], dtype=np.int8)
    got = pair_coherence(np.array([0.1, 1.0, 1.0, 0.2, 0.1]), roles, 0.8)
    assert got.tolist() == [0.8, 1.0, 1.0, 0.2, 0.1]


def test_static_and_composite(index):
    fixed = StaticScorer((0.5, 2.0, -1.0))
    assert fixed.score(index, query("x")).tolist() == [0.5, 1.0, 0.0, 1.0]
    mixed = CompositeScorer((KeywordScorer(), StaticScorer()), (1.0, 1.0))
    assert (
        mixed.score(index, query("dog")).tolist()
        == KeywordScorer().score(index, query("dog")).tolist()
    )
    assert CompositeScorer(()).score(index, query("dog")).tolist() == [1.0] * 4


def test_decay_is_bounded_and_off_on_recall(index):
    inner = StaticScorer()
    got = DecayScorer(inner).score(index, query("dog"))
    assert got == pytest.approx([0.99, 0.99, 0.99, 1.0])
    assert DecayScorer(inner).score(index, query("as we discussed earlier")).tolist() == [1.0] * 4


def test_relevance_scorer_is_the_index(index):
    assert (
        RelevanceScorer().score(index, query("dog"), upto=2).tolist()
        == index.relevance(query("dog"), upto=2).values.tolist()
    )


def test_what_models_say_counts_in_its_scorer_alone(index):
    likeness = np.array([1.0, 0.0, -1.0, np.nan])
    said = ScorerOpinions(likeness=likeness, labels=np.array([1.0, 0.05, np.nan, 0.75]))
    found = EmbeddingScorer().score(index, query("dog"), said=said)
    assert found.tolist() == [1.0, 0.5, 0.05, 0.5]
    labels = LabelScorer().score(index, query("dog"), said=said)
    assert labels.tolist() == [1.0, 0.05, 0.5, 0.75]
    for scorer in (EmbeddingScorer(), LabelScorer()):
        assert scorer.score(index, query("dog")).tolist() == [1.0] * 4
    blend = CompositeScorer((EmbeddingScorer(), LabelScorer()))
    assert blend.score(index, query("dog"), said=said)[0] == 1.0
    keyword = KeywordScorer()
    assert (
        keyword.score(index, query("dog"), said=said) == keyword.score(index, query("dog"))
    ).all()
