"""Scoring: how much each message matters to a question."""

from eunoe.stages.scoring.analysis import TextAnalysis, analyse_text
from eunoe.stages.scoring.index import Relevance, RelevanceIndex
from eunoe.stages.scoring.settings import ScoringSettings
from eunoe.stages.scoring.price import price_relevance

__all__ = [
    "Relevance",
    "RelevanceIndex",
    "ScoringSettings",
    "TextAnalysis",
    "analyse_text",
    "price_relevance",
]
