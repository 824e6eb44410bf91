"""Scoring: how much each message matters to a question."""

from eunoe.stages.scoring.analysis import TextAnalysis, analyse_text
from eunoe.stages.scoring.boilerplate import without_boilerplate
from eunoe.stages.scoring.gate import WindowCoverage, window_coverage
from eunoe.stages.scoring.index import RelevanceIndex
from eunoe.stages.scoring.price import price_relevance
from eunoe.stages.scoring.profile import QueryProfile, Relevance
from eunoe.stages.scoring.scorers import (
    CompositeScorer,
    DecayScorer,
    EmbeddingScorer,
    KeywordScorer,
    LabelScorer,
    RelevanceScorer,
    Scorer,
    ScorerOpinions,
    SmartScorer,
    StaticScorer,
)
from eunoe.stages.scoring.settings import ScoringSettings, SignalWeights

__all__ = [
    "CompositeScorer",
    "DecayScorer",
    "EmbeddingScorer",
    "KeywordScorer",
    "LabelScorer",
    "QueryProfile",
    "Relevance",
    "RelevanceIndex",
    "RelevanceScorer",
    "Scorer",
    "ScorerOpinions",
    "ScoringSettings",
    "SignalWeights",
    "SmartScorer",
    "StaticScorer",
    "TextAnalysis",
    "WindowCoverage",
    "analyse_text",
    "price_relevance",
    "window_coverage",
    "without_boilerplate",
]
